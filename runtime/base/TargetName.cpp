// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/TargetName.h"

#include <algorithm>
#include <charconv>

namespace fattn {
namespace {

struct Form {
  std::string_view word;
  TargetKind kind;
  bool isWhole;  ///< the word is a target without a part, too
};
constexpr Form kForms[] = {{"host", TargetKind::Host, true},         {"cuda", TargetKind::Cuda, true},
                           {"hip", TargetKind::Hip, true},           {"simulated", TargetKind::Simulated, true},
                           {"modelled", TargetKind::Modelled, true}, {"nvidia", TargetKind::Nvidia, false},
                           {"amd", TargetKind::Amd, false}};

int indexOf(std::string_view digits) {
  int index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  return error == std::errc() && end == digits.data() + digits.size() && index >= 0 ? index : -1;
}

TargetName parsePlain(std::string_view text) {
  if (text.empty()) return {.kind = TargetKind::Default};
  const std::size_t colon = text.find(':');
  const auto form = std::ranges::find(kForms, text.substr(0, colon), &Form::word);
  const bool isPlain = colon == std::string_view::npos;
  if (form == std::end(kForms) || (isPlain && !form->isWhole)) return {};
  TargetName name{.kind = form->kind};
  if (isPlain) return name;
  name.part = text.substr(colon + 1);
  if (name.kind == TargetKind::Cuda || name.kind == TargetKind::Hip) name.index = indexOf(name.part);
  return name;
}

}  // namespace

TargetName parseTarget(std::string_view text) {
  const std::size_t at = text.find('@');
  TargetName name = parsePlain(text.substr(0, at));
  if (at == std::string_view::npos) return name;
  name.code = text.substr(at + 1);
  return name.kind == TargetKind::Cuda && !name.code.empty() ? name : TargetName{};
}

}  // namespace fattn
