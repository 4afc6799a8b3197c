// SPDX-License-Identifier: Apache-2.0
// Options are taken as text by CLI11 and parsed here, so that every error is a sentence of ours.
#include "tools/fattn-layout/Tool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <sstream>

#include "compiler/layout/Conversion.h"
#include "compiler/layout/Draw.h"
#include "compiler/layout/Nvidia.h"
#include "compiler/layout/Queries.h"
#include "fattn/Error.h"
#include "fattn/Version.h"
#include "tools/common/Program.h"
#include "tools/io/File.h"

namespace fattn::layout {
namespace {

constexpr const char* kDescription =
    "Draws which lane and register holds which element of a tile, or where it lies in shared memory, and says what accesses,\n"
    "conversions and reductions cost. All of it is computed by the library that the compiler uses.";
constexpr const char* kFooter = R"(
Examples:
  fattn-layout mma.m16n8k16.c                                      the accumulator of a matrix instruction
  fattn-layout mma.m16n8k16.c --shape 64x80 --warps 4x1 --rows 16  over a tile, by four warps; the first 16 rows
  fattn-layout swizzle128 --shape 8x64 --bits 16                   shared memory
  fattn-layout blocked --shape 64x64 --bank swizzle128             bank conflicts of that access
  fattn-layout mma.m16n8k16.a --shape 64x64 --bank swizzle128      the same through ldmatrix
  fattn-layout mma.m16n8k16.c --shape 64x64 --warps 4x1 --to blocked   how registers become those of another layout
  fattn-layout mma.m16n8k16.c --reduce 1                           how rows are reduced
Exit codes: 0 success, 1 a file could not be written, 2 wrong usage.)";

[[noreturn]] void invalid(std::string constraint, std::string hint = "") {
  throw Error(ErrorCode::InvalidArgument, std::move(constraint), std::move(hint));
}

struct Options {
  std::string name, shape, bits, warps, lanes, order, pad, to, bank, reduce, rows, columns, svg;
  bool list = false;
};

std::int64_t parseNumber(std::string_view text, const std::string& option, std::int64_t lowest, std::int64_t highest) {
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < lowest || value > highest) {
    invalid(fmt::format("{} '{}': expected an integer from {} to {}", option, text, lowest, highest));
  }
  return value;
}

/// "64x80" with the given separator.
Coords parseList(const std::string& text, const std::string& option, char separator, std::int64_t lowest, std::int64_t highest) {
  Coords result;
  std::stringstream stream(text);
  std::string part;
  while (std::getline(stream, part, separator)) result.push_back(parseNumber(part, option, lowest, highest));
  if (!text.empty() && text.back() == separator) invalid(fmt::format("{} '{}' ends in '{}'", option, text, separator));
  return result;
}

NamedOptions namedOptions(const Options& options) {
  NamedOptions result;
  result.shape = parseList(options.shape, "--shape", 'x', 1, 4096);
  std::int64_t elements = 1;
  for (std::int64_t extent : result.shape) elements *= extent;
  if (result.shape.size() > 3 || elements > 1 << 20)
    invalid(fmt::format("--shape {}: at most 3 dimensions and 1048576 elements", options.shape));
  result.warps = parseList(options.warps, "--warps", 'x', 1, 64);
  if (!options.bits.empty()) result.bits = static_cast<int>(parseNumber(options.bits, "--bits", 8, 64));
  if (result.bits && result.bits != 8 && result.bits != 16 && result.bits != 32 && result.bits != 64) {
    invalid(fmt::format("--bits {}: legal are 8, 16, 32 and 64", options.bits));
  }
  if (!options.lanes.empty()) result.lanes = static_cast<int>(parseNumber(options.lanes, "--lanes", 1, 64));
  for (std::int64_t d : parseList(options.order, "--order", ',', 0, 2)) result.order.push_back(static_cast<int>(d));
  Coords pad = parseList(options.pad, "--pad", ':', 0, 1 << 20);
  if (!options.pad.empty() && pad.size() != 2)
    invalid(fmt::format("--pad {}: expected INTERVAL:AMOUNT in elements", options.pad), "for example --pad 64:8");
  if (pad.size() == 2) std::tie(result.padInterval, result.padAmount) = std::pair(pad[0], pad[1]);
  return result;
}

