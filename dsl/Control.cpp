// SPDX-License-Identifier: Apache-2.0
// Operations with a body: loops, branches, reductions, select_lazy. A Body creates the operation, points the trace into its
// region, and on finish checks what the body returned and points the trace behind the operation again.
#include <fmt/format.h>

#include "compiler/dialect/Tile.h"
#include "dsl/Recorder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fattn::dsl::detail {

using namespace internal;
namespace scf = mlir::scf;

namespace {

/// How the errors about what a body returns are worded.
struct Words {
  const char* body;
  const char* role;
  const char* count;
  const char* countHint;
  const char* typeHint;
};
constexpr Words kLoop = {"the body", "carried", "{} are carried", "return carry(...) with one value for each, in the same order",
                         "types and shapes stay the same from turn to turn; cast, or broadcast the value before the loop"};
constexpr const char* kBranchHint = "both branches return the same number and types of values";
constexpr Words kBranch = {"the else branch", "of the then branch", "the then branch returns {}", kBranchHint, kBranchHint};
constexpr const char* kCombineHint = "the combine function returns what it is given: one value for each tile, of its element type";
constexpr Words kCombine = {"the combine function", "combined", "{} are combined", kCombineHint, kCombineHint};
constexpr const char* kLazyHint = "both sides give the same number and types of values";
constexpr Words kLazy = {"the exact side", "usual", "{} are usual", kLazyHint, kLazyHint};

}  // namespace

enum class BodyKind : std::uint8_t { For, While, Branch, Combine, SelectLazy };

struct Body::Impl {
  Impl(BodyKind what, std::string_view name, Loc where) : kind(what), step(name, where), after(step.builder().saveInsertionPoint()) {}

  BodyKind kind;
  Step step;
  mlir::OpBuilder::InsertPoint after;
  mlir::Operation* op = nullptr;
  std::vector<mlir::Type> carried;      // what the body must return, in order
  std::vector<mlir::Value> thenValues;  // of a branch
  Handles arguments;
  bool hasElse = false;
  bool finished = false;

  void enter(mlir::Block* block) {
    step.builder().setInsertionPointToEnd(block);
    arguments.clear();
    for (mlir::BlockArgument argument : block->getArguments()) arguments.push_back(step.wrap(argument));
  }

  Handles leave(mlir::ValueRange results) {
    step.builder().restoreInsertionPoint(after);
    step.builder().setInsertionPointAfter(op);
    finished = true;
    Handles handles;
    for (mlir::Value result : results) handles.push_back(step.wrap(result));
    return handles;
  }

  llvm::SmallVector<mlir::Value> values(const Handles& handles) {
    llvm::SmallVector<mlir::Value> list;
    for (const Handle& handle : handles) list.push_back(step.use(handle));
    return list;
  }

  /// What the body returned, checked against what is carried.
  llvm::SmallVector<mlir::Value> checked(const Handles& returned, const Words& words) {
    if (returned.size() != carried.size())
      step.fail(
          fmt::format("{} returns {} values, but {}", words.body, returned.size(), fmt::format(fmt::runtime(words.count), carried.size())),
          words.countHint);
    llvm::SmallVector<mlir::Value> list = values(returned);
    for (auto [index, value] : llvm::enumerate(list))
      if (value.getType() != carried[index])
        step.fail(fmt::format("value {} of {} {} is {}, but {} returns {}", index, carried.size(), words.role, spell(carried[index]),
                              words.body, spell(value.getType())),
                  words.typeHint);
    return list;
  }
};

