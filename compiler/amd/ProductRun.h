// SPDX-License-Identifier: Apache-2.0
// A run of products of the matrix unit, and the order that -amd-order-products gives it; see ProductRun.cpp.
#ifndef FATTN_COMPILER_AMD_PRODUCTRUN_H
#define FATTN_COMPILER_AMD_PRODUCTRUN_H

#include "llvm/ADT/SmallPtrSet.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace fattn::amd {

bool isProduct(mlir::Operation& op);
/// Whether it reads LDS.
bool loadsShared(mlir::Operation& op);

/// Products and what stands between them; `begin` is the first operation behind the boundary before.
struct Run {
  mlir::Operation *begin, *first, *last;
};

class ProductOrder {
 public:
  /// A part has `atOnce` products, reads and vector instructions at most, where its products do not have more.
  ProductOrder(const Run& run, std::int64_t atOnce);
  /// Says the order behind the run's last product, and of a long run behind the last product of each of its parts.
  void emit();

 private:
  /// Kinds of instructions as SchedGroupBarrier numbers them.
  enum Kind : std::uint32_t { Vector = 0x2, Matrix = 0x8, SharedRead = 0x100 };
  struct Group {
    Kind kind;
    std::int64_t size;
  };
  /// Consecutive groups; `products`, `reads` and `vectors` are how many of each stand in this part and in those before it.
  struct Part {
    llvm::SmallVector<Group> groups;
    std::int64_t products = 0, reads = 0, vectors = 0;
  };

  void need(mlir::Operation* product);
  std::int64_t vectorsBehind(std::int64_t product) const;
  llvm::SmallVector<Part> parts() const;
  void say(const Part& part, mlir::Operation* behind) const;
  llvm::SmallVector<mlir::Operation*> take(const Part& before, const Part& part);

  Run run_;
  std::int64_t atOnce_;
  llvm::SmallVector<mlir::Operation*> operations_;                  ///< of the run
  llvm::DenseMap<mlir::Operation*, size_t> places_;                 ///< where each stands among them
  llvm::DenseMap<mlir::Operation*, mlir::Operation*> pinned_;       ///< those with effects, and the one before each
  llvm::SmallPtrSet<mlir::Operation*, 32> seen_, taken_;            ///< needed by a product, taken by a part
  size_t passed_ = 0;                                               ///< how many of them stand before the last product of a part
  llvm::SmallVector<mlir::Operation*> products_, reads_, vectors_;  ///< reads and vectors as products need them
  llvm::SmallVector<std::int64_t> needed_;                          ///< vector instructions, by each product and those before it
};

}  // namespace fattn::amd

#endif
