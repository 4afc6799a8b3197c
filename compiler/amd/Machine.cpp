// SPDX-License-Identifier: Apache-2.0
// Threads, programs, and what lanes of a wave or waves of a block tell each other.
//
// Lanes exchange words without memory where the distance allows: quads and rows of 16 by DPP (data-parallel primitives, a modifier of
// vector instructions), else by the crossbar of the LDS (ds_swizzle within 32 lanes, ds_bpermute).
// Source: "AMD Instinct MI300 Instruction Set Architecture", sections 4.8 and 11 (DPP, LDS); "RDNA3 Instruction Set Architecture", 16.7.
// Test: tests/lit/amd/machine.mlir.
#include "compiler/amd/Machine.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;

namespace fattn::amd {
namespace {

Value number(ImplicitLocOpBuilder& b, int64_t value) { return arith::ConstantIntOp::create(b, value, 32); }

/// DPP controls.
constexpr uint32_t kRowXorMask = 0x160;  ///< + mask: lane ^ mask within 16 lanes; RDNA
constexpr uint32_t quadPermute(int mask) {
  uint32_t control = 0;
  for (int lane = 0; lane < 4; ++lane) control |= static_cast<uint32_t>(lane ^ mask) << (2 * lane);
  return control;
}

Value dpp(ImplicitLocOpBuilder& b, Value word, uint32_t control) {
  // Every lane has a source: what a lane without one would keep is never seen.
  Value old = LLVM::PoisonOp::create(b, word.getType());
  return ROCDL::DPPUpdateOp::create(b, word.getType(), old, word, control, /*rowMask=*/0xf, /*bankMask=*/0xf, /*boundCtrl=*/true);
}

/// The name of the array that waves of a block vote in.
constexpr StringLiteral kVotes = "fattn_votes";

}  // namespace

Value intrinsic(ImplicitLocOpBuilder& b, StringRef name, Type type, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name), operands).getResult(0);
}

Value Machine::threadId(ImplicitLocOpBuilder& b) { return ROCDL::ThreadIdXOp::create(b, b.getI32Type()); }

Value Machine::programId(ImplicitLocOpBuilder& b, int axis) {
  Type type = b.getI32Type();
  if (axis == 0) return ROCDL::BlockIdXOp::create(b, type);
  if (axis == 1) return ROCDL::BlockIdYOp::create(b, type);
  return ROCDL::BlockIdZOp::create(b, type);
}

/// The first three words behind the arguments are the numbers of blocks (LLVM, "User Guide for AMDGPU Backend", code object V5, hidden
/// arguments).
Value Machine::numPrograms(ImplicitLocOpBuilder& b, int axis) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 4);
  Value hidden = intrinsic(b, "llvm.amdgcn.implicitarg.ptr", pointer, {});
  Value place = LLVM::GEPOp::create(b, pointer, b.getI32Type(), hidden, ArrayRef<LLVM::GEPArg>{axis});
  return LLVM::LoadOp::create(b, b.getI32Type(), place, /*alignment=*/4, /*isVolatile=*/false, /*isNonTemporal=*/false,
                              /*isInvariant=*/true);
}

Value Machine::uniform(ImplicitLocOpBuilder& b, Value word) { return ROCDL::ReadfirstlaneOp::create(b, word.getType(), word); }

Value Machine::shuffleXor(ImplicitLocOpBuilder& b, Value word, int mask) {
  Type type = word.getType();
  Value bits = type.isInteger(32) ? word : LLVM::BitcastOp::create(b, b.getI32Type(), word).getResult();
  Value result;
  if (mask < 4) {
    result = dpp(b, bits, quadPermute(mask));
  } else if (mask < 16 && !isCdna()) {
    result = dpp(b, bits, kRowXorMask + static_cast<uint32_t>(mask));
  } else if (mask < 32) {
    // Bit mode: lane & 31, | 0, ^ mask.
    result = ROCDL::DsSwizzleOp::create(b, b.getI32Type(), bits, number(b, mask << 10 | 0x1f));
  } else {
    Value lane = arith::AndIOp::create(b, threadId(b), number(b, target_.warpSize - 1));
    result = shuffle(b, bits, arith::XOrIOp::create(b, lane, number(b, mask)));
  }
  return type.isInteger(32) ? result : LLVM::BitcastOp::create(b, type, result).getResult();
}

Value Machine::shuffle(ImplicitLocOpBuilder& b, Value word, Value from) {
  Type type = word.getType();
  Value bits = type.isInteger(32) ? word : LLVM::BitcastOp::create(b, b.getI32Type(), word).getResult();
  Value byte = arith::ShLIOp::create(b, from, number(b, 2));
  Value result = ROCDL::DsBpermuteOp::create(b, b.getI32Type(), byte, bits);
  return type.isInteger(32) ? result : LLVM::BitcastOp::create(b, type, result).getResult();
}

