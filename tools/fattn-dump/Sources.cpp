// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-dump/Sources.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>

#include "fattn/Error.h"
#include "tools/io/File.h"

namespace fattn::dump {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 20;

// A module may come from somebody else, and name any file in its locations: the output shows none that is no source.
bool isSourceName(const std::string& file) {
  static constexpr std::array<std::string_view, 14> kEndings = {".c",  ".cc",  ".cpp", ".cxx", ".cu",  ".cuh",  ".h",
                                                                ".hh", ".hpp", ".hxx", ".inc", ".ipp", ".mlir", ".py"};
  return std::ranges::find(kEndings, std::filesystem::path(file).extension().string()) != kEndings.end();
}

}  // namespace

std::optional<std::string> sourceText(const std::string& file) {
  if (const auto text = embedded(file)) return std::string(*text);
  if (!isSourceName(file)) return std::nullopt;
  try {
    std::string text = io::readText(file, kMostBytes);
    if (text.find('\0') != std::string::npos) return std::nullopt;
    return text;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace fattn::dump
