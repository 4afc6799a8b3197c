// SPDX-License-Identifier: Apache-2.0
// Fills the machine table of the host.
#include <array>

#include "compiler/emit/HostCode.h"
#include "fattn/Error.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

namespace fattn::emit {
namespace {

struct Level {
  const char *name, *cpu, *features;
};

constexpr std::array<Level, 4> kLevels = {{{"host:sse2", "x86-64", ""},
                                           {"host:avx2", "x86-64-v3", ""},
                                           {"host:avx512", "x86-64-v4", ""},
                                           {"host:avx512bf16", "x86-64-v4", "+avx512bf16"}}};

void fillFromLevel(cpu::HostTarget& target, int level) {
  target.lanes = level >= 2 ? 16 : level == 1 ? 8 : 4;
  target.registers = level >= 2 ? 32 : 16;
  target.fma = target.halfConvert = level >= 1;
  target.scalef = level >= 2;
  target.bf16Dot = level >= 3;
}

}  // namespace

cpu::HostTarget hostTarget(const std::string& name) {
  cpu::HostTarget target;
  if (name == "host") {
    target.cpu = llvm::sys::getHostCPUName().str();
    llvm::StringMap<bool> have = llvm::sys::getHostCPUFeatures();
    for (auto& feature : have) target.features += (feature.second ? ",+" : ",-") + feature.first().str();
    if (!target.features.empty()) target.features.erase(0, 1);
    auto has = [&](const char* f) { return have.lookup(f); };
    bool avx2 = has("avx2") && has("fma") && has("f16c");
    bool avx512 = avx2 && has("avx512f") && has("avx512dq") && has("avx512bw") && has("avx512vl");
    fillFromLevel(target, avx512 ? (has("avx512bf16") ? 3 : 2) : avx2 ? 1 : 0);
    return target;
  }
  std::string legal = "host";
  for (size_t i = 0; i < kLevels.size(); ++i) {
    if (name == kLevels[i].name) {
      target.cpu = kLevels[i].cpu;
      target.features = kLevels[i].features;
      fillFromLevel(target, i);
      return target;
    }
    legal += std::string(", ") + kLevels[i].name;
  }
  throw Error(ErrorCode::InvalidArgument, "there is no host target '" + name + "'", "legal are " + legal);
}

}  // namespace fattn::emit
