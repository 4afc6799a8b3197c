// SPDX-License-Identifier: Apache-2.0
// Printing programs and reading them back.
#include "tests/generator/Text.h"

#include <fmt/format.h>

#include <charconv>

#include "fattn/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace fattn::generator {
namespace {

std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

std::string describe(const Array& array) {
  std::string text =
      fmt::format("{} count={}", textOf(array.type), array.bytes.size() * 8 / std::max(8U, array.type.getIntOrFloatBitWidth()));
  if (array.fill.seed) {
    text += fmt::format(" seed={}", *array.fill.seed);
    if (!isa<FloatType>(array.type)) text += fmt::format(" low={} high={}", array.fill.low, array.fill.high);
    if (array.fill.coarse) text += " coarse=1";
  }
  if (array.misalignment > 0) text += fmt::format(" misalignment={}", array.misalignment);
  if (array.tolerance > 0) text += fmt::format(" tolerance={}", array.tolerance);
  return text;
}

class Reader {
 public:
  explicit Reader(MLIRContext& context) : context_(context) {}

  Parsed read(StringRef text) {
    for (StringRef line : llvm::split(text, '\n')) readLine(line);
    Program& program = parsed_.program;
    program.module = parseSourceString<ModuleOp>(text, &context_);
    auto functions = program.module ? llvm::to_vector(program.module->getOps<func::FuncOp>()) : SmallVector<func::FuncOp>();
    if (functions.size() != 1) throw Error(ErrorCode::InvalidArgument, "a program's text is a module of one function, but this is none");
    program.entry = functions[0].getName().str();
    if (functions[0].getNumArguments() != program.arguments.size())
      throw Error(ErrorCode::InvalidArgument, fmt::format("the function has {} arguments, but the text describes {}",
                                                          functions[0].getNumArguments(), program.arguments.size()));
    return std::move(parsed_);
  }

 private:
  template <typename Number>
  Number number(StringRef text) {
    Number value{};
    auto [end, error] = std::from_chars(text.begin(), text.end(), value);
    if (error != std::errc() || end != text.end()) fail("'" + text.str() + "' is no number");
    return value;
  }

  [[noreturn]] void fail(const std::string& why) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("bad line '{}' in a program's text: {}", line_.str(), why));
  }

  void readLine(StringRef line) {
    line_ = line;
    if (line.consume_front("// draw: ")) parsed_.draw = Draw::parse(line.str());
    if (line.consume_front("// grid: "))
      for (int32_t& extent : parsed_.program.grid) {
        auto [first, rest] = line.split(' ');
        extent = number<int32_t>(first);
        line = rest;
      }
    if (!line.consume_front("// argument ")) return;
    auto [index, what] = line.split(": ");
    if (number<size_t>(index) != parsed_.program.arguments.size()) fail("arguments are described in their order");
    if (!what.contains('='))
      parsed_.program.arguments.emplace_back(number<int64_t>(what));
    else
      parsed_.program.arguments.emplace_back(readArray(what));
  }

  Array readArray(StringRef text) {
    auto [name, items] = text.split(' ');
    Type type = parseType(name, &context_);
    if (!type) fail("it begins with an element type");
    Fill fill;
    int64_t count = 0, misalignment = 0;
    double tolerance = 0;
    for (StringRef item : llvm::split(items, ' ')) {
      auto [key, value] = item.split('=');
      if (key == "count")
        count = number<int64_t>(value);
      else if (key == "seed")
        fill.seed = number<uint64_t>(value);
      else if (key == "low")
        fill.low = number<int64_t>(value);
      else if (key == "high")
        fill.high = number<int64_t>(value);
      else if (key == "coarse")
        fill.coarse = number<int>(value) != 0;
      else if (key == "misalignment")
        misalignment = number<int64_t>(value);
      else if (key == "tolerance")
        tolerance = number<double>(value);
      else
        fail("'" + key.str() + "' is none of count, seed, low, high, coarse, misalignment, tolerance");
    }
    Array array = makeArray(type, count, fill);
    array.misalignment = misalignment;
    array.tolerance = tolerance;
    return array;
  }

  MLIRContext& context_;
  Parsed parsed_;
  StringRef line_;
};

}  // namespace

std::string print(const Program& program, const Draw& draw) {
  std::string text = fmt::format("// draw: {}\n// grid: {} {} {}\n", draw.toString(), program.grid[0], program.grid[1], program.grid[2]);
  for (auto [i, argument] : llvm::enumerate(program.arguments)) {
    auto* array = std::get_if<Array>(&argument);
    text += fmt::format("// argument {}: {}\n", i, array ? describe(*array) : std::to_string(std::get<int64_t>(argument)));
  }
  llvm::raw_string_ostream(text) << **program.module << "\n";
  return text;
}

Parsed parse(MLIRContext& context, std::string_view text) { return Reader(context).read(StringRef(text.data(), text.size())); }

}  // namespace fattn::generator
