// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Settings.h"

#include <charconv>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

#include "runtime/base/Log.h"
#include "runtime/cache/BinaryStore.h"
#include "runtime/cache/TunedStore.h"

namespace fattn::cache {
namespace {

std::string_view setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Once for each variable: a compilation asks every time.
void warn(const char* name, std::string_view value, const char* legal) {
  static std::mutex mutex;
  static auto* warned = new std::set<std::string>;
  std::lock_guard lock(mutex);
  if (!warned->insert(name).second) return;
  std::string text = std::string(name) + " is '" + std::string(value.substr(0, 100)) + "' and is ignored; legal values are " + legal;
  log::write(log::Level::Warning, text);
}

std::uint64_t bytesOf(const char* name, std::uint64_t otherwise) {
  std::string_view value = setting(name);
  if (value.empty()) return otherwise;
  std::optional<std::uint64_t> bytes = parseBytes(value);
  if (!bytes) warn(name, value, "numbers of bytes, also as 64K, 512M or 2G");
  return bytes.value_or(otherwise);
}

}  // namespace

std::optional<std::uint64_t> parseBytes(std::string_view text) {
  int shift = 0;
  constexpr std::string_view suffixes = "KMGkmg";
  if (!text.empty())
    if (std::size_t at = suffixes.find(text.back()); at != std::string_view::npos) {
      shift = 10 * static_cast<int>(at % 3 + 1);
      text.remove_suffix(1);
    }
  std::uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > (UINT64_MAX >> shift)) return std::nullopt;
  return number << shift;
}

std::uint64_t binaryBytes() { return bytesOf("FATTN_CACHE_BINARY_BYTES", BinaryStore::kDefaultBytes); }
std::uint64_t tunedBytes() { return bytesOf("FATTN_CACHE_TUNED_BYTES", TunedStore::kDefaultBytes); }

TuneMode tuneMode() {
  std::string_view value = setting("FATTN_TUNE");
  if (value == "off") return TuneMode::Off;
  if (value == "on") return TuneMode::On;
  if (!value.empty() && value != "cached") warn("FATTN_TUNE", value, "off, cached and on");
  return TuneMode::Cached;
}

double tuneBudgetSeconds() {
  constexpr double kDefault = 20, kMost = 86400;
  std::string_view value = setting("FATTN_TUNE_BUDGET");
  if (value.empty()) return kDefault;
  double seconds = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (error == std::errc() && end == value.data() + value.size() && seconds > 0 && seconds <= kMost) return seconds;
  warn("FATTN_TUNE_BUDGET", value, "seconds, above 0 and up to 86400");
  return kDefault;
}

std::int64_t watchdogMilliseconds() {
  constexpr std::int64_t kMost = 3'600'000;
  std::string_view value = setting("FATTN_WATCHDOG");
  if (value.empty()) return 0;
  std::int64_t milliseconds = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), milliseconds);
  if (error == std::errc() && end == value.data() + value.size() && milliseconds >= 0 && milliseconds <= kMost) return milliseconds;
  warn("FATTN_WATCHDOG", value, "milliseconds, up to 3600000; 0 = none");
  return 0;
}

std::string traceFolder() { return std::string(setting("FATTN_TRACE")); }

}  // namespace fattn::cache