/// v_perm_b32: numbers 0 to 3 are the bytes of its second operand, 4 to 7 those of its first.
Value Machine::permuteBytes(ImplicitLocOpBuilder& b, Value first, Value second, Value selector) {
  return intrinsic(b, "llvm.amdgcn.perm", b.getI32Type(), {second, first, selector});
}

int64_t Machine::byteSelector(std::array<int, 2> halves) const {
  auto bytes = [](int half) { return int64_t{2 * half} | int64_t{2 * half + 1} << 8; };
  return bytes(halves[0]) | bytes(halves[1]) << 16;
}

/// Votes decide about exact sides, which are rare: the code generator then lays them behind the loop, and keeps what the usual side carries
/// where it is.
static Value rarely(ImplicitLocOpBuilder& b, Value condition) {
  return LLVM::ExpectOp::create(b, condition, arith::ConstantIntOp::create(b, 0, 1));
}

Value Machine::anyInWarp(ImplicitLocOpBuilder& b, Value condition) {
  Type lanes = b.getIntegerType(static_cast<unsigned>(target_.warpSize));
  Value ballot = ROCDL::BallotOp::create(b, lanes, condition), none = arith::ConstantOp::create(b, b.getIntegerAttr(lanes, 0));
  return rarely(b, arith::CmpIOp::create(b, arith::CmpIPredicate::ne, ballot, none));
}

/// Each wave stores its answer, and reads those of all behind a barrier. A barrier at the end keeps the next vote's answers out until all
/// have read these. Where the answers take a buffer's bytes, a barrier in front lets its readers finish.
Value Machine::anyInBlock(gpu::Lowering& to, Value condition, std::optional<int64_t> votes) {
  ImplicitLocOpBuilder& b = to.b;
  Value own = anyInWarp(b, condition);
  if (waves_ == 1) return own;
  Type word = b.getI32Type();
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 3);
  Value base;
  if (votes) {
    barrier(b, gpu::Visible::Shared);
    base = LLVM::GEPOp::create(b, pointer, b.getI8Type(), to.sharedBase, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(*votes)});
  } else {
    base = addressOf(b, kVotes, LLVM::LLVMArrayType::get(word, static_cast<unsigned>(waves_)), 3, /*isConstant=*/false);
  }
  auto place = [&](Value wave) { return LLVM::GEPOp::create(b, pointer, word, base, ArrayRef<LLVM::GEPArg>{wave}); };
  Value thread = threadId(b), size = number(b, target_.warpSize);
  // All lanes store the same to the same place.
  LLVM::StoreOp::create(b, arith::ExtUIOp::create(b, word, own), place(uniform(b, arith::DivUIOp::create(b, thread, size))), 4);
  barrier(b, gpu::Visible::Shared);
  Value lane = arith::AndIOp::create(b, thread, number(b, target_.warpSize - 1));
  Value vote = LLVM::LoadOp::create(b, word, place(arith::MinUIOp::create(b, lane, number(b, waves_ - 1))), 4);
  Value any = anyInWarp(b, arith::CmpIOp::create(b, arith::CmpIPredicate::ne, vote, number(b, 0)));
  barrier(b, gpu::Visible::Shared);
  return any;
}

