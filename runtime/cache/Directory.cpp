// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "runtime/base/AtomicFile.h"
#include "runtime/base/Log.h"

namespace fattn::cache {
namespace {

namespace fs = std::filesystem;

constexpr double kAbandonedSeconds = 3600;  // a temporary file this old has no writer any more
constexpr double kTouchSeconds = 600;       // the time of last use is kept this precisely, so that most reads write nothing
constexpr std::size_t kMaxEntries = 100000;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path rootFromEnvironment() {
  if (std::string chosen = variable("FATTN_CACHE_DIR"); !chosen.empty()) return chosen;
  if (fs::path caches = variable("XDG_CACHE_HOME"); caches.is_absolute()) return caches / "fattn";  // relative ones are to be ignored
  if (fs::path home = variable("HOME"); home.is_absolute()) return home / ".cache" / "fattn";
  return {};
}

}  // namespace

Directory& Directory::process() {
  static auto* directory = new Directory(rootFromEnvironment());  // never destroyed: objects that outlive main may compile
  return *directory;
}

Directory& Directory::shared() {
  static auto* directory = new Directory(variable("FATTN_CACHE_SHARED_DIR"), Trust::Shared);
  return *directory;
}

Directory::Directory(fs::path root, Trust trust)
    : root_(std::move(root)), path_(root_.empty() ? fs::path() : root_ / kSchema), trust_(trust) {}

std::expected<Folder, Refusal> Directory::open(const fs::path& below, bool create) const {
  if (path_.empty()) return std::unexpected(Refusal{ENOENT, "there is no folder for the cache"});
  std::expected<Folder, Refusal> folder = Folder::open(root_, fs::path(kSchema) / below, trust_, create);
  if (!folder && folder.error().distrust)
    warn((trust_ == Trust::Own ? "the cache is not used, as what others may have written is not executed: "
                               : "the shared cache is not used, as others than its owner may have written it: ") +
         folder.error().why);
  return folder;
}

std::expected<std::string, Refusal> Directory::read(const fs::path& name, std::size_t limit) const {
  const std::expected<Folder, Refusal> folder = open(name.parent_path());
  if (!folder) return std::unexpected(folder.error());
  return folder->read(name.filename(), limit, trust_ == Trust::Own ? kTouchSeconds : -1);
}

// 0 or errno.
int Directory::tryReplace(const fs::path& name, std::string_view bytes, bool durable, std::string& why) const {
  const std::expected<Folder, Refusal> folder = open(name.parent_path(), /*create=*/true);
  if (folder) return writeAtomically(folder->descriptor(), name.filename(), bytes, 0600, durable);
  why = folder.error().why;
  return folder.error().error;
}

bool Directory::replace(const fs::path& name, std::string_view bytes, bool durable) {
  if (trust_ != Trust::Own) return false;
  const std::string hint = "; every process compiles anew until FATTN_CACHE_DIR names a folder that can be written";
  if (path_.empty()) {
    warn("there is no folder for the cache, as none of FATTN_CACHE_DIR, XDG_CACHE_HOME and HOME is set" + hint);
    return false;
  }
  int error = 0;
  std::string why;
  for (int attempt = 0; attempt < 3; ++attempt) {
    error = tryReplace(name, bytes, durable, why);
    if (error == 0) return true;
    if (error != ENOENT) break;  // else somebody has removed the folder meanwhile: once more
  }
  warn("the cache cannot write " + (path_ / name).string() + ": " + std::generic_category().message(error) + hint);
  return false;
}

std::vector<std::string> Directory::entries(const fs::path& name) const {
  const std::expected<Folder, Refusal> folder = open(name);
  return folder ? folder->entries(kMaxEntries) : std::vector<std::string>();
}

void Directory::listInto(Listing& listing, const fs::path& name) const {
  const std::expected<Folder, Refusal> folder = open(name);
  if (!folder) {
    if (!folder.error().absent()) listing.refused.push_back(folder.error());
    return;
  }
  for (const std::string& entry : folder->entries(kMaxEntries)) {
    struct stat info{};
    if (!folder->look(entry, info)) continue;
    const NameKind kind = kindOfName(name / entry);
    if (kind == NameKind::Folder)
      listInto(listing, name / entry);
    else
      listing.entries.push_back({.name = name / entry,
                                 .kind = kind,
                                 .ordinary = S_ISREG(info.st_mode),
                                 .size = static_cast<std::uint64_t>(info.st_size),
                                 .age = secondsSince(info.st_mtim)});
  }
}

Directory::Listing Directory::list(const fs::path& name) const {
  Listing listing;
  if (!path_.empty()) listInto(listing, name);
  return listing;
}

std::uint64_t Directory::prune(const fs::path& name, std::uint64_t bytes, const fs::path& keep) const {
  if (trust_ != Trust::Own) return 0;
  std::vector<Entry> found = list(name).entries;
  std::uint64_t total = 0;
  for (const Entry& entry : found) {
    if (!entry.ordinary) continue;
    if (entry.kind == NameKind::Temporary && entry.age > kAbandonedSeconds) remove(entry.name);
    if (entry.kind == NameKind::File) total += entry.size;
  }
  std::erase_if(found, [&](const Entry& entry) { return !entry.ordinary || entry.kind != NameKind::File || entry.name == keep; });
  std::ranges::sort(found, std::ranges::greater(), &Entry::age);
  for (const Entry& entry : found) {
    if (total <= bytes) break;
    // Gone already: another process prunes, too.
    if (remove(entry.name) || errno == ENOENT) total -= entry.size;
  }
  return total;
}

bool Directory::rename(const fs::path& from, const fs::path& to) const {
  if (trust_ != Trust::Own || kindOfName(from) != NameKind::File || kindOfName(to) != NameKind::File) return false;
  const std::expected<Folder, Refusal> source = open(from.parent_path()), target = open(to.parent_path());
  return source && target && ::renameat(source->descriptor(), from.filename().c_str(), target->descriptor(), to.filename().c_str()) == 0;
}

bool Directory::remove(const fs::path& name) const {
  const NameKind kind = kindOfName(name);
  errno = EPERM;
  if (trust_ != Trust::Own || (kind != NameKind::File && kind != NameKind::Temporary)) return false;
  const std::expected<Folder, Refusal> folder = open(name.parent_path());
  if (folder) return ::unlinkat(folder->descriptor(), name.filename().c_str(), 0) == 0;
  errno = folder.error().error;
  return false;
}

double Directory::age(const fs::path& name) const {
  const std::expected<Folder, Refusal> folder = open(name.parent_path());
  struct stat info{};
  return folder && folder->look(name.filename(), info) ? secondsSince(info.st_mtim) : 0;
}

void Directory::warn(const std::string& text) const {
  if (!warned_.exchange(true)) log::write(log::Level::Warning, text);
}

bool alwaysCompile() {
  std::string value = variable("FATTN_ALWAYS_COMPILE");
  return !value.empty() && value != "0";
}

}  // namespace fattn::cache
