// SPDX-License-Identifier: Apache-2.0
// Passes on the `tilegpu` dialect, the same for every GPU, in the order of the pipeline (compiler/gpu/pipeline/BlockPipeline.cpp): names,
// options, dialects and descriptions.
#ifndef FATTN_COMPILER_GPU_PASSES_PASSES_TD
#define FATTN_COMPILER_GPU_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

defvar TargetOption = Option<"target", "target", "std::string", "std::string(gpu::defaultTarget())", "A name of the machine table">;

def PadTilesPass : Pass<"tilegpu-pad-tiles", "::mlir::ModuleOp"> {
  let summary = "Let tiles grow to sizes that threads and matrix instructions divide";
  let description = [{
    A size with an odd factor grows to the next multiple of 16, or of what the dots that have it need; small ones to the next power of two. What
    lies in the padding is masked where elements meet and where memory is accessed.
  }];
  let options = [TargetOption, Option<"warps", "warps", "int64_t", "4", "Warps of a block">];
}

def WidenDotsPass : Pass<"tilegpu-widen-dots", "::mlir::ModuleOp"> {
  let summary = "Give small dots the size of a matrix instruction";
  let description = [{
    A dot that is smaller than an instruction works on copies of its rows and columns, which cost nothing. Operands of 8 bits that no instruction of
    the machine takes become f16, which holds all their numbers.
  }];
  let options = [TargetOption];
}

def AssignLayoutsPass : Pass<"tilegpu-assign-layouts", "::mlir::ModuleOp"> {
  let summary = "Give every tile a layout in registers";
  let description = [{
    Layouts spread from the dots outwards; where two meet, `tilegpu.convert_layout` stands between them. The instruction of each dot and how its warps
    are arranged are found by pricing the whole function. The function gets the attributes `tilegpu.target` and `tilegpu.warps`, with
    `programs` `tilegpu.several`, and with `pairs` `tilegpu.pairs`, which the passes behind read.
  }];
  let options = [TargetOption, Option<"warps", "warps", "int64_t", "4", "Warps of a block">,
                 Option<"owners", "owners", "bool", "false", "Results that are only added to memory have one warp group as their owner">,
                 Option<"pairs", "pairs", "bool", "false", "Of products of the same shape each warp group computes one">,
                 Option<"programs", "programs", "bool", "false", "Blocks are to take several programs, whose operands need shared memory">];
  let dependentDialects = ["TileGpuDialect"];
}

def RemoveConversionsPass : Pass<"tilegpu-remove-conversions", "::mlir::ModuleOp"> {
  let summary = "Make conversions between layouts fewer, smaller and rarer";
  let description = [{
    Conversions move to where tiles are smaller or out of loops, and reductions before them, wherever the price falls. Every layout then follows from
    its neighbours', which is verified.
  }];
  let dependentDialects = ["TileGpuDialect"];
}

def DeferReductionsPass : Pass<"tilegpu-defer-reductions", "::mlir::ModuleOp"> {
  let summary = "Combine what threads have of sums behind the loop that adds them up";
  let description = [{
    A reduction that a loop only adds up leaves each thread its own part. The parts meet once, behind the loop, so that shuffles and exchanges between
    warps do not run in every trip.
  }];
}

def PlaceCopiesPass : Pass<"tilegpu-place-copies", "::mlir::ModuleOp"> {
  let summary = "Bring the operands of dots into shared memory, asynchronously where possible";
  let description = [{
    Loads that lead to operands of dots become copies into buffers: boxes by the machine's copy engine where it has one and the addresses allow it,
    else vectors by all threads. The swizzle of a buffer is the one with the fewest bank conflicts of all its readers and its writer.
  }];
  let options = [Option<"boxes", "boxes", "bool", "true", "engines may copy whole boxes">,
                 Option<"ahead", "ahead", "int64_t", "1", "trips that loops will copy ahead">];
}

def VerifyLayoutsPass : Pass<"tilegpu-verify-layouts", "::mlir::ModuleOp"> {
  let summary = "Check that every layout follows from those around it";
  let description = [{
    Changes nothing: fails where a layout does not follow from its neighbours', so that a lowering cannot compute on the wrong elements. The pipeline runs
    it behind passes that rebuild much where a compilation is verified.
  }];
}

def ExchangeOperandsPass : Pass<"tilegpu-exchange-operands", "::mlir::func::FuncOp"> {
  let summary = "Store what warps exchange for a product, so that one warp group can own it";
  let description = [{
    The exchange becomes a store into a buffer with a slot for each warp group, which an order of the loop may place apart from the product. Runs
    before `-tilegpu-schedule-loops`, where an order ends with `owners`.
  }];
}

