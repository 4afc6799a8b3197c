// SPDX-License-Identifier: Apache-2.0
// Entry points, control flow and the dispatch over operations.
#include "compiler/interpreter/Interpreter.h"

#include <fmt/format.h>

#include "compiler/interpreter/Machine.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;

namespace fattn::interpreter {

static std::string textOf(Location location) {
  if (auto file = location->findInstanceOf<FileLineColLoc>())
    return fmt::format("{}:{}:{}", file.getFilename().str(), file.getLine(), file.getColumn());
  std::string text;
  llvm::raw_string_ostream(text) << location;
  return text;
}

void fail(Operation* op, const std::string& what, ErrorCode code) {
  throw Error(code, fmt::format("{}: '{}' {}", textOf(op->getLoc()), op->getName().getStringRef().str(), what));
}

std::vector<int64_t> Machine::integers(ValueRange values) {
  std::vector<int64_t> result;
  for (Value value : values) result.push_back(integer(value));
  return result;
}

std::vector<Data> Machine::dataOf(ValueRange values) {
  std::vector<Data> result;
  for (Value value : values) result.push_back(get(value));
  return result;
}

void Machine::bindAll(ValueRange values, std::vector<Data> data) {
  for (auto [value, datum] : llvm::zip_equal(values, data)) bind(value, std::move(datum));
}

/// The elements of a tile, or 1; INT64_MAX where they are more.
static int64_t elementsOf(Type type) {
  int64_t elements = 1;
  for (int64_t size : tile::getShapeOrScalar(type)) elements = llvm::MulOverflow(elements, size, elements) ? INT64_MAX : elements;
  return elements;
}

/// Pays for an operation before its results are allocated, so that a hostile program cannot exhaust memory: for the largest of its tiles.
void Machine::charge(Operation* op) {
  int64_t cost = 1;
  for (Type type : llvm::concat<Type>(llvm::to_vector(op->getOperandTypes()), llvm::to_vector(op->getResultTypes())))
    cost = std::max(cost, elementsOf(type));
  if (auto dot = dyn_cast<tile::DotOp>(op))
    if (llvm::MulOverflow(elementsOf(dot.getType()), dot.getA().getType().getDimSize(1), cost)) cost = INT64_MAX;
  if (cost > stepsLeft_) fail(op, fmt::format("exceeds the limit of {} computed elements", options_.maxSteps), ErrorCode::Unsupported);
  stepsLeft_ -= cost;
}

std::vector<Data> Machine::runBlock(Block& block) {
  for (Operation& op : block.without_terminator()) execute(&op);
  charge(block.getTerminator());
  return dataOf(block.getTerminator()->getOperands());
}

/// Scalars and tiles of numbers that memory can hold, index, and pointers; other numbers have no exact double or do not fit 64 bits.
static bool isKnown(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (isa<ShapedType>(type) && !tile::isTile(type)) return false;
  return tile::isStorageType(element) || element.isIndex() || isa<tile::PtrType, tile::BlockPtrType>(element);
}

void Machine::execute(Operation* op) {
  charge(op);
  if (!llvm::all_of(op->getResultTypes(), isKnown))
    fail(op, "gives a type the interpreter does not know: elements are pointers, index or what memory can hold", ErrorCode::Unsupported);
  if (executeElementwise(op) || executeMemory(op) || executeShape(op) || executeCompute(op) || executeControl(op)) return;
  fail(op, "is not known to the interpreter, which executes tile, arith, math, scf.for, scf.if, scf.while and ub.poison",
       ErrorCode::Unsupported);
}

void Machine::execute(scf::ForOp op) {
  Type type = op.getInductionVar().getType();
  int64_t step = integer(op.getStep());
  if (step <= 0) fail(op, fmt::format("needs a positive step, but got {}", step));
  std::vector<Data> carried = dataOf(op.getInitArgs());
  bool isUnsigned = op.getUnsignedCmp();
  int64_t i = integer(op.getLowerBound()), end = integer(op.getUpperBound());
  auto before = [&](int64_t a, int64_t b) { return isUnsigned ? asUnsigned(a, type) < asUnsigned(b, type) : a < b; };
  while (before(i, end)) {
    bind(op.getInductionVar(), Data{{Element::integer(i)}, {}});
    bindAll(op.getRegionIterArgs(), std::move(carried));
    carried = runBlock(*op.getBody());
    int64_t next = wrapTo(static_cast<uint64_t>(i) + static_cast<uint64_t>(step), type);
    if (!before(i, next)) break;
    i = next;
  }
  bindAll(op.getResults(), std::move(carried));
}

void Machine::execute(scf::WhileOp op) {
  std::vector<Data> carried = dataOf(op.getInits());
  while (true) {
    bindAll(op.getBeforeArguments(), std::move(carried));
    std::vector<Data> tested = runBlock(*op.getBeforeBody());
    bool goOn = tested.front().scalar().i != 0;
    tested.erase(tested.begin());
    if (!goOn) return bindAll(op.getResults(), std::move(tested));
    bindAll(op.getAfterArguments(), std::move(tested));
    carried = runBlock(*op.getAfterBody());
  }
}

bool Machine::executeControl(Operation* op) {
  return TypeSwitch<Operation*, bool>(op)
      .Case<scf::ForOp, scf::WhileOp>([&](auto loop) {
        execute(loop);
        return true;
      })
      .Case([&](scf::IfOp branch) {
        Block* block = integer(branch.getCondition()) ? branch.thenBlock() : branch.elseBlock();
        bindAll(branch.getResults(), block ? runBlock(*block) : std::vector<Data>());
        return true;
      })
      .Case([&](ub::PoisonOp poison) {
        // NaN, so that a use of what has no value shows.
        Type element = getElementTypeOrSelf(poison.getType());
        if (isa<tile::BlockPtrType>(element)) fail(op, "of a block pointer is not known to the interpreter", ErrorCode::Unsupported);
        auto shaped = dyn_cast<RankedTensorType>(poison.getType());
        Element value = isa<FloatType>(element) ? Element::number(std::nan("")) : Element::integer(0);
        bind(poison, Data{std::vector<Element>(shaped ? shaped.getNumElements() : 1, value), {}});
        return true;
      })
      .Default([](Operation*) { return false; });
}

/// The run-time value of an argument; a pointer becomes the start of the next buffer.
static Data toData(func::FuncOp function, unsigned index, const Argument& argument, std::vector<Buffer>& buffers) {
  Type type = function.getArgument(index).getType();
  auto wrong = [&](const char* legal) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("argument {} of @{} has type {}: it takes {}", index, function.getName().str(), text, legal));
  };
  if (isa<tile::PtrType>(type)) {
    const auto* buffer = std::get_if<Buffer>(&argument);
    if (!buffer) wrong("a buffer");
    buffers.push_back(*buffer);
    Element start = Element::integer(0);
    start.buffer = static_cast<int32_t>(buffers.size() - 1);
    return {{start}, {}};
  }
  if (type.isIndex() || (type.isSignlessInteger() && tile::isStorageType(type))) {
    const auto* value = std::get_if<int64_t>(&argument);
    if (!value) wrong("an integer");
    return {{Element::integer(wrapTo(static_cast<uint64_t>(*value), type))}, {}};
  }
  if (!tile::isStorageType(type)) wrong("nothing: arguments are pointers and scalars");
  const auto* value = std::get_if<double>(&argument);
  if (!value) wrong("a floating-point number");
  return {{Element::number(roundTo(*value, type))}, {}};
}

