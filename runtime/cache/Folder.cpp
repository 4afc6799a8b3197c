// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>
#include <system_error>
#include <utility>

namespace fattn::cache {
namespace {

namespace fs = std::filesystem;

constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK;

Refusal refusal(const fs::path& path, int error) { return {error, path.string() + ": " + std::generic_category().message(error)}; }
Refusal distrusted(const fs::path& path, const std::string& why) { return {EPERM, path.string() + ": " + why, true}; }

// The folder and those above it that are missing, for this user alone. 0 or errno.
int makeFolders(const fs::path& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return ::chmod(path.c_str(), 0700) == 0 ? 0 : errno;  // a umask may have taken bits of ours
  if (errno == EEXIST) return 0;
  if (errno != ENOENT || !path.has_parent_path() || path.parent_path() == path) return errno;
  if (int error = makeFolders(path.parent_path()); error != 0) return error;
  return ::mkdir(path.c_str(), 0700) == 0 ? (::chmod(path.c_str(), 0700) == 0 ? 0 : errno) : errno == EEXIST ? 0 : errno;
}

class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// 0 or errno. A file that shrinks meanwhile gives fewer bytes.
int readAll(int descriptor, std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::read(descriptor, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) bytes.resize(done);
    done += static_cast<std::size_t>(count);
  }
  return 0;
}

}  // namespace

double secondsSince(const timespec& time) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec - time.tv_sec) + static_cast<double>(now.tv_nsec - time.tv_nsec) * 1e-9;
}

bool Refusal::absent() const { return !distrust && (error == ENOENT || error == ENOTDIR || error == ESTALE); }

Folder::~Folder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Folder::Folder(Folder&& from) noexcept
    : descriptor_(std::exchange(from.descriptor_, -1)), path_(std::move(from.path_)), owner_(from.owner_), trust_(from.trust_) {}

std::string Folder::distrust(const struct stat& info) const {
  if (info.st_uid != geteuid() && info.st_uid != 0 && info.st_uid != owner_)
    return "it belongs to user " + std::to_string(info.st_uid) + ", who is neither this user (" + std::to_string(geteuid()) + ") nor root";
  if ((info.st_mode & S_IWOTH) != 0) return "everybody may write to it";
  if ((info.st_mode & S_IWGRP) != 0 && trust_ != Trust::Installation) return "its group may write to it (chmod go-w takes that away)";
  return "";
}

std::expected<Folder, Refusal> Folder::open(const fs::path& root, const fs::path& below, Trust trust, bool create) {
  int descriptor = ::open(root.c_str(), kOpenFolder);
  if (descriptor < 0 && errno == ENOENT && create) {
    if (int error = makeFolders(root); error != 0) return std::unexpected(refusal(root, error));
    descriptor = ::open(root.c_str(), kOpenFolder);
  }
  if (descriptor < 0) return std::unexpected(refusal(root, errno));
  Folder folder(descriptor, root, geteuid(), trust);
  struct stat info{};
  if (::fstat(descriptor, &info) != 0) return std::unexpected(refusal(root, errno));
  if (trust != Trust::Own) folder.owner_ = info.st_uid;
  if (std::string why = folder.distrust(info); !why.empty()) return std::unexpected(distrusted(root, why));
  std::expected<Folder, Refusal> found = std::move(folder);
  for (const fs::path& part : below) {
    if (part.empty()) continue;  // behind the last slash
    if (part == "." || part == "..") return std::unexpected(refusal(root / below, EINVAL));
    std::expected<Folder, Refusal> next = found->child(part, create);
    if (!next) return next;
    found.emplace(std::move(*next));
  }
  return found;
}

std::expected<Folder, Refusal> Folder::child(const fs::path& name, bool create) const {
  const fs::path path = path_ / name;
  int making = ENOENT;
  if (create) making = ::mkdirat(descriptor_, name.c_str(), 0700) == 0 ? ::fchmodat(descriptor_, name.c_str(), 0700, 0) : errno;
  const int descriptor = ::openat(descriptor_, name.c_str(), kOpenFolder | O_NOFOLLOW);
  if (descriptor < 0) {
    const int error = errno == ENOENT && making > 0 ? making : errno;
    struct stat info{};
    if (look(name, info) && S_ISLNK(info.st_mode)) return std::unexpected(distrusted(path, "it is a symbolic link"));
    return std::unexpected(refusal(path, error));
  }
  Folder folder(descriptor, path, owner_, trust_);
  struct stat info{};
  if (::fstat(descriptor, &info) != 0) return std::unexpected(refusal(path, errno));
  if (std::string why = distrust(info); !why.empty()) return std::unexpected(distrusted(path, why));
  return folder;
}

std::expected<std::string, Refusal> Folder::read(const std::string& name, std::size_t limit, double touchAfter) const {
  const fs::path path = path_ / name;
  // Not blocking: a pipe in the place of a file would never open.
  const Descriptor file(::openat(descriptor_, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return std::unexpected(errno == ELOOP ? distrusted(path, "it is a symbolic link") : refusal(path, errno));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return std::unexpected(refusal(path, errno));
  if (!S_ISREG(info.st_mode)) return std::unexpected(distrusted(path, "it is no ordinary file"));
  if (std::string why = distrust(info); !why.empty()) return std::unexpected(distrusted(path, why));
  if (info.st_size < 0 || static_cast<std::uint64_t>(info.st_size) > limit)
    return std::unexpected(Refusal{EFBIG, path.string() + ": it is larger than " + std::to_string(limit) + " bytes"});
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  if (int error = readAll(file.get(), bytes); error != 0) return std::unexpected(refusal(path, error));
  if (touchAfter >= 0 && secondsSince(info.st_mtim) > touchAfter) ::futimens(file.get(), nullptr);
  return bytes;
}

std::vector<std::string> Folder::entries(std::size_t most) const {
  std::vector<std::string> names;
  const int copy = ::openat(descriptor_, ".", kOpenFolder);  // with a position of its own
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(copy < 0 ? nullptr : ::fdopendir(copy), [](DIR* open) { return ::closedir(open); });
  if (!stream) {
    if (copy >= 0) ::close(copy);
    return names;
  }
  while (names.size() < most) {
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

bool Folder::look(const std::string& name, struct stat& info) const {
  return ::fstatat(descriptor_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace fattn::cache