std::string listOfNames() {
  std::string result = "layouts:\n";
  for (const NameFamily& family : nameFamilies()) result += fmt::format("  {}\n      {}\n", family.pattern, family.what);
  return result;
}

const LinearLayout& registersOf(const NamedLayout& layout, const char* option) {
  if (!layout.registers) invalid(fmt::format("{} is for layouts of registers; {} is one of shared memory", option, layout.name));
  return *layout.registers;
}

/// The other layout of the same tile, on as many lanes and warps.
NamedLayout otherLayout(const std::string& name, const NamedLayout& layout, NamedOptions options) {
  const LinearLayout& registers = *layout.registers;
  options.shape = registers.outputShape();
  if (!options.bits) options.bits = layout.bits;
  options.lanes = static_cast<int>(registers.inputSize(kLane));
  options.warps.assign(options.shape.size(), 1);
  NamedLayout other = namedLayout(name, options);
  // A fragment may need several warps itself; the rest goes below each other.
  std::int64_t own = other.registers ? other.registers->inputSize(kWarp) : 1, all = registers.inputSize(kWarp);
  if (own == all || all % own) return other;
  options.warps[0] = all / own;
  return namedLayout(name, options);
}

std::string describeReport(const std::string& what, const BankReport& report) {
  return fmt::format("{}: {} instruction(s) a warp of {} element(s) a lane, {} passes each where {} are needed: {} conflict(s)\n", what,
                     report.instructions, report.vector, report.passes, report.ideal, report.conflicts());
}

std::string bankText(const NamedLayout& layout, const Options& options) {
  const LinearLayout& registers = registersOf(layout, "--bank");
  NamedOptions sharedOptions = namedOptions(options);
  int bits = sharedOptions.bits ? sharedOptions.bits : layout.bits;
  sharedOptions.bits = bits;
  NamedLayout shared = otherLayout(options.bank, layout, sharedOptions);
  if (!shared.shared)
    invalid(fmt::format("--bank takes a layout of shared memory; {} is one of registers", options.bank), "for example --bank swizzle128");
  std::string result =
      describeReport(fmt::format("{} in {}, plain", layout.name, options.bank), bankConflicts(registers, *shared.shared, bits));
  if (auto matrices = nvidia::matrixAccess(registers, static_cast<int>(registers.outputs().size()) - 1, bits)) {
    std::string what =
        fmt::format("{} in {}, ldmatrix.x{}{}", layout.name, options.bank, matrices->count, matrices->transposed ? ".trans" : "");
    result += describeReport(what, bankConflicts(matrices->access, *shared.shared, bits));
  }
  return result;
}

std::string conversionText(const NamedLayout& layout, const Options& options) {
  NamedOptions otherOptions = namedOptions(options);
  registersOf(layout, "--to");
  NamedLayout other = otherLayout(options.to, layout, otherOptions);
  if (!other.registers) invalid(fmt::format("--to takes a layout of registers; {} is one of shared memory", options.to));
  int bits = otherOptions.bits ? otherOptions.bits : layout.bits;
  Conversion plan = planConversion(*layout.registers, *other.registers, bits);
  std::string result = fmt::format("{} to {}, {} bits: {}\n", layout.name, other.name, bits, plan.str());
  if (plan.shared) result += fmt::format("shared memory: {}\n", plan.shared->layout.elements().str());
  return result;
}

