// SPDX-License-Identifier: Apache-2.0
// What the adversary reports, rule by rule, on small programs of two warps, with the texts. A program is right, and wrong without one
// line of it.
#include <gtest/gtest.h>

#include <numeric>

#include "fattn/Error.h"
#include "mlir/Parser/Parser.h"
#include "tests/adversary/CheckProgram.h"
#include "tests/support/Context.h"

using namespace mlir;

namespace fattn::adversary {
namespace {

/// Tiles of 32 x 8 on two warps. #a gives a warp 16 rows in a piece, #b every second 8 rows; #copies gives both warps all of 16 x 8.
constexpr const char* kHead = R"(
#a = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 -> (16,0) | dim0: 32, dim1: 8">
#b = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (16,0); warp: 1 -> (8,0) | dim0: 32, dim1: 8">
#rows = #tilegpu.regs<"register: 1; lane: 1 -> (0), 2 -> (1), 4 -> (2), 8 -> (4), 16 -> (8); warp: 1 -> (16) | dim0: 32">
#copies = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2); lane: 1 -> (0,4), 2 -> (1,0), 4 -> (2,0), 8 -> (4,0), 16 -> (8,0); warp: 1 -> (0,0) | dim0: 16, dim1: 8">
#line = #tilegpu.regs<"register: 1; lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (16); warp: 1 -> (0) | dim0: 32">
#s = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (8,0), 128 -> (16,0) | dim0: 32, dim1: 8">
!a = tensor<32x8xf32, #a>
!b = tensor<32x8xf32, #b>
!ptr = !tile.block_ptr<32x8xf32>
!buf = !tilegpu.buffer<1 x 32x8xf32, #s>
!ring = !tilegpu.buffer<2 x 32x8xf32, #s>
func.func @k(%in: !tile.ptr<f32>, %out: !tile.ptr<f32>, %n: i32)
    attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 2 : i64, tilegpu.shared_bytes = 4096 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %o = arith.constant 1 : i64
  %w = arith.constant 8 : i64
  %h = arith.constant 32 : i64
  %p = tile.make_block_ptr %in, shape [%h, %w], strides [%w, %o], offsets [%z, %z] : !tile.ptr<f32> -> !ptr
  %q = tile.make_block_ptr %out, shape [%h, %w], strides [%w, %o], offsets [%z, %z] : !tile.ptr<f32> -> !ptr
)";

class Rules : public testing::Test {
 protected:
  Rules() { std::iota(input.begin(), input.end(), 1.0F); }

  /// The faults' kinds and texts; lines are counted in the body.
  std::string faults(std::string body, Options options = {}) {
    std::string text = head + body + "  return\n}\n";
    auto module = parseSourceString<ModuleOp>(text, context.get(), "k");
    if (!module) return "does not parse";
    output.assign(256, 0.0F);
    auto bytes = [](std::vector<float>& values) {
      return interpreter::Buffer{values.data(), static_cast<int64_t>(values.size() * sizeof(float))};
    };
    options.orders.resize(orders);
    std::vector<interpreter::Argument> arguments = {bytes(input), aliased ? bytes(input) : bytes(output), trips};
    std::string all = textOf(check(*module, arguments, {1, 1, 1}, options));
    return inBodyLines(all);
  }

  std::unique_ptr<MLIRContext> context = test::makeContext();
  std::string head = kHead;
  std::vector<float> input = std::vector<float>(256), output;
  bool aliased = false;  ///< both pointers lead to `input`
  int64_t trips = 4;
  size_t orders = 1;

 private:
  /// "k:40:3" becomes "k:3", the line of the body.
  static std::string inBodyLines(const std::string& text) {
    auto lines = static_cast<int>(std::ranges::count(std::string_view(kHead), '\n'));
    std::string result;
    for (size_t at = 0; at < text.size();) {
      if (text.compare(at, 2, "k:") != 0 || (at > 0 && text[at - 1] != ' ')) {
        result += text[at++];
        continue;
      }
      size_t end = text.find(':', at + 2);
      result += "k:" + std::to_string(std::stoi(text.substr(at + 2, end - at - 2)) - lines);
      at = text.find(':', end + 1);
    }
    return result;
  }
};

/// The text with one part left out or replaced.
std::string without(std::string text, const std::string& part, const std::string& replacement = "") {
  size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return at == std::string::npos ? text : text.replace(at, part.size(), replacement);
}

constexpr const char* kThroughShared = R"(
  %m = tilegpu.alloc {offset = 0 : i64} : !buf
  %x = tile.load %p : !ptr -> !a
  tilegpu.store_buffer %x, %m[%c0] : !a, !buf
  tilegpu.barrier
  %y = tilegpu.load_buffer %m[%c0] : !buf -> !b
  tile.store %q, %y : !ptr, !b
)";