Body::Body(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Body::~Body() {
  if (impl_->finished) return;
  // An error passes through: what is half recorded stays where it is (handles to it may be alive) and is thrown away with the trace.
  impl_->step.builder().restoreInsertionPoint(impl_->after);
  impl_->step.recorder().failed = true;
}

const Handles& Body::arguments() const { return impl_->arguments; }

Body Body::forLoop(const ScalarArg& lo, const ScalarArg& hi, const ScalarArg& step, const Handles& carried, Loc loc) {
  auto impl = std::make_unique<Impl>(BodyKind::For, "for_", loc);
  Step& s = impl->step;
  if (step.kind == AnyArg::Kind::Number && step.number.kind != Number::Kind::Float && step.number.integer < 1)
    s.fail(fmt::format("the step must be at least 1; got {}", step.number.integer), "count upwards and compute a falling index from it");
  auto bounds = unify(s, {&lo, &hi, &step});
  if (!bounds[0].getType().isInteger(32) && !bounds[0].getType().isInteger(64))
    s.fail(fmt::format("the bounds and the step must be i32 or i64; got {}", spell(bounds[0].getType())));
  auto loop = s.create<scf::ForOp>(bounds[0], bounds[1], bounds[2], impl->values(carried));
  impl->op = loop;
  for (mlir::Value value : loop.getInitArgs()) impl->carried.push_back(value.getType());
  if (!loop.getBody()->empty()) loop.getBody()->back().erase();  // MLIR ends loops without results by itself; finish() does it here
  impl->enter(loop.getBody());
  return Body(std::move(impl));
}

Body Body::whileLoop(const Handles& carried, Loc loc) {
  auto impl = std::make_unique<Impl>(BodyKind::While, "while_", loc);
  Step& s = impl->step;
  llvm::SmallVector<mlir::Value> inits = impl->values(carried);
  llvm::SmallVector<mlir::Type> types = llvm::to_vector(mlir::ValueRange(inits).getTypes());
  auto loop = s.create<scf::WhileOp>(types, inits);
  impl->op = loop;
  impl->carried.assign(types.begin(), types.end());
  const llvm::SmallVector<mlir::Location> places(types.size(), s.location());
  loop.getBefore().emplaceBlock().addArguments(types, places);
  loop.getAfter().emplaceBlock().addArguments(types, places);
  impl->enter(&loop.getBefore().front());
  return Body(std::move(impl));
}

Body Body::branch(const ScalarArg& condition, bool hasElse, Loc loc) {
  auto impl = std::make_unique<Impl>(BodyKind::Branch, "if_", loc);
  Step& s = impl->step;
  mlir::Value test = valueOf(s, condition);
  if (!test.getType().isInteger(1))
    s.fail(fmt::format("the condition must be an i1 scalar; got {}", spell(test.getType())), "compare with 0");
  auto branch = s.create<scf::IfOp>(mlir::TypeRange(), test, /*addThenBlock=*/true, /*addElseBlock=*/hasElse);
  impl->op = branch;
  impl->hasElse = hasElse;
  impl->enter(branch.thenBlock());
  return Body(std::move(impl));
}

Body Body::combine(const Handles& inputs, int axis, Loc loc) {
  auto impl = std::make_unique<Impl>(BodyKind::Combine, "reduce", loc);
  Step& s = impl->step;
  if (inputs.empty()) s.fail("needs at least one tile");
  llvm::SmallVector<mlir::Value> tiles = impl->values(inputs);
  auto first = mlir::cast<mlir::RankedTensorType>(tiles[0].getType());
  const int64_t dim = s.axis(axis, first.getRank());
  llvm::SmallVector<int64_t> shape(first.getShape());
  shape.erase(shape.begin() + dim);
  llvm::SmallVector<mlir::Type> results, elements;
  for (mlir::Value value : tiles) {
    auto type = mlir::cast<mlir::RankedTensorType>(value.getType());
    if (type.getShape() != first.getShape())
      s.fail(fmt::format("all tiles must have the same shape; got {} and {}", spell(first), spell(type)));
    if (!mlir::isa<mlir::FloatType, mlir::IntegerType>(type.getElementType()))
      s.fail(fmt::format("pointers cannot be reduced; got {}", spell(type)));
    elements.push_back(type.getElementType());
    results.push_back(mlir::RankedTensorType::get(shape, type.getElementType()));
  }
  auto reduce = s.create<tile::ReduceOp>(results, tiles, static_cast<uint64_t>(dim));
  impl->op = reduce;
  impl->carried.assign(elements.begin(), elements.end());
  mlir::Block& block = reduce.getCombine().emplaceBlock();
  for (int side = 0; side < 2; ++side)  // all of the one side, then all of the other
    for (mlir::Type element : elements) block.addArgument(element, s.location());
  impl->enter(&block);
  return Body(std::move(impl));
}

namespace {

/// A tile of conditions decides row by row, so that every value must have a row for each.
void checkRows(Step& step, mlir::Type condition, llvm::ArrayRef<mlir::Value> values) {
  auto rows = mlir::dyn_cast<mlir::RankedTensorType>(condition);
  if (!rows) return;
  if (rows.getRank() != 1)
    step.fail(fmt::format("the condition must be a scalar or have one dimension, a truth value for each row; got {}", spell(condition)),
              "reduce(condition, 1, [](Scalar a, Scalar b) { return a | b; }) tells which rows need it");
  for (auto [index, value] : llvm::enumerate(values)) {
    auto type = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
    if (!type || type.getRank() == 0 || type.getDimSize(0) != rows.getDimSize(0))
      step.fail(fmt::format("dim 0 of usual value {} must be the {} rows of the condition; got {}", index, rows.getDimSize(0),
                            spell(value.getType())));
  }
}

}  // namespace

Body Body::selectLazy(const AnyArg& condition, const std::vector<AnyArg>& usual) {
  auto impl = std::make_unique<Impl>(BodyKind::SelectLazy, "select_lazy", condition.loc);
  Step& s = impl->step;
  mlir::Value test = valueOf(s, condition);
  if (!mlir::getElementTypeOrSelf(test.getType()).isInteger(1))
    s.fail(fmt::format("the condition must be i1; got {}", spell(test.getType())), "compare with 0");
  llvm::SmallVector<mlir::Value> values;
  for (const AnyArg& value : usual) values.push_back(valueOf(s, value));
  checkRows(s, test.getType(), values);
  auto op = s.create<tile::SelectLazyOp>(mlir::ValueRange(values).getTypes(), test, values);
  impl->op = op;
  for (mlir::Value value : values) impl->carried.push_back(value.getType());
  impl->enter(&op.getExact().emplaceBlock());
  return Body(std::move(impl));
}

void Body::next(const Handles& returned) {
  Impl& impl = *impl_;
  if (impl.kind == BodyKind::While) {
    if (returned.size() != 1) impl.step.fail(fmt::format("the condition must return one i1 scalar; it returns {} values", returned.size()));
    mlir::Value test = impl.step.use(returned[0]);
    if (!test.getType().isInteger(1))
      impl.step.fail(fmt::format("the condition must return an i1 scalar; it returns {}", spell(test.getType())));
    auto loop = mlir::cast<scf::WhileOp>(impl.op);
    impl.step.create<scf::ConditionOp>(test, loop.getBefore().getArguments());
    impl.enter(&loop.getAfter().front());
    return;
  }
  for (mlir::Value value : impl.values(returned)) {
    impl.thenValues.push_back(value);
    impl.carried.push_back(value.getType());
  }
  impl.enter(mlir::cast<scf::IfOp>(impl.op).elseBlock());
}

namespace {

/// The branch again, now with results: their types are known only once both sides are recorded.
scf::IfOp withResults(Step& step, scf::IfOp bare, mlir::ValueRange thenValues, mlir::ValueRange elseValues) {
  mlir::OpBuilder::InsertionGuard guard(step.builder());
  step.builder().setInsertionPoint(bare);
  auto branch = step.create<scf::IfOp>(thenValues.getTypes(), bare.getCondition(), /*addThenBlock=*/false, /*addElseBlock=*/false);
  branch.getThenRegion().takeBody(bare.getThenRegion());
  branch.getElseRegion().takeBody(bare.getElseRegion());
  bare.erase();
  step.builder().setInsertionPointToEnd(branch.thenBlock());
  step.create<scf::YieldOp>(thenValues);
  if (branch.elseBlock()) {
    step.builder().setInsertionPointToEnd(branch.elseBlock());
    step.create<scf::YieldOp>(elseValues);
  }
  return branch;
}

}  // namespace

Handles Body::finish(const Handles& returned) {
  Impl& impl = *impl_;
  switch (impl.kind) {
    case BodyKind::For:
    case BodyKind::While:
      impl.step.create<scf::YieldOp>(impl.checked(returned, kLoop));
      break;
    case BodyKind::Combine:
      impl.step.create<tile::YieldOp>(impl.checked(returned, kCombine));
      break;
    case BodyKind::SelectLazy:
      impl.step.create<tile::YieldOp>(impl.checked(returned, kLazy));
      break;
    case BodyKind::Branch: {
      auto branch = mlir::cast<scf::IfOp>(impl.op);
      if (!impl.hasElse && !returned.empty())
        impl.step.fail(fmt::format("returns {} values where the condition holds, and nothing where it does not", returned.size()),
                       "give a second function that returns the values of the other case");
      llvm::SmallVector<mlir::Value> elseValues = impl.checked(returned, kBranch);
      impl.op = withResults(impl.step, branch, impl.thenValues, elseValues);
      break;
    }
  }
  return impl.leave(impl.op->getResults());
}

}  // namespace fattn::dsl::detail
