// SPDX-License-Identifier: Apache-2.0
// Reading and writing files, for all tools: a source of bytes that may be a file or memory, and output that is either complete
// or not there.
#ifndef FATTN_TOOLS_IO_FILE_H
#define FATTN_TOOLS_IO_FILE_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace fattn::io {

/// Bytes with a known size, read in pieces: the formats check every size against it before they allocate anything. Files are read, not
/// mapped: a mapped file that somebody truncates meanwhile kills the process, a read one gives an error.
class ByteSource {
 public:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// What messages call it: the path.
  const std::string& name() const { return name_; }
  virtual std::int64_t size() const = 0;
  /// Fills `target` from `offset`; throws IoError where that is not possible.
  virtual void read(std::int64_t offset, std::span<std::byte> target) const = 0;

 private:
  std::string name_;
};

/// A regular file. Throws IoError with the system's reason where it is missing, unreadable, a directory or a pipe.
class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path);
  ~FileSource() override;
  std::int64_t size() const override { return size_; }
  void read(std::int64_t offset, std::span<std::byte> target) const override;

 private:
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

/// Somebody else's memory; for tests and fuzzers.
class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::span<const std::byte> bytes) : ByteSource(std::move(name)), bytes_(bytes) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size()); }
  void read(std::int64_t offset, std::span<std::byte> target) const override;

 private:
  std::span<const std::byte> bytes_;
};

/// Appends bytes to the file being written; throws IoError (disk full, ...).
using Append = std::function<void(std::span<const std::byte>)>;

/// Creates or replaces `path` with what `fill` appends: written beside it under another name and renamed, so that a reader sees the old
/// file or the whole new one, and an error leaves nothing behind. Devices and pipes are written directly; a symbolic link is followed.
void writeFile(const std::string& path, const std::function<void(const Append&)>& fill);
void writeFile(const std::string& path, std::string_view text);

/// The whole of a regular file of at most `most` bytes. Throws IoError with the system's reason, and `hint` where there is no better one.
std::string readText(const std::string& path, std::size_t most, const std::string& hint = "");

}  // namespace fattn::io

#endif