TEST_F(Rules, AStoreIsReadBehindABarrier) {
  orders = 3;
  EXPECT_EQ(faults(kThroughShared), "");
  EXPECT_EQ(output, input);
  orders = 1;
  EXPECT_EQ(
      faults(without(kThroughShared, "tilegpu.barrier")),
      "unwritten: k:6: 'tilegpu.load_buffer' in warp 0 reads byte 512 of shared memory, which nobody has written\n"
      "race: k:4: 'tilegpu.store_buffer' in thread 32 of warp 1 writes byte 512 of shared memory, which k:6: 'tilegpu.load_buffer' in "
      "thread 16 of warp 0 reads, with no barrier between them\n");
}

TEST_F(Rules, AStoreWaitsForTheReadersBefore) {
  const std::string again = without(kThroughShared, "  tile.store", R"(  tilegpu.barrier
  tilegpu.store_buffer %x, %m[%c0] : !a, !buf
  tile.store)");
  EXPECT_EQ(faults(again), "");
  EXPECT_EQ(faults(std::string(again).erase(again.rfind("tilegpu.barrier"), 15)),
            "race: k:6: 'tilegpu.load_buffer' in thread 32 of warp 1 reads byte 256 of shared memory, which k:8: 'tilegpu.store_buffer' in "
            "thread 16 of warp 0 writes, with no barrier between them\n");
}

constexpr const char* kCopied = R"(
  %m = tilegpu.alloc {offset = 0 : i64} : !buf
  %t = tilegpu.copy_async %p, %m[%c0] {layout = #a} : !ptr, !buf
  tilegpu.copy_wait %t {pending = 0 : i64}
  tilegpu.barrier
  %y = tilegpu.load_buffer %m[%c0] : !buf -> !b
  tile.store %q, %y : !ptr, !b
)";

TEST_F(Rules, ACopyIsThereBehindItsWaitAndABarrier) {
  orders = 3;
  EXPECT_EQ(faults(kCopied), "");
  EXPECT_EQ(output, input);
  orders = 1;
  EXPECT_EQ(faults(without(kCopied, "tilegpu.copy_wait %t {pending = 0 : i64}")),
            "in flight: k:6: 'tilegpu.load_buffer' in warp 0 reads byte 0 of shared memory, which k:3: 'tilegpu.copy_async' of warp 0 may "
            "still write: no wait covers that copy\n");
  EXPECT_EQ(faults(without(kCopied, "tilegpu.barrier")),
            "unwritten: k:6: 'tilegpu.load_buffer' in warp 0 reads byte 512 of shared memory, which nobody has written\n"
            "race: k:3: 'tilegpu.copy_async' in thread 32 of warp 1 writes byte 512 of shared memory, which k:6: 'tilegpu.load_buffer' in "
            "thread 16 of warp 0 reads, with no barrier between them\n");
  EXPECT_EQ(faults(without(kCopied, "pending = 0", "pending = 1")),
            "in flight: k:6: 'tilegpu.load_buffer' in warp 0 reads byte 0 of shared memory, which k:3: 'tilegpu.copy_async' of warp 0 may "
            "still write: no wait covers that copy\n");
}

