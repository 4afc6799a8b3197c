// SPDX-License-Identifier: Apache-2.0
// The pass behind fattn-opt --interpret.
#include "tools/fattn-opt/Interpret.h"

#include <fmt/format.h>

#include "compiler/dialect/Tile.h"
#include "compiler/interpreter/Interpreter.h"
#include "compiler/interpreter/Number.h"

using namespace mlir;

namespace fattn {
namespace {

/// A buffer and what it was made from.
struct Memory {
  std::string name;
  RankedTensorType type;
  std::vector<char> bytes;
};

[[noreturn]] void refuse(func::FuncOp function, unsigned index, const std::string& legal) {
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("argument {} of @{} needs the attribute tile.init, {}", index, function.getName().str(), legal));
}

Memory toMemory(func::FuncOp function, unsigned index, tile::PtrType pointer, Attribute init) {
  Type element = pointer.getPointee();
  auto dense = dyn_cast_or_null<DenseElementsAttr>(init);
  if (!dense || dense.getElementType() != element) {
    std::string text;
    llvm::raw_string_ostream(text) << element;
    refuse(function, index, "a dense tensor of " + text);
  }
  auto name = function.getArgAttrOfType<StringAttr>(index, "tile.name");
  int64_t size = interpreter::bytesOf(element), at = 0;
  Memory memory{name ? name.str() : fmt::format("arg{}", index), cast<RankedTensorType>(dense.getType()), {}};
  memory.bytes.resize(dense.getNumElements() * size);
  auto write = [&](const APInt& bits) {
    interpreter::writeBytes(memory.bytes.data() + at, interpreter::fromBits(bits.getZExtValue(), element), element);
    at += size;
  };
  if (isa<FloatType>(element))
    for (const APFloat& number : dense.getValues<APFloat>()) write(number.bitcastToAPInt());
  else
    for (const APInt& number : dense.getValues<APInt>()) write(number);
  return memory;
}

interpreter::Argument toScalar(func::FuncOp function, unsigned index, Attribute init) {
  auto typed = dyn_cast_or_null<TypedAttr>(init);
  if (!typed || typed.getType() != function.getArgument(index).getType()) refuse(function, index, "a number of its type");
  if (auto number = dyn_cast<IntegerAttr>(init)) return number.getValue().getSExtValue();
  auto number = dyn_cast<FloatAttr>(init);
  if (!number) refuse(function, index, "a number of its type");
  return number.getValueAsDouble();
}

void print(const Memory& memory) {
  Type element = memory.type.getElementType();
  int64_t size = interpreter::bytesOf(element);
  llvm::outs() << memory.name << ":";
  for (size_t at = 0; at < memory.bytes.size(); at += size)
    llvm::outs() << ' ' << interpreter::toText(interpreter::readBytes(memory.bytes.data() + at, element), element);
  llvm::outs() << '\n';
}

void interpret(func::FuncOp function, interpreter::Options options) {
  std::vector<Memory> memories(function.getNumArguments());
  std::vector<interpreter::Argument> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    Attribute init = function.getArgAttr(i, "tile.init");
    if (auto pointer = dyn_cast<tile::PtrType>(function.getArgument(i).getType())) {
      memories[i] = toMemory(function, i, pointer, init);
      arguments.emplace_back(interpreter::Buffer{memories[i].bytes.data(), static_cast<int64_t>(memories[i].bytes.size())});
    } else {
      arguments.push_back(toScalar(function, i, init));
    }
  }
  interpreter::Grid grid = {1, 1, 1};
  if (auto extents = function->getAttrOfType<DenseI32ArrayAttr>("tile.grid"))
    for (auto [i, extent] : llvm::enumerate(extents.asArrayRef().take_front(3))) grid[i] = extent;
  llvm::outs() << "@" << function.getName() << "\n";
  options.print = [](const std::string& line) { llvm::outs() << line << "\n"; };
  interpreter::run(function, arguments, grid, options);
  for (const Memory& memory : memories)
    if (!memory.name.empty()) print(memory);
}

struct InterpretPass : PassWrapper<InterpretPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InterpretPass)

  InterpretPass() = default;
  InterpretPass(const InterpretPass& other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "interpret"; }
  StringRef getDescription() const override {
    return "Run the functions of the module on the values of their tile.init attributes and print what they print and write";
  }

  void runOnOperation() override {
    interpreter::Options options;
    options.takeExactEverywhere = takeExactEverywhere;
    options.maxSteps = maxSteps;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      try {
        interpret(function, options);
      } catch (const Error& error) {
        emitError(UnknownLoc::get(&getContext())) << error.what();
        return signalPassFailure();
      }
    }
  }

  Option<bool> takeExactEverywhere{*this, "take-exact-everywhere", llvm::cl::desc("select_lazy takes the exact side in all rows"),
                                   llvm::cl::init(false)};
  Option<int64_t> maxSteps{*this, "max-steps", llvm::cl::desc("How many elements may be computed before the run is given up"),
                           llvm::cl::init(int64_t{1} << 32)};
};

}  // namespace

void registerInterpretPass() { PassRegistration<InterpretPass>(); }

}  // namespace fattn