static void runProgram(func::FuncOp function, const std::vector<Argument>& arguments, Grid id, Grid grid, const Options& options,
                       int64_t& stepsLeft) {
  if (!function.getBody().hasOneBlock())
    throw Error(ErrorCode::InvalidArgument, fmt::format("@{} must have a body of one block", function.getName().str()));
  if (arguments.size() != function.getNumArguments())
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("@{} takes {} arguments, but got {}", function.getName().str(), function.getNumArguments(), arguments.size()));
  std::vector<Buffer> buffers;
  std::vector<Data> data;
  for (unsigned i = 0; i < arguments.size(); ++i) data.push_back(toData(function, i, arguments[i], buffers));
  Machine machine(std::move(buffers), id, grid, options, stepsLeft);
  for (auto [argument, datum] : llvm::zip_equal(function.getArguments(), data)) machine.bind(argument, std::move(datum));
  machine.runBlock(function.getBody().front());
}

void runProgram(func::FuncOp function, const std::vector<Argument>& arguments, Grid id, Grid grid, const Options& options) {
  int64_t stepsLeft = options.maxSteps;
  runProgram(function, arguments, id, grid, options, stepsLeft);
}

void run(func::FuncOp function, const std::vector<Argument>& arguments, Grid grid, const Options& options) {
  for (int32_t extent : grid)
    if (extent < 1) throw Error(ErrorCode::InvalidArgument, fmt::format("extents of the grid must be at least 1, but got {}", extent));
  int64_t stepsLeft = options.maxSteps;
  for (int32_t z = 0; z < grid[2]; ++z)
    for (int32_t y = 0; y < grid[1]; ++y)
      for (int32_t x = 0; x < grid[0]; ++x) runProgram(function, arguments, {x, y, z}, grid, options, stepsLeft);
}

}  // namespace fattn::interpreter
