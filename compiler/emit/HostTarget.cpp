// SPDX-License-Identifier: Apache-2.0
// Fills the machine table of the host.
#include <array>

#include "compiler/emit/HostCode.h"
#include "fattn/Error.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "runtime/base/HostLevel.h"

namespace fattn::emit {
namespace {

using host::Level;

void fillFromLevel(cpu::HostTarget& target, Level level) {
  target.lanes = level >= Level::Avx512 ? 16 : level == Level::Avx2 ? 8 : 4;
  target.registers = level >= Level::Avx512 ? 32 : 16;
  target.fma = target.halfConvert = level >= Level::Avx2;
  target.scalef = level >= Level::Avx512;
  target.bf16Dot = level >= Level::Avx512Bf16;
}

/// LLVM's names of a processor that has a level and nothing more.
void nameLevel(cpu::HostTarget& target, Level level) {
  static constexpr std::array kProcessors = {"x86-64", "x86-64-v3", "x86-64-v4", "x86-64-v4"};
  target.cpu = kProcessors[static_cast<std::size_t>(level)];
  target.features = level == Level::Avx512Bf16 ? "+avx512bf16" : "";
}

}  // namespace

cpu::HostTarget hostTarget(const std::string& name) {
  cpu::HostTarget target;
  if (name == "host") {
    target.cpu = llvm::sys::getHostCPUName().str();
    llvm::StringMap<bool> have = llvm::sys::getHostCPUFeatures();
    for (auto& feature : have) target.features += (feature.second ? ",+" : ",-") + feature.first().str();
    if (!target.features.empty()) target.features.erase(0, 1);
    fillFromLevel(target, host::highestLevel().value_or(Level::Sse2));
    return target;
  }
  std::string legal = "host";
  for (std::size_t i = 0; i < host::levelTargets().size(); ++i) {
    if (name == host::levelTargets()[i]) {
      fillFromLevel(target, static_cast<Level>(i));
      nameLevel(target, static_cast<Level>(i));
      return target;
    }
    legal += ", " + host::levelTargets()[i];
  }
  throw Error(ErrorCode::InvalidArgument, "there is no host target '" + name + "'", "legal are " + legal);
}

}  // namespace fattn::emit
