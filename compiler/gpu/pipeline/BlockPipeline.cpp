// SPDX-License-Identifier: Apache-2.0
// From `tile` to the program of a block, the same passes for every GPU: what a machine does not have, they do not use.
#include "compiler/gpu/pipeline/BlockPipeline.h"

#include "compiler/gpu/check/Passes.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/pipeline/ChoosePairs.h"
#include "compiler/gpu/schedule/OrderWords.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace fattn::gpu {
namespace {

/// What the order's words and the options ask for together; the words go.
OrderWords wordsOf(const PipelineOptions& options, std::string& order) {
  OrderWords words = takeWords(order);
  words.dynamic |= options.dynamic;
  words.persistent |= options.repeat || words.dynamic;
  words.cluster |= options.cluster;
  words.owners &= options.roles && options.boxes;
  words.pairs &= options.roles && options.boxes;
  return words;
}

/// What crosses warps goes through shared memory, too, and what an engine stores. Then it is known what lies where, and who waits for whom.
void addSharedMemory(OpPassManager& pm, const PipelineOptions& options, const OrderWords& words) {
  const bool owners = words.owners, repeat = words.persistent;
  if (owners) {
    pm.addPass(createCanonicalizerPass());  // additions of a first trip stand in a branch whose condition is the one around it
    pm.addNestedPass<func::FuncOp>(tilegpu::createAssignOwnersPass());
  }
  if (options.roles && options.boxes) pm.addNestedPass<func::FuncOp>(tilegpu::createAssignPairsPass());
  if (options.boxes) pm.addNestedPass<func::FuncOp>(tilegpu::createStoreBoxesPass({.programs = repeat && options.roles}));
  pm.addNestedPass<func::FuncOp>(tilegpu::createDecomposeConversionsPass());
  pm.addPass(tilegpu::createPlaceWaitsPass());
  pm.addNestedPass<func::FuncOp>(tilegpu::createReadBeforeDotsPass());
  if (repeat && options.roles) pm.addNestedPass<func::FuncOp>(tilegpu::createReleaseOperandsPass({.dynamic = words.dynamic}));
  pm.addPass(tilegpu::createAllocateSharedPass());
  if (options.boxes) pm.addNestedPass<func::FuncOp>(tilegpu::createShareArrivalsPass());
  pm.addPass(tilegpu::createPlaceFencesPass());
  pm.addPass(tilegpu::createPlaceBarriersPass());
  pm.addNestedPass<func::FuncOp>(tilegpu::createSplitWaitsPass());
  if (words.waves) pm.addNestedPass<func::FuncOp>(tilegpu::createBoundWavesPass({.waves = *words.waves}));
}

/// Copies that wait for nothing but their slots run apart from what computes; `persistent`: a block takes one program after another.
void addRoles(OpPassManager& pm, const OrderWords& words) {
  constexpr int64_t kNeighbours = 2;
  pm.addPass(tilegpu::createSplitRolesPass());
  if (words.persistent) {
    pm.addNestedPass<func::FuncOp>(tilegpu::createRepeatProgramsPass());
    pm.addNestedPass<func::FuncOp>(tilegpu::createTakeReciprocalsPass());
  }
  if (words.cluster) pm.addNestedPass<func::FuncOp>(tilegpu::createShareCopiesPass({.cluster = kNeighbours}));
  pm.addPass(tilegpu::createPlaceTurnsPass());
  pm.addNestedPass<func::FuncOp>(tilegpu::createSkipTripsPass());
  pm.addNestedPass<func::FuncOp>(tilegpu::createNarrowGuardsPass());
}

/// Layouts, copies and exchanges, and the order of loops that follows from them.
struct UpToSchedules {
  PipelineOptions options;
  std::string order;
  OrderWords words;
  std::shared_ptr<check::OrderRecord> record;  ///< null: none is kept

