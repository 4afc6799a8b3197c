// SPDX-License-Identifier: Apache-2.0
// Memory under a condition, and atomic additions.
//
//   load  address if p, else zeros     =>  load select(p, address, @fattn_zeros)        16 bytes of zeros in the code object
//   the same where all lanes agree     =>  load select(p, row, @fattn_row_of_zeros) + offset of the lane        in scalar registers
//   store value if p                   =>  scf.if p { store }
//
// Loads have no branch: many are under way at once, where the code generator would wait for each at a branch's end. Stores have one, since
// there is nothing to wait for. Test: tests/lit/amd/memory.mlir.
#include "compiler/amd/Machine.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::amd {
namespace {

/// The most bytes of one access.
constexpr unsigned kWidest = 16;
/// Zeros that a wave's lanes read next to each other.
constexpr int64_t kRowOfZeros = 1024;

unsigned bytesOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  Type element = getElementTypeOrSelf(type);
  unsigned bits = isa<LLVM::LLVMPointerType>(element) ? 64 : element.getIntOrFloatBitWidth();
  return bits / 8 * (vector ? static_cast<unsigned>(vector.getNumElements()) : 1);
}

bool isZero(Value value) {
  if (auto cast = value.getDefiningOp<LLVM::BitcastOp>()) return isZero(cast.getArg());
  if (auto insert = value.getDefiningOp<LLVM::InsertElementOp>())
    return isZero(insert.getValue()) && (insert.getVector().getDefiningOp<LLVM::PoisonOp>() || isZero(insert.getVector()));
  return matchPattern(value, m_Zero()) || matchPattern(value, m_PosZeroFloat());
}

/// Runs `emit` where the predicate holds (null: always).
void guarded(ImplicitLocOpBuilder& b, Value predicate, llvm::function_ref<void()> emit) {
  OpBuilder::InsertionGuard behind(b);
  if (predicate) b.setInsertionPointToStart(scf::IfOp::create(b, predicate, /*withElseRegion=*/false).thenBlock());
  emit();
}

}  // namespace

Value Machine::zeros(ImplicitLocOpBuilder& b, int64_t bytes) {
  if (bytes > kRowOfZeros) return {};
  return addressOf(b, "fattn_row_of_zeros", LLVM::LLVMArrayType::get(b.getI8Type(), kRowOfZeros), 1, /*isConstant=*/true);
}

Value Machine::orZeros(ImplicitLocOpBuilder& b, Value predicate, Value address) {
  auto zeros = LLVM::LLVMArrayType::get(b.getI8Type(), kWidest);
  return LLVM::SelectOp::create(b, predicate, address, addressOf(b, "fattn_zeros", zeros, 1, /*isConstant=*/true));
}

Value Machine::loadGlobal(ImplicitLocOpBuilder& b, Value address, Type type, Value predicate, Value other) {
  unsigned bytes = bytesOf(type);
  if (!predicate) return LLVM::LoadOp::create(b, type, address, bytes);
  Value loaded = LLVM::LoadOp::create(b, type, orZeros(b, predicate, address), bytes);
  return isZero(other) ? loaded : LLVM::SelectOp::create(b, predicate, loaded, other).getResult();
}

void Machine::storeGlobal(ImplicitLocOpBuilder& b, Value address, Value value, Value predicate) {
  guarded(b, predicate, [&] { LLVM::StoreOp::create(b, value, address, bytesOf(value.getType())); });
}

void Machine::storeShared(ImplicitLocOpBuilder& b, Value address, Value value, Value predicate) {
  guarded(b, predicate, [&] { LLVM::StoreOp::create(b, value, address, bytesOf(value.getType())); });
}

Value Machine::atomicAdd(ImplicitLocOpBuilder& b, Value address, Value value, Value predicate, tile::MemoryOrder order, bool used) {
  auto ordering = order == tile::MemoryOrder::relaxed ? LLVM::AtomicOrdering::monotonic : LLVM::AtomicOrdering::acq_rel;
  auto kind = isa<FloatType>(value.getType()) ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
  auto add = [&](OpBuilder& at, Location loc) -> Value {
    return LLVM::AtomicRMWOp::create(at, loc, kind, address, value, ordering, "agent");
  };
  if (!predicate) return add(b, b.getLoc());
  if (!used) {
    guarded(b, predicate, [&] { add(b, b.getLoc()); });
    return {};
  }
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(value.getType()));
  auto branch = scf::IfOp::create(
      b, predicate, [&](OpBuilder& at, Location loc) { scf::YieldOp::create(at, loc, add(at, loc)); },
      [&](OpBuilder& at, Location loc) { scf::YieldOp::create(at, loc, zero); });
  return branch.getResult(0);
}

}  // namespace fattn::amd
