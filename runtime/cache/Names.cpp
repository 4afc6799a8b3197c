// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Names.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/AtomicFile.h"
#include "runtime/cache/Tuned.h"

namespace fattn::cache {
namespace {

bool isHex(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Numbers joined by '-', at least and at most so many.
bool areNumbers(std::string_view text, int least, int most) {
  int count = 0;
  for (;;) {
    const std::size_t end = std::min(text.find('-'), text.size());
    const std::string_view number = text.substr(0, end);
    if (number.empty() || number.size() > 20 || number.find_first_not_of("0123456789") != std::string_view::npos) return false;
    ++count;
    if (end == text.size()) return count >= least && count <= most;
    text.remove_prefix(end + 1);
  }
}

bool takeSuffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

bool isTemporary(std::string_view name) {
  return name.starts_with(kTemporaryPrefix) && areNumbers(name.substr(kTemporaryPrefix.size()), 3, 3);
}

// Of a file in a folder of tuned configurations.
bool isTuned(std::string_view name) {
  return takeSuffix(name, ".json") && name.size() > 17 && isHex(name.substr(0, 16), 16) && name[16] == '-' &&
         areNumbers(name.substr(17), 1, 2);
}

bool isBinary(std::string_view name, std::string_view shard) {
  return takeSuffix(name, ".bin") && isHex(name, 64) && name.starts_with(shard);
}

}  // namespace

NameKind kindOfName(const std::filesystem::path& name) {
  std::vector<std::string> parts;
  for (const std::filesystem::path& part : name) {
    parts.push_back(part.string());
    if (parts.size() > 4) return NameKind::Foreign;
  }
  const bool binaries = !parts.empty() && parts[0] == "binaries";
  if (!binaries && (parts.empty() || parts[0] != "tuned")) return NameKind::Foreign;
  if (parts.size() > 1 && !isHex(parts[1], binaries ? 1 : 32)) return NameKind::Foreign;
  if (!binaries && parts.size() > 2 && !parseBucket(parts[2])) return NameKind::Foreign;
  const std::size_t folders = binaries ? 2 : 3;
  if (parts.size() <= folders) return NameKind::Folder;
  if (parts.size() > folders + 1) return NameKind::Foreign;
  if (isTemporary(parts[folders])) return NameKind::Temporary;
  return (binaries ? isBinary(parts[folders], parts[1]) : isTuned(parts[folders])) ? NameKind::File : NameKind::Foreign;
}

}  // namespace fattn::cache
