// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/Target.h"

#include <cctype>

#include "compiler/gpu/Target.h"
#include "fattn/Device.h"
#include "fattn/Error.h"

namespace fattn::kernels {

const std::string& defaultTarget() {
  static const std::string* name = new std::string(openDevice("").name());
  return *name;
}

bool namesChip(std::string_view target) { return target.starts_with("nvidia:") || target.starts_with("amd:"); }

std::string resolveTarget(const std::string& target) {
  const std::string& named = target.empty() ? defaultTarget() : target;
  return namesHost(named) || namesChip(named) ? named : openDevice(named).name();
}

std::string codeTarget(const std::string& target) {
  if (namesHost(target) || namesChip(target)) return target;
  // Names are "nvidia:sm_<number>". One with a letter behind it has all instructions of that chip, and runs on no other.
  std::string have = openDevice(target).chip();
  if (have.starts_with("amd:")) return std::string(gpu::findTarget(have).name);
  for (std::string_view name : gpu::targetNames())
    if (name.size() == have.size() + 1 && name.starts_with(have) && !std::isdigit(static_cast<unsigned char>(name.back())))
      return std::string(name);
  auto number = [](std::string_view name) { return std::stoi(std::string(name.substr(std::string_view("nvidia:sm_").size()))); };
  std::string best;
  for (std::string_view name : gpu::targetNames())
    if (name.starts_with("nvidia:") && name.back() >= '0' && name.back() <= '9' && number(name) <= number(have) &&
        (best.empty() || number(name) > number(best)))
      best = name;
  if (best.empty())
    throw Error(ErrorCode::Unsupported, "target is '" + target + "', which is " + have + "; fattn compiles for sm_80 and later");
  return best;
}

void requireTarget(const std::string& target) {
  if (target.empty()) return;
  if (!namesChip(target)) return void(codeTarget(openDevice(target).kind() == DeviceKind::Host ? target : openDevice(target).name()));
  if (target.starts_with("amd:"))
    throw Error(ErrorCode::Unsupported, "target is '" + target + "', a chip that fattn compiles for but does not run on",
                "the nearest supported target is 'host'");
  gpu::findTarget(target);
}

}  // namespace fattn::kernels