/// The waits that a release fence is: LLVM 22 may leave out a fence's own in a loop, where it finds nothing to wait for on the way into the
/// loop and forgets about the way back (github.com/llvm/llvm-project/pull/220357). These it leaves where they are. Global memory is waited
/// for where the waves of a block have several caches in front of it.
void Machine::waitForOwnAccesses(ImplicitLocOpBuilder& b, gpu::Visible visible) {
  const bool waitsForGlobal = visible != gpu::Visible::Shared && !isCdna();
  if (target_.barriers.counters) {
    ROCDL::WaitDscntOp::create(b, 0);
    if (!waitsForGlobal) return;
    ROCDL::WaitLoadcntOp::create(b, 0);
    ROCDL::WaitStorecntOp::create(b, 0);
    return;
  }
  // The fields of s_waitcnt: all ones but for the counters that are waited for.
  constexpr uint32_t kLocalOfGfx9 = 0xc07f, kLocalOfGfx11 = 0xfc07, kLocalAndLoadsOfGfx11 = 0x0007;
  ROCDL::SWaitcntOp::create(b, isCdna() ? kLocalOfGfx9 : waitsForGlobal ? kLocalAndLoadsOfGfx11 : kLocalOfGfx11);
  if (waitsForGlobal)
    LLVM::InlineAsmOp::create(b, TypeRange(), ValueRange(), "s_waitcnt_vscnt null, 0x0", "", /*has_side_effects=*/true,
                              /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

/// LLVM 22 sinks loads into a branch behind a barrier (MachineSink): neither fences nor barriers are stores to it. This is one, of no
/// instruction.
static void accessesAnyMemory(ImplicitLocOpBuilder& b) {
  LLVM::InlineAsmOp::create(b, TypeRange(), ValueRange(), "", "~{memory}", /*has_side_effects=*/true, /*is_align_stack=*/false,
                            LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

void Machine::orderForWave(ImplicitLocOpBuilder& b, LLVM::AtomicOrdering ordering) { LLVM::FenceOp::create(b, ordering, "wavefront"); }

/// Fences say which memory has to be visible: those for shared memory alone let loads from global memory stay under way. They would wait
/// for asynchronous copies to shared memory; where there are some, the wait of our own is all that is waited for.
void Machine::barrier(ImplicitLocOpBuilder& b, gpu::Visible visible) {
  auto fence = [&](LLVM::AtomicOrdering ordering) {
    if (copies_ && visible == gpu::Visible::Shared) return orderForWave(b, ordering);
    auto op = LLVM::FenceOp::create(b, ordering, "workgroup");
    if (visible == gpu::Visible::Shared)
      op->setDiscardableAttr(LLVM::LLVMDialect::getMmraAttrName(),
                             LLVM::MMRATagAttr::get(b.getContext(), "amdgpu-synchronize-as", "local"));
  };
  fence(LLVM::AtomicOrdering::release);
  waitForOwnAccesses(b, visible);
  if (visible == gpu::Visible::All) accessesAnyMemory(b);
  ROCDL::SBarrierOp::create(b);
  fence(LLVM::AtomicOrdering::acquire);
}

/// The nearest bf16 number's bits are the upper half of the sum of f32's bits, 0x7fff, and the last bit that is kept. A NaN's bits may
/// overflow there: V_DIV_FIXUP_F32 takes the sum for x / 1, which it is but for NaN, and repairs that as it does for any quotient.
static Value roundedToBF16(ImplicitLocOpBuilder& b, Value x) {
  Type word = b.getI32Type();
  Value bits = LLVM::BitcastOp::create(b, word, x);
  Value last = arith::AndIOp::create(b, arith::ShRUIOp::create(b, bits, number(b, 16)), number(b, 1));
  Value sum = arith::AddIOp::create(b, arith::AddIOp::create(b, bits, last), number(b, 0x7fff));
  Value one = arith::ConstantOp::create(b, b.getF32FloatAttr(1));
  Value fixed = intrinsic(b, "llvm.amdgcn.div.fixup.f32", x.getType(), {LLVM::BitcastOp::create(b, x.getType(), sum), one, x});
  return LLVM::BitcastOp::create(b, word, fixed);
}

static Value vectorOf(ImplicitLocOpBuilder& b, Value low, Value high) {
  Value pair = LLVM::PoisonOp::create(b, VectorType::get(2, low.getType()));
  pair = LLVM::InsertElementOp::create(b, pair, low, number(b, 0));
  return LLVM::InsertElementOp::create(b, pair, high, number(b, 1));
}

/// The same for numbers below 2^100: half of a last place is added, and a tie goes away from zero. One operation on a pair of numbers does
/// not exist for it; those that multiply pairs LLVM takes apart again beneath products.
static Value moderateToBF16(ImplicitLocOpBuilder& b, Value x) {
  return arith::AddIOp::create(b, LLVM::BitcastOp::create(b, b.getI32Type(), x), number(b, 0x8000));
}

Value Machine::truncatePair(ImplicitLocOpBuilder& b, Value low, Value high, Type element, bool moderate) {
  auto pairOf = VectorType::get(2, element);
  if (!element.isBF16() || target_.rates.convertsToBF16) return LLVM::FPTruncOp::create(b, pairOf, vectorOf(b, low, high));
  const auto round = moderate ? moderateToBF16 : roundedToBF16;
  Value first = round(b, low), second = round(b, high);
  Value pair = permuteBytes(b, first, second, number(b, byteSelector({1, 3})));  // the upper halves
  return LLVM::BitcastOp::create(b, pairOf, pair);
}

LogicalResult Machine::devicePrint(gpu::Lowering&, tile::DevicePrintOp op) {
  return op.emitOpError() << "has no lowering for " << target_.name << ", whose driver offers no text output; the host prints";
}

Value Machine::addressOf(ImplicitLocOpBuilder& b, StringRef name, Type type, unsigned space, bool isConstant) {
  if (!module_.lookupSymbol(name)) {
    OpBuilder builder = OpBuilder::atBlockBegin(module_.getBody());
    auto global = LLVM::GlobalOp::create(builder, module_.getLoc(), type, isConstant, LLVM::Linkage::Internal, name, Attribute(),
                                         /*alignment=*/16, space);
    builder.createBlock(&global.getInitializerRegion());
    Value content = isConstant ? LLVM::ZeroOp::create(builder, module_.getLoc(), type).getResult()
                               : LLVM::PoisonOp::create(builder, module_.getLoc(), type).getResult();
    LLVM::ReturnOp::create(builder, module_.getLoc(), content);
  }
  return LLVM::AddressOfOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), space), name);
}

}  // namespace fattn::amd