TEST_F(Rules, ACopyThatIsNotWantedIsAGroupAndCopiesNothing) {
  const std::string second = without(kCopied, "  tilegpu.copy_wait", R"(  %no = arith.cmpi slt, %n, %c0 : i32
  %u = tilegpu.copy_async %p, %m[%c0] if %no {layout = #a} : !ptr, !buf
  tilegpu.copy_wait)");
  EXPECT_EQ(faults(second), "");
  EXPECT_EQ(faults(without(second, "pending = 0", "pending = 1")), "");
  EXPECT_EQ(output, input);
}

constexpr const char* kRing = R"(
  %m = tilegpu.alloc {offset = 0 : i64} : !ring
  %t0 = tilegpu.copy_async %p, %m[%c0] {layout = #a} : !ptr, !ring
  scf.for %i = %c0 to %n step %c1 iter_args(%t = %t0, %from = %c0) -> (!tilegpu.token, i32) : i32 {
    %to = arith.xori %from, %c1 : i32
    tilegpu.copy_wait %t {pending = 0 : i64}
    tilegpu.barrier
    %next = tilegpu.copy_async %p, %m[%to] {layout = #a} : !ptr, !ring
    %y = tilegpu.load_buffer %m[%from] : !ring -> !b
    tile.store %q, %y : !ptr, !b
    scf.yield %next, %to : !tilegpu.token, i32
  }
)";

TEST_F(Rules, ASlotIsFilledAgainWhenAllHaveReadIt) {
  orders = 3;
  EXPECT_EQ(faults(kRing), "");
  EXPECT_EQ(output, input);
  orders = 1;
  EXPECT_EQ(
      faults(without(kRing, "    tilegpu.barrier\n")),
      "unwritten: k:8: 'tilegpu.load_buffer' in warp 0 reads byte 512 of shared memory, which nobody has written\n"
      "race: k:3: 'tilegpu.copy_async' in thread 32 of warp 1 writes byte 512 of shared memory, which k:8: 'tilegpu.load_buffer' in "
      "thread 16 of warp 0 reads, with no barrier between them\n"
      "race: k:7: 'tilegpu.copy_async' in thread 32 of warp 1 writes byte 1536 of shared memory, which k:8: 'tilegpu.load_buffer' in "
      "thread 16 of warp 0 reads, with no barrier between them\n"
      "in flight: k:8: 'tilegpu.load_buffer' in warp 1 reads byte 256 of shared memory, which k:7: 'tilegpu.copy_async' of warp 0 may "
      "still write: no wait covers that copy\n");
}

TEST_F(Rules, OneSlotLessIsFilledWhileItIsRead) {
  EXPECT_EQ(faults(without(kRing, "%m[%to]", "%m[%from]")),
            "in flight: k:9: 'tilegpu.load_buffer' in warp 0 reads byte 0 of shared memory, which k:8: 'tilegpu.copy_async' of warp 0 may "
            "still write: no wait covers that copy\n"
            "race: k:8: 'tilegpu.copy_async' in thread 32 of warp 1 writes byte 512 of shared memory, which k:9: 'tilegpu.load_buffer' in "
            "thread 16 of warp 0 reads, with no barrier between them\n"
            "unwritten: k:9: 'tilegpu.load_buffer' in warp 0 reads byte 1536 of shared memory, which nobody has written\n");
  EXPECT_EQ(faults(without(kRing, "xori %from, %c1", "addi %from, %c1")),
            "bounds: k:8: 'tilegpu.copy_async' accesses slot 2 of a buffer of 2 slots\n"
            "bounds: k:9: 'tilegpu.load_buffer' accesses slot 2 of a buffer of 2 slots\n");
}

/// The engine's boxes: one warp begins them, each waits for itself.
class BoxRules : public Rules {
 protected:
  BoxRules() {
    head = without(head, "tilegpu.shared_bytes = 4096 : i64",
                   "tilegpu.shared_bytes = 4096 : i64, tilegpu.tensor_maps = [{sizes = [array<i64: 8>, array<i64: 32>]}]");
  }
};

constexpr const char* kBoxes = R"(
  %m = tilegpu.alloc {offset = 0 : i64} : !buf
  %t = tilegpu.copy_async %p, %m[%c0] map 0[] : !ptr, !buf
  tilegpu.copy_wait %t in %m[%c0] : !buf
  %y = tilegpu.load_buffer %m[%c0] : !buf -> !b
  tile.store %q, %y : !ptr, !b
)";

TEST_F(BoxRules, BoxesAreThereForWhoeverHasWaited) {
  orders = 3;
  EXPECT_EQ(faults(kBoxes), "");
  EXPECT_EQ(output, input);
  orders = 1;
  EXPECT_EQ(
      faults(without(kBoxes, "tilegpu.copy_wait %t in %m[%c0] : !buf")),
      "in flight: k:5: 'tilegpu.load_buffer' in warp 0 reads byte 0 of shared memory, which k:3: 'tilegpu.copy_async' may still write: "
      "no wait covers that copy\n"
      "in flight: k:3: 'tilegpu.copy_async' copies boxes that some warp does not wait for: they may land when the block has ended\n");
}

// The number that decides is a race: the first warp has changed it before the second reads it, so that only the first one waits.
TEST_F(BoxRules, AWarpThatHasNotWaitedReadsInFlight) {
  EXPECT_EQ(
      faults(without(kBoxes, "  tilegpu.copy_wait %t in %m[%c0] : !buf", R"(  %f0 = arith.constant 0.0 : f32
  %f1 = arith.constant 1.0 : f32
  %x = tile.gather %out : !tile.ptr<f32> -> f32
  tile.scatter %out, %f1 : !tile.ptr<f32>, f32
  %same = arith.cmpf oeq, %x, %f0 : f32
  scf.if %same {
    tilegpu.copy_wait %t in %m[%c0] : !buf
  })")),
      "race: k:7: 'tile.scatter' in thread 0 of warp 0 writes byte 0 of argument 1, which k:6: 'tile.gather' in thread 1 of warp 0 reads, "
      "with no barrier between them\n"
      "race: k:13: 'tile.store' in thread 0 of warp 0 writes byte 0 of argument 1, which k:6: 'tile.gather' in thread 1 of warp 0 reads, "
      "with no barrier between them\n"
      "in flight: k:12: 'tilegpu.load_buffer' in warp 1 reads byte 256 of shared memory, which k:3: 'tilegpu.copy_async' may still "
      "write: no wait covers that copy\n"
      "in flight: k:3: 'tilegpu.copy_async' copies boxes that some warp does not wait for: they may land when the block has ended\n");
}

constexpr const char* kOverSource = "  %x = arith.constant dense<1.0> : !a\n  tile.store %p, %x : !ptr, !a\n";

TEST_F(BoxRules, TheSourceOfBoxesIsWrittenByWhoeverHasWaited) {
  EXPECT_EQ(faults(without(kBoxes, "  tilegpu.copy_wait", std::string(kOverSource) + "  tilegpu.copy_wait")),
            "in flight: k:5: 'tile.store' in warp 0 writes byte 0 of argument 0, which k:3: 'tilegpu.copy_async' may still read: no wait "
            "covers that copy\n");
  orders = 3;
  const std::vector<float> before = input;
  EXPECT_EQ(faults(without(kBoxes, "  %y", std::string(kOverSource) + "  %y")), "");
  EXPECT_EQ(output, before);
  EXPECT_EQ(input, std::vector<float>(256, 1.0F));
}

TEST_F(BoxRules, ASourceOfBoxesThatThreadsHaveWrittenNeedsABarrier) {
  EXPECT_EQ(
      faults(without(kBoxes, "  %t", std::string(kOverSource) + "  %t")),
      "race: k:5: 'tilegpu.copy_async' in thread 0 of warp 0 reads byte 16 of argument 0, which k:4: 'tile.store' in thread 1 of warp "
      "0 writes, with no barrier between them\n"
      "in flight: k:4: 'tile.store' in warp 1 writes byte 512 of argument 0, which k:5: 'tilegpu.copy_async' may still read: no wait "
      "covers that copy\n");
}

TEST_F(BoxRules, ASecondWaitForOneCopyNeverEnds) {
  EXPECT_EQ(faults(without(kBoxes, "  %y", "  tilegpu.copy_wait %t in %m[%c0] : !buf\n  %y")),
            "endless: k:5: 'tilegpu.copy_wait' in warp 0 waits for what no warp does: boxes that are not copied, or a slot that is not "
            "released\n");
}

constexpr const char* kBoxRing = R"(
  %m = tilegpu.alloc {offset = 0 : i64} : !ring
  %t0 = tilegpu.copy_async %p, %m[%c0] map 0[] : !ptr, !ring
  scf.for %i = %c0 to %n step %c1 iter_args(%t = %t0, %from = %c0) -> (!tilegpu.token, i32) : i32 {
    %to = arith.xori %from, %c1 : i32
    %after = arith.addi %i, %c1 : i32
    %more = arith.cmpi slt, %after, %n : i32
    %next = tilegpu.copy_async %p, %m[%to] if %more map 0[] : !ptr, !ring
    tilegpu.copy_wait %t in %m[%from] : !ring
    %y = tilegpu.load_buffer %m[%from] : !ring -> !b
    tilegpu.release %m[%from] : !ring
    tile.store %q, %y : !ptr, !b
    scf.yield %next, %to : !tilegpu.token, i32
  }
)";

// No barrier: the copies wait for the releases, and the warps for the copies.
TEST_F(BoxRules, ASlotIsFilledAgainWhenAllWarpsHaveReleasedIt) {
  orders = 3;
  EXPECT_EQ(faults(kBoxRing), "");
  EXPECT_EQ(output, input);
}

TEST_F(BoxRules, WithoutReleasesACopyIsARace) {
  EXPECT_EQ(faults(without(kBoxRing, "    tilegpu.release %m[%from] : !ring\n")),
            "race: k:8: 'tilegpu.copy_async' in thread 0 of warp 0 writes byte 16 of shared memory, which k:10: 'tilegpu.load_buffer' in "
            "thread 1 of warp 0 reads, with no barrier between them\n");
}

TEST_F(BoxRules, ASlotThatIsNotReleasedIsWaitedForWithoutEnd) {
  EXPECT_EQ(faults(without(kBoxRing, "    tilegpu.release %m[%from] : !ring\n", R"(    %early = arith.cmpi slt, %i, %c1 : i32
    scf.if %early {
      tilegpu.release %m[%from] : !ring
    }
)")),
            "endless: k:8: 'tilegpu.copy_async' in warp 0 waits for what no warp does: boxes that are not copied, or a slot that is not "
            "released\n");
}

TEST_F(BoxRules, ASlotIsNotReleasedBeforeItIsRead) {
  std::string early = without(kBoxRing, "    tilegpu.release %m[%from] : !ring\n");
  EXPECT_EQ(faults(without(early, "    %y", "    tilegpu.release %m[%from] : !ring\n    %y")),
            "race: k:8: 'tilegpu.copy_async' in thread 0 of warp 0 writes byte 16 of shared memory, which k:11: 'tilegpu.load_buffer' in "
            "thread 1 of warp 0 reads, with no barrier between them\n");
}

TEST_F(BoxRules, ASlotIsReleasedOnceForEachCopy) {
  EXPECT_EQ(faults(without(kBoxes, "  tile.store", "  tilegpu.release %m[%c0] : !buf\n  tile.store")), "");
  EXPECT_EQ(
      faults(without(kBoxes, "  tile.store", "  tilegpu.release %m[%c0] : !buf\n  tilegpu.release %m[%c0] : !buf\n  tile.store")),
      "undefined: k:7: 'tilegpu.release' in warp 0 releases a slot of which the warp has waited for nothing since its last release\n");
}

// What threads write takes another path to shared memory than boxes.
TEST_F(BoxRules, BoxesOverWhatThreadsWroteTakeAFenceAndABarrier) {
  const std::string over = without(kBoxes, "  %t =", R"(  %l = tilegpu.alloc {offset = 512 : i64} : !buf
  %x = tile.load %p : !ptr -> !a
  tilegpu.store_buffer %x, %l[%c0] : !a, !buf
  tilegpu.fence_async
  tilegpu.barrier
  %t =)");
  EXPECT_EQ(faults(over), "");
  EXPECT_EQ(
      faults(without(over, "  tilegpu.fence_async\n")),
      "unfenced: k:7: 'tilegpu.copy_async' in warp 0 copies boxes over byte 512 of shared memory, to which no fence has shown what k:5: "
      "'tilegpu.store_buffer' wrote\n");
  EXPECT_EQ(faults(without(over, "  tilegpu.barrier\n")),
            "race: k:7: 'tilegpu.copy_async' in thread 0 of warp 0 writes byte 528 of shared memory, which k:5: 'tilegpu.store_buffer' in "
            "thread 1 of warp 0 writes, with no barrier between them\n");
}

TEST_F(BoxRules, BoxesThatAreNotWantedAreNotWaitedFor) {
  EXPECT_EQ(faults(without(kBoxRing, "cmpi slt, %after", "cmpi slt, %n")),
            "endless: k:9: 'tilegpu.copy_wait' in warp 0 waits for what no warp does: boxes that are not copied, or a slot that is not "
            "released\n");
}

TEST_F(BoxRules, BarrierObjectsAreMadeBeforeABarrier) {
  const std::string made = without(without(kBoxes, "{offset = 0 : i64}", "{offset = 0 : i64, barriers = 1024 : i64}"),
                                   "  %t =", "  tilegpu.init_barriers\n  tilegpu.barrier\n  %t =");
  EXPECT_EQ(faults(made), "");
  for (const char* part : {"  tilegpu.init_barriers\n", "  tilegpu.barrier\n"})
    EXPECT_NE(faults(without(made, part)).find("uses barrier objects that nobody has made, with a barrier of the block behind it"),
              std::string::npos)
        << part;
}

class TurnRules : public Rules {
 protected:
  TurnRules() { head = without(without(head, "tilegpu.warps = 2", "tilegpu.warps = 12"), "nvidia:sm_80", "nvidia:sm_90a"); }
};

constexpr const char* kTurns = R"(
  tilegpu.turn_pass first
  scf.for %i = %c0 to %n step %c1 : i32 {
    tilegpu.turn_wait
    tilegpu.turn_pass
  }
)";

TEST_F(TurnRules, EachGroupWaitsForTheOneBefore) {
  orders = 3;
  EXPECT_EQ(faults(kTurns), "");
}

TEST_F(TurnRules, ATurnThatIsNotPassedOnIsWaitedForWithoutEnd) {
  EXPECT_EQ(faults(without(kTurns, "  tilegpu.turn_pass first\n")),
            "endless: k:3: 'tilegpu.turn_wait' in warp 0 waits for what no warp does: a turn that the group before does not pass on\n");
  EXPECT_EQ(faults(without(kTurns, "    tilegpu.turn_pass\n")),
            "endless: k:4: 'tilegpu.turn_wait' in warp 0 waits for what no warp does: a turn that the group before does not pass on\n");
}

TEST_F(TurnRules, ATurnThatIsNotTakenIsLost) {
  EXPECT_EQ(faults(without(kTurns, "    tilegpu.turn_wait\n")),
            "undefined: k:4: 'tilegpu.turn_pass' in warp 0 passes on a turn before the next group has taken the one before\n");
}

TEST_F(Rules, BuffersWithTheSameBytesAreNotAliveTogether) {
  const std::string two = R"(
  %m = tilegpu.alloc {offset = 0 : i64} : !buf
  %l = tilegpu.alloc {offset = 1024 : i64} : !buf
  %x = tile.load %p : !ptr -> !a
  tilegpu.store_buffer %x, %m[%c0] : !a, !buf
  tilegpu.barrier
  tilegpu.store_buffer %x, %l[%c0] : !a, !buf
  tilegpu.barrier
  %y = tilegpu.load_buffer %m[%c0] : !buf -> !b
  tile.store %q, %y : !ptr, !b
)";
  EXPECT_EQ(faults(two), "");
  EXPECT_EQ(
      faults(without(two, "offset = 1024", "offset = 0")),
      "unwritten: k:9: 'tilegpu.load_buffer' in warp 0 reads byte 0 of shared memory, which k:7: 'tilegpu.store_buffer' has written for "
      "another buffer\n");
}

