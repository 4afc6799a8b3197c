// SPDX-License-Identifier: Apache-2.0
// tile.device_print by the driver's vprintf: for debugging, so it may use local memory.
//
// A scalar is printed by the first thread, "[program 0,0,0] n: i32 7". Of a tile each thread prints what it holds, a line an element, in no
// order, with the index that the host's brackets would show: "[program 0,0,0] x: f32 [2, 8] (1,5) 0.25". Numbers are rounded as on the
// host.
//
// The arguments are stored whether or not the thread prints: the branch around the call holds nothing that the whole warp has to compute.
// Source: CUDA C++ Programming Guide, "Formatted output"; PTX Writer's Guide to Interoperability, "System calls: vprintf".
#include <fmt/format.h>

#include "compiler/gpu/lower/Elementwise.h"
#include "compiler/gpu/lower/WindowAccess.h"
#include "compiler/nvidia/Machine.h"
#include "compiler/nvidia/Watchdog.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace fattn::nvidia {

using gpu::Lowering, gpu::Registers;

namespace {

class Printer {
 public:
  explicit Printer(Lowering& to) : to_(to), b_(to.b), pointer_(LLVM::LLVMPointerType::get(to.b.getContext())) {
    Operation* parent = b_.getInsertionBlock()->getParentOp();
    kernel_ = isa<func::FuncOp>(parent) ? cast<func::FuncOp>(parent) : parent->getParentOfType<func::FuncOp>();
    module_ = kernel_->getParentOfType<ModuleOp>();
  }

  void scalar(StringRef prefix, Type type, Value value) {
    Value thread = arith::OrIOp::create(b_, to_.lane, to_.warp);
    Value first = arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, thread, to_.i32(0));
    print(fmt::format("{}: {} ", prefix.str(), nameOf(type)), {}, type, value, first);
  }

