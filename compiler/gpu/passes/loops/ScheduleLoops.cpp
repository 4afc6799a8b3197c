// SPDX-License-Identifier: Apache-2.0
// Lets the trips of innermost loops overlap. What a trip needs from global memory is copied `stages` - 1 trips before; in which order a
// trip does the rest, and of which iteration, is searched for:
//
//   scf.for %i = %lo to %hi step %n {                 copy_async of the first trips
//     %t = copy_async %p(%i), %b[0]                   scf.for %i = ... iter_args(%t, ...) {
//     copy_wait %t                             =>       copy_wait %t
//     %x = load_buffer %b[0]                            copy_async of the trip after the next ones
//     tile.dot ... %x                                   %x = load_buffer %b[%slot]
//   }                                                   tile.dot ... %x
//                                                     } {tilegpu.schedule = "A"}
//
// The body becomes a model of a few coarse nodes (LoopGraph.h) priced by the machine table; the search (gpu/schedule) ranks all legal
// schedules of two stages, of which option `schedule` takes one, 0 being the best. `forced` takes this one: "A B1 a" does A of an
// iteration, B of the one before, then a; `z1` behind them lets copy z run 1 trip ahead. At least one loop has to take it, and those that
// it does not fit take the best. With `advice` no loop has to take it, and those that it does not fit keep the order of the text. Loops
// that have no model, or whose dots the table has no cycles for, keep that order, too, where none is named. Option `explain` makes a remark
// of what was chosen and why. How the loop is rewritten: PipelineLoop.h. Test: tests/lit/gpu/schedule-loops.mlir, schedules.mlir.
#include <fmt/format.h>

#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/loops/LoopGraph.h"
#include "compiler/gpu/schedule/CopyDistances.h"
#include "compiler/gpu/schedule/Search.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_SCHEDULELOOPSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// What was decided for a loop.
struct Choice {
  std::optional<gpu::CostedLoop> costed;
  gpu::SearchResult found;
  std::optional<gpu::Schedule> schedule;  ///< else the order of the text
  std::string text, why;

  /// Schedules that there are to choose from.
  size_t count() const { return std::max<size_t>(found.best.size(), 1); }
};

std::string message(const Error& error) {
  return error.hint().empty() ? error.constraint() : fmt::format("{}; {}", error.constraint(), error.hint());
}

