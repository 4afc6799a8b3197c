// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-tune/CacheCommands.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kernels/core/Target.h"
#include "kernels/core/TunedLookup.h"
#include "runtime/cache/Settings.h"
#include "runtime/cache/Verify.h"
#include "tools/common/Terminal.h"
#include "tools/fattn-tune/Report.h"
#include "tools/io/File.h"

namespace fattn::tuner {
namespace {

namespace fs = std::filesystem;
using cache::Directory;
using cache::TunePoint;
using cache::TuneRecord;
using Json = nlohmann::ordered_json;

constexpr const char* kStatus[] = {"measured", "failed", "pruned"};

constexpr std::size_t kMostBytes = std::size_t{256} << 20;  // of a file to import

std::string problemOf(const TuneRecord& record) { return record.key.kernel.substr(0, record.key.kernel.find(' ')); }

std::vector<TuneRecord> selected(const Options& options) {
  std::vector<TuneRecord> records = kernels::tunedStore().all();
  std::erase_if(records, [&](const TuneRecord& record) {
    for (const std::string& text : {record.key.kernel, cache::bucketName(record.key.shape), record.key.device, record.key.target})
      if (text.find(options.filter) != std::string::npos) return false;
    return true;
  });
  std::ranges::sort(records, {}, [](const TuneRecord& r) {
    return std::tuple(r.key.device, problemOf(r), r.key.shape, cache::TunedStore::folderOf(r.key));
  });
  return records;
}

std::string printed(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json jsonOf(const TuneRecord& record, bool withPoints) {
  const cache::TuneKey& key = record.key;
  Json json = {{"kernel", key.kernel}, {"bucket", cache::bucketName(key.shape)},
               {"target", key.target}, {"device", key.device},
               {"driver", key.driver}, {"compiler", key.compiler}};
  json["folder"] = (Directory::process().path() / cache::TunedStore::folderOf(key)).string();
  if (record.winner)
    json["winner"] = {
        {"tile", record.winner->tile.toString()}, {"median_us", record.winner->medianUs}, {"spread_us", record.winner->spreadUs}};
  for (std::size_t status = 0; status < std::size(kStatus); ++status)
    json[kStatus[status]] = std::ranges::count(record.points, static_cast<TunePoint::Status>(status), &TunePoint::status);
  if (!withPoints) return json;
  json["points"] = Json::array();
  for (const TunePoint& p : record.points) {
    Json point = {{"tile", p.tile.toString()}, {"status", kStatus[static_cast<std::size_t>(p.status)]}};
    if (p.status == TunePoint::Status::Measured)
      point.update({{"median_us", p.medianUs}, {"spread_us", p.spreadUs}, {"samples", p.samples}});
    else
      point["reason"] = p.reason;
    json["points"].push_back(std::move(point));
  }
  return json;
}

int listOrShow(const Options& options) {
  const bool show = options.command == Command::CacheShow, color = tool::wantsColor();
  const std::vector<TuneRecord> records = selected(options);
  if (options.json) {
    Json json = {{"directory", Directory::process().path().string()}, {"records", Json::array()}};
    for (const TuneRecord& record : records) json["records"].push_back(jsonOf(record, show));
    fmt::print("{}", printed(json));
    return tool::kOk;
  }
  std::string device;
  for (const TuneRecord& record : records) {
    if (record.key.device != device) fmt::print("{}\n", tool::styled(device = record.key.device, tool::Style::Bold, color));
    const std::string choice = record.winner
                                   ? fmt::format("{:<32} {:>10}", record.winner->tile.toString(), timeText(record.winner->medianUs))
                                   : fmt::format("{:<43}", "unfinished");
    fmt::print("{:<36} {:<36} {}  {} points\n", problemOf(record), cache::bucketName(record.key.shape), choice, record.points.size());
    if (!show) continue;
    fmt::print("{}", tool::styled(
                         fmt::format("    target {}; driver {}; compiler {}\n    {}\n", record.key.target, record.key.driver,
                                     record.key.compiler, (Directory::process().path() / cache::TunedStore::folderOf(record.key)).string()),
                         tool::Style::Dim, color));
    std::vector<TunePoint> points = record.points;
    std::ranges::sort(points, {}, [](const TunePoint& p) { return std::tuple(p.status, p.medianUs, p.tile.toString(), p.run); });
    for (const TunePoint& p : points)
      fmt::print("    {:<32} {}\n", p.tile.toString(),
                 p.status == TunePoint::Status::Measured
                     ? fmt::format("{:>10}  spread {:.1f} us, {} samples", timeText(p.medianUs), p.spreadUs, p.samples)
                     : fmt::format("{}: {}", kStatus[static_cast<std::size_t>(p.status)], p.reason));
  }
  if (records.empty()) fmt::print("nothing {}in {}\n", options.filter.empty() ? "" : "like that ", Directory::process().path().string());
  return tool::kOk;
}

void writeFile(const fs::path& path, const std::string& bytes) {
  if (path == "-") {
    fmt::print("{}", bytes);
    return;
  }
  io::writeFile(path.string(), bytes);
}

// One file a problem and bucket: of several drivers' or compilers' records the winner that was found last.
int exportShipped(const Options& options) {
  std::map<fs::path, TuneRecord> files;
  for (TuneRecord& record : selected(options)) {
    const std::string target = record.key.target.substr(0, record.key.target.find(' '));
    const bool host = namesHost(target);
    Device& device = openDevice(host ? target : "");
    if (!record.winner || record.key.device != device.description() || (!host && kernels::codeTarget(device.name()) != target)) continue;
    TuneRecord& file =
        files[cache::shippedFile(kernels::shippedDevice(host ? target : device.name()), problemOf(record), record.key.shape)];
    if (!file.winner || file.winner->timeMs < record.winner->timeMs) file = cache::shipped(record);
  }
  for (const auto& [name, record] : files) {
    const fs::path path = fs::path(options.file) / name;
    std::error_code ignored;
    fs::create_directories(path.parent_path(), ignored);
    writeFile(path, cache::encodeTuned(record));
  }
  fmt::print(stderr, "wrote {} files below {}\n", files.size(), options.file);
  return tool::kOk;
}

int exportBundle(const Options& options) {
  const std::vector<TuneRecord> records = selected(options);
  writeFile(options.file, encodeBundle(records));
  fmt::print(stderr, "exported {} record{}\n", records.size(), records.size() == 1 ? "" : "s");
  return tool::kOk;
}

int importBundle(const Options& options) {
  const Bundle bundle = decodeBundle(io::readText(options.file, kMostBytes, "such files are written by fattn-tune cache export"));
  for (const TuneRecord& record : bundle.records)
    if (!kernels::tunedStore().record(record.key, record.points, record.winner))
      throw Error(ErrorCode::IoError, "the cache could not be written", "FATTN_CACHE_DIR names a folder that can be");
  fmt::print("imported {} record{}\n", bundle.records.size(), bundle.records.size() == 1 ? "" : "s");
  if (bundle.broken == 0 && !bundle.records.empty()) return tool::kOk;
  return tool::complain("fattn-tune",
                        bundle.records.empty() && bundle.broken == 0
                            ? options.file + " holds no record"
                            : fmt::format("{} part{} of {} {} no whole record", bundle.broken, bundle.broken == 1 ? "" : "s", options.file,
                                          bundle.broken == 1 ? "is" : "are"),
                        "such files are written by fattn-tune cache export", tool::kFailure);
}

int verifyAll(const Options& options) {
  const cache::Inventory found = cache::verify(Directory::process());
  if (options.json) {
    Json json = {{"directory", Directory::process().path().string()},
                 {"tuned", {{"files", found.tuned}, {"bytes", found.tunedBytes}}},
                 {"binaries", {{"files", found.binaries}, {"bytes", found.binaryBytes}}},
                 {"faults", Json::array()}};
    for (const cache::Fault& fault : found.faults) json["faults"].push_back({{"file", fault.file.string()}, {"what", fault.what}});
    fmt::print("{}", printed(json));
  } else {
    for (const cache::Fault& fault : found.faults) fmt::print("{}: {}\n", fault.file.string(), fault.what);
    fmt::print("{}: {} tuned ({} bytes), {} binaries ({} bytes), {} broken\n", Directory::process().path().string(), found.tuned,
               found.tunedBytes, found.binaries, found.binaryBytes, found.faults.size());
  }
  return found.faults.empty() ? tool::kOk : tool::kFailure;
}

std::size_t removeOld(Directory& directory, double seconds) {
  std::size_t removed = 0;
  for (const char* store : {"tuned", "binaries"})
    for (const Directory::Entry& entry : directory.list(store).entries)
      if (entry.age > seconds && directory.remove(entry.name)) ++removed;
  return removed;
}

int pruneAll(const Options& options) {
  Directory& directory = Directory::process();
  // Reading a file counts as a use of it: what is old goes before anything is read.
  const std::size_t old = options.olderThanSeconds ? removeOld(directory, *options.olderThanSeconds) : 0;
  const std::uint64_t tuned = directory.prune("tuned", options.tunedBytes.value_or(cache::tunedBytes()));
  const std::uint64_t binaries = directory.prune("binaries", options.binaryBytes.value_or(cache::binaryBytes()));
  const cache::Inventory found = cache::verify(directory);
  const auto broken =
      std::ranges::count_if(found.faults, [&](const cache::Fault& fault) { return fault.removable && directory.remove(fault.file); });
  fmt::print("removed {} old and {} broken files; at most {} bytes of tuned configurations and {} bytes of binaries are left\n", old,
             broken, tuned, binaries);
  return tool::kOk;
}

}  // namespace

std::string encodeBundle(const std::vector<TuneRecord>& records) {
  std::string text;
  for (const TuneRecord& record : records) text += cache::encodeTuned(record);
  return text;
}

Bundle decodeBundle(std::string_view text) {
  constexpr std::string_view open = "{\"checksum\":\"";
  Bundle bundle;
  while (!text.empty()) {
    const std::size_t next = text.find(std::string("\n").append(open));
    const std::string_view part = text.substr(0, next == std::string_view::npos ? text.size() : next + 1);
    if (std::optional<TuneRecord> record = cache::decodeTuned(part))
      bundle.records.push_back(std::move(*record));
    else
      ++bundle.broken;
    text.remove_prefix(part.size());
  }
  return bundle;
}

int cacheCommand(const Options& options) {
  switch (options.command) {
    case Command::CacheExport:
      return options.shippedLayout ? exportShipped(options) : exportBundle(options);
    case Command::CacheImport:
      return importBundle(options);
    case Command::CacheVerify:
      return verifyAll(options);
    case Command::CachePrune:
      return pruneAll(options);
    default:
      return listOrShow(options);
  }
}

}  // namespace fattn::tuner