def ExchangePairsPass : Pass<"tilegpu-exchange-pairs", "::mlir::func::FuncOp"> {
  let summary = "Store what warp groups exchange that compute different products";
  let description = [{
    What follows from one product of a pair, and is used beside it, becomes a store into a buffer and reads of that, which an order of the loop may
    place. Runs before `-tilegpu-schedule-loops`, and changes functions with `tilegpu.pairs` alone.
  }];
}

def ScheduleLoopsPass : Pass<"tilegpu-schedule-loops", "::mlir::ModuleOp"> {
  let summary = "Copy data some trips ahead, and overlap what a loop's trips compute";
  let description = [{
    Copies of an innermost loop run `stages` - 1 trips ahead of their use. The order of a trip's dots and arithmetic, and of which iteration each is, is
    searched for ([schedule.md](schedule.md)). A loop that has no model, or whose dots the machine table has no cycles for, keeps the order of its
    text if none is named.
  }];
  let options = [
    Option<"stages", "stages", "int64_t", "2", "trips in flight: copies run one less ahead">,
    Option<"schedule", "schedule", "int64_t", "0", "which of the search's best">,
    Option<"forced", "forced", "std::string", "", "this schedule instead, such as \"A B1 a\"">,
    Option<"advice", "advice", "bool", "false", "loops that it does not fit keep the order of their text">,
    Option<"waits", "waits", "std::string", "\"together\"", "for a trip's copies: together, or apart where data is read">,
    Option<"explain", "explain", "bool", "false", "say what was chosen">
  ];
}

def RematerializeLazyPass : Pass<"tilegpu-rematerialize-lazy", "::mlir::ModuleOp"> {
  let summary = "Compute again on exact sides what takes registers on the usual ones";
  let description = [{
    What an exact side needs of large tiles that nothing else needs any more is computed again on that side, which is rarely taken.
  }];
}

def RoundBehindLazyPass : Pass<"tilegpu-round-behind-lazy", "::mlir::ModuleOp"> {
  let summary = "Round what a product multiplies while the matrix unit works";
  let description = [{
    An operand that both sides of a `tile.select_lazy` round is rounded behind it, next to the product, where the machine takes several
    instructions for it and its matrix unit works beside them.
  }];
  let options = [TargetOption];
}

def AsyncDotsPass : Pass<"tilegpu-async-dots", "::mlir::ModuleOp"> {
  let summary = "Begin dots that read shared memory, and wait for them";
  let description = [{
    For machines whose matrix unit computes by itself: a dot becomes a `tilegpu.dot_async` and its wait. A dot whose operands are not in such buffers
    stays an instruction of registers.
  }];
}

def SliceDotsPass : Pass<"tilegpu-slice-dots", "::mlir::ModuleOp"> {
  let summary = "Cut products into steps of one matrix instruction's depth";
  let description = [{
    Each step has the fragments that it needs, and those of the next one are loaded before, so that few are alive at a time.
  }];
}

def CarryLastStepPass : Pass<"tilegpu-carry-last-step", "::mlir::func::FuncOp"> {
  let summary = "Run the last step of a loop's product behind the next trip's first reads";
  let description = [{
    The first fragments of a trip arrive while the matrix instructions of the trip before run. The first trip adds a product of zeros.
  }];
}

def FoldLazyPass : Pass<"tilegpu-fold-lazy", "::mlir::ModuleOp"> {
  let summary = "Take the side of a select_lazy whose condition is known";
  let description = [{
    In a trip that runs in front of a loop the carried values are what they start from, often infinity, which decides conditions.
  }];
}

def AssignOwnersPass : Pass<"tilegpu-assign-owners", "::mlir::func::FuncOp"> {
  let summary = "Let one warp group compute a result for all, the groups in turn";
  let description = [{
    For dots whose first operand `-tilegpu-exchange-operands` has put into shared memory, and whose result is only added to memory. The owner alone
    waits for what the others have written. Runs before `-tilegpu-store-boxes` and `-tilegpu-place-waits`.
  }];
}

def AssignPairsPass : Pass<"tilegpu-assign-pairs", "::mlir::func::FuncOp"> {
  let summary = "Let each warp group compute one product, and what follows from it alone";
  let description = [{
    The products of a pair become one instruction, for which each group has operands of its own; what `-tilegpu-exchange-pairs` has found to follow
    from one of them is for its group. Runs before `-tilegpu-store-boxes` and `-tilegpu-place-waits`.
  }];
}