TEST_F(Rules, AKernelWithoutSharedMemoryHasNoBuffers) {
  head = without(head, ", tilegpu.shared_bytes = 4096 : i64", "");
  EXPECT_EQ(faults(R"(
  %m = tilegpu.alloc {offset = 0 : i64} : !buf
  %x = tile.load %p : !ptr -> !a
  tilegpu.store_buffer %x, %m[%c0] : !a, !buf
)"),
            "bounds: k:4: 'tilegpu.store_buffer' accesses bytes up to 1024 of shared memory, of which the kernel has 0\n");
}

TEST_F(Rules, WhatAThreadStoresInGlobalMemoryOthersSeeBehindABarrier) {
  const std::string reload = R"(
  %x = tile.load %p : !ptr -> !a
  tile.store %q, %x : !ptr, !a
  %y = tile.load %q : !ptr -> !a
  tile.store %q, %y : !ptr, !a
)";
  EXPECT_EQ(faults(reload), "") << "the same layout: every thread meets its own elements";
  std::string other = without(without(reload, "%q : !ptr -> !a", "%q : !ptr -> !b"), "%y : !ptr, !a", "%y : !ptr, !b");
  EXPECT_EQ(faults(other),
            "race: k:3: 'tile.store' in thread 32 of warp 1 writes byte 512 of argument 1, which k:5: 'tile.store' in thread 16 of warp 0 "
            "writes, with no barrier between them\n"
            "race: k:3: 'tile.store' in thread 32 of warp 1 writes byte 512 of argument 1, which k:4: 'tile.load' in thread 16 of warp 0 "
            "reads, with no barrier between them\n");
  EXPECT_EQ(faults(without(other, "  %y", "  tilegpu.barrier\n  %y")), "");
}

