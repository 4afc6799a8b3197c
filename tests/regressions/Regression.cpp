// SPDX-License-Identifier: Apache-2.0
#include "tests/regressions/Regression.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "compiler/dialect/Tile.h"
#include "compiler/interpreter/Number.h"
#include "fattn/Error.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace fattn::regressions {

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator(FATTN_REGRESSIONS))
    if (entry.path().extension() == ".mlir") result.push_back(entry.path().stem().string());
  std::ranges::sort(result);
  return result;
}

Regression::Regression(const std::string& name, MLIRContext& context)
    : Regression(parseSourceFile<ModuleOp>(std::string(FATTN_REGRESSIONS) + "/" + name + ".mlir", &context), name) {}

Regression Regression::parse(const std::string& text, const std::string& name, MLIRContext& context) {
  return {parseSourceString<ModuleOp>(text, &context), name};
}

Regression::Regression(OwningOpRef<ModuleOp> module, const std::string& name) : module_(std::move(module)) {
  if (!module_) throw Error(ErrorCode::InvalidArgument, name + " is no program");
  kernel_ = *module_->getOps<func::FuncOp>().begin();
  for (unsigned i = 0; i < kernel_.getNumArguments(); ++i) {
    auto number = [&](const char* attribute) { return kernel_.getArgAttrOfType<IntegerAttr>(i, attribute); };
    if (auto size = number("tile.size")) {
      Type element = cast<tile::PtrType>(kernel_.getArgument(i).getType()).getPointee();
      arguments_.push_back({.array = arrays_.size()});
      arrays_.push_back(generator::makeArray(element, size.getInt(), {.seed = i + 1, .low = 0, .high = 7}));
    } else if (auto same = number(generator::kSameAttr.data())) {
      arguments_.push_back(arguments_.at(static_cast<size_t>(same.getInt())));
    } else if (auto value = number("tile.value")) {
      arguments_.push_back({.array = {}, .integer = value.getInt()});
    } else {
      throw Error(ErrorCode::InvalidArgument, fmt::format("argument {} of {} has neither tile.size nor tile.same nor tile.value", i, name));
    }
  }
}

std::vector<interpreter::Argument> Regression::bind(std::vector<generator::Array>& memory) const {
  std::vector<interpreter::Argument> result;
  for (const Argument& argument : arguments_) {
    if (!argument.array) {
      result.emplace_back(argument.integer);
      continue;
    }
    std::vector<char>& bytes = memory.at(*argument.array).bytes;
    result.emplace_back(interpreter::Buffer{bytes.data(), static_cast<int64_t>(bytes.size())});
  }
  return result;
}

std::vector<generator::Array> Regression::expected() {
  std::vector<generator::Array> result = arrays_;
  interpreter::run(kernel_, bind(result), grid());
  for (generator::Array& array : result) {
    if (!isa<FloatType>(array.type)) continue;
    auto size = static_cast<size_t>(interpreter::bytesOf(array.type));
    for (size_t at = 0; at < array.bytes.size(); at += size)
      array.tolerance = std::max(array.tolerance, std::abs(interpreter::readBytes(array.bytes.data() + at, array.type).f) / 50);
  }
  return result;
}

generator::Program Regression::take() {
  generator::Program program;
  std::set<size_t> seen;
  std::vector<generator::Array> results = expected();
  for (const Argument& argument : arguments_) {
    if (!argument.array) {
      program.arguments.emplace_back(argument.integer);
      continue;
    }
    size_t number = *argument.array;
    generator::Array array = arrays_[number];
    array.tolerance = results[number].tolerance;
    if (!seen.insert(number).second) array.bytes.clear();  // see generator::sameAs()
    program.arguments.emplace_back(std::move(array));
  }
  program.entry = kernel_.getName().str();
  program.module = std::move(module_);
  return program;
}

std::string Regression::compare(const std::vector<generator::Array>& expected, const std::vector<generator::Array>& actual) {
  for (size_t i = 0; i < expected.size(); ++i)
    if (std::string text = generator::compare(expected[i], actual[i]); !text.empty()) return fmt::format("array {}: {}", i, text);
  return {};
}

}  // namespace fattn::regressions
