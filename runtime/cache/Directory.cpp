// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Directory.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>
#include <system_error>
#include <utility>

#include "runtime/base/Log.h"

namespace fattn::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporary = ".tmp-";
constexpr double kAbandonedSeconds = 3600;  // a temporary file this old has no writer any more
constexpr double kTouchSeconds = 600;       // the time of last use is kept this precisely, so that most reads write nothing
constexpr std::size_t kMaxEntries = 100000;

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }
  // Network file systems report a failed write only here.
  bool close() { return ::close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_;
};

// A write beyond the limit on the size of files raises a signal whose default is to end the process. This makes it an error.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    wasPending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &set_, &old_);
  }
  ~NoFileSizeSignal() {
    timespec now{};
    int error = errno;
    if (!wasPending_) sigtimedwait(&set_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &old_, nullptr);
    errno = error;
  }
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  sigset_t set_{}, old_{};
  bool wasPending_ = false;
};

double secondsSince(const timespec& time) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec - time.tv_sec) + static_cast<double>(now.tv_nsec - time.tv_nsec) * 1e-9;
}

// Code from the cache is run, so it must come from this user, root, or whoever owns the folder that the user has chosen, and nobody else
// may have been able to change it: in a folder like that of temporary files anybody can leave a file.
bool trusted(const struct stat& file, const fs::path& path) {
  if (file.st_mode & S_IWOTH) return false;
  if (file.st_uid == geteuid() || file.st_uid == 0) return true;
  struct stat folder{};
  return ::stat(path.parent_path().c_str(), &folder) == 0 && folder.st_uid == file.st_uid && (folder.st_mode & S_IWOTH) == 0;
}

bool writeAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      if (count == 0) errno = ENOSPC;
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::string temporaryName() {
  static const std::uint64_t random = (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  static std::atomic<std::uint64_t> counter{0};  // with the process and the random number unique on all machines that share the disk
  return std::string(kTemporary) + std::to_string(getpid()) + "-" + std::to_string(random) + "-" + std::to_string(counter.fetch_add(1));
}

// 0 or errno.
int writeTemporary(const fs::path& temporary, std::string_view bytes, bool durable) {
  std::error_code failed;
  fs::create_directories(temporary.parent_path(), failed);
  if (failed) return failed.value();
  File file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666 & ~S_IWOTH));
  if (file.get() < 0) return errno;
  if (!writeAll(file.get(), bytes) || (durable && fsync(file.get()) != 0) || !file.close()) return errno == 0 ? EIO : errno;
  return 0;
}

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

Directory::Directory(fs::path root) : root_(std::move(root)), path_(root_.empty() ? fs::path() : root_ / kSchema) {}

std::optional<std::string> Directory::read(const fs::path& name, std::size_t limit, Missing* missing) const {
  auto fail = [&](Missing why) {
    if (missing != nullptr) *missing = why;
    return std::nullopt;
  };
  if (missing != nullptr) *missing = Missing::No;
  if (path_.empty()) return fail(Missing::Absent);
  fs::path path = path_ / name;
  // Not blocking: a pipe in the place of a file would never open.
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return fail(errno == ENOENT || errno == ENOTDIR || errno == ESTALE ? Missing::Absent : Missing::Unusable);
  struct stat info{};
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < 0 || static_cast<std::uint64_t>(info.st_size) > limit ||
      !trusted(info, path))
    return fail(Missing::Unusable);
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  for (std::size_t done = 0; done < bytes.size();) {
    ssize_t count = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(Missing::Unusable);
    if (count == 0) bytes.resize(done);
    done += static_cast<std::size_t>(count);
  }
  if (secondsSince(info.st_mtim) > kTouchSeconds) futimens(file.get(), nullptr);
  return bytes;
}

bool Directory::replace(const fs::path& name, std::string_view bytes, bool durable) {
  if (path_.empty()) {
    warn({}, 0);
    return false;
  }
  NoFileSizeSignal guard;
  fs::path path = path_ / name, temporary = path.parent_path() / temporaryName();
  int error = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    error = writeTemporary(temporary, bytes, durable);
    if (error == 0 && ::rename(temporary.c_str(), path.c_str()) == 0) return true;
    if (error == 0) error = errno;
    ::unlink(temporary.c_str());
    if (error != ENOENT) break;  // somebody has removed the folder meanwhile: once more
  }
  warn(path, error);
  return false;
}

std::vector<std::string> Directory::entries(const fs::path& name) const {
  std::vector<std::string> names;
  if (path_.empty()) return names;
  std::error_code failed;
  for (fs::directory_iterator entry(path_ / name, failed), end; !failed && entry != end && names.size() < kMaxEntries;
       entry.increment(failed))
    names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::uint64_t Directory::prune(const fs::path& name, std::uint64_t bytes, const fs::path& keep) const {
  struct Found {
    double age;
    std::uint64_t size;
    fs::path path;
  };
  std::vector<Found> found;
  std::uint64_t total = 0;
  if (path_.empty()) return 0;
  std::error_code failed;
  fs::recursive_directory_iterator entry(path_ / name, failed), end;
  for (; !failed && entry != end && found.size() < kMaxEntries; entry.increment(failed)) {
    struct stat info{};
    if (lstat(entry->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    Found file{.age = secondsSince(info.st_mtim), .size = static_cast<std::uint64_t>(info.st_size), .path = entry->path()};
    if (file.path.filename().string().starts_with(kTemporary)) {
      if (file.age > kAbandonedSeconds) ::unlink(file.path.c_str());
      continue;
    }
    total += file.size;
    if (keep.empty() || file.path != path_ / keep) found.push_back(std::move(file));
  }
  std::ranges::sort(found, std::ranges::greater(), &Found::age);
  for (const Found& file : found) {
    if (total <= bytes) break;
    // Gone already: another process prunes, too.
    if (::unlink(file.path.c_str()) == 0 || errno == ENOENT) total -= file.size;
  }
  return total;
}

bool Directory::rename(const fs::path& from, const fs::path& to) const {
  return !path_.empty() && ::rename((path_ / from).c_str(), (path_ / to).c_str()) == 0;
}

void Directory::remove(const fs::path& name) const {
  if (!path_.empty()) ::unlink((path_ / name).c_str());
}

double Directory::age(const fs::path& name) const {
  struct stat info{};
  return !path_.empty() && lstat((path_ / name).c_str(), &info) == 0 ? secondsSince(info.st_mtim) : 0;
}

void Directory::warn(const fs::path& at, int error) {
  if (warned_.exchange(true)) return;
  std::string text = root_.empty() ? "there is no folder for the cache, as none of FATTN_CACHE_DIR, XDG_CACHE_HOME and HOME is set"
                                   : "the cache cannot write " + at.string() + ": " + std::generic_category().message(error);
  log::write(log::Level::Warning, text + "; every process compiles anew until FATTN_CACHE_DIR names a folder that can be written");
}

bool alwaysCompile() {
  std::string value = variable("FATTN_ALWAYS_COMPILE");
  return !value.empty() && value != "0";
}

}  // namespace fattn::cache