  void add(OpPassManager& pm) const {
    auto verifyLayouts = [&] {
      if (options.verify) pm.addPass(tilegpu::createVerifyLayoutsPass());
    };
    const bool owners = words.owners;
    // Every tile gets registers to live in. Conversions between them are few, and where they are cheap.
    pm.addPass(tilegpu::createAssignLayoutsPass({.target = options.target,
                                                 .warps = options.warps,
                                                 .owners = owners,
                                                 .pairs = words.pairs,
                                                 .programs = words.persistent && options.roles && options.boxes}));
    pm.addPass(tilegpu::createRemoveConversionsPass());
    pm.addPass(createCanonicalizerPass());
    pm.addPass(createCSEPass());

    // What a loop only adds up meets behind it.
    pm.addPass(tilegpu::createDeferReductionsPass());

    // Operands of dots go through shared memory, copied some trips ahead of their use.
    pm.addPass(tilegpu::createPlaceCopiesPass({.boxes = options.boxes, .ahead = options.stages - 1}));
    pm.addPass(createCanonicalizerPass());
    verifyLayouts();
    if (owners) pm.addNestedPass<func::FuncOp>(tilegpu::createExchangeOperandsPass());
    if (options.roles && options.boxes) pm.addNestedPass<func::FuncOp>(tilegpu::createExchangePairsPass());
    if (record) pm.addPass(check::createRecordOrderPass(record));
    // An order names the nodes of a loop with boxes: without them there may be others.
    pm.addPass(tilegpu::createScheduleLoopsPass(
        {.stages = options.stages, .schedule = options.schedule, .forced = order, .advice = !options.boxes}, options.onLoop));
  }
};

/// Where an order is named, its words say it.
bool mayChoosePairs(const PipelineOptions& options, const std::string& order, const OrderWords& words) {
  return options.roles && options.boxes && order.empty() && !words.pairs && !words.owners;
}

}  // namespace

void buildBlockPipeline(OpPassManager& pm, const PipelineOptions& options) {
  std::string order = options.forced;
  const OrderWords words = wordsOf(options, order);
  auto verifyLayouts = [&] {
    if (options.verify) pm.addPass(tilegpu::createVerifyLayoutsPass());
  };

  // On tiles, the same for every target. Exact sides are branched around: what only they use moves there, and what leaves is narrow.
  transforms::buildTilePipeline(pm, transforms::MaskedLoops::Guard);
  pm.addPass(transforms::createSinkLazyPass());

  // Tiles of any size become ones that threads and matrix instructions divide evenly.
  pm.addPass(tilegpu::createPadTilesPass({.target = options.target, .warps = options.warps}));
  pm.addPass(tilegpu::createWidenDotsPass({.target = options.target}));

  if (mayChoosePairs(options, order, words)) {
    const UpToSchedules chosen{options, order, words, {}};
    pm.addPass(createChoosePairsPass(options.target, options.warps, [chosen](OpPassManager& trial, bool pairs, ScheduledLoopSink onLoop) {
      UpToSchedules other = chosen;
      other.options.verify = false, other.options.onLoop = std::move(onLoop), other.words.pairs = pairs;
      other.add(trial);
    }));
  }
  std::shared_ptr<check::OrderRecord> record = options.order ? options.order : std::make_shared<check::OrderRecord>();
  const bool records = options.checkOrder || options.order;
  UpToSchedules{options, order, words, records ? record : nullptr}.add(pm);
  verifyLayouts();
  pm.addPass(tilegpu::createRematerializeLazyPass());
  pm.addPass(tilegpu::createRoundBehindLazyPass({.target = options.target}));
  pm.addPass(tilegpu::createAsyncDotsPass());
  pm.addPass(tilegpu::createSliceDotsPass());
  pm.addNestedPass<func::FuncOp>(tilegpu::createCarryLastStepPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(tilegpu::createFoldLazyPass());  // last: the check of the order counts what exact sides repeat in each trip
  verifyLayouts();

  addSharedMemory(pm, options, words);
  if (options.roles) addRoles(pm, words);
  pm.addNestedPass<func::FuncOp>(tilegpu::createFillDotsPass());
  pm.addNestedPass<func::FuncOp>(tilegpu::createAwaitLaunchesPass());
  if (options.roles) pm.addNestedPass<func::FuncOp>(tilegpu::createCountPhasesPass());
  if (options.checkOrder) pm.addPass(check::createCheckOrderPass(record));
  if (words.dies) pm.addNestedPass<func::FuncOp>(tilegpu::createGatherProgramsPass());
  if (options.marks) pm.addNestedPass<func::FuncOp>(tilegpu::createPlaceMarksPass());
}

}  // namespace fattn::gpu
