// SPDX-License-Identifier: Apache-2.0
// NVIDIA's instructions for the lowering from tiles to registers: those of every chip from sm_80 on, and what newer ones add.
//
// Global memory under a predicate, and reductions over the block, are a few lines of PTX: LLVM knows predicates only as branches, and
// around a branch that lanes of a warp take differently it may move instructions that the whole warp has to execute.
#ifndef FATTN_COMPILER_NVIDIA_MACHINE_H
#define FATTN_COMPILER_NVIDIA_MACHINE_H

#include <memory>

#include "compiler/gpu/lower/Lowering.h"

namespace fattn::nvidia {

class Machine final : public gpu::Machine {
 public:
  /// Of a row of the machine table whose name is "nvidia:sm_..".
  explicit Machine(const gpu::Target& target);

  /// 80 for sm_80, 90 for sm_90a.
  int computeCapability() const { return capability_; }

  mlir::Value threadId(mlir::ImplicitLocOpBuilder& b) override;
  mlir::Value programId(mlir::ImplicitLocOpBuilder& b, int axis) override;
  mlir::Value numPrograms(mlir::ImplicitLocOpBuilder& b, int axis) override;
  mlir::Value shuffleXor(mlir::ImplicitLocOpBuilder& b, mlir::Value word, int mask) override;
  mlir::Value shuffle(mlir::ImplicitLocOpBuilder& b, mlir::Value word, mlir::Value from) override;
  mlir::Value anyInWarp(mlir::ImplicitLocOpBuilder& b, mlir::Value condition) override;
  mlir::Value anyInBlock(gpu::Lowering& to, mlir::Value condition, std::optional<int64_t> votes) override;
  void barrier(mlir::ImplicitLocOpBuilder& b, gpu::Visible visible) override;
  void limitBarriers(int64_t threads) override { barrierThreads_ = threads; }
  mlir::Value math(mlir::ImplicitLocOpBuilder& b, mlir::Operation* op, mlir::ValueRange operands) override;  // Math.cpp
  bool hasSaturatingDifference() const override { return true; }
  mlir::Value saturatingDifference(mlir::ImplicitLocOpBuilder& builder, mlir::Value a, mlir::Value b) override;
  mlir::Value truncatePair(mlir::ImplicitLocOpBuilder& b, mlir::Value low, mlir::Value high, mlir::Type element, bool moderate) override;
  // GlobalAccess.cpp
  mlir::Value loadGlobal(mlir::ImplicitLocOpBuilder& b, mlir::Value address, mlir::Type type, mlir::Value predicate,
                         mlir::Value other) override;
  void storeGlobal(mlir::ImplicitLocOpBuilder& b, mlir::Value address, mlir::Value value, mlir::Value predicate) override;
  mlir::Value atomicAdd(mlir::ImplicitLocOpBuilder& b, mlir::Value address, mlir::Value value, mlir::Value predicate,
                        tile::MemoryOrder order, bool used) override;
  void accumulateGlobal(gpu::Lowering& to, mlir::Value address, mlir::ValueRange elements, mlir::Value predicate) override;

  void storeShared(mlir::ImplicitLocOpBuilder& b, mlir::Value address, mlir::Value value,
                   mlir::Value predicate) override;  // SharedMemory.cpp

