// SPDX-License-Identifier: Apache-2.0
// Files by POSIX calls, with the system's reason in every message.
#include "tools/io/File.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "fattn/Error.h"
#include "runtime/base/AtomicFile.h"

namespace fattn::io {
namespace {

[[noreturn]] void fail(std::string_view verb, const std::string& path, int error, std::string hint = "") {
  throw Error(ErrorCode::IoError, fmt::format("cannot {} {}: {}", verb, path, std::strerror(error)), std::move(hint));
}

std::string_view textOf(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Where a write to `path` really goes: the target of a symbolic link, else the path itself.
std::string resolveLink(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path real = std::filesystem::canonical(path, ignored);
  return ignored ? path : real.string();
}

void requireWritten(const std::string& path, int error) {
  if (error != 0) fail("write", path, error, error == ENOENT ? "the directory does not exist; create it first" : "");
}

// A device or a pipe: there is nothing to take the place of.
void writeInto(const std::string& path, const std::function<void(const Append&)>& fill) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail("write", path, errno, errno == ENXIO ? "nobody reads from this pipe" : "");
  const std::unique_ptr<const int, void (*)(const int*)> closing(&descriptor, [](const int* open) { ::close(*open); });
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  fill([&](std::span<const std::byte> bytes) { requireWritten(path, writeAll(descriptor, textOf(bytes))); });
}

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
  const std::string target = resolveLink(path);
  struct stat info{};
  const bool exists = ::stat(target.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) fail("write", path, EISDIR);
  if (exists && !S_ISREG(info.st_mode)) return writeInto(path, fill);
  AtomicFile file(AT_FDCWD, target);
  requireWritten(path, file.open(0666));
  if (exists) ::fchmod(file.descriptor(), info.st_mode & 07777);
  fill([&](std::span<const std::byte> bytes) { requireWritten(path, file.append(textOf(bytes))); });
  requireWritten(path, file.commit(/*durable=*/false));
}

void writeFile(const std::string& path, std::string_view text) {
  writeFile(path, [&](const Append& append) { append(std::as_bytes(std::span(text))); });
}

std::string readText(const std::string& path, std::size_t most, const std::string& hint) try {
  const FileSource source(path);
  if (source.size() > static_cast<std::int64_t>(most))
    throw Error(ErrorCode::IoError, fmt::format("cannot read {}: it has {} bytes; at most {} are read", path, source.size(), most));
  std::string text(static_cast<std::size_t>(source.size()), '\0');
  source.read(0, std::as_writable_bytes(std::span(text)));
  return text;
} catch (const Error& error) {
  throw Error(error.code(), error.constraint(), error.hint().empty() ? hint : error.hint());
}

}  // namespace fattn::io
