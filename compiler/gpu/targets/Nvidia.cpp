// SPDX-License-Identifier: Apache-2.0
// NVIDIA's rows of the machine table. Sources, named behind the figures:
//   [G] CUDA C++ Programming Guide 12/13: tables "Technical Specifications per Compute Capability" and "Throughput of Native
//       Arithmetic Instructions"
//   [P] PTX ISA 8.x/9.0: mma, wgmma, tcgen05, cp.async, cp.async.bulk.tensor, mbarrier, setmaxnreg
//   [W] white papers of the architectures: dense FMA an SM and cycle (A100, GA102, Ada, RTX Blackwell)
//   [M] measured on an H200: bare loops of wgmma of two warp groups; tests/bench/MmaRate.cpp for mma.sync (docs/performance.md)
// Left out because there is no such source: cycles of mma.sync on sm_100 (which runs it below the chip's peak), cycles of tcgen05 and the
// conversion rates other than Hopper's.
#include "compiler/gpu/Target.h"

namespace fattn::gpu::targets {
namespace {

using enum DType;

/// [P] m16n8kK: a warp; operands and accumulator in registers. `fma` is what an SM does in a cycle at k = 16 and 16-bit types; other
/// types scale with their size, so that an instruction of 32 bytes of depth always takes the same time.
MatrixInstruction mma(std::vector<DType> types, int k, std::optional<double> fma) {
  MatrixInstruction row{.name = "mma.sync", .types = std::move(types), .m = 16, .k = k, .minN = 8, .maxN = 8, .stepN = 8, .warps = 1};
  row.a = row.b = row.accumulator = only(Home::Registers);
  row.layout = "mma.m16n8";
  if (row.takes(F16) || row.takes(I8)) row.minK = k / 2;  // [P] m16n8k8 and m16n8k16
  if (fma) row.cycles = MatrixCycles{.perColumn = 16.0 * 16 / *fma};
  return row;
}

std::vector<MatrixInstruction> mmas(std::optional<double> fma, bool fp8) {
  std::vector<MatrixInstruction> rows = {mma({F16, BF16}, 16, fma), mma({F32}, 8, fma), mma({I8}, 32, fma)};
  if (fp8) rows.push_back(mma({F8E4M3, F8E5M2}, 32, fma));
  return rows;
}

/// [P] m64nNk(32 bytes): a warp group; B in shared memory. Cycles [M] at 16 bits: N/2 for the products, 16 to read A (2 KB at 128 B a
/// cycle) and N/4 to read B; types of other sizes have the same bytes and, by the data sheet's peaks, the same time an instruction.
MatrixInstruction wgmma(std::vector<DType> types, int k) {
  MatrixInstruction row{.name = "wgmma", .types = std::move(types), .m = 64, .k = k, .minN = 8, .maxN = 256, .stepN = 8, .warps = 4};
  row.a = Home::Registers | Home::Shared;
  row.b = only(Home::Shared);
  row.accumulator = only(Home::Registers);
  row.layout = "wgmma.m64";
  row.asynchronous = row.inOrder = true;
  row.cycles = MatrixCycles{.perColumn = 0.5, .sharedA = 16, .sharedBPerColumn = 0.25};
  return row;
}

/// [P] m128 (of sm_100a, the row's feature set): issued by one thread, accumulator in tensor memory, A from shared or tensor memory.
MatrixInstruction tcgen05(std::vector<DType> types, int k) {
  MatrixInstruction row{
      .name = "tcgen05.mma", .types = std::move(types), .m = 128, .k = k, .minN = 16, .maxN = 256, .stepN = 16, .warps = 1};
  row.a = Home::Shared | Home::TensorMemory;
  row.b = only(Home::Shared);
  row.accumulator = only(Home::TensorMemory);
  row.layout = "tcgen05.m128";
  row.asynchronous = row.inOrder = true;
  return row;
}

CopyEngine copyThroughRegisters() { return {.kind = CopyKind::Register, .bytes = {4, 8, 16}, .alignment = 16}; }
/// [P] 4, 8 or 16 bytes a thread; src-size below the size zeroes the rest.
CopyEngine cpAsync() {
  return {.kind = CopyKind::CpAsync, .bytes = {4, 8, 16}, .alignment = 16, .fillsOutside = true, .completion = Completion::Group};
}
/// [P] a box of a tensor map; base 16 bytes aligned, strides multiples of 16 bytes; outside reads as zero.
CopyEngine bulkTensor() {
  return {
      .kind = CopyKind::BulkTensor, .alignment = 16, .fillsOutside = true, .issuer = Issuer::OneThread, .completion = Completion::Mbarrier};
}

/// [G] shared memory of the SM and of one block in KB (a block's is 1 KB less), resident warps, FMA and add a cycle; exp2 16, shuffle
/// 32, 64 K registers of which a thread addresses 255, 4 schedulers: on every row. Banks 32 x 4 bytes, so 128 bytes a cycle.
Target base(std::string_view name, int sharedKB, int warps, double fma) {
  Target t{.name = name, .warpSize = 32, .maxWarps = warps};
  t.copies = {copyThroughRegisters(), cpAsync()};
  t.shared = {.bytesPerBlock = (sharedKB - 1) * 1024L, .bytesPerSM = sharedKB * 1024L, .banks = 32, .bankBytes = 4, .bytesPerCycle = 128};
  t.shared.reservedPerBlock = 1024;  // [G]
  t.shared.readsMatrices = true;     // [P] ldmatrix
  t.registers = {.perThread = 255, .perSM = 65536, .granule = 8};
  t.barriers = {.named = 16, .mbarrier = true, .split = true};  // [P] bar.arrive/bar.sync; mbarrier from sm_80
  t.rates = {.exp2 = 16, .fma = fma, .add = fma, .shuffle = 32, .issue = 4, .convertsToBF16 = true};  // [P] cvt.rn.bf16x2.f32
  return t;
}

}  // namespace

std::vector<Target> nvidia() {
  Target sm80 = base("nvidia:sm_80", 164, 64, 64);
  sm80.matrix = mmas(1024, false);  // [W] 312 TFLOP/s = 108 SMs x 1.41 GHz x 2048
  Target sm86 = base("nvidia:sm_86", 100, 48, 128);
  sm86.matrix = mmas(512, false);  // [W] GA102; GeForce products do half of it with f32 accumulators
  Target sm89 = base("nvidia:sm_89", 100, 48, 128);
  sm89.matrix = mmas(512, true);  // [W] Ada; GeForce products do half of it with f32 accumulators
  Target sm90 = base("nvidia:sm_90", 228, 64, 128);
  sm90.matrix = mmas(1363.6, true);  // [M] two thirds of what wgmma does
  // fp8 is emulated by conversions and 16-bit products: it has no cycles of its own.
  for (MatrixInstruction& row : sm90.matrix)
    if (row.takes(F8E4M3)) row.cycles.reset();
  sm90.rates.convert = 64;  // [G] and [M]: f32 pairs to bf16x2, counted in lanes
  sm90.copies.push_back(bulkTensor());
  sm90.addedBytes = 16;          // [P] red with .v4
  sm90.overlapsLaunches = true;  // [P] griddepcontrol
  Target sm90a = sm90;
  sm90a.name = "nvidia:sm_90a";
  sm90a.warpGroup = 4;
  sm90a.mostClusterBlocks = 8;          // [P] what every chip takes without asking
  sm90a.registers.reallocation = true;  // [P] setmaxnreg
  sm90a.matrix.insert(sm90a.matrix.begin(), {wgmma({F16, BF16}, 16), wgmma({F32}, 8), wgmma({F8E4M3, F8E5M2}, 32)});
  Target sm100 = base("nvidia:sm_100", 228, 64, 128);
  sm100.matrix = mmas(std::nullopt, true);
  sm100.matrix.insert(sm100.matrix.begin(), {tcgen05({F16, BF16}, 16), tcgen05({F32}, 8), tcgen05({F8E4M3, F8E5M2}, 32)});
  sm100.copies.push_back(bulkTensor());
  sm100.addedBytes = 16;
  sm100.overlapsLaunches = true;
  sm100.warpGroup = 4;
  sm100.registers.reallocation = true;  // [P] setmaxnreg, of sm_100a as well
  Target sm120 = base("nvidia:sm_120", 100, 48, 128);
  sm120.matrix = mmas(512, true);  // [W] RTX Blackwell; GeForce products do half of it with f32 accumulators
  sm120.copies.push_back(bulkTensor());
  sm120.addedBytes = 16;
  sm120.overlapsLaunches = true;
  return {sm80, sm86, sm89, sm90, sm90a, sm100, sm120};
}

}  // namespace fattn::gpu::targets
