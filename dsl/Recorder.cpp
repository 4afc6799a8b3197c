// SPDX-License-Identifier: Apache-2.0
// The running trace, the checks every operation makes of its operands, and how types are spelled in messages.
#include "dsl/Recorder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>

#include "compiler/dialect/Tile.h"

namespace fattn::dsl::internal {
namespace {

thread_local Recorder* currentRecorder = nullptr;

std::uint64_t nextTraceId() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

Recorder& requireRecorder(std::string_view op, Loc loc) {
  Recorder* recorder = Recorder::current();
  if (!recorder) failAt(loc, op, "no trace is running on this thread", "call it from a function given to dsl::trace");
  if (recorder->failed) failAt(loc, op, "an earlier error ended this trace", "let the first fattn::Error leave the kernel function");
  return *recorder;
}

mlir::Location locationOf(mlir::MLIRContext* context, Loc loc) {
  return mlir::FileLineColLoc::get(context, loc.file_name(), loc.line(), loc.column());
}

std::string where(mlir::Location location) {
  if (auto file = mlir::dyn_cast<mlir::FileLineColLoc>(location))
    return fmt::format("{}:{}", std::string_view(file.getFilename()), file.getLine());
  return "an unknown place";
}

/// The handle's value if it belongs to the running trace; otherwise null and `why` says what is wrong.
mlir::Value resolve(const Recorder& recorder, const detail::Handle& handle, const char*& why) {
  if (!handle.value)
    why = "an operand holds nothing: it was default-constructed and never assigned";
  else if (handle.trace != recorder.id)
    why = "an operand belongs to another trace";
  else
    return mlir::Value::getFromOpaquePointer(handle.value);
  return {};
}

mlir::Type typeBehind(const detail::Handle& handle, std::string_view op, Loc loc) {
  const char* why = nullptr;
  mlir::Value value = resolve(requireRecorder(op, loc), handle, why);
  if (!value) failAt(loc, op, why);
  return value.getType();
}

}  // namespace

Recorder::Recorder(mlir::func::FuncOp function, std::vector<Param>& list)
    : func(function),
      params(list),
      builder(mlir::OpBuilder::atBlockEnd(&function.getBody().front())),
      id(nextTraceId()),
      outer_(currentRecorder) {
  currentRecorder = this;
}

Recorder::~Recorder() { currentRecorder = outer_; }

Recorder* Recorder::current() { return currentRecorder; }

Step::Step(std::string_view op, Loc loc)
    : op_(op), loc_(loc), recorder_(requireRecorder(op, loc)), location_(locationOf(recorder_.builder.getContext(), loc)) {}

mlir::Value Step::use(const detail::Handle& handle) {
  const char* why = nullptr;
  mlir::Value value = resolve(recorder_, handle, why);
  if (!value) fail(why);
  mlir::Region* home = value.getParentRegion();
  for (mlir::Region* region = builder().getInsertionBlock()->getParent(); region; region = region->getParentRegion())
    if (region == home) return value;
  fail(fmt::format("an operand ({}, from {}) was made inside of a body that has ended, so it may not exist here", spell(value.getType()),
                   where(value.getLoc())),
       "let the body return it through carry(...) and use what the loop or branch gives back");
}

mlir::Type Step::type(DType type) { return toMlir(builder().getContext(), type); }

std::int64_t Step::axis(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank)
    fail(rank ? fmt::format("there is no dimension {}; this operand has dimensions 0 to {} (or -1 to -{}, from the last)", axis, rank - 1,
                            rank)
              : fmt::format("there is no dimension {}; this operand has none", axis));
  return axis < 0 ? axis + rank : axis;
}

void Step::checkAccess(Access access) const {
  for (mlir::Operation* op = recorder_.builder.getInsertionBlock()->getParentOp(); op; op = op->getParentOp()) {
    if (mlir::isa<tile::ReduceOp>(op))
      fail("memory cannot be used inside of a combine function: it runs any number of times, in any order");
    if (access == Access::Write && mlir::isa<tile::SelectLazyOp>(op))
      fail("memory cannot be written inside of select_lazy: this side may run or not", "return the value and store it afterwards");
  }
}