TEST_F(Rules, OnlyTheFirstThreadStoresWhatSeveralHold) {
  const std::string copies = R"(
  %h16 = arith.constant 16 : i64
  %r = tile.make_block_ptr %out, shape [%h16, %w], strides [%w, %o], offsets [%z, %z] : !tile.ptr<f32> -> !tile.block_ptr<16x8xf32>
  %x = arith.constant dense<1.0> : tensor<16x8xf32, #copies>
  tile.store %r, %x : !tile.block_ptr<16x8xf32>, tensor<16x8xf32, #copies>
  %y = tile.load %r : !tile.block_ptr<16x8xf32> -> tensor<16x8xf32, #copies>
)";
  EXPECT_EQ(
      faults(copies),
      "race: k:6: 'tile.load' in thread 32 of warp 1 reads byte 0 of argument 1, which k:5: 'tile.store' in thread 0 of warp 0 writes, "
      "with no barrier between them\n");
  EXPECT_EQ(faults(without(copies, "  %y", "  tilegpu.barrier\n  %y")), "");
}

TEST_F(Rules, ArgumentsMayBeTheSameMemory) {
  const std::string shifted = R"(
  %x = tile.load %p : !ptr -> !a
  %y = tile.load %q : !ptr -> !b
  tile.store %q, %x : !ptr, !a
)";
  EXPECT_EQ(faults(without(shifted, "%q : !ptr -> !b", "%p : !ptr -> !b")), "");
  aliased = true;
  EXPECT_EQ(
      faults(without(shifted, "%q : !ptr -> !b", "%p : !ptr -> !b")),
      "race: k:3: 'tile.load' in thread 32 of warp 1 reads byte 256 of argument 0, argument 1, which k:4: 'tile.store' in thread 16 of "
      "warp 0 writes, with no barrier between them\n");
}

