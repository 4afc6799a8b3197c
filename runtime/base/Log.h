// SPDX-License-Identifier: Apache-2.0
// Messages for a person, on standard error, as FATTN_LOG_LEVEL asks: off, error, warning (the default), info, debug.
#ifndef FATTN_RUNTIME_BASE_LOG_H
#define FATTN_RUNTIME_BASE_LOG_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace fattn::log {

enum class Level : std::uint8_t { Off, Error, Warning, Info, Debug };

/// Whether messages of a level are printed: ask before building an expensive one.
bool enabled(Level level);
/// Prints "fattn: <level>: <message>" and a line end, in one write, if the level is enabled.
void write(Level level, std::string_view message);
/// The level of a name; nothing for other names.
std::optional<Level> parseLevel(std::string_view name);

}  // namespace fattn::log

#endif
