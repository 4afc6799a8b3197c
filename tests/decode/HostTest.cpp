// SPDX-License-Identifier: Apache-2.0
// Decode on the host, what launches refuse, and merge_states.
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/decode/DecodeTest.h"
#include "tests/support/Allocations.h"
#include "tests/support/Refusal.h"

namespace fattn::decode {

INSTANTIATE_TEST_SUITE_P(Host, OnDevice, testing::Combine(testing::Values("host"), testing::Values(DType::F32, DType::F16, DType::BF16)),
                         deviceCaseName);

namespace {

TEST(Decode, WrongOperandsAreNamed) {
  DecodeData data({.lengths = {40, 20}});
  const DecodeKernel kernel = compile(data.config("host"));
  auto refuses = [&](const std::function<void(DecodeArgs&)>& spoil) {
    DecodeArgs args = data.here();
    spoil(args);
    return refusal([&] { kernel.launch({}, args); });
  };
  EXPECT_EQ(refuses([](DecodeArgs& a) { a.k = a.k.narrowed(0, 0, 1); }), "k: batch (dimension 0) is 1; it must be 2 as in q");
  EXPECT_EQ(refuses([](DecodeArgs& a) { a.v.dtype = DType::F16; }), "v: dtype is f16; it must be f32");
  EXPECT_EQ(refuses([](DecodeArgs& a) { a.q = TensorView(a.q.data, DType::F32, {2, 3, 1, 16}), a.o = a.q; }),
            "q: heads (dimension 1) is 3; it must be a multiple of the 2 heads of k and v");
  EXPECT_EQ(refuses([](DecodeArgs& a) { a.q = TensorView(a.q.data, DType::F32, {2, 4, 2, 16}), a.o = a.q; }),
            "q: 2 query heads of a key head with 2 rows each are 4 rows; this kernel was compiled for up to 2");
  EXPECT_EQ(refuses([](DecodeArgs& a) { a.lengths = a.lengths->narrowed(0, 0, 1); }),
            "lengths: batch (dimension 0) is 1; it must be 2 as in q");
  EXPECT_EQ(refuses([](DecodeArgs& a) { a.lengths->dtype = DType::I64; }), "lengths: dtype is i64; it must be i32");
  EXPECT_EQ(refuses([](DecodeArgs& a) { a.pages = TensorView(a.q.data, DType::I32, {2, 1}); }),
            "pages: this kernel was compiled for caches without pages");
  EXPECT_EQ(refuses([](DecodeArgs& a) { a.splits = 2, a.workspace_bytes = 1000; }),
            "workspace: it has 1000 bytes; a launch of 2 splits needs 1088");
  EXPECT_EQ(refuses([](DecodeArgs& a) { a.splits = 2, a.workspace = static_cast<std::byte*>(a.workspace) + 4; }),
            "workspace: its address is not a multiple of 16 bytes");
  EXPECT_EQ(refuses([](DecodeArgs& a) { a.splits = -1; }), "splits is -1; it must be 1 to 1024, or 0 for as many as fill the device");
  EXPECT_EQ(refuses([](DecodeArgs& a) { a.o = a.q; }), "o: it shares memory with q, and launches read and write in no particular order");
  EXPECT_EQ(refuses([](DecodeArgs& a) { a.splits = 2, a.workspace = a.k.data; }),
            "workspace: it shares memory with k, and launches read and write in no particular order");
  EXPECT_EQ(refusal([] { DecodeKernel().launch({}, {}); }), "this DecodeKernel is empty");
}

TEST(Decode, BalancedKernelsNeedCounters) {
  DecodeData data({.lengths = {40, 20}, .balanced = true}), without({.lengths = {40, 20}});
  const DecodeKernel kernel = compile(data.config("host"));
  DecodeArgs args = data.here();
  EXPECT_EQ(kernel.counterBytes(args), 2 * 2 * 4);
  args.counter_bytes = 12;
  EXPECT_EQ(refusal([&] { kernel.launch({}, args); }), "counters: they have 12 bytes; a launch of 2 sequences with 2 key heads needs 16");
  args = data.here(), args.counters = nullptr;
  EXPECT_EQ(refusal([&] { kernel.launch({}, args); }), "counters: they have 0 bytes; a launch of 2 sequences with 2 key heads needs 16");
  args = data.here(), args.workspace_bytes = 100, args.splits = 2;
  EXPECT_EQ(refusal([&] { kernel.launch({}, args); }), "workspace: it has 100 bytes; a launch of 8 programs needs 2176");
  args = data.here(), args.counters = args.workspace;
  EXPECT_EQ(refusal([&] { kernel.launch({}, args); }),
            "workspace: it shares memory with counters, and launches read and write in no particular order");
  args = without.here(), args.counters = args.workspace;
  EXPECT_EQ(refusal([&] { compile(without.config("host")).launch({}, args); }), "counters: this kernel was compiled without `balanced`");
  EXPECT_EQ(compile(without.config("host")).counterBytes(without.here()), 0);
}

TEST(Decode, CachesOfPagesNeedTheirNumbers) {
  DecodeData data({.lengths = {40}, .pageSize = 8});
  const DecodeKernel kernel = compile(data.config("host"));
  DecodeArgs args = data.here();
  args.pages.reset();
  EXPECT_EQ(refusal([&] { kernel.launch({}, args); }), "pages: this kernel was compiled for caches of pages, and needs their numbers");
  args = data.here();
  args.k = args.k.narrowed(2, 0, 4);
  EXPECT_EQ(refusal([&] { kernel.launch({}, args); }),
            "k: page_size (dimension 2) is 4; it must be 8, the page_size that this kernel was compiled for");
}

TEST(Decode, WindowsAndAppendedRowsNeedKernelsForThem) {
  DecodeData plain({.lengths = {40, 20}}), data({.lengths = {40, 20}, .window = 8, .appended = 2});
  const DecodeKernel without = compile(plain.config("host")), kernel = compile(data.config("host"));
  auto refuses = [&](const DecodeKernel& of, DecodeData& from, const std::function<void(DecodeArgs&)>& spoil) {
    DecodeArgs args = from.here();
    spoil(args);
    return refusal([&] { of.launch({}, args); });
  };
  EXPECT_EQ(refuses(without, plain, [](DecodeArgs& a) { a.window = 4; }),
            "window is 4; this kernel was compiled without one: it must be 0");
  EXPECT_EQ(refuses(without, plain, [](DecodeArgs& a) { a.new_k = a.k; }), "new_k: this kernel was compiled without `append`");
  EXPECT_EQ(refuses(kernel, data, [](DecodeArgs& a) { a.window = 0; }), "window is 0; it must be 1 or more");
  EXPECT_EQ(refuses(kernel, data, [](DecodeArgs& a) { a.new_v.reset(); }),
            "new_v: this kernel was compiled to append rows, and needs them");
  EXPECT_EQ(refuses(kernel, data, [](DecodeArgs& a) { a.new_k = a.new_k->narrowed(1, 0, 1); }),
            "new_k: heads (dimension 1) is 1; it must be 2 as in k");
  EXPECT_EQ(refuses(kernel, data, [](DecodeArgs& a) { a.new_v = a.new_v->narrowed(2, 0, 1); }),
            "new_v: length (dimension 2) is 1; it must be 2 as in new_k");
  EXPECT_EQ(refuses(kernel, data, [](DecodeArgs& a) { a.new_k = a.k.narrowed(2, 0, 2); }),
            "k: it shares memory with new_k, and launches read and write in no particular order");
  EXPECT_EQ(refuses(kernel, data, [](DecodeArgs& a) { a.v = a.k; }),
            "k: it shares memory with v, and launches read and write in no particular order");
  EXPECT_EQ(refuses(kernel, data, [](DecodeArgs& a) { a.k.strides[0] = 0; }).substr(0, 3), "k: ");
  EXPECT_EQ(refuses(kernel, data, [](DecodeArgs&) {}), "no error");
}

TEST(Decode, WrongConfigurationsAreRefused) {
  auto refuses = [](const DecodeConfig& config) {
    const auto verdict = supports(config);
    EXPECT_EQ(try_compile(config).has_value(), verdict.has_value());
    return verdict ? "supported" : verdict.error().constraint();
  };
  EXPECT_EQ(refuses({.head_dim = 64, .rows = 17, .target = "host"}), "rows is 17; it must be 1 to 16");
  EXPECT_EQ(refuses({.head_dim = 12, .target = "host"}), "head_dim is 12; it must be a multiple of 8 from 8 to 256");
  EXPECT_EQ(refuses({.head_dim = 64, .page_size = -1, .target = "host"}),
            "page_size is -1; it must be 1 to 1048576, or 0 for a cache without pages");
  EXPECT_EQ(refuses({.dtype = DType::I8, .head_dim = 64, .target = "host"}), "dtype is i8; it must be f32, f16 or bf16");
  EXPECT_EQ(refuses({.head_dim = 64, .target = "host", .tile = TileConfig{.block_m = 16}}),
            "tile configuration: BLOCK_M and BLOCK_K are no choices of decode");
  EXPECT_EQ(refuses({.head_dim = 64, .rows = 4, .target = "host"}), "supported");
}

TEST(Decode, LaunchesThatLeaveSplitsOpenFitIntoTheWorkspaceForAll) {
  const DecodeKernel kernel = compile(DecodeConfig{.dtype = DType::F32, .head_dim = 16, .rows = 4, .target = "host"});
  for (const std::int64_t batch : {1, 2, 3, 16})
    for (const std::int64_t heads : {1, 2, 8})
      for (const std::int64_t keys : {1, 255, 512, 100000}) {
        DecodeArgs args;
        args.q = {nullptr, DType::F32, {batch, 4 * heads, 1, 16}}, args.k = {nullptr, DType::F32, {batch, heads, keys, 16}};
        EXPECT_GE(kernel.splits(args), 1);
        EXPECT_LE(kernel.splits(args), std::max<std::int64_t>(keys / 256, 1));
        EXPECT_LE(kernel.workspaceBytes(args), kernel.workspaceBytes());
      }
}

// The product overflowed: a workspace of a negative size was enough.
TEST(Decode, AWorkspaceThatNoMemoryHasIsRefused) {
  const DecodeKernel kernel = compile(DecodeConfig{.dtype = DType::F32, .head_dim = 16, .rows = 4, .target = "host"});
  const auto said = [&](std::initializer_list<std::int64_t> q, std::initializer_list<std::int64_t> k, int splits) -> std::string {
    DecodeArgs args;
    args.q = {nullptr, DType::F32, q}, args.k = {nullptr, DType::F32, k}, args.splits = splits;
    try {
      return std::to_string(kernel.workspaceBytes(args));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return error.constraint();
    }
  };
  EXPECT_EQ(said({1 << 30, 1 << 30, 4, 16}, {1, 1, 1, 16}, 1024),
            "workspace: a launch of these shapes needs more bytes than 63 bits count");
  EXPECT_EQ(said({1 << 30, 1 << 30, 4, 16}, {1, 1, 1, 16}, 1), "0");
  EXPECT_EQ(said({1, INT64_MIN, 4, 16}, {1, 1, 1, 16}, 2),
            "q: heads (dimension 1) is -9223372036854775808; legal extents are 0 to 2147483647");
  EXPECT_EQ(said({1, 1, 4, 16}, {1, INT64_MAX, 1, 16}, 0),
            "k: heads (dimension 1) is 9223372036854775807; legal extents are 0 to 2147483647");
}

// 33 programs of 32768 keys in blocks of 64 get 16 blocks each, the last one none.
TEST(Decode, NoProgramIsWithoutKeys) {
  const DecodeKernel kernel = compile(DecodeConfig{.dtype = DType::F32, .head_dim = 16, .rows = 4, .target = "host"});
  const std::int64_t block = kernel.info().tile.block_n;
  for (const std::int64_t keys : {1024, 2300, 10000, 32768, 100001}) {
    DecodeArgs args;
    args.q = {nullptr, DType::F32, {1, 4, 1, 16}}, args.k = {nullptr, DType::F32, {1, 1, keys, 16}};
    const std::int64_t splits = kernel.splits(args), blocks = (keys + block - 1) / block, share = (blocks + splits - 1) / splits;
    EXPECT_LT((splits - 1) * share, blocks) << keys;
  }
}

TEST(Decode, LaunchesAllocateNothing) {
  DecodeData data({.lengths = {40, 20}});
  const DecodeKernel kernel = compile(data.config("host"));
  DecodeArgs args = data.here();
  args.splits = 3;
  kernel.launch({}, args);
  const long before = test::allocations();
  kernel.launch({}, args);
  EXPECT_EQ(test::allocations(), before);
}

// Attention over the first and the last keys of a cache, merged.
TEST(MergeStates, PartsOfACacheMakeTheWhole) {
  const DecodeShape shape{.lengths = {40, 40}};
  DecodeData data(shape);
  const DecodeKernel kernel = compile(data.config("host"));
  std::array<float, 3 * 2 * 4 * 16> parts;
  std::array<float, 3 * 2 * 4> logs;
  parts.fill(std::numeric_limits<float>::quiet_NaN());
  logs.fill(-std::numeric_limits<float>::infinity());  // the third part has seen nothing
  for (const std::int64_t part : {0, 1}) {
    DecodeArgs args = data.here();
    args.k = args.k.narrowed(2, part == 0 ? 0 : 15, part == 0 ? 15 : 25),
    args.v = args.v.narrowed(2, part == 0 ? 0 : 15, part == 0 ? 15 : 25);
    args.lengths.reset();
    args.o.data = parts.data() + part * 128, args.lse->data = logs.data() + part * 8;
    kernel.launch({}, args);
  }
  const DecodeArgs whole = data.here();
  const MergeArgs merge{.part_o = {parts.data(), DType::F32, {3, 2, 4, 1, 16}},
                        .part_lse = {logs.data(), DType::F32, {3, 2, 4, 1}},
                        .o = whole.o,
                        .lse = whole.lse};
  merge_states({}, merge, "host");
  EXPECT_LE(data.errors().o, data.tolerance().o);
  EXPECT_LE(data.errors().lse, data.tolerance().lse);
}

TEST(MergeStates, WithoutAnyKeyThereIsNothing) {
  std::array<float, 8> o;
  float log = 1;
  o.fill(7);
  merge_states({},
               {.part_o = {nullptr, DType::F32, {0, 1, 1, 1, 8}},
                .part_lse = {nullptr, DType::F32, {0, 1, 1, 1}},
                .o = {o.data(), DType::F32, {1, 1, 1, 8}},
                .lse = TensorView(&log, DType::F32, {1, 1, 1})},
               "host");
  for (const float x : o) EXPECT_EQ(x, 0);
  EXPECT_EQ(log, -std::numeric_limits<float>::infinity());
}

TEST(MergeStates, WrongOperandsAreNamed) {
  std::array<float, 100> m{};
  const MergeArgs good{.part_o = {m.data(), DType::F32, {2, 1, 1, 1, 8}},
                       .part_lse = {m.data() + 20, DType::F32, {2, 1, 1, 1}},
                       .o = {m.data() + 30, DType::F32, {1, 1, 1, 8}}};
  auto refuses = [&](const std::function<void(MergeArgs&)>& spoil) {
    MergeArgs args = good;
    spoil(args);
    return refusal([&] { merge_states({}, args, "host"); });
  };
  EXPECT_EQ(refuses([&](MergeArgs& a) { a.part_o = {m.data(), DType::F32, {2, 1, 2, 1, 8}}; }),
            "part_o: heads (dimension 2) is 2; it must be 1 as in o");
  EXPECT_EQ(refuses([&](MergeArgs& a) { a.part_lse = {m.data() + 20, DType::F32, {3, 1, 1, 1}}; }),
            "part_lse: parts (dimension 0) is 3; it must be 2 as in part_o");
  EXPECT_EQ(refuses([&](MergeArgs& a) { a.o.data = m.data() + 4; }),
            "o: it shares memory with part_o, and launches read and write in no particular order");
  EXPECT_EQ(
      refuses([&](MergeArgs& a) { a.o = {m.data() + 30, DType::F32, {1, 1, 1, 12}}, a.part_o = {m.data(), DType::F32, {2, 1, 1, 1, 12}}; }),
      "o: head_dim (dimension 3) is 12; it must be a multiple of 8 from 8 to 256");
}

}  // namespace
}  // namespace fattn::decode
