// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/RoleTrace.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <sstream>

#include "runtime/base/Log.h"

namespace fattn::cuda {
namespace {

using nlohmann::ordered_json;

/// A name that no other kernel of this process has.
std::string fileOf(const std::string& folder, const std::string& entry) {
  static auto* mutex = new std::mutex;
  static auto* taken = new std::map<std::string, int>;
  std::lock_guard lock(*mutex);
  const int number = ++(*taken)[entry];
  return (std::filesystem::path(folder) / (entry + (number > 1 ? "-" + std::to_string(number) : "") + ".json")).string();
}

/// Memory of the module, when all that the stream has been given before is over; nothing where the driver refuses.
std::optional<std::string> read(const Driver& driver, Address from, std::size_t bytes, StreamHandle stream) {
  std::string content(bytes, '\0');
  const DriverApi& api = driver.api();
  if (api.MemcpyAsync(reinterpret_cast<Address>(content.data()), from, bytes, stream) != kSuccess) return std::nullopt;
  if (api.StreamSynchronize(stream) != kSuccess) return std::nullopt;
  return content;
}

}  // namespace

std::string roleTraceText(const TracedLaunch& launch, std::string_view names, const std::vector<std::uint32_t>& words) {
  constexpr std::size_t kRoleWords = kRoleTraceBytes / sizeof(std::uint32_t);
  std::istringstream lines{std::string(names)};
  std::size_t groups = 0, roles = 0;
  lines >> groups >> roles;
  std::vector<std::string> events;
  lines.ignore();
  for (std::string line; std::getline(lines, line);) events.push_back(line);
  if (!lines.eof() || groups > roles || words.size() < roles * kRoleWords) return "";
  // Marks of a role: event, from 1 on, and clock. The last place has what there was no room for.
  auto marksOf = [&](std::size_t role) {
    std::span<const std::uint32_t> marks = std::span(words).subspan(role * kRoleWords, kRoleWords);
    std::size_t count = 0;
    while (count < kRoleWords - 2 && marks[count] != 0 && marks[count] != ~0U) count += 2;
    return marks.first(count);
  };
  // Clocks have 32 bits, of which the difference counts.
  std::optional<std::uint32_t> first;
  for (std::size_t r = 0; r < roles; ++r)
    if (auto marks = marksOf(r); !marks.empty() && (!first || static_cast<std::int32_t>(marks[1] - *first) < 0)) first = marks[1];
  ordered_json file = {{"kernel", launch.kernel}, {"target", launch.target}, {"device", launch.device}, {"launch", launch.number}};
  file["roles"] = ordered_json::array();
  for (std::size_t r = 0; r < roles; ++r) {
    ordered_json list = ordered_json::array();
    const auto marks = marksOf(r);
    for (std::size_t i = 0; i < marks.size(); i += 2) {
      if (marks[i] > events.size()) return "";
      list.push_back({events[marks[i] - 1], marks[i + 1] - *first});
    }
    file["roles"].push_back(
        {{"name", r < groups ? "group " + std::to_string(r) : "copies"}, {"full", marks.size() == kRoleWords - 2}, {"events", list}});
  }
  return file.dump() + "\n";
}

std::unique_ptr<RoleTrace> RoleTrace::find(const Driver& driver, ModuleHandle module, const std::string& entry, const std::string& target,
                                           const std::string& device) {
  const char* folder = std::getenv("FATTN_TRACE");
  const DriverApi& api = driver.api();
  if (folder == nullptr || *folder == '\0' || api.ModuleGetGlobal == nullptr) return nullptr;
  Address memory = 0, text = 0;
  std::size_t bytes = 0, textBytes = 0;
  if (api.ModuleGetGlobal(&memory, &bytes, module, "fattn_trace") != kSuccess ||
      api.ModuleGetGlobal(&text, &textBytes, module, "fattn_trace_names") != kSuccess || bytes < kRoleTraceBytes)
    return nullptr;
  std::optional<std::string> names = read(driver, text, textBytes, nullptr);
  if (!names) return nullptr;
  const Address start = (memory + kRoleTraceBytes - 1) / kRoleTraceBytes * kRoleTraceBytes;
  return std::unique_ptr<RoleTrace>(new RoleTrace(driver, start, memory + bytes - start, std::move(*names),
                                                  {.kernel = entry, .target = target, .device = device}, fileOf(folder, entry)));
}

void RoleTrace::launched(StreamHandle stream) {
  const std::uint64_t launch = ++launches_;
  if (!std::has_single_bit(launch)) return;
  int capturing = 0;
  Graph graph = nullptr;
  const DriverApi& api = driver_.api();
  if (api.StreamGetCaptureInfo != nullptr &&
      (api.StreamGetCaptureInfo(stream, &capturing, nullptr, &graph, nullptr, nullptr) != kSuccess || capturing != 0))
    return;
  const std::optional<std::string> content = read(driver_, memory_, bytes_, stream);
  if (!content) return;  // the launch itself has failed, which who synchronizes is told
  std::vector<std::uint32_t> words(content->size() / sizeof(std::uint32_t));
  std::memcpy(words.data(), content->data(), words.size() * sizeof(std::uint32_t));
  TracedLaunch traced = launch_;
  traced.number = launch;
  const std::string text = roleTraceText(traced, names_, words);
  std::ofstream(file_) << text;
  std::ifstream check(file_);
  if (!text.empty() && check.peek() != std::ifstream::traits_type::eof()) return;
  log::write(log::Level::Warning, "cannot write what the warp groups of kernel '" + launch_.kernel + "' did to '" + file_ +
                                      "': FATTN_TRACE has to name a folder that exists and may be written to");
}

}  // namespace fattn::cuda
