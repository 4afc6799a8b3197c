// SPDX-License-Identifier: Apache-2.0
// The seeds of fuzz-cache are files of today: the fuzzer of a reader that refuses its seeds for their version sees nothing of it.
// FATTN_WRITE_SEEDS=1 cache-test --gtest_filter='Seeds*' writes those of binaries anew, where their format has changed.
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/cache/BinaryStore.h"
#include "runtime/cache/Tuned.h"
#include "tests/unit/cache/Support.h"

namespace fattn::cache {
namespace {

std::filesystem::path seed(const char* name) { return std::filesystem::path(FATTN_SEEDS) / name; }

TEST(Seeds, OfBinariesAreOfTodaysFormat) {
  compiler::Binary binary = sampleBinary(1, 100);
  const std::string file = encodeBinary(keyOf(1), binary);
  constexpr std::size_t kHeader = 56, kDigest = 32;
  const std::string payload = file.substr(kHeader, file.size() - kHeader - kDigest);
  for (const auto& [name, bytes] : {std::pair("binary", "b" + file), std::pair("binary-sealed", "B" + payload)}) {
    if (std::getenv("FATTN_WRITE_SEEDS") != nullptr) writeFile(seed(name), bytes);
    EXPECT_TRUE(readFile(seed(name)) == bytes) << name << " is of another format";
  }
}

TEST(Seeds, OfTunedConfigurationsAreRead) {
  EXPECT_TRUE(decodeTuned(readFile(seed("tuned")).substr(1)));
  EXPECT_TRUE(decodeTuned(sealTuned(readFile(seed("tuned-sealed")).substr(1))));
}

}  // namespace
}  // namespace fattn::cache
