// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Identity.h"

#include "compiler/driver/CompilerHash.h"
#include "compiler/emit/HostCode.h"
#include "fattn/Version.h"
#include "llvm-c/Core.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/TargetName.h"

using namespace mlir;

namespace fattn::compiler {

const std::string& version() {
  static const std::string* text = [] {
    unsigned major = 0, minor = 0, patch = 0;
    LLVMGetVersion(&major, &minor, &patch);  // of the library that is loaded, which may be newer than the headers were
    return new std::string(std::string(fattn::version()) + " " + kCompilerHash + " LLVM " + std::to_string(major) + "." +
                           std::to_string(minor) + "." + std::to_string(patch));
  }();
  return *text;
}

std::string targetIdentity(const std::string& target) {
  if (!parseTarget(target).isHost()) return target;  // names a chip, or is no target, which compile() says
  cpu::HostTarget machine = emit::hostTarget(target);
  return target + " (" + machine.cpu + "; " + machine.features + ")";
}

std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, OpPrintingFlags().enableDebugInfo(false).assumeVerified());
  return text;
}

static std::string textWithLocations(ModuleOp module) {
  std::string text = "line tables\n";
  llvm::raw_string_ostream out(text);
  module.print(out, OpPrintingFlags().enableDebugInfo(true).assumeVerified());
  return text;
}

std::string identity(ModuleOp module, const CompileOptions& options) {
  return identity(options.lineTables ? textWithLocations(module) : textOf(module), options);
}

std::string identity(std::string_view text, const CompileOptions& options) {
  std::string what = "compiler " + version() + "\ntarget " + targetIdentity(options.target) + "\nconfig " + options.config.toString() +
                     "\n" + (options.schedule != 0 ? "schedule " + std::to_string(options.schedule) + "\n" : "") +
                     (options.boxes ? "" : "boxes no\n") + (options.marks ? "marks\n" : "") +
                     (options.watchdog != 0 ? "watchdog " + std::to_string(options.watchdog) + "\n" : "");
  return what.append(text);
}

}  // namespace fattn::compiler
