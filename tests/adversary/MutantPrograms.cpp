// SPDX-License-Identifier: Apache-2.0
#include "tests/adversary/MutantPrograms.h"

#include <fmt/format.h>

#include "compiler/dialect/Tile.h"
#include "fattn/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "tests/support/Context.h"

using namespace mlir;

namespace fattn::adversary {

namespace {

/// A tile program of data/ and how many elements each of its arrays has; the integer arguments of a run with so many trips. `boxes`: a
/// copy engine brings its operands where the chip has one.
struct Source {
  std::string file;
  bool boxes;
  std::vector<int64_t> arrays;
  std::vector<int64_t> (*integers)(int64_t trips);
  int32_t programs = 1;  ///< of the grid
};

/// Rows for two groups of warps.
const Source& wide() {
  static const Source one = {
      "two-dots-of-programs", true, {384 * 32, 96 * 32, 384 * 32}, [](int64_t trips) { return std::vector<int64_t>{trips}; }, 3};
  return one;
}

const std::vector<Source>& sources() {
  static const std::vector<Source> all = {
      {"two-dots", true, {64 * 32, 96 * 32, 64 * 32}, [](int64_t trips) { return std::vector<int64_t>{trips}; }},
      {"staged-operand", false, {64 * 33, 96 * 33, 64 * 32}, [](int64_t trips) { return std::vector<int64_t>{trips}; }},
      {"product", true, {64 * 256, 256 * 64, 64 * 64}, [](int64_t trips) { return std::vector<int64_t>{64, 64, 32 * trips}; }},
      {"row-sums", false, {16 * 64, 16 * 64}, [](int64_t) { return std::vector<int64_t>(); }},
  };
  return all;
}

struct Configuration {
  std::string target;
  int64_t warps, stages, schedule;
  bool repeat = false;  ///< a block takes one program after another
};

const std::vector<Configuration>& configurations() {
  static const std::vector<Configuration> all = {
      {"nvidia:sm_80", 4, 2, 0}, {"nvidia:sm_80", 2, 3, 1}, {"nvidia:sm_90", 4, 3, 2}, {"nvidia:sm_90", 8, 4, 0}, {"nvidia:sm_89", 2, 1, 1},
  };
  return all;
}

/// Of chips with a copy engine.
const std::vector<Configuration>& boxConfigurations() {
  static const std::vector<Configuration> all = {{"nvidia:sm_90a", 4, 2, 0}, {"nvidia:sm_90a", 4, 3, 1}, {"nvidia:sm_90a", 4, 1, 0}};
  return all;
}

/// Of such chips with several groups of warps: one only copies, the others take turns.
const std::vector<Configuration>& roleConfigurations() {
  static const std::vector<Configuration> all = {
      {"nvidia:sm_90a", 8, 2, 0}, {"nvidia:sm_90a", 8, 3, 1}, {"nvidia:sm_90a", 8, 2, 0, true}, {"nvidia:sm_90a", 8, 3, 2, true}};
  return all;
}

/// The program with so many trips, on arrays of its own.
Judge::Inputs inputs(const Source& source, func::FuncOp function, int64_t trips, std::vector<std::vector<char>>& memory) {
  Judge::Inputs result{.arguments = {}, .grid = {source.programs, 1, 1}};
  std::vector<int64_t> integers = source.integers(trips);
  size_t array = 0, integer = 0;
  for (Type type : function.getArgumentTypes()) {
    auto pointer = dyn_cast<tile::PtrType>(type);
    if (!pointer) {
      result.arguments.emplace_back(integers.at(integer++));
      continue;
    }
    memory.push_back(generator::makeArray(pointer.getPointee(), source.arrays.at(array), {.seed = 10 * array + 1}).bytes);
    ++array;
    result.arguments.emplace_back(interpreter::Buffer{memory.back().data(), static_cast<int64_t>(memory.back().size())});
  }
  return result;
}

/// The program of a block, with the rank of its schedule taken modulo their number.
BlockProgram compile(ModuleOp module, const Configuration& configuration, const std::shared_ptr<check::OrderRecord>& order) {
  generator::Draw draw{.target = configuration.target, .schedule = static_cast<int>(configuration.schedule)};
  BlockProgram block;
  do
    block = compileForBlock(module, {.target = configuration.target,
                                     .warps = configuration.warps,
                                     .stages = configuration.stages,
                                     .schedule = draw.schedule,
                                     .forced = {},
                                     .repeat = configuration.repeat,
                                     .order = order});
  while (!block.module && draw.fitSchedule(block.refused));
  return block;
}

MutantProgram make(const Source& source, const Configuration& configuration) {
  MutantProgram one;
  one.name = fmt::format("{} {}, {} warps, {} stages, schedule {}{}", source.file, configuration.target, configuration.warps,
                         configuration.stages, configuration.schedule, configuration.repeat ? ", several programs" : "");
  auto refuse = [&](const std::string& why) { return Error(ErrorCode::InvalidArgument, one.name + ": " + why); };
  one.context = test::makeContext();
  auto module = parseSourceFile<ModuleOp>(std::string(FATTN_DATA) + "/" + source.file + ".mlir", one.context.get());
  if (!module) throw refuse("does not parse");
  one.order = std::make_shared<check::OrderRecord>();
  BlockProgram block = compile(*module, configuration, one.order);
  if (!block.module) throw refuse(block.refused);
  one.block = std::move(block.module);
  if (mutationsOf(*one.block).empty()) throw refuse("there is nothing to change");
  func::FuncOp kernel = *one.block->getOps<func::FuncOp>().begin();
  std::vector<Judge::Inputs> all;
  for (int64_t trips : {5, 4, 2, 1, 0}) all.push_back(inputs(source, kernel, trips, one.memory));
  Options options;
  options.maxFaults = 1;
  try {
    one.judge = std::make_unique<Judge>(*one.block, std::move(all), options);
  } catch (const Error& error) {
    throw refuse(error.what());
  }
  return one;
}

}  // namespace

std::vector<MutantProgram> mutantPrograms() {
  std::vector<MutantProgram> programs;
  for (const Source& source : sources())
    for (const Configuration& configuration : configurations()) programs.push_back(make(source, configuration));
  for (const Source& source : sources())
    for (const Configuration& configuration : boxConfigurations())
      if (source.boxes) programs.push_back(make(source, configuration));
  for (const Configuration& configuration : roleConfigurations()) programs.push_back(make(wide(), configuration));
  return programs;
}

}  // namespace fattn::adversary
