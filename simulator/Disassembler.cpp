// SPDX-License-Identifier: Apache-2.0
#include "simulator/Disassembler.h"

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include "fattn/Error.h"

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

namespace fattn::simulator {

struct Disassembler::Parts {
  llvm::Triple triple{"amdgcn-amd-amdhsa"};
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembler;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

Disassembler::Disassembler(std::string_view chip, int lanes) : parts_(std::make_unique<Parts>()) {
  static const bool initialized = [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    return true;
  }();
  (void)initialized;
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(parts_->triple, error);
  if (target == nullptr) throw Error(ErrorCode::Internal, "LLVM has no AMDGPU target: " + error);
  std::string features = lanes == 32 ? "+wavefrontsize32" : "+wavefrontsize64";
  parts_->registers.reset(target->createMCRegInfo(parts_->triple));
  parts_->assembler.reset(target->createMCAsmInfo(*parts_->registers, parts_->triple, parts_->options));
  parts_->instructions.reset(target->createMCInstrInfo());
  parts_->subtarget.reset(target->createMCSubtargetInfo(parts_->triple, chip, features));
  parts_->context =
      std::make_unique<llvm::MCContext>(parts_->triple, parts_->assembler.get(), parts_->registers.get(), parts_->subtarget.get());
  parts_->disassembler.reset(target->createMCDisassembler(*parts_->subtarget, *parts_->context));
  parts_->printer.reset(target->createMCInstPrinter(parts_->triple, parts_->assembler->getAssemblerDialect(), *parts_->assembler,
                                                    *parts_->instructions, *parts_->registers));
  if (!parts_->disassembler || !parts_->printer)
    throw Error(ErrorCode::Internal, "LLVM has no disassembler for AMD's " + std::string(chip));
}

Disassembler::~Disassembler() = default;

std::string Disassembler::text(std::span<const std::byte> bytes, std::uint64_t address, std::uint32_t& size) {
  llvm::MCInst instruction;
  std::uint64_t taken = 0;
  llvm::ArrayRef<std::uint8_t> data(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  size = 4;
  if (parts_->disassembler->getInstruction(instruction, taken, data, address, llvm::nulls()) != llvm::MCDisassembler::Success) return "";
  size = static_cast<std::uint32_t>(taken);
  std::string text;
  llvm::raw_string_ostream out(text);
  parts_->printer->printInst(&instruction, address, "", *parts_->subtarget, out);
  for (char& c : text)
    if (c == '\t') c = ' ';
  return llvm::StringRef(text).trim().str();
}

}  // namespace fattn::simulator