void Step::fail(std::string rule, std::string hint) const { failAt(loc_, op_, rule, hint); }

void failAt(Loc loc, std::string_view op, const std::string& rule, const std::string& hint) {
  throw Error(ErrorCode::TraceError, fmt::format("{}:{}: {}: {}", loc.file_name(), loc.line(), op, rule), hint);
}

mlir::Type toMlir(mlir::MLIRContext* context, DType type) {
  switch (type) {
    case DType::F32:
      return mlir::Float32Type::get(context);
    case DType::F16:
      return mlir::Float16Type::get(context);
    case DType::BF16:
      return mlir::BFloat16Type::get(context);
    case DType::F8E4M3:
      return mlir::Float8E4M3FNType::get(context);
    case DType::F8E5M2:
      return mlir::Float8E5M2Type::get(context);
    case DType::I1:
      return mlir::IntegerType::get(context, 1);
    case DType::I8:
      return mlir::IntegerType::get(context, 8);
    case DType::I32:
      return mlir::IntegerType::get(context, 32);
    case DType::I64:
      return mlir::IntegerType::get(context, 64);
  }
  throw Error(ErrorCode::Internal, "an element type that the tile language does not know");
}

DType fromMlir(mlir::Type type) {
  if (type.isF32()) return DType::F32;
  if (type.isF16()) return DType::F16;
  if (type.isBF16()) return DType::BF16;
  if (mlir::isa<mlir::Float8E4M3FNType>(type)) return DType::F8E4M3;
  if (mlir::isa<mlir::Float8E5M2Type>(type)) return DType::F8E5M2;
  if (type.isInteger(1)) return DType::I1;
  if (type.isInteger(8)) return DType::I8;
  if (type.isInteger(32)) return DType::I32;
  if (type.isInteger(64)) return DType::I64;
  throw Error(ErrorCode::Internal, "an element type that has no DType");
}

std::string spell(llvm::ArrayRef<int64_t> shape) { return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ",")); }

std::string spell(mlir::Type type) {
  if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type)) return spell(tensor.getElementType()) + spell(tensor.getShape());
  if (auto ptr = mlir::dyn_cast<tile::PtrType>(type)) return fmt::format("ptr<{}>", spell(ptr.getPointee()));
  if (auto block = mlir::dyn_cast<tile::BlockPtrType>(type))
    return fmt::format("block_ptr<{}{}>", spell(block.getElementType()), spell(block.getShape()));
  return std::string(name(fromMlir(type)));
}

}  // namespace fattn::dsl::internal

namespace fattn::dsl {

using namespace internal;

DType detail::elementType(const Handle& handle, Loc loc) {
  mlir::Type type = typeBehind(handle, "dtype", loc);
  if (auto block = mlir::dyn_cast<tile::BlockPtrType>(type)) return fromMlir(block.getElementType());
  type = mlir::getElementTypeOrSelf(type);
  if (auto ptr = mlir::dyn_cast<tile::PtrType>(type)) type = ptr.getPointee();
  return fromMlir(type);
}

std::vector<std::int64_t> detail::shapeOf(const Handle& handle, Loc loc) {
  mlir::Type type = typeBehind(handle, "shape", loc);
  if (auto block = mlir::dyn_cast<tile::BlockPtrType>(type)) return block.getShape().vec();
  return mlir::cast<mlir::RankedTensorType>(type).getShape().vec();
}

std::string detail::typeName(const Handle& handle, Loc loc) { return spell(typeBehind(handle, "typeName", loc)); }

std::int64_t Tile::dim(std::int64_t index, Loc loc) const {
  Step step("dim", loc);
  const std::vector<std::int64_t> extents = shape(loc);
  return extents[static_cast<std::size_t>(step.axis(index, static_cast<std::int64_t>(extents.size())))];
}

}  // namespace fattn::dsl
