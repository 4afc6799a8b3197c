// SPDX-License-Identifier: Apache-2.0
// No file is written: lld reads the object from memory that has a name in /proc, and writes into a pipe that a thread reads (into memory of
// that kind it would not write, as it makes files anew). lld keeps its state in globals, so one link is made at a time; it runs on the
// calling thread alone, so that no thread of it outlives the call.
#include "compiler/emit/LinkHsaco.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <thread>

#include "compiler/emit/LlvmOptions.h"
#include "fattn/Error.h"
#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/AtomicFile.h"

LLD_HAS_DRIVER(elf)

namespace fattn::emit {
namespace {

[[noreturn]] void fail(int error) {
  throw Error(ErrorCode::IoError, "a code object cannot be linked in memory: " + std::generic_category().message(error));
}

/// An open file that is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

/// Everything that is written into a pipe until its last writer closes it.
std::string readAll(int from) {
  std::string bytes;
  std::array<char, 65536> part{};
  for (;;) {
    const ssize_t count = ::read(from, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return bytes;
    bytes.append(part.data(), static_cast<std::size_t>(count));
  }
}

/// What lld answers; empty where it has worked.
std::string runLinker(const std::string& from, const std::string& to) {
  const std::array<const char*, 6> arguments = {"ld.lld", "-shared", "--threads=1", from.c_str(), "-o", to.c_str()};
  std::string said;
  llvm::raw_string_ostream stream(said);
  const std::scoped_lock lock(llvmOptions());
  const lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode == 0) return "";
  return said.empty() ? "lld ended with status " + std::to_string(result.retCode) : said;
}

}  // namespace

std::string linkHsaco(const std::string& object) {
  const Descriptor input(::memfd_create("fattn-object", MFD_CLOEXEC));
  if (input.number() < 0) fail(errno);
  if (const int error = writeAll(input.number(), object); error != 0) fail(error);
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail(errno);
  const Descriptor reading(ends[0]);
  std::string codeObject;
  std::jthread reader;  // ends when the pipe's last writer is closed: declared before the writer
  Descriptor writing(ends[1]);
  try {
    reader = std::jthread([&] { codeObject = readAll(reading.number()); });
  } catch (const std::system_error& error) {
    fail(error.code().value());
  }
  const std::string said = runLinker(input.path(), writing.path());
  writing.close();
  reader.join();
  if (!said.empty()) throw Error(ErrorCode::Internal, "the code object could not be linked: " + said);
  return codeObject;
}

}  // namespace fattn::emit
