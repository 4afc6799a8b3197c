// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/ObjectLoader.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/TargetParser/Host.h>

#include <atomic>
#include <utility>

#include "fattn/Error.h"
#include "runtime/host/Symbols.h"

namespace fattn::host {
namespace {

namespace orc = llvm::orc;

// ORC tells why a link failed to the session's reporter (by default: standard error) and tells the caller only that it did.
// Linking happens on the thread that asked for it, so the reports are collected per thread.
thread_local std::string reports;
void report(llvm::Error error) { reports += (reports.empty() ? "" : "; ") + llvm::toString(std::move(error)); }

[[noreturn]] void fail(llvm::Error error, const char* step) {
  std::string summary = llvm::toString(std::move(error)), details = std::exchange(reports, "");
  throw Error(ErrorCode::CompileError, std::string(step) + ": " + (details.empty() ? summary : details));
}

template <typename T>
T valueOf(llvm::Expected<T> expected, const char* step) {
  if (!expected) fail(expected.takeError(), step);
  return std::forward<T>(*expected);
}

void check(llvm::Error error, const char* step) {
  if (error) fail(std::move(error), step);
}

// One linker for the process. It only ever sees object files, so it gets no compiler: that keeps code generation out of runtime/.
class Linker {
 public:
  static Linker& instance() {
    static Linker* linker = new Linker;  // never destroyed, as the host device
    return *linker;
  }

  orc::LLJIT& jit() { return *jit_; }

  orc::JITDylib& newLibrary() {
    static std::atomic<std::uint64_t> counter{0};
    orc::JITDylib& library = valueOf(jit_->createJITDylib("module" + std::to_string(counter.fetch_add(1))), "new module");
    library.addToLinkOrder(*runtime_);
    return library;
  }

 private:
  Linker() {
    llvm::Triple triple(llvm::sys::getProcessTriple());
    orc::LLJITBuilder builder;
    builder.setJITTargetMachineBuilder(orc::JITTargetMachineBuilder(triple));
    builder.setDataLayout(llvm::DataLayout(triple.computeDataLayout()));
    builder.setCompileFunctionCreator(
        [](orc::JITTargetMachineBuilder) -> llvm::Expected<std::unique_ptr<orc::IRCompileLayer::IRCompiler>> { return nullptr; });
    builder.setLinkProcessSymbolsByDefault(false);
    builder.setPlatformSetUp(orc::setUpInactivePlatform);
    jit_ = valueOf(builder.create(), "host linker");
    jit_->getExecutionSession().setErrorReporter(report);
    runtime_ = &valueOf(jit_->createJITDylib("runtime"), "host linker");
    orc::SymbolMap map;
    for (const Symbol& symbol : symbols())
      map[jit_->mangleAndIntern(symbol.name)] = {orc::ExecutorAddr::fromPtr(symbol.address),
                                                 llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    check(runtime_->define(orc::absoluteSymbols(std::move(map))), "host linker");
  }

  std::unique_ptr<orc::LLJIT> jit_;
  orc::JITDylib* runtime_ = nullptr;
};

class Loaded : public LoadedObject {
 public:
  Loaded(std::string_view bytes, const std::string& entry) : library_(Linker::instance().newLibrary()) {
    orc::LLJIT& jit = Linker::instance().jit();
    try {
      auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(bytes.data(), bytes.size()), entry);
      check(jit.addObjectFile(library_, std::move(buffer)), "host object");
      program = valueOf(jit.lookup(library_, entry), "host object").toPtr<Program>();
    } catch (...) {
      remove();
      throw;
    }
  }
  ~Loaded() override { remove(); }

 private:
  void remove() { llvm::consumeError(Linker::instance().jit().getExecutionSession().removeJITDylib(library_)); }

  orc::JITDylib& library_;
};

}  // namespace

std::unique_ptr<LoadedObject> loadObject(std::string_view bytes, const std::string& entry) {
  return std::make_unique<Loaded>(bytes, entry);
}

}  // namespace fattn::host