  /// `extents`, where there are any, are the part of the tile that counts.
  void tile(StringRef prefix, RankedTensorType type, ArrayRef<int64_t> extents, const Registers& registers) {
    const layout::LinearLayout& layout = *tilegpu::layoutOf(type);
    Type element = type.getElementType();
    std::string shape;
    for (auto [d, size] : llvm::enumerate(extents.empty() ? type.getShape() : extents)) shape += fmt::format("{}{}", d ? ", " : "", size);
    Value holder = gpu::isHolder(to_, layout::holdersOf(layout));
    if (!holder) holder = arith::ConstantOp::create(b_, b_.getBoolAttr(true));
    std::map<layout::Coords, int64_t> first;
    for (int64_t r = 0; r < static_cast<int64_t>(registers.size()); ++r) first.try_emplace(Lowering::registerPart(layout, r), r);
    for (const auto& [coords, r] : first) {
      SmallVector<Value> index;
      Value printed = holder;
      for (auto [d, coordinate] : llvm::enumerate(coords)) {
        int axis = static_cast<int>(d);
        index.push_back(to_.combine(layout, axis, to_.threadPart(layout, axis), coordinate));
        if (extents.empty() || extents[d] == type.getDimSize(axis)) continue;
        Value within = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, index.back(), to_.i32(extents[d]));
        printed = arith::AndIOp::create(b_, printed, within);
      }
      print(fmt::format("{}: {} [{}] ", prefix.str(), nameOf(element), shape), index, element, registers[static_cast<size_t>(r)], printed);
    }
  }

  void line(StringRef prefix) {
    Value thread = arith::OrIOp::create(b_, to_.lane, to_.warp);
    print(prefix.str(), {}, {}, {}, arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, thread, to_.i32(0)));
  }

 private:
  static std::string nameOf(Type type) {
    if (type.isF64()) return "f64";
    if (type.isInteger(16)) return "i16";
    return std::string(type.isIndex() ? name(DType::I64) : name(tile::dtypeOf(type)));
  }

  /// How the host rounds.
  static StringRef formatOf(Type type) {
    if (type.isF64()) return "%.15g";
    if (type.isF32()) return "%.6g";
    if (type.isF16()) return "%.5g";
    if (type.isBF16()) return "%.4g";
    if (isa<FloatType>(type)) return "%.3g";
    if (type.isInteger(1)) return "%s";
    return type.isInteger(64) || type.isIndex() ? "%lld" : "%d";
  }

  /// What printf takes for the element.
  Value promoted(Type type, Value value) {
    if (type.isInteger(1)) return LLVM::SelectOp::create(b_, value, text("true"), text("false"));
    if (gpu::isFloat8(type)) value = gpu::fromFloat8(b_, value, type);
    if (isa<FloatType>(value.getType()))
      return value.getType().isF64() ? value : arith::ExtFOp::create(b_, b_.getF64Type(), value).getResult();
    return value.getType().getIntOrFloatBitWidth() < 32 ? arith::ExtSIOp::create(b_, b_.getI32Type(), value).getResult() : value;
  }

  Value text(StringRef characters) { return addressOfText(to_, characters); }

  LLVM::LLVMFuncOp vprintf() {
    if (auto known = module_.lookupSymbol<LLVM::LLVMFuncOp>("vprintf")) return known;
    OpBuilder builder = OpBuilder::atBlockBegin(module_.getBody());
    return LLVM::LLVMFuncOp::create(builder, module_.getLoc(), "vprintf",
                                    LLVM::LLVMFunctionType::get(builder.getI32Type(), {pointer_, pointer_}));
  }

  void print(const std::string& prefix, ArrayRef<Value> index, Type type, Value value, Value condition) {
    std::string format = "[program %d,%d,%d] ";
    for (char c : prefix) format += c == '%' ? std::string("%%") : std::string(1, c);
    SmallVector<Value> arguments;
    for (int axis = 0; axis < 3; ++axis) arguments.push_back(to_.machine.programId(b_, axis));
    for (auto [d, number] : llvm::enumerate(index)) {
      format += d ? ",%d" : "(%d";
      arguments.push_back(number);
    }
    if (!index.empty()) format += ") ";
    if (type) {
      format += formatOf(type);
      arguments.push_back(promoted(type, value));
    }
    Value block = store(arguments), characters = text(format + "\n");
    auto branch = scf::IfOp::create(b_, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(branch.thenBlock());
    LLVM::CallOp::create(b_, vprintf(), ValueRange{characters, block});
  }

  /// A block of arguments, each at its natural alignment.
  Value store(ArrayRef<Value> arguments) {
    SmallVector<Type> types(llvm::map_range(arguments, [](Value argument) { return argument.getType(); }));
    auto type = LLVM::LLVMStructType::getLiteral(b_.getContext(), types);
    Value block;
    {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(&kernel_.getBody().front());
      block = LLVM::AllocaOp::create(b_, pointer_, type, to_.i32(1), 8);
    }
    for (auto [i, argument] : llvm::enumerate(arguments)) {
      Value place = LLVM::GEPOp::create(b_, pointer_, type, block, ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(i)});
      LLVM::StoreOp::create(b_, argument, place);
    }
    return block;
  }

  Lowering& to_;
  ImplicitLocOpBuilder& b_;
  Type pointer_;
  func::FuncOp kernel_;
  ModuleOp module_;
};

}  // namespace

LogicalResult Machine::devicePrint(Lowering& to, tile::DevicePrintOp op) {
  Printer printer(to);
  if (op.getValues().empty()) printer.line(op.getPrefix());
  // One extent for each dimension of each tile, one tile after the other.
  ArrayRef<int64_t> extents = tilegpu::extentsOf(op);
  for (Value value : op.getValues()) {
    if (auto tile = dyn_cast<RankedTensorType>(value.getType())) {
      ArrayRef<int64_t> own = extents.take_front(static_cast<size_t>(tile.getRank()));
      extents = extents.drop_front(own.size());
      printer.tile(op.getPrefix(), tile, own, to.registers(value));
    } else {
      printer.scalar(op.getPrefix(), value.getType(), to.scalar(value));
    }
  }
  return success();
}

}  // namespace fattn::nvidia
