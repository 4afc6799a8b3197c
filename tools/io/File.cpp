// SPDX-License-Identifier: Apache-2.0
// Files by POSIX calls, with the system's reason in every message.
#include "tools/io/File.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "fattn/Error.h"

namespace fattn::io {
namespace {

[[noreturn]] void fail(std::string_view verb, const std::string& path, int error, std::string hint = "") {
  throw Error(ErrorCode::IoError, fmt::format("cannot {} {}: {}", verb, path, std::strerror(error)), std::move(hint));
}

/// Where a write to `path` really goes: the target of a symbolic link, else the path itself.
std::string resolveLink(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path real = std::filesystem::canonical(path, ignored);
  return ignored ? path : real.string();
}

class OutputFile {
 public:
  explicit OutputFile(const std::string& path) : shown_(path), target_(resolveLink(path)) {
    struct stat info{};
    const bool exists = ::stat(target_.c_str(), &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) fail("write", shown_, EISDIR);
    if (exists && !S_ISREG(info.st_mode)) {
      descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    } else {
      static std::atomic<unsigned> counter{0};
      temporary_ = fmt::format("{}.tmp-{}-{}", target_, ::getpid(), counter++);
      descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor_ >= 0 && exists) ::fchmod(descriptor_, info.st_mode & 07777);
    }
    if (descriptor_ < 0) {
      const int error = errno;
      temporary_.clear();
      fail("write", shown_, error, error == ENOENT ? "the directory does not exist; create it first" : "");
    }
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  void append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) fail("write", shown_, n < 0 ? errno : ENOSPC);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
  }

  void commit() {
    const int descriptor = descriptor_;
    descriptor_ = -1;
    if (::close(descriptor) != 0) fail("write", shown_, errno);
    if (temporary_.empty()) return;
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("write", shown_, errno);
    temporary_.clear();
  }

 private:
  std::string shown_, target_, temporary_;
  int descriptor_ = -1;
};

}  // namespace

FileSource::FileSource(const std::string& path) : ByteSource(path) {
  // O_NONBLOCK: opening a pipe nobody writes to would wait forever.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail("read", path, errno);
  struct stat info{};
  const int error = ::fstat(descriptor_, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : 0;
  if (error != 0 || !S_ISREG(info.st_mode)) {
    ::close(descriptor_);
    if (error != 0) fail("read", path, error);
    throw Error(ErrorCode::IoError, fmt::format("cannot read {}: it is not a regular file", path),
                "pipes and devices have no size; copy the data to a file first");
  }
  size_ = info.st_size;
}

FileSource::~FileSource() { ::close(descriptor_); }

void FileSource::read(std::int64_t offset, std::span<std::byte> target) const {
  while (!target.empty()) {
    const ssize_t n = ::pread(descriptor_, target.data(), target.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read", name(), errno);
    if (n == 0)
      throw Error(ErrorCode::IoError, fmt::format("{} ends at byte {}, {} more were expected", name(), offset, target.size()),
                  "the file is truncated, or was while it was being read");
    target = target.subspan(static_cast<std::size_t>(n));
    offset += n;
  }
}

void MemorySource::read(std::int64_t offset, std::span<std::byte> target) const {
  if (offset < 0 || offset > size() || static_cast<std::int64_t>(target.size()) > size() - offset)
    throw Error(ErrorCode::IoError,
                fmt::format("{} ends at byte {}, {} bytes from byte {} were expected", name(), size(), target.size(), offset),
                "the data are truncated");
  if (!target.empty()) std::memcpy(target.data(), bytes_.data() + offset, target.size());
}

void writeFile(const std::string& path, const std::function<void(const Append&)>& fill) {
  OutputFile file(path);
  fill([&](std::span<const std::byte> bytes) { file.append(bytes); });
  file.commit();
}

}  // namespace fattn::io
