// SPDX-License-Identifier: Apache-2.0
// Helpers of the file tests: test data, a folder that vanishes, hand-made bytes, and what an error says.
#ifndef FATTN_TESTS_UNIT_IO_TESTFILES_H
#define FATTN_TESTS_UNIT_IO_TESTFILES_H

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "fattn/Error.h"
#include "tools/io/Convert.h"
#include "tools/io/HostTensor.h"

namespace fattn::io {

inline std::string data(const std::string& file) { return std::string(FATTN_TEST_DATA) + "/" + file; }

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fattn-io-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
  }

 private:
  std::string path_;
};

inline std::string readAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void writeAll(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

inline std::span<const std::byte> bytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

/// What `action` throws; a failure where it does not.
template <typename Action>
Error errorOf(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return Error(ErrorCode::Internal, "no error was thrown");
}

/// The element at an index, through the strides.
inline float at(const HostTensor& t, const std::vector<std::int64_t>& index) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < index.size(); ++i) offset += index[i] * t.strides()[i];
  return loadFloat(t.dtype(), t.data() + offset * sizeInBytes(t.dtype()));
}

/// Checks that a 2x3x4 tensor holds n / 4 - 2 at its n-th place, as the test data do.
inline void expectRamp(const HostTensor& t) {
  ASSERT_EQ(t.shape(), (std::vector<std::int64_t>{2, 3, 4}));
  for (int n = 0; n < 24; ++n) EXPECT_EQ(at(t, {n / 12, n / 4 % 3, n % 4}), static_cast<float>(n) / 4 - 2) << "element " << n;
}

}  // namespace fattn::io

#endif
