// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "compiler/cpu/state/Scratch.h"

namespace fattn::cpu {
namespace {

TEST(Scratch, ReusesWhatWasReleased) {
  Scratch scratch;
  int a = scratch.allocate(100), b = scratch.allocate(64);
  EXPECT_EQ(scratch.offset(a), 0);
  EXPECT_EQ(scratch.offset(b), 128);
  scratch.release(a);
  EXPECT_EQ(scratch.offset(scratch.allocate(128)), 0);
  EXPECT_EQ(scratch.offset(scratch.allocate(1)), 192);
  EXPECT_EQ(scratch.bytes(), 256);
}

TEST(Scratch, LiveSlotsNeverOverlap) {
  std::seed_seq seed{7};
  std::mt19937 random(seed);
  Scratch scratch;
  struct Slot {
    int id;
    std::int64_t size;
  };
  std::vector<Slot> live;
  for (int step = 0; step < 2000; ++step) {
    if (!live.empty() && random() % 2) {
      std::size_t at = random() % live.size();
      scratch.release(live[at].id);
      live.erase(live.begin() + at);
    } else {
      std::int64_t size = 1 + random() % 5000;
      live.push_back({scratch.allocate(size), size});
    }
    for (const Slot& x : live) {
      ASSERT_EQ(scratch.offset(x.id) % 64, 0);
      ASSERT_LE(scratch.offset(x.id) + x.size, scratch.bytes());
      for (const Slot& y : live)
        ASSERT_TRUE(x.id == y.id || scratch.offset(x.id) + x.size <= scratch.offset(y.id) ||
                    scratch.offset(y.id) + y.size <= scratch.offset(x.id));
    }
  }
}

}  // namespace
}  // namespace fattn::cpu
