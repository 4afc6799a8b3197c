// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/AtomicFile.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <random>
#include <utility>

namespace fattn {
namespace {

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
    const int error = errno;
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

// With the process and the random number it is unique on all machines that share the disk.
std::string temporaryName() {
  static const std::uint64_t random = (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  static std::atomic<std::uint64_t> counter{0};
  return std::string(kTemporaryPrefix) + std::to_string(getpid()) + "-" + std::to_string(random) + "-" +
         std::to_string(counter.fetch_add(1));
}

int failure() { return errno == 0 ? EIO : errno; }

}  // namespace

int writeAll(int descriptor, std::string_view bytes) {
  NoFileSizeSignal guard;
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure();
    if (count == 0) return ENOSPC;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlinkat(folder_, temporary_.c_str(), 0);
}

int AtomicFile::open(mode_t mode) {
  const std::size_t slash = name_.rfind('/');
  std::string temporary = slash == std::string::npos ? temporaryName() : name_.substr(0, slash + 1) + temporaryName();
  descriptor_ = ::openat(folder_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (descriptor_ < 0) return failure();
  temporary_ = std::move(temporary);
  return 0;
}

int AtomicFile::append(std::string_view bytes) { return writeAll(descriptor_, bytes); }

int AtomicFile::commit(bool durable) {
  if (durable && ::fsync(descriptor_) != 0) return failure();
  // Network file systems report a failed write only here.
  if (::close(std::exchange(descriptor_, -1)) != 0) return failure();
  if (::renameat(folder_, temporary_.c_str(), folder_, name_.c_str()) != 0) return failure();
  temporary_.clear();
  if (durable && folder_ >= 0) ::fsync(folder_);
  return 0;
}

int writeAtomically(int folder, const std::string& name, std::string_view bytes, mode_t mode, bool durable) {
  AtomicFile file(folder, name);
  int error = file.open(mode);
  if (error == 0) error = file.append(bytes);
  return error != 0 ? error : file.commit(durable);
}

}  // namespace fattn
