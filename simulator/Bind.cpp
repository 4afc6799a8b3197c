// SPDX-License-Identifier: Apache-2.0
// From an instruction's text to what executes it.
#include <algorithm>
#include <bit>
#include <string>
#include <unordered_map>

#include "simulator/Execute.h"
#include "simulator/Float.h"
#include "simulator/Table.h"

namespace fattn::simulator {
namespace {

void unknown(Wave&, const Instruction& instruction) { violate(instruction.problem); }

/// Executes two halves, which both read before either writes.
void dual(Wave& wave, const Instruction& instruction) {
  const Instruction &first = *instruction.first, &second = *instruction.second;
  auto at = static_cast<std::size_t>(first.operands[0].index);
  Wave::Row old = wave.rows[at];
  std::uint64_t oldUndefined = wave.undefinedLanes[at];
  perform(wave, first);
  std::swap(old, wave.rows[at]);
  std::swap(oldUndefined, wave.undefinedLanes[at]);
  perform(wave, second);
  wave.rows[at] = old;
  wave.undefinedLanes[at] = oldUndefined;
}

std::string_view aliasOf(std::string_view name) {
  static const std::unordered_map<std::string_view, std::string_view> kAliases = {
      {"v_cvt_pk_rtz_f16_f32", "v_cvt_pkrtz_f16_f32"},
      {"v_mul_dx9_zero_f32", "v_mul_legacy_f32"},
      {"v_cvt_floor_i32_f32", "v_cvt_flr_i32_f32"},
      {"v_cvt_nearest_i32_f32", "v_cvt_rpi_i32_f32"},
      {"v_clz_i32_u32", "v_ffbh_u32"},
      {"v_ctz_i32_b32", "v_ffbl_b32"},
      {"v_cls_i32", "v_ffbh_i32"},
      {"v_add_co_ci_u32", "v_addc_co_u32"},
      {"v_sub_co_ci_u32", "v_subb_co_u32"},
      {"v_subrev_co_ci_u32", "v_subbrev_co_u32"},
      {"s_ctz_i32_b32", "s_ff1_i32_b32"},
      {"s_ctz_i32_b64", "s_ff1_i32_b64"},
      {"s_clz_i32_u32", "s_flbit_i32_b32"},
      {"s_clz_i32_u64", "s_flbit_i32_b64"},
      {"s_cls_i32", "s_flbit_i32"},
      {"s_and_not1_b32", "s_andn2_b32"},
      {"s_and_not1_b64", "s_andn2_b64"},
      {"s_or_not1_b32", "s_orn2_b32"},
      {"s_or_not1_b64", "s_orn2_b64"},
      {"s_and_not1_saveexec_b32", "s_andn2_saveexec_b32"},
      {"s_and_not1_saveexec_b64", "s_andn2_saveexec_b64"},
      {"s_or_not1_saveexec_b32", "s_orn2_saveexec_b32"},
      {"s_or_not1_saveexec_b64", "s_orn2_saveexec_b64"},
      {"v_fma_dx9_zero_f32", "v_fma_legacy_f32"},
  };
  auto found = kAliases.find(name);
  return found == kAliases.end() ? name : found->second;
}

/// The name that gfx9 has for what an instruction does.
std::string commonName(std::string name) {
  auto replace = [&](std::string_view from, std::string_view to) {
    if (std::size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
  };
  if (name.starts_with("v_dual_")) replace("v_dual_", "v_");
  if (name.starts_with("v_")) replace("_nc_", "_");
  if (name.starts_with("v_")) replace("_num_", "_");  // gfx12: v_min_num_f32 is what v_min_f32 is elsewhere
  return std::string(aliasOf(name));
}

const std::unordered_map<std::string_view, Row>& table() {
  static const auto kTable = [] {
    std::unordered_map<std::string_view, Row> all;
    for (auto rows : {scalarRows, scalarBitRows, scalarFloatRows, controlRows, integerRows, floatRows, halfRows, conversionRows, packedRows,
                      crossLaneRows, selectRows, matrixRows, localRows})
      for (const Row& row : rows()) all.emplace(row.name, row);
    return all;
  }();
  return kTable;
}

std::optional<Row> findRow(std::string_view name) {
  if (auto found = table().find(name); found != table().end()) return found->second;
  for (auto family : {compareRow, scalarLoadRow, globalRow, localRow})
    if (auto row = family(name)) return row;
  return std::nullopt;
}

/// The bits of a constant in an operand of this type.
std::uint64_t constantBits(const Operand& operand, Type type) {
  auto value = std::bit_cast<double>(operand.value);
  std::uint64_t integer = operand.value;
  auto single = static_cast<float>(value);
  switch (type) {
    case Type::B32:
    case Type::F32:
    case Type::B16:
      return operand.isFloat ? std::bit_cast<std::uint32_t>(single) : integer & 0xffffffff;
    case Type::F16:
      return operand.isFloat ? floatToHalf(single) : integer & 0xffffffff;
    case Type::BF16:
      return operand.isFloat ? floatToBfloat(single) : integer & 0xffffffff;
    case Type::B64:
      return integer;
    case Type::F64:
      if (operand.isFloat) return integer;
      // A literal has the upper half; the small integers that an encoding has room for are the whole.
      return integer <= 64 || static_cast<std::int64_t>(integer) < 0 ? integer : integer << 32;
  }
  return integer;
}

Category categoryOf(std::string_view name) {
  auto has = [&](std::initializer_list<std::string_view> prefixes) {
    return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
  };
  if (has({"v_mfma_", "v_wmma_"})) return Category::Matrix;
  if (has({"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_", "v_s_"})) return Category::Transcendental;
  if (has({"v_"}) && name != "v_nop") return Category::Vector;
  if (has({"ds_"})) return Category::Local;
  if (has({"global_", "buffer_", "flat_", "scratch_"})) return Category::Global;
  if (has({"s_load_", "s_buffer_load_"})) return Category::ScalarLoad;
  if (has({"s_wait"})) return Category::Wait;
  if (has({"s_barrier"})) return Category::Barrier;
  if (isBranch(name)) return Category::Branch;
  if (has({"s_nop", "v_nop", "s_clause", "s_delay_alu", "s_setprio", "s_sendmsg", "s_endpgm", "s_sleep", "s_code_end"}))
    return Category::Other;
  return Category::Scalar;
}

/// Why the row's handler cannot execute the instruction; empty where it can.
std::string misfit(const Instruction& instruction, const Row& row) {
  int sources = instruction.count - row.writes + (row.readsDestination ? 1 : 0);
  if (row.count != Row::kAnyCount && sources != row.count) return "is known with other operands only";
  if ((instruction.clamp || instruction.outputShift != 0) && !row.clamps)
    return "is known without clamp and multiplication of its result only";
  if ((instruction.negLo | instruction.negHi) != 0 && !row.negates) return "is known without neg_lo and neg_hi only";
  for (std::size_t i = row.writes; i < instruction.count; ++i) {
    const Operand& operand = instruction.operands[i];
    const Type type = row.sources[std::min<std::size_t>(i - row.writes, 3)];
    const bool isInteger = type == Type::B32 || type == Type::B16 || type == Type::B64;
    if (isInteger && (operand.negate || operand.absolute)) return "is known without negation and absolute values only";
  }
  if (instruction.broadcast != 0) return "is known without broadcasts (cbsz, abid, blgp) only";
  return "";
}

void refuseInstruction(Instruction& instruction, std::string problem) {
  instruction.handler = unknown;
  instruction.problem = std::move(problem);
}

/// One instruction, or one half of a pair.
void bindHalf(Instruction& instruction) {
  std::string name = commonName(instruction.mnemonic);
  instruction.category = categoryOf(name);
  std::optional<Row> row = findRow(name);
  if (!row) return refuseInstruction(instruction, "the simulator does not know the instruction " + instruction.mnemonic);
  // gfx9 writes a comparison's result beside EXEC, too; later chips name no destination.
  if (name.starts_with("v_cmpx_") && instruction.count == 2) row->writes = 0;
  instruction.lds |= name.starts_with("global_load_lds_");
  if (instruction.lds) row->writes = 0;
  if (row->access.kind == Access::Atomic && instruction.returns) row->writes = 1;
  if (std::string problem = misfit(instruction, *row); !problem.empty())
    return refuseInstruction(instruction, instruction.mnemonic + " " + problem);
  instruction.handler = row->handler;
  instruction.writes = std::min(row->writes, instruction.count);
  instruction.readsDestination = row->readsDestination;
  instruction.plainTaint = row->plainTaint;
  instruction.packs = row->packs;
  instruction.parameter = row->parameter;
  instruction.keepsHigh = row->keepsHigh;
  instruction.access = row->access;
  for (std::size_t i = instruction.writes; i < instruction.count; ++i) {
    Operand& operand = instruction.operands[i];
    if (operand.kind == Operand::Constant)
      operand.value = constantBits(operand, row->sources[std::min<std::size_t>(i - instruction.writes, 3)]);
  }
}

}  // namespace

void bindInstruction(Instruction& instruction, std::string_view text, const Chip& chip, int lanes) {
  if (text.empty()) return refuseInstruction(instruction, "these bytes are no instruction of " + std::string(chip.name));
  std::string problem;
  if (!parseText(text, lanes, instruction, problem))
    return refuseInstruction(instruction, "the simulator does not understand its " + problem);
  if (!instruction.first) return bindHalf(instruction);
  instruction.category = Category::Vector;
  for (Instruction* half : {instruction.first.get(), instruction.second.get()}) {
    bindHalf(*half);
    if (isUnknown(*half)) return refuseInstruction(instruction, half->problem);
  }
  instruction.handler = dual;
  instruction.plainTaint = false;
}

std::vector<std::string_view> knownMnemonics() {
  std::vector<std::string_view> names;
  for (const auto& [name, row] : table()) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

bool isUnknown(const Instruction& instruction) { return instruction.handler == unknown; }

bool isBranch(std::string_view mnemonic) { return mnemonic == "s_branch" || mnemonic.starts_with("s_cbranch_"); }

}  // namespace fattn::simulator
