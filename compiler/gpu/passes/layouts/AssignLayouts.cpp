// SPDX-License-Identifier: Apache-2.0
// Gives every tile a layout, from the dots outwards, and converts where two meet:
//
//   %x = tile.load %p : tensor<64x16xbf16>            %x = tile.load %p : tensor<64x16xbf16, #coalesced>
//   %r = tile.dot %x, %y, %acc : ...           =>     %a = tilegpu.convert_layout %x : #coalesced -> #a
//   %e = math.exp2 %r : tensor<64x8xf32>              %r = tile.dot %a, %b, %acc : ... -> tensor<64x8xf32, #c>
//                                                     %e = math.exp2 %r : tensor<64x8xf32, #c>
//
// Constants, splats, aranges and cheap arithmetic on them have no home of their own: they are made again in every layout that is asked for.
// How the layouts are found is said in AssignLayoutsSolve.cpp; the function is given the attributes tilegpu.target and tilegpu.warps.
// Test: tests/lit/gpu/assign-layouts.mlir.
#include "compiler/gpu/passes/layouts/AssignLayouts.h"

#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/roles/OwnedDots.h"
#include "compiler/gpu/passes/roles/PairedDots.h"
#include "compiler/gpu/passes/roles/Roles.h"
#include "fattn/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_ASSIGNLAYOUTSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

class Rewriter {
 public:
  Rewriter(Assignment& assignment, LayoutPool& pool) : assignment_(assignment), pool_(pool) {}
  LogicalResult run(func::FuncOp function);

 private:
  RankedTensorType typed(Value v, LayoutId id) const { return withLayout(cast<RankedTensorType>(v.getType()), pool_[id]); }
  Value in(Value v, LayoutId id, Operation* user);
  Value make(Value cheap, LayoutId id);
  LogicalResult rewrite(Operation* op, const Placement& placement);
  void settle(OpResult result, LayoutId natural);

  Assignment& assignment_;
  LayoutPool& pool_;
  llvm::DenseMap<std::pair<Value, LayoutId>, Value> made_;
};

/// A cheap value once more, in this layout, where it was made.
Value Rewriter::make(Value cheap, LayoutId id) {
  if (Value made = made_.lookup({cheap, id})) return made;
  Operation* op = cheap.getDefiningOp();
  SmallVector<Value> operands(op->getOperands());
  for (auto [operand, layout] : llvm::zip_equal(operands, placeCheap(op, id, pool_).operands))
    if (layout != kNoLayout) operand = make(operand, layout);
  OpBuilder b(op);
  return made_[{cheap, id}] = cloneInLayout(b, op, operands, pool_[id]);
}

Value Rewriter::in(Value v, LayoutId id, Operation* user) {
  if (assignment_.isCheap(v)) return make(v, id);
  RankedTensorType type = typed(v, id);
  if (v.getType() == type) return v;
  auto converted = v.getDefiningOp<ConvertLayoutOp>();
  if (converted && converted.getInput().getType() == type) return converted.getInput();
  OpBuilder b(user);
  return ConvertLayoutOp::create(b, user->getLoc(), type, v);
}

/// A result comes out in its natural layout and is brought home.
void Rewriter::settle(OpResult result, LayoutId natural) {
  LayoutId home = assignment_.home(result);
  result.setType(typed(result, natural));
  if (home == natural || home == kNoLayout) return;
  OpBuilder b(result.getContext());
  b.setInsertionPointAfter(result.getOwner());
  auto brought = ConvertLayoutOp::create(b, result.getLoc(), typed(result, home), result);
  result.replaceAllUsesExcept(brought.getResult(), brought);
}

LogicalResult Rewriter::rewrite(Operation* op, const Placement& placement) {
  auto missing = [&](Value v, LayoutId id) { return isTileValue(v) && id == kNoLayout; };
  bool fails = llvm::any_of(llvm::zip_equal(op->getOperands(), placement.operands), [&](auto p) { return std::apply(missing, p); }) ||
               llvm::any_of(llvm::zip_equal(op->getResults(), placement.results), [&](auto p) { return std::apply(missing, p); });
  if (fails)
    return op->emitOpError() << "has no layout of its tiles in registers; legal are the operations of tile, arith, math and scf, and a "
                                "reshape where of dimensions that are merged or split only the outermost has an odd factor";
  for (auto [i, operand] : llvm::enumerate(placement.operands))
    if (operand != kNoLayout) op->setOperand(static_cast<unsigned>(i), in(op->getOperand(static_cast<unsigned>(i)), operand, op));
  if (auto dot = dyn_cast<tile::DotOp>(op)) {
    const DotOption& option = assignment_.optionOf(dot);
    auto name = StringAttr::get(op->getContext(), llvm::StringRef(option.row->name));
    op->setAttr(kInstructionAttr, InstructionAttr::get(op->getContext(), name, option.depth, option.sharedA, option.sharedB));
  }
  for (auto [result, natural] : llvm::zip_equal(op->getResults(), placement.results))
    if (natural != kNoLayout) settle(result, natural);
  for (Region& region : op->getRegions())
    for (BlockArgument arg : region.getArguments())
      if (isTileValue(arg)) arg.setType(typed(arg, assignment_.home(arg)));
  return success();
}

