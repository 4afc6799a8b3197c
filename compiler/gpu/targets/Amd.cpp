// SPDX-License-Identifier: Apache-2.0
// AMD's rows of the machine table. Sources, named behind the figures:
//   [I] ISA documents (CDNA3, CDNA4, RDNA3, RDNA4): shapes, operand homes, LDS, direct-to-LDS loads, barriers
//   [L] LLVM's AMDGPU back end: register files (AMDGPUBaseInfo), rates of transcendental instructions (SISchedule: a quarter)
//   [D] data sheets: peak of the matrix units divided by compute units and clock
//   [W] "AMD CDNA 3 Architecture" (white paper) and that of CDNA 4: 8 dies (XCD), each with an L2 cache; of gfx942, the MI300A has 6
// Left out because there is no such source: rates of conversions and shuffles.
#include "compiler/gpu/Target.h"

namespace fattn::gpu::targets {
namespace {

using enum DType;

/// A square tile of one wave, A and B in registers. `cycles`: of the whole compute unit.
MatrixInstruction square(std::string_view name, std::string_view layout, std::vector<DType> types, int size, int k,
                         std::optional<double> cycles) {
  MatrixInstruction row{.name = name, .types = std::move(types), .m = size, .k = k, .minN = size, .maxN = size, .stepN = size, .warps = 1};
  row.a = row.b = row.accumulator = only(Home::Registers);
  row.layout = layout;
  row.occupiesAlu = name == "wmma";  // [I] RDNA's SIMDs execute it as vector instructions
  if (cycles) row.cycles = MatrixCycles{.perColumn = *cycles / size};
  return row;
}

/// So many instructions of this row, which take what a lane has side by side in turn: the order of the depth is free where both operands
/// share it, and in this one a lane reads 16 bytes at once.
MatrixInstruction inRuns(MatrixInstruction row, std::string_view name, std::string_view layout, int pieces) {
  row.name = name;
  row.layout = layout;
  row.inRuns = true;
  row.k *= pieces;
  row.pieces = pieces;
  if (row.cycles) row.cycles->perColumn *= pieces;
  return row;
}

/// [I] a wave's lanes write LDS directly, at consecutive addresses; buffer loads return zero outside of their range. A copy has a wait, a
/// branch and a slot of its own, and its wait is for all loads: by the model of time that is worth it from four vectors a lane on, and not
/// for two.
CopyEngine directToShared(std::vector<int> bytes) {
  const int alignment = bytes.back();
  return {.kind = CopyKind::DirectToShared,
          .bytes = std::move(bytes),
          .alignment = alignment,
          .fillsOutside = true,
          .issuer = Issuer::Warp,
          .completion = Completion::Counter,
          .slotsOfTile = 3};
}
CopyEngine registerCopy() { return {.kind = CopyKind::Register, .bytes = {4, 8, 16}, .alignment = 16, .fillsOutside = true}; }

/// Of a block's LDS, where its waves vote: a word for each.
constexpr std::int64_t kVoteBytes = 128;

/// [I] 64 lanes: 4 SIMDs of 16 lanes, each issuing an instruction of one wave a cycle in turn; LDS 128 bytes a cycle.
/// [L] 512 registers a lane of each SIMD (accumulation registers included).
Target cdna(std::string_view name, int ldsKB) {
  Target t{.name = name, .warpSize = 64, .maxWarps = 32, .simds = 4, .dies = 8};
  t.shared = {.bytesPerBlock = ldsKB * 1024L - kVoteBytes, .bytesPerSM = ldsKB * 1024L, .banks = 32, .bankBytes = 4, .bytesPerCycle = 128};
  t.registers = {.perThread = 512, .perSM = 4L * 512 * 64, .granule = 8};
  t.barriers = {.named = 1, .orderAll = false, .votes = false};
  t.rates = {.exp2 = 16, .fma = 64, .add = 64, .issue = 1};
  return t;
}

/// [I] 32 lanes: 2 SIMDs of 32 lanes; a work group processor is two compute units, over whose SIMDs a block is spread. [L] 1536 registers a
/// lane of each SIMD, of which a wave addresses 256.
Target rdna(std::string_view name) {
  Target t{.name = name, .warpSize = 32, .maxWarps = 32, .simds = 2, .smsOfBlock = 2};
  t.shared = {.bytesPerBlock = 64 * 1024L - kVoteBytes, .bytesPerSM = 64 * 1024L, .banks = 32, .bankBytes = 4, .bytesPerCycle = 128};
  t.registers = {.perThread = 256, .perSM = 2L * 1536 * 32, .granule = 24};
  t.barriers = {.named = 1, .orderAll = false, .votes = false};
  t.copies = {registerCopy()};
  t.rates = {.exp2 = 16, .fma = 64, .add = 64, .issue = 2};
  return t;
}

}  // namespace

std::vector<Target> amd() {
  Target gfx942 = cdna("amd:gfx942", 64);
  // [D] 1307 TFLOP/s = 304 CUs x 2.1 GHz x 2048: 1024 FMA a cycle; [I] 8 passes of 4 cycles on one of 4 SIMDs. fp8 is FNUZ here, which
  // is not a type of ours. [D] 163.4 TFLOP/s of f32: an eighth; products and sums are IEEE's.
  gfx942.matrix = {square("mfma", "mfma", {F16, BF16}, 32, 8, 8), square("mfma", "mfma", {F16, BF16}, 16, 16, 4),
                   square("mfma", "mfma", {F32}, 32, 2, 16), square("mfma", "mfma", {F32}, 16, 4, 8)};
  for (std::size_t i = 0; i < 4; ++i) gfx942.matrix.push_back(inRuns(gfx942.matrix[i], "mfma.runs", "mfma", i < 2 ? 2 : 4));
  gfx942.copies = {registerCopy(), directToShared({4})};
  Target gfx950 = cdna("amd:gfx950", 160);
  // [D] 2.5 PFLOP/s = 256 CUs x 2.4 GHz x 4096: 2048 FMA a cycle
  gfx950.matrix = {square("mfma", "mfma", {F16, BF16}, 32, 16, 8), square("mfma", "mfma", {F16, BF16}, 16, 32, 4),
                   square("mfma", "mfma", {F8E4M3, F8E5M2}, 32, 16, std::nullopt),
                   square("mfma", "mfma", {F32}, 32, 2, 16),  // [D] 157.3 TFLOP/s
                   square("mfma", "mfma", {F32}, 16, 4, 8)};
  for (const std::size_t i : {3, 4}) gfx950.matrix.push_back(inRuns(gfx950.matrix[i], "mfma.runs", "mfma", 4));
  gfx950.copies = {registerCopy(), directToShared({4, 12, 16})};
  gfx950.shared.banks = 64;  // [I] for reads of 8 and 16 bytes and transposing reads; 32 for the others
  gfx950.shared.wideGroup = {1, 2, 4, 8};
  gfx950.shared.bytesPerCycle = std::nullopt;
  gfx950.rates.convertsToBF16 = true;  // [I] V_CVT_PK_BF16_F32
  Target gfx1100 = rdna("amd:gfx1100");
  gfx1100.matrix = {square("wmma", "wmma.gfx11", {F16, BF16}, 16, 16, 16)};  // [D] 512 operations a CU and cycle
  Target gfx1201 = rdna("amd:gfx1201");
  gfx1201.matrix = {square("wmma", "wmma.gfx12", {F16, BF16}, 16, 16, 8),
                    square("wmma", "wmma.gfx12", {F8E4M3, F8E5M2}, 16, 16, 4)};  // [D] 1024, 2048
  gfx1201.matrix.push_back(inRuns(gfx1201.matrix[0], "wmma.runs", "wmma.gfx12.runs", 1));
  gfx1201.barriers.split = true;     // [I] s_barrier_signal, s_barrier_wait
  gfx1201.barriers.counters = true;  // [I] s_wait_dscnt, s_wait_loadcnt, s_wait_storecnt
  return {gfx942, gfx950, gfx1100, gfx1201};
}

}  // namespace fattn::gpu::targets
