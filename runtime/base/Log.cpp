// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/Log.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace fattn::log {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"off", "error", "warning", "info", "debug"};

void print(Level level, std::string_view message) {
  std::string line = "fattn: ";
  line.append(kNames[static_cast<std::size_t>(level)]).append(": ").append(message).append("\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

Level levelFromEnvironment() {
  const char* text = std::getenv("FATTN_LOG_LEVEL");
  if (text == nullptr || *text == '\0') return Level::Warning;
  if (auto level = parseLevel(text)) return *level;
  print(Level::Warning, "FATTN_LOG_LEVEL is '" + std::string(text) + "'; legal values are off, error, warning, info, debug");
  return Level::Warning;
}

}  // namespace

std::optional<Level> parseLevel(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Level>(i);
  return std::nullopt;
}

bool enabled(Level level) {
  static const Level most = levelFromEnvironment();
  return level <= most;
}

void write(Level level, std::string_view message) {
  if (enabled(level)) print(level, message);
}

}  // namespace fattn::log
