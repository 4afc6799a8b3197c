// SPDX-License-Identifier: Apache-2.0
// Leaves blocks of long kernels that run once a program, or hardly ever, in the order that instructions had when they got their registers.
//
//   v_mov_b32 ...                v_mov_b32 ...
//   v_mul_f32 ...        =>      SCHED_BARRIER 0          and the other way around behind the scheduler
//   v_mul_f32 ...                v_mul_f32 ...
//                                SCHED_BARRIER 0 ...
//
// LLVM schedules twice, before and behind the allocation of registers. The second time it asks for each instruction what all that could
// come next would have to wait for, which on chips with MFMA is a long question: a seventh of the whole compilation. Three quarters of a
// long kernel are what a program does before and behind its loops, and exact sides. There some waits (S_NOP) become longer, 2% of the
// instructions. In loops the second schedule stays what it is.
#include "compiler/emit/ColdBlocks.h"

#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

namespace fattn::emit {
namespace {

/// Instructions. Shorter kernels compile soon enough, and what they do once may be most of what they do. Longer ones spend their time in
/// loops.
constexpr unsigned kLong = 3500;

/// AMD's instruction for schedulers, of which no machine code comes. Its number is known inside of LLVM only.
unsigned schedBarrier(const llvm::TargetInstrInfo& instructions) {
  static const unsigned found = [&] {
    unsigned opcode = instructions.getNumOpcodes();
    while (opcode > 0 && instructions.getName(opcode - 1) != "SCHED_BARRIER") --opcode;
    return opcode;
  }();
  return found - 1;
}

/// Where there is no such instruction, both passes do nothing.
bool hasSchedBarrier(const llvm::TargetInstrInfo& instructions) { return schedBarrier(instructions) < instructions.getNumOpcodes(); }

class FenceColdBlocks : public llvm::MachineFunctionPass {
 public:
  static char ID;
  FenceColdBlocks() : MachineFunctionPass(ID) {}

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.addRequired<llvm::MachineBlockFrequencyInfoWrapperPass>();
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    const llvm::TargetInstrInfo& instructions = *function.getSubtarget().getInstrInfo();
    if (function.getInstructionCount() < kLong || !hasSchedBarrier(instructions)) return false;
    const auto& frequencies = getAnalysis<llvm::MachineBlockFrequencyInfoWrapperPass>().getMBFI();
    for (llvm::MachineBasicBlock& block : function) {
      if (frequencies.getBlockFreq(&block) > frequencies.getEntryFreq()) continue;
      for (llvm::MachineInstr& instruction : llvm::make_early_inc_range(block))
        llvm::BuildMI(block, instruction, llvm::DebugLoc(), instructions.get(schedBarrier(instructions))).addImm(0);
    }
    return true;
  }
};

class UnfenceColdBlocks : public llvm::MachineFunctionPass {
 public:
  static char ID;
  UnfenceColdBlocks() : MachineFunctionPass(ID) {}

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    const llvm::TargetInstrInfo& instructions = *function.getSubtarget().getInstrInfo();
    if (!hasSchedBarrier(instructions)) return false;
    for (llvm::MachineBasicBlock& block : function)
      for (llvm::MachineInstr& instruction : llvm::make_early_inc_range(block))
        if (instruction.getOpcode() == schedBarrier(instructions)) instruction.eraseFromParent();
    return true;
  }
};

char FenceColdBlocks::ID = 0;
char UnfenceColdBlocks::ID = 0;

}  // namespace

llvm::FunctionPass* createFenceColdBlocks() { return new FenceColdBlocks(); }
llvm::FunctionPass* createUnfenceColdBlocks() { return new UnfenceColdBlocks(); }

}  // namespace fattn::emit