class ScheduleLoopsPass : public impl::ScheduleLoopsPassBase<ScheduleLoopsPass> {
 public:
  using ScheduleLoopsPassBase::ScheduleLoopsPassBase;
  ScheduleLoopsPass() = default;
  ScheduleLoopsPass(ScheduleLoopsPassOptions options, gpu::ScheduledLoopSink onLoop)
      : ScheduleLoopsPassBase(std::move(options)), onLoop(std::move(onLoop)) {}
  void getDependentDialects(DialectRegistry& registry) const override { registerTileGpuDialects(registry); }
  void runOnOperation() override {
    if (stages < 1 || schedule < 0) {
      getOperation().emitError() << "loops have at least 1 stage and schedules count from 0, but got stages " << stages.getValue()
                                 << " and schedule " << schedule.getValue();
      return signalPassFailure();
    }
    if (waits != "together" && waits != "apart") {
      getOperation().emitError() << "waits are together or apart, but got " << waits.getValue();
      return signalPassFailure();
    }
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      auto stop = [](Operation*) { return WalkResult::interrupt(); };
      bool innermost = !loop.getBody()->walk([&](LoopLikeOpInterface inner) { return stop(inner); }).wasInterrupted();
      bool dots = loop.getBody()->walk([&](tile::DotOp dot) { return stop(dot); }).wasInterrupted();
      if (innermost && (dots || !fetchesOf(loop, stages - 1).empty())) loops.push_back(loop);
    });
    size_t most = 1;
    taken = false;
    refusal.reset();
    for (scf::ForOp loop : loops)
      if (failed(overlap(loop, most))) return signalPassFailure();
    if (!forced.empty() && !advice && !taken && refusal) {
      emitError(refusal->first) << refusal->second;
      return signalPassFailure();
    }
    if (schedule > 0 && forced.empty() && static_cast<size_t>(schedule) >= most) {
      getOperation().emitError() << "there is no schedule " << schedule.getValue() << ": the loops have 0 to " << most - 1;
      signalPassFailure();
    }
  }

 private:
  /// The forced schedule, where the loop takes it. Loops of one function have different nodes: the first refusal is kept, in case all
  /// refuse.
  std::optional<gpu::Schedule> forcedFor(scf::ForOp loop, const gpu::CostedLoop& costed) {
    if (forced.empty()) return std::nullopt;
    try {
      gpu::Schedule schedule = gpu::forceSchedule(costed, forced);
      taken = true;
      return schedule;
    } catch (const Error& error) {
      refuse(loop, message(error));
      return std::nullopt;
    }
  }

  void refuse(scf::ForOp loop, std::string why) {
    if (!forced.empty() && !refusal) refusal = {loop.getLoc(), std::move(why)};
  }

  /// A loop with fewer schedules than asked for takes its last: loops of one function have different numbers of them.
  Choice choose(scf::ForOp loop, const LoopGraph& graph) {
    Choice choice;
    if (!graph.unfit.empty()) {
      refuse(loop, "no schedule can be forced: " + graph.unfit);
      choice.why = graph.unfit;
      return choice;
    }
    try {
      gpu::CostedLoop& costed = choice.costed.emplace(gpu::cost(graph.model, targetOf(loop)));
      // The order of the text may need more registers than there are. Then an order that needs no more than it is allowed, too: the code
      // generator spills the rest.
      const gpu::Resources text = gpu::resources(costed, gpu::textOrder(costed.size()));
      costed.registerLimit = std::max(costed.registerLimit, text.registers);
      costed.sharedLimit = std::max(costed.sharedLimit, text.shared);  // buffers that are not alive together share their bytes
      choice.schedule = forcedFor(loop, costed);
      if (!choice.schedule && advice && !forced.empty()) choice.schedule = gpu::textOrder(costed.size());
      if (!choice.schedule) {
        choice.found = gpu::search(costed, {.best = std::max(8, static_cast<int>(schedule) + 1)});
        if (choice.found.best.empty()) {  // nodes that need each other in one trip
          choice.why = "no order of its nodes is legal";
          return choice;
        }
        for (gpu::Candidate& candidate : choice.found.best) candidate.schedule = gpu::withDistances(costed, candidate.schedule);
        choice.schedule = choice.found.best[std::min<size_t>(schedule, choice.count() - 1)].schedule;
        choice.why = fmt::format("of {} legal{}, {} that fit", choice.found.legal, choice.found.complete ? "" : " that a walk looked at",
                                 choice.found.fitting);
        if (loop->getParentOfType<func::FuncOp>()->hasAttr(kPairsAttr)) choice.why += ", each warp group with a product of its own (pairs)";
        // Which of them is best depends on how the assembler interleaves instructions, which the model does not know.
        if (!graph.queued && choice.found.fitting > 1) choice.why += ", hardly told apart: warps wait for their dots";
      }
      choice.schedule = gpu::withDistances(costed, *choice.schedule);
      choice.text = gpu::print(costed, *choice.schedule);
    } catch (const Error& error) {
      if (takeUnranked(loop, graph, choice)) return choice;
      refuse(loop, message(error));
      choice.why = message(error);
    }
    return choice;
  }

  /// An order that is named needs no figures of the table.
  bool takeUnranked(scf::ForOp loop, const LoopGraph& graph, Choice& choice) {
    if (forced.empty() || choice.costed) return false;
    try {
      const gpu::CostedLoop unranked = gpu::costWithoutDots(graph.model, targetOf(loop));
      choice.schedule = forcedFor(loop, unranked);
      if (!choice.schedule) return false;
      choice.schedule = gpu::withDistances(unranked, *choice.schedule);
      choice.text = gpu::print(unranked, *choice.schedule);
      return true;
    } catch (const Error&) {  // more than figures is missing, which the caller says
      return false;
    }
  }

  /// Tools see the objects that the choice was made with.
  void report(const LoopGraph& graph, const Choice& choice) const {
    if (!onLoop) return;
    onLoop({.model = graph.model,
            .origins = graph.origins(),
            .copied = graph.copied(),
            .ahead = static_cast<int>(stages - 1),
            .costed = choice.costed,
            .schedule = choice.schedule,
            .found = choice.found,
            .why = choice.why});
  }

  LogicalResult overlap(scf::ForOp loop, size_t& most) {
    SmallVector<Operation*> fetches = fetchesOf(loop, stages - 1);
    LoopGraph graph = graphOf(loop, fetches, stages - 1);
    Choice choice = choose(loop, graph);
    most = std::max(most, choice.count());
    report(graph, choice);
    if (explain) {
      if (choice.schedule)
        loop.emitRemark() << "schedule " << choice.text << " " << choice.why << "; " << graph.legend();
      else
        loop.emitRemark() << "keeps the order of the text: " << choice.why << "; " << graph.legend();
    }
    StagedOps compute;
    CopyDistances distances;
    for (auto [i, copy] : llvm::enumerate(graph.copies))
      if (choice.schedule && choice.schedule->ahead[i]) distances[copy] = *choice.schedule->ahead[i];
    if (choice.schedule && keepsText(graph, *choice.schedule)) choice.schedule.reset();
    if (choice.schedule) {
      if (failed(markThoseThatRunOn(loop, graph, *choice.schedule))) return failure();
      compute = stagedOps(graph, *choice.schedule);
      for (auto& entry : compute)
        if (entry.second > 1) return loop.emitError() << "schedule " << choice.text << " has more than two stages, 0 and 1";
    } else {
      for (Operation& op : loop.getBody()->without_terminator())
        if (!llvm::is_contained(fetches, &op)) compute.push_back({&op, 0});
    }
    if (!choice.text.empty()) loop->setAttr("tilegpu.schedule", StringAttr::get(loop.getContext(), choice.text));
    Waits where = waits == "apart" ? Waits::Apart : Waits::Together;
    if (failed(pipelineLoop(loop, fetches, stages - 1, where, compute, std::move(distances))))
      return loop.emitError("the loop could not be pipelined");
    return success();
  }

  /// Whether threads fill a buffer in the loop that the operation reads, and hand its slots over by barriers of the block.
  static bool readsWhatThreadsFill(Operation* op, scf::ForOp loop) {
    auto load = dyn_cast<LoadBufferOp>(op);
    return load && !isOfPair(load.getBuffer()) && llvm::any_of(load.getBuffer().getUsers(), [&](Operation* user) {
             auto copy = dyn_cast<CopyAsyncOp>(user);
             return loop->isAncestor(user) && (copy ? !copy.isBulk() : isa<StoreBufferOp>(user));
           });
  }

  /// Only slots that an engine fills, and those that groups of a pair hand over, wait for what still reads them.
  LogicalResult markThoseThatRunOn(scf::ForOp loop, const LoopGraph& graph, const gpu::Schedule& order) {
    for (auto [node, operations] : llvm::enumerate(graph.operations)) {
      if (!order.runsOn[node]) continue;
      if (llvm::any_of(operations, [&](Operation* op) { return readsWhatThreadsFill(op, loop); })) {
        if (advice) continue;
        return loop.emitError() << "schedule " << forced.getValue() << ": " << graph.model.nodes[node].name
                                << " cannot run on, as threads fill what it reads of shared memory; leave `_` out";
      }
      for (Operation* op : operations)
        if (isa<tile::DotOp>(op)) op->setAttr(kRunsOnAttr, UnitAttr::get(op->getContext()));
    }
    return success();
  }

  gpu::ScheduledLoopSink onLoop;
  bool taken = false;                                       // whether a loop took the forced schedule
  std::optional<std::pair<Location, std::string>> refusal;  // why the first loop did not
};

}  // namespace

std::unique_ptr<Pass> createScheduleLoopsPass(ScheduleLoopsPassOptions options, gpu::ScheduledLoopSink onLoop) {
  return std::make_unique<ScheduleLoopsPass>(std::move(options), std::move(onLoop));
}

}  // namespace fattn::tilegpu
