// SPDX-License-Identifier: Apache-2.0
// Branches, waits, barriers, and what only concerns the time that instructions take.
#include <array>
#include <utility>

#include "simulator/ScalarFunctions.h"

namespace fattn::simulator {
namespace {

void ignore(Wave&, const Instruction&) {}

void jump(Wave& wave, const Instruction& instruction) {
  if (instruction.target < 0) violate("branches to where no instruction begins");
  wave.next = static_cast<std::uint32_t>(instruction.target);
}

template <bool wanted>
void branchOnScc(Wave& wave, const Instruction& instruction) {
  if (wave.sccUndefined) violate("branches on SCC, which depends on a register that nobody has written");
  if (wave.scc == wanted) jump(wave, instruction);
}

const Operand kVccOperand = {.kind = Operand::Scalar, .dwords = 2, .index = Scalar::kVcc};

template <bool wanted>
void branchOnVcc(Wave& wave, const Instruction& instruction) {
  wave.checkWait(kVccOperand, false);
  for (int half = 0; half < wave.lanes / 32; ++half) wave.checkDefined(Scalar::kVcc + half, "the condition");
  if ((wave.laneMask(kVccOperand) == 0) == wanted) jump(wave, instruction);
}

template <bool wanted>
void branchOnExec(Wave& wave, const Instruction& instruction) {
  if ((wave.exec == 0) == wanted) jump(wave, instruction);
}

void endProgram(Wave& wave, const Instruction&) { wave.state = Wave::State::Ended; }

void meet(Wave& wave, const Instruction&) {
  if (wave.exec != wave.startLanes) violate("meets a barrier with lanes switched off: some threads of the wave have taken another way");
  wave.state = Wave::State::AtBarrier;
}

/// The halves of a barrier of gfx12: waves meet at the first one. Nothing of local memory may stand between them, as another wave may not
/// have arrived yet (checked where local memory is accessed).
void signal(Wave& wave, const Instruction& instruction) {
  if (static_cast<std::int32_t>(instruction.operands[0].value) != -1)
    violate("signals another barrier than the workgroup's, which is not simulated");
  meet(wave, instruction);
  wave.signaled = true;
}

void waitForSignals(Wave& wave, const Instruction&) {
  if (!wave.signaled) violate("waits for a barrier that it has not signaled");
  wave.signaled = false;
}

void padding(Wave&, const Instruction&) { violate("executes the padding behind a program"); }

/// The counters are fields of the constant; gfx9 and gfx11 have them in different places. A field that is all ones is a wait, too, where
/// more accesses are on their way: a chip issues none that its counter has no room for.
void waitForCounters(Wave& wave, const Instruction& instruction) {
  std::uint32_t fields = instruction.raw & 0xffff;
  bool cdna = wave.chip().isCdna();
  std::uint32_t loads = cdna ? (fields & 15) | (fields >> 14 & 3) << 4 : fields >> 10 & 63;
  std::uint32_t local = cdna ? fields >> 8 & 15 : fields >> 4 & 63;
  wave.wait(Counter::Loads, static_cast<int>(loads));
  wave.wait(Counter::Local, static_cast<int>(local));
}

void waitForStores(Wave& wave, const Instruction& instruction) {
  wave.wait(Counter::Stores, static_cast<int>(instruction.operands[1].value));
}

/// gfx12: an instruction for each counter.
template <Counter counter>
void waitForOne(Wave& wave, const Instruction& instruction) {
  wave.wait(counter, static_cast<int>(instruction.operands[0].value));
}

template <Counter counter>
void waitForLocalAnd(Wave& wave, const Instruction& instruction) {
  wave.wait(counter, static_cast<int>(instruction.operands[0].value >> 8));
  wave.wait(Counter::Local, static_cast<int>(instruction.operands[0].value & 0xff));
}

void getProgramCounter(Wave& wave, const Instruction& instruction) {
  wave.setScalar64(instruction.operands[0].index, wave.group->loadAddress + instruction.address + instruction.size);
}

void addBranches(std::vector<Row>& rows) {
  rows.push_back(ownRow("s_branch", jump, 0));
  rows.push_back(ownRow("s_cbranch_scc0", branchOnScc<false>, 0));
  rows.push_back(ownRow("s_cbranch_scc1", branchOnScc<true>, 0));
  rows.push_back(ownRow("s_cbranch_vccz", branchOnVcc<true>, 0));
  rows.push_back(ownRow("s_cbranch_vccnz", branchOnVcc<false>, 0));
  rows.push_back(ownRow("s_cbranch_execz", branchOnExec<true>, 0));
  rows.push_back(ownRow("s_cbranch_execnz", branchOnExec<false>, 0));
  rows.push_back(ownRow("s_getpc_b64", getProgramCounter, 1));
  rows.push_back(ownRow("s_endpgm", endProgram, 0));
  rows.push_back(ownRow("s_code_end", padding, 0));
}

}  // namespace

std::vector<Row> controlRows() {
  std::vector<Row> rows;
  addBranches(rows);
  rows.push_back(ownRow("s_barrier", meet, 0));
  rows.push_back(ownRow("s_barrier_signal", signal, 0));
  rows.push_back(ownRow("s_barrier_wait", waitForSignals, 0));
  rows.push_back(ownRow("s_waitcnt", waitForCounters, 0));
  rows.push_back(ownRow("s_waitcnt_vscnt", waitForStores, 0));
  rows.push_back(ownRow("s_wait_loadcnt", waitForOne<Counter::Loads>, 0));
  rows.push_back(ownRow("s_wait_storecnt", waitForOne<Counter::Stores>, 0));
  rows.push_back(ownRow("s_wait_dscnt", waitForOne<Counter::Local>, 0));
  rows.push_back(ownRow("s_wait_kmcnt", waitForOne<Counter::Scalars>, 0));
  rows.push_back(ownRow("s_wait_loadcnt_dscnt", waitForLocalAnd<Counter::Loads>, 0));
  rows.push_back(ownRow("s_wait_storecnt_dscnt", waitForLocalAnd<Counter::Stores>, 0));
  for (std::string_view name : {"s_nop",
                                "v_nop",
                                "s_setprio",
                                "s_sleep",
                                "s_clause",
                                "s_delay_alu",
                                "s_waitcnt_depctr",
                                "s_wait_alu",
                                "s_wait_idle",
                                "s_sendmsg",
                                "s_set_inst_prefetch_distance",
                                "s_icache_inv",
                                "s_dcache_inv",
                                "s_dcache_wb",
                                "buffer_inv",
                                "buffer_wbl2",
                                "buffer_gl0_inv",
                                "buffer_gl1_inv",
                                "global_inv",
                                "global_wb",
                                "s_wait_bvhcnt",
                                "s_wait_samplecnt",
                                "s_wait_expcnt"})
    rows.push_back(ownRow(name, ignore, 0));
  return rows;
}

}  // namespace fattn::simulator