LogicalResult Rewriter::run(func::FuncOp function) {
  SmallVector<Operation*> cheap;
  SmallVector<std::pair<Operation*, Placement>> operations;  // all of them before the first is changed
  function.walk<WalkOrder::PreOrder>([&](Operation* op) {
    if (op == function) return;
    bool touches = llvm::any_of(op->getOperands(), isTileValue) || llvm::any_of(op->getResults(), isTileValue) || op->getNumRegions();
    bool isCheap = op->getNumResults() == 1 && isTileValue(op->getResult(0)) && assignment_.isCheap(op->getResult(0));
    if (isCheap) {
      cheap.push_back(op);
    } else if (touches) {
      operations.emplace_back(op, assignment_.place(op));
    }
  });
  for (BlockArgument arg : function.getArguments())
    if (isTileValue(arg)) arg.setType(typed(arg, assignment_.home(arg)));
  for (auto& [op, placement] : operations)
    if (failed(rewrite(op, placement))) return failure();
  for (Operation* op : llvm::reverse(cheap)) {
    assert(op->use_empty());
    op->erase();
  }
  Operation* last = function.getBody().front().getTerminator();
  function.setType(FunctionType::get(function.getContext(), function.getBody().getArgumentTypes(), last->getOperandTypes()));
  return success();
}

class AssignLayoutsPass : public impl::AssignLayoutsPassBase<AssignLayoutsPass> {
 public:
  using AssignLayoutsPassBase::AssignLayoutsPassBase;

  void runOnOperation() override {
    try {
      const gpu::Target& machine = gpu::findTarget(target.getValue());
      for (auto function : getOperation().getOps<func::FuncOp>())
        if (!function.isExternal() && failed(assign(function, machine))) return signalPassFailure();
    } catch (const Error& error) {
      getOperation().emitError() << error.what();
      signalPassFailure();
    }
  }

 private:
  LogicalResult assign(func::FuncOp function, const gpu::Target& machine) {
    if (warps < 1 || warps > machine.maxWarps || warps * machine.warpSize > machine.maxThreads)
      return function.emitError() << "a block has 1 to " << machine.maxThreads / machine.warpSize << " warps on " << machine.name
                                  << ", but got " << warps.getValue();
    Builder b(&getContext());
    function->setAttr(kTargetAttr, b.getStringAttr(target.getValue()));
    function->setAttr(kWarpsAttr, b.getI64IntegerAttr(warps));
    if (programs && hasRoomForCopier(function)) function->setAttr(kSeveralAttr, b.getUnitAttr());
    if (owners) markOwned(function);
    if (pairs) function->setAttr(kPairsAttr, b.getUnitAttr());
    if (function->hasAttr(kPairsAttr)) markPaired(function);
    LayoutPool pool(machine, warps);
    Assignment assignment(function, pool);
    return success(succeeded(assignment.solve()) && succeeded(Rewriter(assignment, pool).run(function)));
  }

  static void markPaired(func::FuncOp function) {
    if (!hasRoomForCopier(function)) return;
    const int64_t groups = warpsOf(function) / *targetOf(function).warpGroup;
    function.walk([&](scf::ForOp loop) {
      for (auto [group, dot] : llvm::enumerate(pairedDots(loop, groups)))
        dot->setAttr(kPairedAttr, IntegerAttr::get(IntegerType::get(function.getContext(), 64), static_cast<int64_t>(group)));
    });
  }

  static void markOwned(func::FuncOp function) {
    if (!hasRoomForCopier(function)) return;
    function.walk([](tile::DotOp dot) {
      if (mayHaveOwner(dot)) dot->setAttr(kOwnedAttr, UnitAttr::get(dot.getContext()));
    });
  }
};

}  // namespace

}  // namespace fattn::tilegpu
