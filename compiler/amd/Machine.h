// SPDX-License-Identifier: Apache-2.0
// AMD's instructions for the lowering from tiles to registers: those of CDNA (gfx942, gfx950: waves of 64 lanes) and RDNA (gfx1100,
// gfx1201: waves of 32). What the machine table calls a warp is a wave here, a block a workgroup, shared memory LDS.
//
// A condition that lanes of a wave answer differently is a branch: the code generator masks lanes (EXEC), and lanes meet again behind it.
// Loads are made without one, so that many are under way: see GlobalAccess.cpp.
#ifndef FATTN_COMPILER_AMD_MACHINE_H
#define FATTN_COMPILER_AMD_MACHINE_H

#include <memory>

#include "compiler/gpu/lower/Lowering.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace fattn::amd {

class Machine final : public gpu::Machine {
 public:
  /// Of a row of the machine table whose name is "amd:gfx..", for a block of so many waves in this module; whether its kernel has
  /// asynchronous copies.
  Machine(const gpu::Target& target, int64_t waves, mlir::ModuleOp module, bool copies)
      : target_(target), waves_(waves), module_(module), copies_(copies) {}

  mlir::Value threadId(mlir::ImplicitLocOpBuilder& b) override;
  mlir::Value programId(mlir::ImplicitLocOpBuilder& b, int axis) override;
  mlir::Value numPrograms(mlir::ImplicitLocOpBuilder& b, int axis) override;
  mlir::Value uniform(mlir::ImplicitLocOpBuilder& b, mlir::Value word) override;
  mlir::Value shuffleXor(mlir::ImplicitLocOpBuilder& b, mlir::Value word, int mask) override;
  mlir::Value shuffle(mlir::ImplicitLocOpBuilder& b, mlir::Value word, mlir::Value from) override;
  bool permutesBytes() const override { return true; }
  mlir::Value permuteBytes(mlir::ImplicitLocOpBuilder& b, mlir::Value first, mlir::Value second, mlir::Value selector) override;
  int64_t byteSelector(std::array<int, 2> halves) const override;
  mlir::Value anyInWarp(mlir::ImplicitLocOpBuilder& b, mlir::Value condition) override;
  mlir::Value anyInBlock(gpu::Lowering& to, mlir::Value condition, std::optional<int64_t> votes) override;
  void barrier(mlir::ImplicitLocOpBuilder& b, gpu::Visible visible) override;
  mlir::Value truncatePair(mlir::ImplicitLocOpBuilder& b, mlir::Value low, mlir::Value high, mlir::Type element, bool moderate) override;
  mlir::Value math(mlir::ImplicitLocOpBuilder& b, mlir::Operation* op, mlir::ValueRange operands) override;  // Math.cpp
  // GlobalAccess.cpp
  bool addsLanesLast() const override { return true; }  // global_load_dword v0, v1, s[2:3]
  mlir::Value zeros(mlir::ImplicitLocOpBuilder& b, int64_t bytes) override;
  mlir::Value loadGlobal(mlir::ImplicitLocOpBuilder& b, mlir::Value address, mlir::Type type, mlir::Value predicate,
                         mlir::Value other) override;
  bool prefersPredicates() const override { return true; }
  /// A branch with two sides is made two branches with one, between which all that either side leaves alone is copied. Waves of 32 lanes
  /// have half the registers, and keep less over the branch where each side computes its own.
  bool keepsUsualSidesEmpty() const override { return isCdna(); }
  void storeGlobal(mlir::ImplicitLocOpBuilder& b, mlir::Value address, mlir::Value value, mlir::Value predicate) override;
  mlir::Value atomicAdd(mlir::ImplicitLocOpBuilder& b, mlir::Value address, mlir::Value value, mlir::Value predicate,
                        tile::MemoryOrder order, bool used) override;
  void storeShared(mlir::ImplicitLocOpBuilder& b, mlir::Value address, mlir::Value value, mlir::Value predicate) override;

  mlir::LogicalResult copyAsync(gpu::Lowering& to, tilegpu::CopyAsyncOp op) override;  // Copies.cpp
  mlir::LogicalResult copyWait(gpu::Lowering& to, tilegpu::CopyWaitOp op) override;

  mlir::LogicalResult dot(gpu::Lowering& to, tile::DotOp op) override;  // Dot.cpp
  mlir::LogicalResult devicePrint(gpu::Lowering& to, tile::DevicePrintOp op) override;

 private:
  bool isCdna() const { return target_.warpSize == 64; }
  void waitForOwnAccesses(mlir::ImplicitLocOpBuilder& b, gpu::Visible visible);
  /// A fence that costs nothing: the code generator moves no access across it.
  static void orderForWave(mlir::ImplicitLocOpBuilder& b, mlir::LLVM::AtomicOrdering ordering);
  /// The address where the predicate holds, else that of 16 bytes of zeros.
  mlir::Value orZeros(mlir::ImplicitLocOpBuilder& b, mlir::Value predicate, mlir::Value address);
  /// The address of a global of the module, which is made when it is asked for first.
  mlir::Value addressOf(mlir::ImplicitLocOpBuilder& b, llvm::StringRef name, mlir::Type type, unsigned space, bool isConstant);

  const gpu::Target& target_;
  int64_t waves_;
  mlir::ModuleOp module_;
  bool copies_;
};

/// Says that no other access of LDS in a lowered kernel is to bytes that an asynchronous copy of it fills: waits see to that. (Copies.cpp)
void keepApartFromCopies(mlir::func::FuncOp kernel);

/// A call of an LLVM intrinsic with one result.
mlir::Value intrinsic(mlir::ImplicitLocOpBuilder& b, llvm::StringRef name, mlir::Type type, mlir::ValueRange operands);

}  // namespace fattn::amd

#endif
