// SPDX-License-Identifier: Apache-2.0
// Cuts products into steps of the matrix instruction's depth, each with the fragments it needs, so that few are alive at a time:
//
//   %a = load_buffer %q[0] : -> 128x128              %a0 = load_buffer %q[0] {offsets = [0, 0]} : -> 128x16
//   %b = load_buffer %k[%s] : -> 64x128              %b0 = load_buffer %k[%s] {offsets = [0, 0]} : -> 64x16
//   %t = trans %b                                    %t0 = trans %b0
//   %d = tile.dot %a, %t, %c                   =>    %a1, %t1 of offsets 16
//                                                    %d0 = tile.dot %a0, %t0, %c
//                                                    %a2, %t2 of offsets 32
//                                                    %d1 = tile.dot %a1, %t1, %d0 ...
//
// The fragments of the next step are loaded before the dot of this one. An operand that is not read from shared memory for this dot alone
// (it was computed, or loaded before a loop) is cut in registers by tilegpu.slice, which moves nothing. All steps are equal.
//
// Assumption: A1 the buffer that an operand is read from is not written between the read and the dot; else registers are cut. Test:
// tests/lit/gpu/slice-dots.mlir.
#include "compiler/gpu/dialect/SourceLabels.h"
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/DotShapes.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/layout/Tiling.h"
#include "fattn/Error.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_SLICEDOTSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// One operand of a dot, to be cut along dimension `along`.
class Operand {
 public:
  /// Nothing where its layout cannot be cut.
  static std::optional<Operand> make(tile::DotOp dot, Value value, int along, int64_t size) {
    Operand result{value, along};
    auto type = cast<RankedTensorType>(value.getType());
    auto part = layout::firstElements(*layoutOf(type), along, size);
    if (!part) return std::nullopt;
    SmallVector<int64_t> shape(type.getShape());
    shape[along] = size;
    result.part = withLayout(RankedTensorType::get(shape, type.getElementType()), *part);
    Value source = value;
    if (auto trans = value.getDefiningOp<tile::TransOp>(); trans && trans->hasOneUse()) result.trans = trans, source = trans.getInput();
    auto load = source.getDefiningOp<LoadBufferOp>();
    bool movable = load && load->hasOneUse() && load->getBlock() == dot->getBlock() && !isWrittenBetween(load, dot, load.getBuffer());
    if (movable) result.load = load;
    return result;
  }

  /// Elements offset .. offset+size-1 of it.
  Value step(OpBuilder& b, Location loc, int64_t offset) const {
    SmallVector<int64_t> offsets(2, 0);
    offsets[along] = offset;
    if (!load) return SliceOp::create(b, loc, part, value, b.getDenseI64ArrayAttr(offsets));
    auto read = [&](RankedTensorType type, ArrayRef<int64_t> at) -> Value {
      SmallVector<int64_t> from(load.getOffsets());
      from.resize(2, 0);
      for (auto [f, o] : llvm::zip(from, at)) f += o;
      auto fragment = LoadBufferOp::create(b, loc, type, load.getBuffer(), load.getSlot(), b.getDenseI64ArrayAttr(from));
      copySourceLabel(load, fragment);
      return fragment;
    };
    if (!trans) return read(part, offsets);
    const int swap[] = {1, 0};
    SmallVector<int64_t> shape = {part.getDimSize(1), part.getDimSize(0)};
    auto inBuffer = withLayout(RankedTensorType::get(shape, part.getElementType()), layoutOf(part)->transpose(swap));
    return tile::TransOp::create(b, loc, part, read(inBuffer, {offsets[1], offsets[0]}), ArrayRef<int64_t>{1, 0});
  }

  void eraseIfUnused() const {
    if (trans && trans->use_empty()) trans->erase();
    if (load && load->use_empty()) load->erase();
  }

 private:
  Operand(Value value, int along) : value(value), along(along) {}
  Value value;
  int along;
  RankedTensorType part;
  mutable tile::TransOp trans;
  mutable LoadBufferOp load;
};

void slice(tile::DotOp dot) {
  std::optional<DotInstruction> instruction = instructionOf(dot);
  int64_t depth = dot.getA().getType().getDimSize(1), size = instruction ? instruction->depth : depth;
  if (size == depth || !layoutOf(dot.getA()) || !layoutOf(dot.getB())) return;
  auto a = Operand::make(dot, dot.getA(), 1, size), b = Operand::make(dot, dot.getB(), 0, size);
  if (!a || !b) return;
  OpBuilder builder(dot);
  Location loc = dot.getLoc();
  auto fragments = [&](int64_t offset) {
    Value first = a->step(builder, loc, offset), second = b->step(builder, loc, offset);
    return std::pair(first, second);
  };
  Value acc = dot.getAcc();
  const int64_t used = std::min(depth, usedPartOf(dot).depth);
  dot->removeAttr(kUsedAttr);  // of the whole
  std::pair<Value, Value> now = fragments(0);
  for (int64_t offset = 0; offset < used; offset += size) {
    std::pair<Value, Value> next;
    if (offset + size < used) next = fragments(offset + size);
    auto step = tile::DotOp::create(builder, loc, dot.getType(), now.first, now.second, acc, dot.getPrecision());
    step->setDiscardableAttrs(dot->getDiscardableAttrDictionary());
    acc = step;
    now = next;
  }
  dot.getResult().replaceAllUsesWith(acc);
  dot.erase();
  a->eraseIfUnused();
  b->eraseIfUnused();
}

class SliceDotsPass : public impl::SliceDotsPassBase<SliceDotsPass> {
 public:
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isDeclaration()) continue;
      try {
        SmallVector<tile::DotOp> dots;
        func.walk([&](tile::DotOp dot) { dots.push_back(dot); });
        for (tile::DotOp dot : dots) slice(dot);
      } catch (const Error& error) {
        func.emitError() << error.what();
        return signalPassFailure();
      }
    }
  }
};

}  // namespace

}  // namespace fattn::tilegpu
