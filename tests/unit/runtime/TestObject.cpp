// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/runtime/TestObject.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <mutex>
#include <stdexcept>

namespace fattn::test {

compiler::Binary hostBinary(const char* ir, int slots, std::int64_t scratchBytes) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(ir, diagnostic, context);
  if (!module) throw std::runtime_error("test IR: " + diagnostic.getMessage().str());
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) throw std::runtime_error(error);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(triple, llvm::sys::getHostCPUName(), "", {}, llvm::Reloc::PIC_));
  module->setTargetTriple(triple);
  module->setDataLayout(machine->createDataLayout());
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) throw std::runtime_error("no object files");
  passes.run(*module);
  compiler::Binary binary;
  binary.target = "host";
  binary.entry = "kernel";
  binary.bytes.assign(bytes.begin(), bytes.end());
  binary.args.resize(static_cast<std::size_t>(slots));
  binary.scratchBytes = scratchBytes;
  return binary;
}

compiler::Binary countingBinary() {
  return hostBinary(R"(
define void @kernel(ptr %args, ptr %grid, ptr %scratch) {
  %data = load ptr, ptr %args
  %py = getelementptr i32, ptr %grid, i64 1
  %pz = getelementptr i32, ptr %grid, i64 2
  %pnx = getelementptr i32, ptr %grid, i64 3
  %pny = getelementptr i32, ptr %grid, i64 4
  %x = load i32, ptr %grid
  %y = load i32, ptr %py
  %z = load i32, ptr %pz
  %nx = load i32, ptr %pnx
  %ny = load i32, ptr %pny
  %zy = mul i32 %z, %ny
  %row = add i32 %zy, %y
  %base = mul i32 %row, %nx
  %index = add i32 %base, %x
  %element = getelementptr i32, ptr %data, i32 %index
  %old = load i32, ptr %element
  %new = add i32 %old, 1
  store i32 %new, ptr %element
  ret void
})",
                    1);
}

}  // namespace fattn::test
