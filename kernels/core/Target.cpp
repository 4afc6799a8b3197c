// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/Target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <vector>

#include "compiler/gpu/Target.h"
#include "fattn/Device.h"
#include "fattn/Error.h"
#include "runtime/base/TargetName.h"

namespace fattn::kernels {

const std::string& defaultTarget() {
  static const std::string* name = new std::string(openDevice("").name());
  return *name;
}

namespace {

/// The number in "sm_90a", and whether a letter stands behind it.
struct Architecture {
  int number = 0;
  bool isSpecific = false;
  explicit Architecture(std::string_view chip) : isSpecific(!chip.empty() && !std::isdigit(static_cast<unsigned char>(chip.back()))) {
    const std::size_t begin = std::min(chip.find('_') + 1, chip.size());
    std::from_chars(chip.data() + begin, chip.data() + chip.size(), number);
  }
};

/// Whether a chip runs the code for another one.
bool runs(std::string_view have, std::string_view code) {
  const Architecture chip(code);
  const int number = Architecture(have).number;
  return chip.isSpecific ? chip.number == number : chip.number <= number;
}

/// The newest row of the table whose code a chip of NVIDIA's runs. One with a letter behind its number has all instructions of that chip,
/// and runs on no other.
std::string newestFor(std::string_view have) {
  std::string best;
  int bestNumber = 0;
  for (std::string_view row : gpu::targetNames()) {
    const TargetName name = parseTarget(row);
    if (name.kind != TargetKind::Nvidia || !runs(have, name.part)) continue;
    const Architecture chip(name.part);
    if (chip.isSpecific) return std::string(row);
    if (chip.number <= bestNumber) continue;
    bestNumber = chip.number;
    best = row;
  }
  return best;
}

/// The code that a caller has named behind the device.
std::string askedCode(const std::string& target, std::string_view asked, std::string_view have) {
  std::vector<std::string_view> legal;
  for (std::string_view row : gpu::targetNames()) {
    const TargetName name = parseTarget(row);
    if (name.kind != TargetKind::Nvidia || !runs(have, name.part)) continue;
    if (name.part == asked) return std::string(row);
    legal.push_back(name.part);
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("target is '{}', whose device is {}: it runs no code for '{}' that fattn compiles", target, have, asked),
              fmt::format("behind the @ may stand {}; without it fattn chooses", fmt::join(legal, ", ")));
}

// Of a device that is no host.
std::string codeFor(const std::string& target, const Device& device) {
  const std::string have = device.chip();
  const TargetName chip = parseTarget(have);
  if (chip.kind == TargetKind::Amd) return std::string(gpu::findTarget(have).name);
  if (const TargetName asked = parseTarget(target); !asked.code.empty()) return askedCode(target, asked.code, chip.part);
  std::string best = newestFor(chip.part);
  if (best.empty())
    throw Error(ErrorCode::Unsupported, "target is '" + target + "', which is " + have + "; fattn compiles for sm_80 and later");
  return best;
}

/// The device's name in full, with the code that was asked for.
std::string fullName(std::string_view target, const Device& device) {
  const std::string_view code = parseTarget(target).code;
  return code.empty() ? device.name() : fmt::format("{}@{}", device.name(), code);
}

}  // namespace

std::string codeTarget(const std::string& target) {
  if (namesHost(target) || namesChip(target)) return target;
  return codeFor(target, openDevice(target));
}

ResolvedTarget::ResolvedTarget(std::string_view asked) : name(asked.empty() ? defaultTarget() : std::string(asked)) {
  const TargetName parsed = parseTarget(name);
  if (parsed.isChip()) {
    code = gpu::findTarget(name).name;
    return;
  }
  device = &openDevice(name);
  if (!parsed.isHost()) name = fullName(name, *device);
  code = parsed.isHost() ? name : codeFor(name, *device);
}

Machine machineOf(const ResolvedTarget& target) {
  if (target.isHost()) return {.chip = target.code};
  const gpu::Target& row = gpu::findTarget(target.code);
  return {.chip = std::string(row.name),
          .shared_bytes = row.shared.bytesPerBlock,
          .warp_size = row.warpSize,
          .warp_groups = row.multipliesByGroups(),
          .async_copies = row.copy(gpu::CopyKind::CpAsync) != nullptr,
          .dies = row.dies};
}

}  // namespace fattn::kernels

namespace fattn {

bool namesHost(std::string_view target) { return parseTarget(target).isHost(); }

bool namesChip(std::string_view target) { return parseTarget(target).isChip(); }

std::string resolveTarget(const std::string& target) {
  const std::string& named = target.empty() ? kernels::defaultTarget() : target;
  return namesHost(named) || namesChip(named) ? named : kernels::fullName(named, openDevice(named));
}

void requireTarget(const std::string& target) {
  if (!target.empty()) kernels::ResolvedTarget{target};
}

int Machine::dotRows(DType type) const {
  const gpu::MatrixInstruction* matrix = isHost() ? nullptr : gpu::findTarget(chip).emittedFor(type);
  return matrix == nullptr ? 0 : matrix->m / matrix->warps;
}

int Machine::registers(int threads) const { return isHost() ? 0 : gpu::registerLimit(gpu::findTarget(chip), 1, threads); }

Machine machineOf(const std::string& target) {
  if (namesHost(target)) return {.chip = target};
  return kernels::machineOf(kernels::ResolvedTarget(target));
}

}  // namespace fattn
