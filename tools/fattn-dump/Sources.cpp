// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-dump/Sources.h"

#include <fstream>

namespace fattn::dump {

std::optional<std::string> sourceText(const std::string& file) {
  if (const auto text = embedded(file)) return std::string(*text);
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream || text.find('\0') != std::string::npos) return std::nullopt;
  return text;
}

}  // namespace fattn::dump
