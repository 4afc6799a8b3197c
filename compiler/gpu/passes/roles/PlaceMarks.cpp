// SPDX-License-Identifier: Apache-2.0
// Marks where a warp group issues a dot or a copy, and where it waits:
//
//   turn_wait                                   mark 0          // "begin turn"
//   %s = dot_async %q[%i], %k[%j], %zero        turn_wait
//   ...                                   =>    mark 1          // "end turn"
//   %t = dot_wait %s                            mark 2          // "issue q*k"
//                                               %s = dot_async %q[%i], %k[%j], %zero
//                                               ...
//                                               mark 3          // "begin wait q*k"
//                                               %t = dot_wait %s
//                                               mark 4          // "end wait q*k"
//
// Dots are named by the arguments that their operands in shared memory come from ("*v" has its other operand in registers), waits for
// copies and copies by that of the buffer. What lies between marks is arithmetic. Not marked is what select_lazy does again, and warps
// that copy without one thread of their own.
//
// Test: tests/lit/gpu/place-marks.mlir.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_PLACEMARKSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

class Marks {
 public:
  void placeIn(func::FuncOp function) {
    SmallVector<Operation*> found;
    function.walk([&](Operation* op) { found.push_back(op); });
    for (Operation* op : found)
      if (isMarked(op)) place(op);
    SmallVector<StringRef> texts(texts_.begin(), texts_.end());
    function->setAttr(kMarksAttr, Builder(function.getContext()).getStrArrayAttr(texts));
  }

 private:
  static bool isMarked(Operation* op) {
    if (op->getParentOfType<tile::SelectLazyOp>()) return false;
    bool copies = false;
    for (auto branch = op->getParentOfType<scf::IfOp>(); branch; branch = branch->getParentOfType<scf::IfOp>()) {
      auto test = branch.getCondition().getDefiningOp<IsCopierOp>();
      if (!test || !branch.getThenRegion().isAncestor(op->getParentRegion())) continue;
      if (test.getThread()) return true;
      copies = true;
    }
    return !copies;
  }

  void place(Operation* op) {
    if (isa<TurnWaitOp>(op)) return around(op, "turn");
    if (isa<BarrierOp>(op)) return around(op, "barrier");
    if (auto wait = dyn_cast<CopyWaitOp>(op)) {
      CopyAsyncOp copy = wait.getTokens().empty() ? CopyAsyncOp() : firstCopy(wait.getTokens()[0]);
      return around(op, copy ? "wait " + nameOf(copy.getBuffer()) : "wait");
    }
    if (auto dot = dyn_cast<DotAsyncOp>(op)) return mark(op, false, "issue " + nameOf(dot));
    if (auto wait = dyn_cast<DotWaitOp>(op))
      if (auto dot = wait.getValue().getDefiningOp<DotAsyncOp>(); dot && !wait.getCovered()) return around(op, "wait " + nameOf(dot));
    if (isa<tile::DotOp>(op)) return around(op, "dot " + std::to_string(++dots_));
    if (auto copy = dyn_cast<CopyAsyncOp>(op)) {
      auto made = op->getAttrOfType<StringAttr>("tilegpu.made");
      if (!made || made.getValue() != "elsewhere") around(op, "copy " + nameOf(copy.getBuffer()));
    }
  }

  static CopyAsyncOp firstCopy(Value token) {
    const CopySet copies = copiesOf(token);
    return copies.empty() ? CopyAsyncOp() : copies[0];
  }

  std::string nameOf(Value buffer) {
    for (Operation* user : buffer.getUsers())
      if (auto copy = dyn_cast<CopyAsyncOp>(user))
        if (StringRef name = argumentOf(copy.getPtr()); !name.empty()) return name.str();
    auto [at, fresh] = buffers_.try_emplace(buffer, buffers_.size());
    return "buffer" + std::to_string(at->second);
  }

  std::string nameOf(DotAsyncOp dot) {
    return (isa<BufferType>(dot.getA().getType()) ? nameOf(dot.getA()) : "") + "*" + nameOf(dot.getB());
  }

  void around(Operation* op, const std::string& what) {
    mark(op, false, "begin " + what);
    mark(op, true, "end " + what);
  }

  void mark(Operation* op, bool behind, const std::string& text) {
    OpBuilder b(op);
    if (behind) b.setInsertionPointAfter(op);
    auto known = llvm::find(texts_, text);
    if (known == texts_.end()) known = texts_.insert(known, text);
    MarkOp::create(b, op->getLoc(), std::distance(texts_.begin(), known));
  }

  int dots_ = 0;  ///< those that a warp waits for at once, which have numbers
  std::vector<std::string> texts_;
  llvm::DenseMap<Value, size_t> buffers_;
};

class PlaceMarksPass : public impl::PlaceMarksPassBase<PlaceMarksPass> {
 public:
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function.isDeclaration() && function->hasAttr(kTargetAttr)) Marks().placeIn(function);
  }
};

}  // namespace

}  // namespace fattn::tilegpu
