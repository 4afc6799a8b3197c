// SPDX-License-Identifier: Apache-2.0
// Allocations, copies and fills.
#include <algorithm>
#include <array>
#include <thread>

#include "tests/conformance/Conformance.h"

namespace fattn::conformance {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes counting(std::size_t count, int first) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(7 * i + static_cast<std::size_t>(first));
  return bytes;
}

/// `bytes` at `offset` of so many bytes of the value.
Bytes surrounded(const Bytes& bytes, std::size_t offset, std::size_t count, std::uint8_t value) {
  Bytes all(count, value);
  std::ranges::copy(bytes, all.begin() + static_cast<std::ptrdiff_t>(offset));
  return all;
}

TEST_P(Conformance, AllocationsAreAlignedAndApart) {
  std::vector<Array<std::uint8_t>> arrays;
  for (const std::size_t bytes : {1, 3, 64, 65, 4097, 1 << 20}) {
    const auto& array = arrays.emplace_back(device(), bytes);
    EXPECT_EQ(array.slot() % 64, 0U) << bytes;
    device().fill(array.data(), static_cast<std::uint8_t>(arrays.size()), bytes);
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) EXPECT_EQ(arrays[i].read(), Bytes(arrays[i].bytes(), static_cast<std::uint8_t>(i + 1)));
}

TEST_P(Conformance, NoBytesAreNothing) {
  EXPECT_EQ(device().allocate(0), nullptr);
  device().free(nullptr);
  device().copy(nullptr, nullptr, 0);
  device().fill(nullptr, 1, 0);
  const Array<std::uint8_t> array(device(), counting(5, 1));
  device().copy(array.data(), nullptr, 0);
  device().fill(array.data(), 1, 0);
  EXPECT_EQ(array.read(), counting(5, 1));
}

// The host may promise memory that it has not, but not more than there are addresses.
TEST_P(Conformance, OutOfMemoryIsAnErrorAndTheDeviceGoesOn) {
  const std::size_t tooMany = isHost() ? SIZE_MAX : static_cast<std::size_t>(device().capabilities().memoryBytes) + (std::size_t{1} << 30);
  for (int i = 0; i < 2; ++i)
    EXPECT_SAYS(refusalOf(ErrorCode::OutOfMemory, [&] { device().allocate(tooMany); }), std::to_string(tooMany) + " bytes");
  const Array<std::uint8_t> array(device(), counting(1000, 1));
  EXPECT_EQ(array.read(), counting(1000, 1));
}

// From bytes of one value into bytes of another, at odd places: what stands beside them stays.
TEST_P(Conformance, CopiesInAllDirections) {
  constexpr std::size_t kFrom = 3, kTo = 5, kBeside = 9;
  for (const std::size_t size : {0, 1, 2, 31, 64, 4097, 1000003}) {
    SCOPED_TRACE(size);
    const Bytes bytes = counting(size, 3), source = surrounded(bytes, kFrom, size + kBeside, 0xee), empty(size + kBeside, 0x11),
                want = surrounded(bytes, kTo, size + kBeside, 0x11);
    const Array<std::uint8_t> from(device(), source), there(device(), empty), alsoThere(device(), empty);
    Bytes here = empty, alsoHere = empty;
    device().copy(there.data() + kTo, from.data() + kFrom, size);        // device to device
    device().copy(here.data() + kTo, from.data() + kFrom, size);         // device to host
    device().copy(alsoThere.data() + kTo, source.data() + kFrom, size);  // host to device
    device().copy(alsoHere.data() + kTo, source.data() + kFrom, size);   // host to host
    device().synchronize();
    EXPECT_EQ(there.read(), want);
    EXPECT_EQ(here, want);
    EXPECT_EQ(alsoThere.read(), want);
    EXPECT_EQ(alsoHere, want);
    EXPECT_EQ(from.read(), source);
  }
}

TEST_P(Conformance, CopiesWithinAnAllocation) {
  const Array<std::uint8_t> array(device(), counting(301, 1));
  device().copy(array.data() + 150, array.data(), 150);
  device().synchronize();
  Bytes want = counting(150, 1);
  const Bytes first = want;
  want.insert(want.end(), first.begin(), first.end());
  want.push_back(counting(301, 1).back());
  EXPECT_EQ(array.read(), want);
}

TEST_P(Conformance, FillsTheseBytesOnly) {
  for (const std::uint8_t value : {0x00, 0x5a, 0xff})
    for (const std::size_t size : {0, 1, 7, 4095}) {
      const Array<std::uint8_t> array(device(), Bytes(5000, 0x22));
      device().fill(array.data() + 3, value, size);
      device().synchronize();
      EXPECT_EQ(array.read(), surrounded(Bytes(size, value), 3, 5000, 0x22)) << size;
    }
}

TEST_P(Conformance, MemoryIsUsedByAnyThread) {
  std::array<int, 4> wrong{};
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 20; ++i) {
          const Bytes bytes = counting(100 + 50 * t, i);
          const Array<std::uint8_t> array(device(), bytes), other(device(), bytes.size());
          device().copy(other.data(), array.data(), bytes.size());
          device().fill(array.data(), 0, bytes.size());
          device().synchronize();
          if (other.read() != bytes || array.read() != Bytes(bytes.size(), 0)) ++wrong[t];
        }
      });
  }
  EXPECT_EQ(wrong, (std::array<int, 4>{}));
}

}  // namespace
}  // namespace fattn::conformance
