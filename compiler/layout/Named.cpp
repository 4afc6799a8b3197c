// SPDX-License-Identifier: Apache-2.0
// The table of names. Members are spelled out, so that a name is legal exactly when it is listed.
#include "compiler/layout/Named.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "compiler/layout/Amd.h"
#include "compiler/layout/Invalid.h"
#include "compiler/layout/Nvidia.h"
#include "compiler/layout/Tiling.h"

namespace fattn::layout {
namespace {

/// The numbers in a name, in order: "mma.m16n8k16.c" gives 16, 8, 16.
std::vector<int> numbersIn(const std::string& name) {
  std::vector<int> result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] < '0' || name[i] > '9') continue;
    if (i == 0 || name[i - 1] < '0' || name[i - 1] > '9') result.push_back(0);
    result.back() = result.back() * 10 + (name[i] - '0');
  }
  return result;
}

Operand operandOf(const std::string& name) {
  if (name.find(".a") != std::string::npos) return Operand::A;
  return name.find(".b") != std::string::npos ? Operand::B : Operand::C;
}

using Maker = LinearLayout (*)(const std::string& name, int bits);

/// A family of fragments of matrix instructions.
struct Fragments {
  NameFamily family;
  std::function<int(const std::string&)> bits;  // of an operand when none are asked for
  Maker make;
};

std::vector<std::string> operands(const std::vector<std::string>& instructions, const std::string& suffix = "") {
  std::vector<std::string> result;
  for (const std::string& instruction : instructions) {
    for (const char* operand : {"a", "b", "c"}) result.push_back(fmt::format("{}.{}{}", instruction, operand, suffix));
  }
  return result;
}

std::vector<std::string> wgmmaNames() {
  std::vector<std::string> result;
  for (int n = 8; n <= 256; n += 8) result.push_back(fmt::format("wgmma.m64n{}.c", n));
  result.emplace_back("wgmma.m64.a");
  return result;
}

std::vector<std::string> wmmaNames() {
  std::vector<std::string> result = operands({"wmma.gfx11", "wmma.gfx12"});
  for (const std::string& name : operands({"wmma.gfx11", "wmma.gfx12"}, ".w64")) result.push_back(name);
  return result;
}

int mfmaBits(const std::string& name) {
  std::vector<int> n = numbersIn(name);
  int perLane = n[2] * n[0] / 64;
  return perLane >= 4 ? 16 : 32;
}

const std::vector<Fragments>& fragments() {
  static const std::vector<Fragments> kFragments = {
      {{"mma.m16n8k<4|8|16|32>.<a|b|c>", operands({"mma.m16n8k4", "mma.m16n8k8", "mma.m16n8k16", "mma.m16n8k32"}),
        "NVIDIA mma.sync (sm_80 on); 16-bit operands for k8 and k16, tf32 for k4 and k8 --bits 32, 8 bits for k16 --bits 8 and k32"},
       [](const std::string& name) { return numbersIn(name)[2] == 4    ? 32
                                            : numbersIn(name)[2] == 32 ? 8
                                                                       : 16; },
       [](const std::string& name, int bits) { return nvidia::mma(operandOf(name), numbersIn(name)[2], bits); }},
      {{"ldmatrix.x<1|2|4>[.trans]",
        {"ldmatrix.x1", "ldmatrix.x2", "ldmatrix.x4", "ldmatrix.x1.trans", "ldmatrix.x2.trans", "ldmatrix.x4.trans"},
        "NVIDIA ldmatrix: 8 x 8 matrices one below the other, as they lie in memory"},
       [](const std::string&) { return 16; },
       [](const std::string& name, int) { return nvidia::ldmatrix(numbersIn(name)[0], name.ends_with(".trans")); }},
      {{"wgmma.m64n<8..256>.c, wgmma.m64.a", wgmmaNames(), "NVIDIA wgmma (sm_90a): accumulator, and A from registers; four warps"},
       [](const std::string&) { return 16; },
       [](const std::string& name, int bits) {
         return name.ends_with(".a") ? nvidia::wgmmaA(bits) : nvidia::wgmmaAccumulator(numbersIn(name)[1]);
       }},
      {{"mfma.<32x32x8|16x16x16|32x32x16|16x16x32|32x32x2|16x16x4|32x32x4|16x16x8>.<a|b|c>",
        operands({"mfma.32x32x8", "mfma.16x16x16", "mfma.32x32x16", "mfma.16x16x32", "mfma.32x32x2", "mfma.16x16x4", "mfma.32x32x4",
                  "mfma.16x16x8"}),
        "AMD MFMA, wave64 (gfx942; gfx950 for 32x32x16 and 16x16x32 of 16 bits, --bits 8 for those of gfx942)"},
       mfmaBits,
       [](const std::string& name, int bits) { return amd::mfma(operandOf(name), numbersIn(name)[0], numbersIn(name)[2], bits); }},
      {{"wmma.<gfx11|gfx12>.<a|b|c>[.w64]", wmmaNames(), "AMD WMMA 16x16x16, wave32 or wave64 (.w64); --bits 8 or 16"},
       [](const std::string&) { return 16; },
       [](const std::string& name, int bits) {
         return amd::wmma(numbersIn(name)[0], operandOf(name.substr(10)), name.ends_with(".w64") ? 64 : 32, bits);
       }}};
  return kFragments;
}