TEST_F(Rules, TheSourceOfACopyIsNotWrittenBeforeItsWait) {
  const std::string back = without(kCopied, "  tilegpu.copy_wait", R"(  %x = arith.constant dense<1.0> : !a
  tile.store %p, %x : !ptr, !a
  tilegpu.copy_wait)");
  EXPECT_EQ(faults(back),
            "in flight: k:5: 'tile.store' in warp 0 writes byte 0 of argument 0, which k:3: 'tilegpu.copy_async' may still read: no wait "
            "covers that copy\n");
}

TEST_F(Rules, AtomicAdditionsMeetEachOtherButNotOtherAccesses) {
  const std::string add = R"(
  %where = tile.splat %out : !tile.ptr<f32> -> tensor<32x!tile.ptr<f32>, #line>
  %one = arith.constant dense<1.0> : tensor<32xf32, #line>
  %old = tile.atomic_add %where, %one : tensor<32x!tile.ptr<f32>, #line>, tensor<32xf32, #line> -> tensor<32xf32, #line>
  %r = tile.make_block_ptr %in, shape [%h], strides [%o], offsets [%z] : !tile.ptr<f32> -> !tile.block_ptr<32xf32>
  tile.store %r, %old : !tile.block_ptr<32xf32>, tensor<32xf32, #line>
)";
  EXPECT_EQ(faults(add), "");
  EXPECT_EQ(output[0], 32.0F);
  EXPECT_EQ(
      faults(without(add, "  tile.store", "  %y = tile.load %q : !ptr -> !a\n  tile.store")),
      "race: k:6: 'tile.load' in thread 0 of warp 0 reads byte 0 of argument 1, which k:4: 'tile.atomic_add' in several threads writes, "
      "with no barrier between them\n");
}