std::string reductionText(const NamedLayout& layout, const Options& options) {
  const LinearLayout& registers = registersOf(layout, "--reduce");
  int d = static_cast<int>(parseNumber(options.reduce, "--reduce", 0, static_cast<std::int64_t>(registers.outputs().size()) - 1));
  ReductionPlan plan = planReduction(registers, d);
  std::string result = fmt::format("{} reduced along dimension {}:\n", layout.name, d);
  for (const ReductionStep& step : plan.registers) result += fmt::format("  in each lane: register r with r ^ {}\n", step.reg);
  for (const ReductionCopies& copies : plan.registerCopies)
    result += fmt::format("  in each lane: {} registers, {} apart\n", copies.count, copies.stride);
  for (const ReductionStep& step : plan.shuffles) {
    result += fmt::format("  shuffle: with lane ^ {}{}\n", step.lane, step.reg ? fmt::format(", register ^ {}", step.reg) : "");
  }
  for (const ReductionStep& step : plan.warps) result += fmt::format("  between warps: with warp ^ {}\n", step.warp);
  for (const ReductionCopies& copies : plan.warpCopies)
    result += fmt::format("  between warps: {} warps, {} apart\n", copies.count, copies.stride);
  return result + fmt::format("  {} shuffle(s) a lane; result: {}\n", plan.shuffleCount(), plan.result.str());
}

std::string drawingText(const NamedLayout& layout, const Options& options) {
  std::int64_t rows = options.rows.empty() ? 0 : parseNumber(options.rows, "--rows", 1, 4096);
  std::int64_t columns = options.columns.empty() ? 0 : parseNumber(options.columns, "--columns", 1, 4096);
  Drawing drawing = draw(layout, rows, columns);
  std::string bases = layout.registers ? layout.registers->str() : layout.shared->elements().str();
  std::string result = fmt::format("{}\n{}\n", text(drawing), bases);
  if (options.svg.empty()) return result;
  io::writeFile(options.svg, svg(drawing));
  return fmt::format("{} written\n", options.svg);
}

std::string run(const Options& options) {
  if (options.list) return listOfNames();
  if (options.name.empty()) invalid("no layout named", "fattn-layout --list names them, fattn-layout --help explains");
  NamedLayout layout = namedLayout(options.name, namedOptions(options));
  if (!options.bank.empty()) return bankText(layout, options);
  if (!options.to.empty()) return conversionText(layout, options);
  if (!options.reduce.empty()) return reductionText(layout, options);
  return drawingText(layout, options);
}

void addOptions(CLI::App& app, Options& options) {
  app.footer(kFooter);
  app.set_version_flag("--version", std::string(version()));
  app.add_option("layout", options.name, "A name of --list");
  app.add_flag("--list", options.list, "List the layouts");
  app.add_option("--shape", options.shape, "The tile, ROWSxCOLUMNS; default: one fragment a warp");
  app.add_option("--bits", options.bits, "Bits of an element: 8, 16, 32 or 64");
  app.add_option("--warps", options.warps, "Warps along each dimension, such as 4x1");
  app.add_option("--lanes", options.lanes, "Lanes in a warp, for blocked");
  app.add_option("--order", options.order, "Dimensions from the contiguous one outwards, for blocked, such as 1,0");
  app.add_option("--pad", options.pad, "Padding of rowmajor, INTERVAL:AMOUNT in elements");
  app.add_option("--bank", options.bank, "Count the bank conflicts of accessing that layout of shared memory");
  app.add_option("--to", options.to, "Plan the conversion to that layout");
  app.add_option("--reduce", options.reduce, "Plan the reduction along that dimension");
  app.add_option("--rows", options.rows, "Draw only so many rows");
  app.add_option("--columns", options.columns, "Draw only so many columns");
  app.add_option("--svg", options.svg, "Write the drawing to that file instead");
}

}  // namespace

ToolResult runTool(const std::vector<std::string>& arguments) {
  Options options;
  CLI::App app(kDescription, "fattn-layout");
  addOptions(app, options);
  try {
    const auto shown = tool::readWords(app, arguments, [] {}, "fattn-layout --help");
    if (!shown) return {tool::kUsage, "", fmt::format("fattn-layout: {}\n  hint: {}\n", shown.error().message, shown.error().hint)};
    return {tool::kOk, shown->empty() ? run(options) : *shown, ""};
  } catch (const Error& error) {
    return {error.code() == ErrorCode::IoError ? 1 : 2, "", fmt::format("fattn-layout: {}\n", error.what())};
  } catch (const std::exception& error) {
    return {1, "", fmt::format("fattn-layout: {}\n", error.what())};
  }
}

}  // namespace fattn::layout
