// SPDX-License-Identifier: Apache-2.0
#include "tests/adversary/CheckProgram.h"

#include "fattn/Error.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace fattn::adversary {

using generator::Array;

namespace {

constexpr uint64_t kAlignment = 256;  // of what arrays are misaligned to

using Values = TileProgram::Arguments;

/// The arrays of a program at addresses that are as misaligned as they say.
class PlacedArrays {
 public:
  explicit PlacedArrays(const TileProgram& program) {
    ModuleOp module = program.module.get();
    auto function = module.lookupSymbol<func::FuncOp>(program.entry);
    for (const auto& [i, value] : llvm::enumerate(program.arguments)) {
      if (auto same = generator::sameAs(function, i)) {
        arguments.push_back(arguments.at(*same));
        continue;
      }
      if (const auto* integer = std::get_if<int64_t>(&value)) arguments.emplace_back(*integer);
      if (const auto* number = std::get_if<double>(&value)) arguments.emplace_back(*number);
      if (!std::holds_alternative<Array>(value)) continue;
      const auto& array = std::get<Array>(value);
      std::vector<char>& bytes = memory_.emplace_back(array.bytes.size() + kAlignment + static_cast<size_t>(array.misalignment));
      char* at = reinterpret_cast<char*>(llvm::alignTo(reinterpret_cast<uint64_t>(bytes.data()), kAlignment)) + array.misalignment;
      std::ranges::copy(array.bytes, at);
      arguments.emplace_back(interpreter::Buffer{at, static_cast<int64_t>(array.bytes.size())});
    }
  }
  /// The arrays as they are now.
  void readBack(Values& values) const {
    for (auto [value, argument] : llvm::zip_equal(values, arguments))
      if (auto* array = std::get_if<Array>(&value))
        std::copy_n(static_cast<const char*>(std::get<interpreter::Buffer>(argument).data), array->bytes.size(), array->bytes.data());
  }

  std::vector<interpreter::Argument> arguments;

 private:
  std::vector<std::vector<char>> memory_;
};

}  // namespace

BlockProgram compileForBlock(ModuleOp module, const nvidia::PipelineOptions& options) {
  BlockProgram result{.module = OwningOpRef<ModuleOp>(module.clone()), .refused = {}};
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic& diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error) result.refused += diagnostic.str() + "\n";
    return success();
  });
  PassManager pm(module.getContext());
  nvidia::buildBlockPipeline(pm, options);
  if (failed(pm.run(*result.module)) && result.refused.empty()) result.refused = "a pass failed without a word";
  if (!result.refused.empty()) result.module = nullptr;
  return result;
}

TileProgram::TileProgram(generator::Program program) : module(std::move(program.module)), entry(program.entry), grid(program.grid) {
  for (auto& argument : program.arguments) std::visit([&](auto& value) { arguments.emplace_back(std::move(value)); }, argument);
}

Reference::Reference(TileProgram program) : program_(std::move(program)), expected_(program_.arguments) {
  PlacedArrays arrays(program_);
  interpreter::run(program_.module->lookupSymbol<func::FuncOp>(program_.entry), arrays.arguments, program_.grid);
  arrays.readBack(expected_);
}

std::vector<Fault> Reference::check(ModuleOp block, Options options) const {
  PlacedArrays arrays(program_);
  options.compare = [&](const Order&) {
    Values actual = program_.arguments;
    arrays.readBack(actual);
    for (size_t i = 0; i < actual.size(); ++i) {
      const auto* array = std::get_if<Array>(&expected_[i]);
      std::string text = array ? generator::compare(*array, std::get<Array>(actual[i])) : "";
      if (!text.empty()) return "argument " + std::to_string(i) + ": " + text;
    }
    return std::string();
  };
  return adversary::check(block, arrays.arguments, program_.grid, options);
}

std::string textOf(const std::vector<Fault>& faults) {
  std::string text;
  for (const Fault& fault : faults) text += std::string(name(fault.kind)) + ": " + fault.text + "\n";
  return text;
}

}  // namespace fattn::adversary