def StoreBoxesPass : Pass<"tilegpu-store-boxes", "::mlir::func::FuncOp"> {
  let summary = "Let a copy engine write results to global memory";
  let description = [{
    Where lanes would exchange registers to store vectors, each warp lays its rows into shared memory, and an engine takes them from there,
    if the block has room for them; so it adds sums of f32 to memory, in loops as well. Runs before `-tilegpu-decompose-conversions`.
  }];
  let options = [Option<"programs", "programs", "bool", "false", "leave room for the operands of a block's next program">];
}

def DecomposeConversionsPass : Pass<"tilegpu-decompose-conversions", "::mlir::func::FuncOp"> {
  let summary = "Bring what crosses warps through shared memory";
  let description = [{
    Every conversion, reduction and running sum that is left stays within a warp.
  }];
}

def PlaceWaitsPass : Pass<"tilegpu-place-waits", "::mlir::ModuleOp"> {
  let summary = "Wait for copies and dots just before their data is needed";
  let description = [{
    A wait moves down to the first operation that touches what it is for, and waits for no more copies and dots than needed.
  }];
}

def ReadBeforeDotsPass : Pass<"tilegpu-read-before-dots", "::mlir::func::FuncOp"> {
  let summary = "Read lines of numbers before a matrix unit takes the shared memory's time";
  let description = [{
    A line that is read behind the beginning of dots, and whose place is known before, is read in front of them.
  }];
}

def FillDotsPass : Pass<"tilegpu-fill-dots", "::mlir::func::FuncOp"> {
  let summary = "Compute rows of numbers while dots run";
  let description = [{
    Rows that are computed behind the beginning of dots, in no loop, and do not depend on them, are computed in front of it, where the
    assembler spreads them among the instructions that begin the dots.
  }];
}

def AwaitLaunchesPass : Pass<"tilegpu-await-launches", "::mlir::func::FuncOp"> {
  let summary = "Read what is settled before the launch in front has ended";
  let description = [{
    Of a kernel that overlaps with its neighbours and has arguments that are `tile.settled`: loads of other memory go behind the first
    copies of these, and the wait for the launch in front in front of them.
  }];
}

def ReleaseOperandsPass : Pass<"tilegpu-release-operands", "::mlir::func::FuncOp"> {
  let summary = "Release what is copied once a program, for the block's next one";
  let description = [{
    A function in which every buffer of boxes is released gets the attribute `tilegpu.repeats`: its blocks may take one program after another.
  }];
  let options = [
    Option<"dynamic", "dynamic", "bool", "false", "blocks are handed their programs while the kernel runs (tilegpu.dynamic)">,
  ];
}

def AllocateSharedPass : Pass<"tilegpu-allocate-shared", "::mlir::ModuleOp"> {
  let summary = "Give buffers their bytes of shared memory";
  let description = [{
    Buffers that are never alive together may have the same bytes. A function that needs more than a block of the machine has is an
    error.
  }];
}

def ShareArrivalsPass : Pass<"tilegpu-share-arrivals", "::mlir::func::FuncOp"> {
  let summary = "Let small boxes arrive with large ones";
  let description = [{
    Where a line of numbers is copied beside a tile, and waited for behind it, the wait for the tile is one for both. Runs behind
    `-tilegpu-allocate-shared`.
  }];
}

def PlaceFencesPass : Pass<"tilegpu-place-fences", "::mlir::ModuleOp"> {
  let summary = "Show threads' writes to the matrix units that read shared memory";
  let description = [{
    A matrix unit that reads shared memory by itself reads on another path than threads write. A fence stands directly behind what completes the writes.
    Runs behind `-tilegpu-allocate-shared` and before `-tilegpu-place-barriers`.
  }];
}

def PlaceBarriersPass : Pass<"tilegpu-place-barriers", "::mlir::ModuleOp"> {
  let summary = "Insert barriers from the accesses to shared memory";
  let description = [{
    A data-flow over structured control flow finds where threads of a block may see or destroy what others have in shared memory, or in global memory that the
    program reads and writes.
  }];
}

def PlaceMarksPass : Pass<"tilegpu-place-marks", "::mlir::func::FuncOp"> {
  let summary = "Let warp groups note when they wait, and issue dots and copies";
  let description = [{
    For debugging: what is written is a timeline of each role, as `fattn-dump --trace` draws it beside the search's. Last of the passes on tiles.
  }];
}

