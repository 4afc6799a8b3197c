// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/check/CheckOrder.h"

#include <numeric>

#include "compiler/gpu/check/Divergence.h"
#include "compiler/gpu/check/EmittedRun.h"
#include "compiler/gpu/check/Scenarios.h"
#include "compiler/gpu/dialect/SourceLabels.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace fattn::check {
namespace {

constexpr int64_t kMostTrips = 24, kBudget = 400'000, kShort = 2'000, kAllDraws = 2'000'000;
/// Draws in a row that show nothing new before there are no more.
constexpr int kPatience = 60;
constexpr int kLeastRuns = 6;

bool isLabelled(Operation* op) {
  return op->hasTrait<tile::AccessesArrays>() ||
         isa<tilegpu::CopyAsyncOp, tilegpu::LoadBufferOp, tilegpu::StoreBufferOp, tile::UnsplatOp>(op);
}

std::vector<const Step*> stepsByLabel(const Program& program) {
  std::vector<const Step*> result;
  for (const Body& block : program.blocks)
    for (const Step& step : block.steps) {
      if (step.label < 0) continue;
      if (result.size() <= static_cast<size_t>(step.label)) result.resize(static_cast<size_t>(step.label) + 1);
      result[static_cast<size_t>(step.label)] = &step;
    }
  return result;
}

/// Two rounds of the slots and some more; where buffers have different numbers of slots, a round of all of them behind the first trips.
int64_t tripsToTry(const Program& emitted) {
  int64_t round = 1;
  for (const Buffer& buffer : emitted.buffers) round = std::min(kMostTrips, std::lcm(round, buffer.slots));
  return std::min(kMostTrips, std::max(2 * emitted.mostSlots + 4, round + emitted.mostSlots + 2));
}

bool hasFixedTrips(scf::ForOp loop) {
  return llvm::all_of(ValueRange({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}),
                      [](Value bound) { return getConstantIntValue(bound).has_value(); });
}

class Checker {
 public:
  Checker(const Program* before, const Program& emitted, const Options& options)
      : before(before),
        emitted(emitted),
        options(options),
        owners(emitted, options.agent),
        most(static_cast<size_t>(emitted.loops)),
        settled(static_cast<size_t>(emitted.loops)) {
    if (before) steps = stepsByLabel(*before);
    func::FuncOp function = emitted.function;
    if (function.walk([](tilegpu::GroupLastOp) { return WalkResult::interrupt(); }).wasInterrupted())
      bounds = {GroupBound::Own, GroupBound::Below, GroupBound::Above};
  }

  Result run() {
    addDivergences();
    mostTrips = tripsToTry(emitted);
    runScenarios();
    countUnsettled();
    result.faults = std::move(faults.list);
    return std::move(result);
  }

 private:
  void addDivergences() {
    for (const Divergence& found : divergences(emitted.function)) {
      Step at{.op = found.op}, under{.op = found.under};
      faults.add("divergence", &at, &under, "needs all warps of the block, but stands under a condition that differs between warps",
                 "the condition");
    }
  }

  void runScenarios() {
    const Program& shape = before ? *before : emitted;
    // Of trips that overlap some stand in front of the loop or behind it.
    Scenarios scenarios(shape, mostTrips + emitted.mostSlots, emitted);
    Owners inOrder(shape, options.agent);
    int64_t longest = 0;
    for (int number = 0, idle = 0; number < options.draws && idle < kPatience && result.steps < kAllDraws; ++number) {
      Scenario scenario = scenarios.draw(number);
      // Draws that are much longer than those before show the same trips again.
      SourceRun source(shape, scenario, inOrder, longest ? std::min(kBudget, 8 * longest + kShort) : kBudget);
      Outcome outcome = source.run();
      result.steps += source.steps();
      if (outcome != Outcome::Finished) {
        ++result.unfinished, ++idle;
        continue;
      }
      bool fresh = scenarios.isNew(source.trips());
      if (fresh) longest = std::max(longest, source.steps());
      idle = fresh ? 0 : idle + 1;
      if (!fresh && result.runs >= kLeastRuns) continue;
      for (GroupBound bound : bounds) {
        scenario.bound = bound;
        compare(scenario, source);
      }
    }
  }

  void countUnsettled() {
    for (const Body& block : emitted.blocks)
      for (const Step& step : block.steps) {
        if (step.loop < 0 || hasFixedTrips(cast<scf::ForOp>(step.op)) || settled[static_cast<size_t>(step.loop)]) continue;
        ++(most[static_cast<size_t>(step.loop)] >= mostTrips ? result.unsettled : result.shallow);
      }
  }

  void compare(const Scenario& scenario, const SourceRun& source) {
    EmittedRun run(emitted, scenario, owners, 50 * kBudget, before ? &source : nullptr, steps, faults);
    Outcome outcome = run.run();
    result.steps += run.steps();
    for (size_t loop = 0; loop < most.size(); ++loop) {
      most[loop] = std::max(most[loop], run.trips()[loop]);
      settled[loop] = settled[loop] || run.settled()[loop];
    }
    if (outcome == Outcome::Finished) {
      run.compareRuns();
      ++result.runs;
    } else {
      ++result.unfinished;
    }
  }

  const Program* before;
  const Program& emitted;
  Options options;
  std::vector<GroupBound> bounds = {GroupBound::Own};  ///< that make a difference
  Owners owners;
  std::vector<const Step*> steps;
  Faults faults;
  Result result;
  int64_t mostTrips = 0;
  std::vector<int64_t> most;  ///< trips of each loop of the emitted program
  std::vector<bool> settled;
};

}  // namespace

void labelSources(func::FuncOp function) {
  int64_t next = 0;
  function.walk([&](Operation* op) {
    if (isLabelled(op)) tilegpu::setSourceLabel(op, {.source = next++, .clone = 0});
  });
}

FailureOr<Result> checkOrder(func::FuncOp before, func::FuncOp emitted, const Options& options) {
  FailureOr<Program> after = programOf(emitted);
  if (failed(after)) return failure();
  if (!before) return Checker(nullptr, *after, options).run();
  FailureOr<Program> source = programOf(before);
  if (failed(source)) return failure();
  return Checker(&*source, *after, options).run();
}

}  // namespace fattn::check
