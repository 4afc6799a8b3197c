// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-dump/LayoutPictures.h"

#include <charconv>
#include <optional>

#include "compiler/layout/Parse.h"

namespace fattn::dump {
namespace {

constexpr std::int64_t kRows = 16, kColumns = 16;  // as many as a picture beside the pointer has room for
constexpr std::int64_t kHolders = 1 << 18;         // registers of all threads that a picture looks at
constexpr std::string_view kRegisters = "#tilegpu.regs<\"", kShared = "#tilegpu.shared<\"";

/// Bits of the element type before ", #shared3>": "128x64xbf16, #shared3>".
int bitsBefore(std::string_view module, std::string_view alias) {
  const std::string use = ", " + std::string(alias) + ">";
  const std::size_t at = module.find(use);
  if (at == std::string_view::npos) return 0;
  const std::size_t digits = module.find_last_not_of("0123456789", at - 1) + 1;
  int bits = 0;
  std::from_chars(module.data() + digits, module.data() + at, bits);
  return bits;
}

std::optional<layout::Drawing> pictureOf(std::string_view definition, int bits) {
  const bool isShared = definition.starts_with(kShared);
  const std::size_t begin = isShared ? kShared.size() : kRegisters.size(), end = definition.find('"', begin);
  if (end == std::string_view::npos || (isShared && bits < 8)) return std::nullopt;
  layout::NamedLayout named{.name = isShared ? "shared memory" : "registers", .bits = bits, .registers = {}, .shared = {}};
  layout::LinearLayout parsed = layout::parseLayout(definition.substr(begin, end - begin));
  if (parsed.outputs().size() > 2 || parsed.outputs().empty()) return std::nullopt;
  std::int64_t holders = 1;
  for (const layout::Axis& input : parsed.inputs()) holders *= parsed.inputSize(input.name);
  if (holders > kHolders) return std::nullopt;
  if (isShared)
    named.shared.emplace(std::move(parsed));
  else
    named.registers = std::move(parsed);
  return layout::draw(named, kRows, isShared ? kColumns * 8 : kColumns);
}

}  // namespace

void addLayouts(std::string_view module, std::map<std::string, layout::Drawing>& pictures) {
  for (std::size_t at = 0; at < module.size() && module[at] == '#';) {
    const std::size_t end = std::min(module.find('\n', at), module.size());
    const std::string_view line = module.substr(at, end - at);
    at = end + 1;
    const std::size_t is = line.find(" = ");
    if (is == std::string_view::npos) continue;
    const std::string_view definition = line.substr(is + 3);
    if (!definition.starts_with(kRegisters) && !definition.starts_with(kShared)) continue;
    const std::string text(definition);
    if (pictures.contains(text)) continue;
    const int bits = definition.starts_with(kShared) ? bitsBefore(module, line.substr(0, is)) : 32;
    if (auto picture = pictureOf(definition, bits)) pictures.emplace(text, std::move(*picture));
  }
}

}  // namespace fattn::dump