const std::vector<NameFamily>& othersThanFragments() {
  static const std::vector<NameFamily> kOthers = {
      {"blocked", {"blocked"}, "coalesced access of global memory: --shape, --bits, --warps, --lanes, --order", true},
      {"rowmajor", {"rowmajor"}, "shared memory, row after row: --shape, --bits, --pad INTERVAL:AMOUNT in elements", true},
      {"swizzle<0|32|64|128>",
       {"swizzle0", "swizzle32", "swizzle64", "swizzle128"},
       "shared memory as TMA writes and wgmma reads it: --shape, --bits",
       true}};
  return kOthers;
}

NamedLayout fragmentLayout(const Fragments& fragments, const std::string& name, const NamedOptions& options) {
  NamedLayout result;
  result.name = name;
  result.bits = options.bits ? options.bits : fragments.bits(name);
  LinearLayout fragment = fragments.make(name, result.bits);
  Coords shape = options.shape, warps = options.warps;
  if (warps.empty()) warps = {1, 1};
  if (shape.empty()) {
    shape = fragment.outputShape();
    for (std::size_t d = 0; d < shape.size() && d < warps.size(); ++d) shape[d] *= warps[d];
  }
  result.registers = tileFragment(fragment, shape, warps);
  if (operandOf(name) == Operand::C && !name.starts_with("ldmatrix")) result.bits = 32;
  return result;
}

std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t next = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = std::exchange(row[j], next);
    }
  }
  return row.back();
}

[[noreturn]] void unknown(const std::string& name) {
  std::string nearest;
  std::size_t best = name.size();
  for (const NameFamily& family : nameFamilies()) {
    for (const std::string& member : family.members) {
      if (std::size_t d = distance(name, member); d < best) {
        best = d;
        nearest = member;
      }
    }
  }
  invalid(fmt::format("there is no layout '{}'", name),
          nearest.empty() ? "fattn-layout --list names them" : fmt::format("did you mean {}? fattn-layout --list names them all", nearest));
}

}  // namespace

const std::vector<NameFamily>& nameFamilies() {
  static const std::vector<NameFamily> kFamilies = [] {
    std::vector<NameFamily> result;
    for (const Fragments& entry : fragments()) result.push_back(entry.family);
    for (const NameFamily& family : othersThanFragments()) result.push_back(family);
    return result;
  }();
  return kFamilies;
}

NamedLayout namedLayout(const std::string& name, const NamedOptions& options) {
  for (const Fragments& entry : fragments()) {
    if (std::ranges::find(entry.family.members, name) != entry.family.members.end()) return fragmentLayout(entry, name, options);
  }
  bool known = std::ranges::any_of(
      othersThanFragments(), [&](const NameFamily& family) { return std::ranges::find(family.members, name) != family.members.end(); });
  if (!known) unknown(name);
  if (options.shape.empty()) invalid(fmt::format("{} is a layout of any tile: say which", name), "for example --shape 64x64");
  NamedLayout result;
  result.name = name;
  result.bits = options.bits ? options.bits : 16;
  if (name == "blocked") {
    BlockedOptions blockedOptions{
        .shape = options.shape, .order = options.order, .elementBits = result.bits, .lanes = options.lanes, .warps = 1};
    if (options.order.empty()) {
      blockedOptions.order.clear();
      for (int d = static_cast<int>(options.shape.size()); d-- > 0;) blockedOptions.order.push_back(d);
    }
    for (std::int64_t warps : options.warps) blockedOptions.warps *= warps;
    result.registers = blocked(blockedOptions);
  } else if (name == "rowmajor") {
    result.shared = rowMajor(options.shape, options.padInterval, options.padAmount);
  } else {
    result.shared = swizzled(options.shape, result.bits, numbersIn(name)[0]);
  }
  return result;
}

}  // namespace fattn::layout