/// One thread adds: the others' accesses come before and behind it only by barriers.
TEST_F(Rules, AnAdditionThatOrdersMemoryStandsBetweenBarriers) {
  const std::string ordered = R"(
  %one = arith.constant 1.0 : f32
  %x = tile.load %p : !ptr -> !a
  tilegpu.barrier
  %old = tile.atomic_add %out, %one order acq_rel : !tile.ptr<f32>, f32 -> f32
  tilegpu.barrier
  %y = tile.load %p : !ptr -> !a
)";
  EXPECT_EQ(faults(ordered), "");
  const std::string text =
      " of one program have no barrier between them: the one that orders memory does not order the other one's access\n";
  EXPECT_EQ(faults(without(ordered, "  tilegpu.barrier\n  %old", "  %old")),
            "race: k:4: 'tile.atomic_add' in thread 0 and k:3: 'tile.load' in thread 31" + text);
  EXPECT_EQ(faults(without(ordered, "  tilegpu.barrier\n  %y", "  %y")),
            "race: k:6: 'tile.load' in thread 1 and k:5: 'tile.atomic_add' in thread 0" + text);
}

TEST_F(Rules, AllWarpsReachABarrier) {
  // The number that decides is a race: the first warp has changed it before the second reads it.
  EXPECT_EQ(
      faults(R"(
  %f0 = arith.constant 0.0 : f32
  %f1 = arith.constant 1.0 : f32
  %x = tile.gather %out : !tile.ptr<f32> -> f32
  tile.scatter %out, %f1 : !tile.ptr<f32>, f32
  %same = arith.cmpf oeq, %x, %f0 : f32
  scf.if %same {
    tilegpu.barrier
  }
)"),
      "race: k:5: 'tile.scatter' in thread 0 of warp 0 writes byte 0 of argument 1, which k:4: 'tile.gather' in thread 1 of warp 0 reads, "
      "with no barrier between them\n"
      "divergence: k:8: 'tilegpu.barrier' in warp 0 waits for all warps, but warp 1 has ended: it stands under a condition that differs "
      "between warps\n");
}