def SplitWaitsPass : Pass<"tilegpu-split-waits", "::mlir::func::FuncOp"> {
  let summary = "Wait for a copy in front of the last barrier before its data is needed";
  let description = [{
    Copies that a loop's trip waits for together get more time where a later barrier, which stands there for another reason, serves their data, too.
  }];
}

def SplitRolesPass : Pass<"tilegpu-split-roles", "::mlir::ModuleOp"> {
  let summary = "Give the copies of an engine to a warp group of their own";
  let description = [{
    That group repeats what the copies' addresses follow from, runs ahead as far as slots are released, and hands its registers to the groups that compute.
    It sends what an engine adds to memory in loops, too. Where copies wait for anything but their slots, nothing changes. Runs behind `-tilegpu-place-barriers`.
  }];
}

def RepeatProgramsPass : Pass<"tilegpu-repeat-programs", "::mlir::func::FuncOp"> {
  let summary = "Let each block take one program after another";
  let description = [{
    For functions with the attribute `tilegpu.repeats` whose roles are split: the operands of the next program arrive while this one ends.
  }];
}

def ShareCopiesPass : Pass<"tilegpu-share-copies", "::mlir::func::FuncOp"> {
  let summary = "Let neighbouring blocks share what they copy alike";
  let description = [{
    The blocks of a cluster each bring a part of a tile for all, where the copy does not follow from the program's id along x. Runs behind
    `-tilegpu-split-roles`.
  }];
  let options = [
    Option<"cluster", "cluster", "int64_t", "1", "blocks that share copies">,
  ];
}

def PlaceTurnsPass : Pass<"tilegpu-place-turns", "::mlir::ModuleOp"> {
  let summary = "Let warp groups begin their dots one group after the other";
  let description = [{
    There is one matrix unit for all groups of a block. In turns, one group computes while the others' dots run. Runs behind `-tilegpu-split-roles`.
  }];
}

def SkipTripsPass : Pass<"tilegpu-skip-trips", "::mlir::func::FuncOp"> {
  let summary = "Let each warp group leave out trips that change nothing of its rows";
  let description = [{
    Trips in which all its rows are masked, for masks that the program says may be skipped (`tile.skippable`), and all trips where none of its
    rows is stored: the last rows of a tile may lie outside of the array. The group waits for what such trips copy and releases it, in step with the
    others, and computes nothing. Runs behind `-tilegpu-place-turns`.
  }];
}

def NarrowGuardsPass : Pass<"tilegpu-narrow-guards", "::mlir::func::FuncOp"> {
  let summary = "Let each warp leave out masks that its own rows do not need";
  let description = [{
    Runs behind `-tilegpu-split-roles`, where warps run apart: what a mask needs may differ among them.
  }];
}

def CountPhasesPass : Pass<"tilegpu-count-phases", "::mlir::func::FuncOp"> {
  let summary = "Tell slots and phases of copied boxes from one count of trips";
  let description = [{
    In place of a number for each buffer and a bit for each slot. Where a block takes several programs, slots go on from one program to the next.
    Runs behind `-tilegpu-skip-trips`.
  }];
}

def TakeReciprocalsPass : Pass<"tilegpu-take-reciprocals", "::mlir::func::FuncOp"> {
  let summary = "Divide the numbers of programs by numbers of the launch with a multiplication";
  let description = [{
    Where a block takes several programs, it computes the reciprocal of the divisor once. Runs behind `-tilegpu-repeat-programs`.
  }];
}

def BoundWavesPass : Pass<"tilegpu-bound-waves", "::mlir::func::FuncOp"> {
  let summary = "Ask for a least number of waves a SIMD";
  let description = [{
    The function gets the attribute `tilegpu.waves`, by which the code generator bounds its registers. A number that no SIMD reaches with the function's
    warps and shared memory is an error. Runs behind `-tilegpu-allocate-shared`.
  }];
  let options = [Option<"waves", "waves", "int64_t", "1", "waves that a SIMD holds at the least">];
}

def GatherProgramsPass : Pass<"tilegpu-gather-programs", "::mlir::func::FuncOp"> {
  let summary = "Let programs that follow each other run on one die";
  let description = [{
    On a chip of several dies, each with a cache of its own, to which the device deals blocks in turns. The function gets the attribute
    `tilegpu.die_order`. A chip of one die is an error. Runs last, as its program ids are computed.
  }];
}

#endif
