// SPDX-License-Identifier: Apache-2.0
// How every file of fattn is written: under another name in the same folder, then renamed, so that a reader sees the old file or the whole
// new one, and an error (a full disk, a limit) leaves the old one and nothing else.
#ifndef FATTN_RUNTIME_BASE_ATOMICFILE_H
#define FATTN_RUNTIME_BASE_ATOMICFILE_H

#include <sys/types.h>

#include <string>
#include <string_view>

namespace fattn {

/// Files with names like this are being written, or were left by a writer that was killed.
inline constexpr std::string_view kTemporaryPrefix = ".tmp-";

/// A file that takes its name's place when it is committed. Functions give 0 or an errno; after the first error the object is of no more
/// use. Its destructor removes what was not committed. A write beyond the limit on the size of files is EFBIG, and no signal. For one
/// thread at a time.
class AtomicFile {
 public:
  /// `folder`: an open folder, whose descriptor outlives this object, or AT_FDCWD. `name`: in it, or a path from it.
  AtomicFile(int folder, std::string name) : folder_(folder), name_(std::move(name)) {}
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// `mode`: as open() takes it.
  int open(mode_t mode);
  int append(std::string_view bytes);
  /// `durable`: also flushed to the disk, the name too.
  int commit(bool durable);
  /// Of the open file; -1 before open().
  int descriptor() const { return descriptor_; }

 private:
  int folder_, descriptor_ = -1;
  std::string name_, temporary_;
};

/// All of it at once.
int writeAtomically(int folder, const std::string& name, std::string_view bytes, mode_t mode, bool durable);

/// Writes to an open file, whatever it is. 0 or errno, as above.
int writeAll(int descriptor, std::string_view bytes);

}  // namespace fattn

#endif