/// A warp's rows of #a are those whose conditions it holds, its rows of #b are not.
TEST_F(Rules, TheBlockDecidesWhereItDecidesAnInnerBranch) {
  EXPECT_EQ(faults(R"(
  %numbers = tile.arange 0 : tensor<32xi32, #rows>
  %limit = arith.constant dense<16> : tensor<32xi32, #rows>
  %low = arith.cmpi slt, %numbers, %limit : tensor<32xi32, #rows>
  %x = tile.load %p : !ptr -> !a
  %y = tile.load %p : !ptr -> !b
  %r = tile.select_lazy %low usual(%x) : tensor<32xi1, #rows>, !a -> !a {
    %s = tile.select_lazy %low usual(%y) : tensor<32xi1, #rows>, !b -> !b {
      %t = arith.addf %y, %y : !b
      tile.yield %t : !b
    }
    tile.yield %x : !a
  }
  tile.store %q, %r : !ptr, !a
)"),
            "");
}

TEST_F(Rules, TheExactSideMayRunWhereItIsNotNeeded) {
  const std::string lazy = R"(
  %no = arith.constant dense<false> : tensor<32xi1, #rows>
  %x = tile.load %p : !ptr -> !a
  %r = tile.select_lazy %no usual(%x) : tensor<32xi1, #rows>, !a -> !a {
    %t = arith.addf %x, %x : !a
    tile.yield %t : !a
  }
  tile.store %q, %r : !ptr, !a
)";
  Options needed;
  EXPECT_EQ(faults(lazy, needed), "");
  EXPECT_EQ(output, input);
  Options everywhere;
  everywhere.orders = {{Turn::Ascending, Completion::Late, Lazy::Everywhere}};
  EXPECT_EQ(faults(lazy, everywhere), "");
  EXPECT_EQ(output[0], 2 * input[0]);
}

TEST_F(Rules, WhatIsOutsideOfAnArrayIsNotTouched) {
  EXPECT_EQ(faults(R"(
  %far = tile.advance %p, [%w, %z] : !ptr
  %x = tile.load %far : !ptr -> !a
)"),
            "bounds: k:3: 'tile.load' accesses index 32 of dimension 0 of an array with 32 there, and boundary_check does not name it\n");
  EXPECT_EQ(faults(R"(
  %far = tile.advance %p, [%w, %z] : !ptr
  %x = tile.load %far {boundary_check = array<i64: 0>} : !ptr -> !a
)"),
            "");
}

TEST_F(Rules, DivisionByZeroIsAFault) {
  EXPECT_EQ(faults("  %x = arith.divsi %n, %c0 : i32\n"), "undefined: k:1: 'arith.divsi' divides by zero\n");
}

TEST_F(Rules, WrongResultsAreAFault) {
  Options options;
  options.compare = [&](const Order&) { return output[3] == 4.0F ? "" : "element 3 is wrong"; };
  EXPECT_EQ(faults(kThroughShared, options), "");
  EXPECT_EQ(faults("", options), "values: element 3 is wrong (warps ascending, copies late, exact sides where needed)\n");
}

}  // namespace
}  // namespace fattn::adversary
