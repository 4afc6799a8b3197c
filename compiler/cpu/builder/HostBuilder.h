// SPDX-License-Identifier: Apache-2.0
// The builder that makes all code of a kernel: it knows the place, the line of the source, and the host, and has words for what is
// needed everywhere. Other headers of this folder take it where they need nothing else of an emission.
#ifndef FATTN_COMPILER_CPU_BUILDER_HOSTBUILDER_H
#define FATTN_COMPILER_CPU_BUILDER_HOSTBUILDER_H

#include "compiler/cpu/HostTarget.h"
#include "compiler/cpu/builder/View.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/IR/Builders.h"

namespace fattn::cpu {

class HostBuilder : public mlir::ImplicitLocOpBuilder {
 public:
  using Trip = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value index, mlir::ValueRange carried)>;

  HostBuilder(mlir::Location loc, const mlir::OpBuilder& at, const HostTarget& host) : ImplicitLocOpBuilder(loc, at), host(host) {}

  mlir::Value i64(int64_t v);
  /// `scalar` in every lane; a vector stays what it is.
  mlir::Value splat(mlir::Value scalar, int64_t width);
  /// vector<width x i64> of first, first + 1, ...
  mlir::Value laneIndices(mlir::Value first, int64_t width);
  mlir::Value call(llvm::StringRef intrinsic, mlir::Type result, mlir::ValueRange operands);
  /// Where both masks hold. A null `mask` holds everywhere.
  mlir::Value both(mlir::Value mask, mlir::Value more);

  // Strides: what is constant stays constant.
  mlir::Value toValue(Stride s);
  Stride add(Stride x, Stride y);
  Stride multiply(Stride x, Stride y);

  /// A loop from lo to hi that carries values: its results. `body` gives the next ones.
  llvm::SmallVector<mlir::Value> loop(mlir::Value lo, mlir::Value hi, int64_t step, mlir::ValueRange init, Trip body);
  /// A loop that carries nothing.
  void loop(mlir::Value lo, mlir::Value hi, int64_t step, llvm::function_ref<void(mlir::Value index)> body);
  /// What `body` makes runs only where the condition holds. A null condition holds always.
  void onlyIf(mlir::Value condition, llvm::function_ref<void()> body);

  const HostTarget& host;
};

/// What is made in this scope belongs to another line of the source.
class AtLocation {
 public:
  AtLocation(HostBuilder& b, mlir::Location loc) : b(b), before(b.getLoc()) { b.setLoc(loc); }
  ~AtLocation() { b.setLoc(before); }
  AtLocation(const AtLocation&) = delete;
  AtLocation& operator=(const AtLocation&) = delete;

 private:
  HostBuilder& b;
  mlir::Location before;
};

}  // namespace fattn::cpu

#endif
