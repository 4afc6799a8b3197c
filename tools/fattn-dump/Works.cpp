// SPDX-License-Identifier: Apache-2.0
// Which work an instruction does, by its name. Lists of prefixes, the first that fits counts ("PTX ISA"; AMD's "CDNA3" and "RDNA3
// Instruction Set Architecture"; Intel's "Software Developer's Manual", volume 2).
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "runtime/base/TargetName.h"
#include "tools/fattn-dump/Mix.h"

namespace fattn::dump {
namespace {

using Prefixes = std::initializer_list<std::string_view>;

bool beginsWith(std::string_view text, Prefixes prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return text.starts_with(prefix); });
}

bool hasAny(std::string_view text, Prefixes parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

struct Rule {
  Work work;
  Prefixes prefixes;
};

Work firstOf(std::string_view opcode, std::initializer_list<Rule> rules, Work otherwise) {
  for (const Rule& rule : rules)
    if (beginsWith(opcode, rule.prefixes)) return rule.work;
  return otherwise;
}

Work ptxWork(std::string_view opcode) {
  const bool isFloat = hasAny(opcode, {".f16", ".f32", ".f64", ".bf16", ".e4m3", ".e5m2"});
  if (opcode.starts_with("cvt.")) return isFloat ? Work::Convert : Work::Integer;
  if (beginsWith(opcode, {"ld.", "st."}))
    return hasAny(opcode, {".global"}) ? Work::Global : hasAny(opcode, {".shared"}) ? Work::Shared : Work::Other;
  return firstOf(opcode,
                 {{Work::Matrix, {"mma.", "wgmma.mma", "wmma.", "tcgen05.mma"}},
                  {Work::Wait,
                   {"wgmma.", "tcgen05.", "bar.", "barrier", "mbarrier", "fence", "membar", "cp.async.wait", "cp.async.commit",
                    "cp.async.bulk.wait", "cp.async.bulk.commit", "cp.async.mbarrier", "setmaxnreg", "griddepcontrol", "nanosleep"}},
                  {Work::Copy, {"cp.async"}},
                  {Work::Special, {"ex2.", "lg2.", "rcp.", "rsqrt.", "sqrt.", "sin.", "cos.", "tanh."}},
                  {Work::Select, {"selp.", "setp.", "set.", "slct.", "testp."}},
                  {Work::Move, {"mov.", "cvta.", "prmt."}},
                  {Work::Exchange, {"shfl.", "vote.", "match.", "activemask", "elect.", "redux."}},
                  {Work::Global, {"atom.", "red."}},
                  {Work::Shared, {"ldmatrix.", "stmatrix."}},
                  {Work::Branch, {"bra", "brx", "ret", "exit", "call"}},
                  {isFloat ? Work::Float : Work::Integer,
                   {"add.", "sub.", "mul.", "mad.", "fma.", "div.", "rem.", "min.", "max.",  "neg.",  "abs.", "and.",
                    "or.",  "xor.", "not.", "shl.", "shr.", "shf.", "bfe.", "bfi.", "lop3.", "popc.", "clz.", "brev."}}},
                 Work::Other);
}

Work gcnWork(std::string_view opcode, std::string_view operands) {
  if (opcode.ends_with("_dpp") || hasAny(operands, {" quad_perm:", " row_", " dpp8:"})) return Work::Exchange;
  std::string plain(opcode);
  if (plain.starts_with("v_dual_")) plain.erase(2, 5);  // two instructions of RDNA in one
  const bool isFloat = hasAny(plain, {"f16", "f32", "f64"});
  return firstOf(
      plain,
      {{Work::Matrix, {"v_mfma", "v_smfmac", "v_wmma", "v_swmmac"}},
       {Work::Special, {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"}},
       {Work::Convert, {"v_cvt_"}},
       {Work::Select, {"v_cmp", "v_cndmask", "s_cmp", "s_cselect", "s_bitcmp"}},
       {Work::Exchange, {"v_readlane", "v_writelane", "v_readfirstlane", "v_permlane", "ds_bpermute", "ds_permute", "ds_swizzle"}},
       {Work::Move, {"v_mov", "v_accvgpr", "v_swap", "v_perm_b32", "s_mov", "s_cmov"}},
       {Work::Copy, {"global_load_lds", "buffer_load_lds"}},
       {Work::Global, {"global_load", "global_store", "global_atomic", "buffer_load", "buffer_store", "buffer_atomic", "flat_"}},
       {Work::Shared, {"ds_"}},
       {Work::Wait, {"s_wait", "s_barrier", "s_nop", "s_delay_alu", "s_sched", "s_setprio", "s_sleep", "buffer_inv", "buffer_wb"}},
       {Work::Branch, {"s_branch", "s_cbranch", "s_endpgm", "s_setpc", "s_swappc"}},
       {Work::Other, {"s_load", "s_buffer_load", "scratch_"}},
       {isFloat ? Work::Float : Work::Integer, {"v_", "s_"}}},
      Work::Other);
}

Work x86Work(std::string_view opcode, std::string_view operands) {
  const bool hasMemory = operands.find('(') != std::string_view::npos;
  const bool isFloat = hasAny(opcode, {"ps", "pd", "ss", "sd"}) && !beginsWith(opcode, {"vp", "p"});
  const Work move = hasMemory ? Work::Global : Work::Move;
  return firstOf(
      opcode,
      {{Work::Matrix, {"vdpbf16", "vdpph", "tdp"}},
       {Work::Convert, {"vcvt", "cvt", "vpmovsx", "vpmovzx"}},
       {Work::Select,
        {"vcmp", "vblend", "vpblend", "vpcmp", "vptest", "vucomi", "ucomi", "cmp", "test", "set", "cmov", "kor", "kand", "ktest"}},
       {move, {"vmov", "mov", "vbroadcast", "vpbroadcast", "vmaskmov", "vpmaskmov", "vgather", "vpgather", "kmov", "prefetch"}},
       {Work::Exchange,
        {"vperm", "vpunpck", "vunpck", "vpshuf", "vshuf", "vinsert", "vpinsr", "vextract", "vpextr", "vpack", "vpalign", "valign",
         "vhadd"}},
       {Work::Branch, {"j", "call", "ret", "loop"}},
       {Work::Other, {"push", "pop", "vzero", "nop", "ud2"}},
       {Work::Integer, {"vxorp", "vandp", "vandnp", "vorp", "xorp", "andp", "orp", "shr", "shl", "sar", "sub", "add"}},
       {isFloat ? Work::Float : Work::Integer, {""}}},
      Work::Other);
}

constexpr std::array<std::string_view, kWorks> kWorkNames = {
    "matrix unit", "float arithmetic", "exp, log, reciprocal",    "conversions",   "integers, addresses", "compare, select", "moves",
    "shuffles",    "memory",           "copies to shared memory", "shared memory", "waits, barriers",     "branches",        "other"};

}  // namespace

std::string_view name(Work work) { return kWorkNames[static_cast<std::size_t>(work)]; }

Work workOf(std::string_view opcode, std::string_view operands, TargetKind kind) {
  if (kind == TargetKind::Nvidia) return ptxWork(opcode);
  return kind == TargetKind::Amd ? gcnWork(opcode, operands) : x86Work(opcode, operands);
}

}  // namespace fattn::dump