  mlir::LogicalResult dot(gpu::Lowering& to, tile::DotOp op) override;                                                 // Dot.cpp
  mlir::LogicalResult loadBuffer(gpu::Lowering& to, tilegpu::LoadBufferOp op) override;                                // SharedMemory.cpp
  mlir::LogicalResult storeBuffer(gpu::Lowering& to, tilegpu::StoreBufferOp op) override;                              // SharedMemory.cpp
  mlir::LogicalResult copyAsync(gpu::Lowering& to, tilegpu::CopyAsyncOp op) override;                                  // Copies.cpp
  mlir::LogicalResult copyWait(gpu::Lowering& to, tilegpu::CopyWaitOp op) override;                                    // Copies.cpp
  mlir::LogicalResult release(gpu::Lowering& to, tilegpu::ReleaseOp op) override;                                      // BoxCopies.cpp
  mlir::LogicalResult storeBoxes(gpu::Lowering& to, tilegpu::StoreBoxesOp op) override;                                // BoxStores.cpp
  mlir::LogicalResult sendBoxes(gpu::Lowering& to, tilegpu::SendBoxesOp op) override;                                  // BoxStores.cpp
  mlir::LogicalResult awaitSent(gpu::Lowering& to, tilegpu::AwaitSentOp op) override;                                  // BoxStores.cpp
  void endStores(gpu::Lowering& to) override;                                                                          // BoxStores.cpp
  mlir::FailureOr<NextProgram> nextProgram(gpu::Lowering& to, tilegpu::EachProgramOp op, mlir::Value count) override;  // Claims.cpp
  void endBlock(gpu::Lowering& to, mlir::func::FuncOp function) override;                                              // Clusters.cpp
  mlir::LogicalResult claimProgram(gpu::Lowering& to, tilegpu::ClaimProgramOp op) override;                            // Claims.cpp
  mlir::LogicalResult isCopier(gpu::Lowering& to, tilegpu::IsCopierOp op) override;                                    // Roles.cpp
  mlir::LogicalResult warpLeast(gpu::Lowering& to, tilegpu::WarpLeastOp op) override;                                  // Roles.cpp
  mlir::LogicalResult groupLast(gpu::Lowering& to, tilegpu::GroupLastOp op) override;                                  // Roles.cpp
  mlir::LogicalResult setRegisters(gpu::Lowering& to, tilegpu::SetRegistersOp op) override;                            // Roles.cpp
  mlir::LogicalResult mark(gpu::Lowering& to, tilegpu::MarkOp op) override;                                            // Marks.cpp
  mlir::LogicalResult turnWait(gpu::Lowering& to, tilegpu::TurnWaitOp op) override;                                    // Roles.cpp
  mlir::LogicalResult turnPass(gpu::Lowering& to, tilegpu::TurnPassOp op) override;                                    // Roles.cpp
  mlir::LogicalResult slotAcquire(gpu::Lowering& to, tilegpu::SlotAcquireOp op) override;                              // Owners.cpp
  mlir::LogicalResult slotCommit(gpu::Lowering& to, tilegpu::SlotCommitOp op) override;                                // Owners.cpp
  mlir::LogicalResult slotWait(gpu::Lowering& to, tilegpu::SlotWaitOp op) override;                                    // Owners.cpp
  mlir::LogicalResult ownerOnly(gpu::Lowering& to, tilegpu::OwnerOnlyOp op) override;                                  // Owners.cpp
  mlir::LogicalResult initBarriers(gpu::Lowering& to, tilegpu::InitBarriersOp op) override;                            // BoxCopies.cpp
  mlir::LogicalResult dotAsync(gpu::Lowering& to, tilegpu::DotAsyncOp op) override;                                    // DotAsync.cpp
  mlir::LogicalResult dotWait(gpu::Lowering& to, tilegpu::DotWaitOp op) override;                                      // DotAsync.cpp
  mlir::LogicalResult fenceAsync(gpu::Lowering& to, tilegpu::FenceAsyncOp op) override;                                // DotAsync.cpp
  void awaitLaunches(gpu::Lowering& to) override;
  mlir::LogicalResult devicePrint(gpu::Lowering& to, tile::DevicePrintOp op) override;  // Print.cpp

 private:
  mlir::LogicalResult storeByMatrices(gpu::Lowering& to, tilegpu::StoreBufferOp op);  // SharedMemory.cpp

  std::array<mlir::Value, 2> markPlaces_;  ///< where the thread's next mark goes, in a role that computes and in one that copies
  int capability_ = 80;
  int addedBytes_ = 4;          ///< Target::addedBytes
  int64_t barrierThreads_ = 0;  ///< 0: all of the block
};

/// Blocks that share copies (Clusters.cpp): until all of them are here; this block's number among them; an arrival of the warp on the
/// barrier that lies at this address in each of them.
void meetCluster(gpu::Lowering& to, mlir::Operation* op);
mlir::Value clusterRank(gpu::Lowering& to, mlir::Operation* op);
void arriveInCluster(gpu::Lowering& to, mlir::Operation* op, mlir::Value barrier);

/// Makes the barrier objects of the function's claims, if it has some. Claims.cpp.
void initClaims(gpu::Lowering& to, mlir::func::FuncOp function);

std::unique_ptr<gpu::Machine> makeMachine(const gpu::Target& target);

/// The copy of a window by boxes of a tensor map, and the wait for it. BoxCopies.cpp.
mlir::LogicalResult copyBoxes(gpu::Lowering& to, tilegpu::CopyAsyncOp op);
mlir::LogicalResult waitForBoxes(gpu::Lowering& to, tilegpu::CopyWaitOp op);

/// A call of an LLVM intrinsic with one result, or none where `type` is null.
mlir::Value intrinsic(mlir::ImplicitLocOpBuilder& b, llvm::StringRef name, mlir::Type type, mlir::ValueRange operands);

}  // namespace fattn::nvidia

#endif
