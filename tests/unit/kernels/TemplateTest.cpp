// SPDX-License-Identifier: Apache-2.0
// Kernel templates of anybody: compiled with what is tuned, tuned with a numeric gate, launched with the kernel of their shape.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>

#include "fattn/Handles.h"
#include "fattn/Template.h"
#include "fattn/dsl/Dsl.h"
#include "tests/support/Allocations.h"
#include "tests/support/Refusal.h"

namespace fattn {
namespace {

using namespace dsl;

// out = the sums of x's rows. `wrong` is a block of columns that computes something else.
KernelTemplate rowSum() {
  KernelTemplate what{.name = "row_sum", .extents = {"rows", "columns"}, .typical = {64, 512}};
  what.parameters = {{"dtype", std::string("f32")}, {"salt", std::int64_t{0}}, {"wrong", std::int64_t{0}}};
  what.program = [](Params& args, const Parameters& parameters, const TileConfig& tile) {
    const std::int64_t m = tile.block_m, n = tile.block_n;
    TensorArg x = args.tensor("x", parameters.dtype("dtype"), 2), out = args.tensor("out", DType::F32, 1);
    Scalar row = program_id(0) * m, columns = cast(x.size[1], DType::I32);
    const double start = static_cast<double>(parameters.integer("salt") % 2) * 0;  // makes other text of other parameters
    auto [sum] = for_(0, columns, n, carry(full({m}, start, DType::F32)),
                      [&](Scalar i, Tile sum) { return sum + reduce_sum(cast(load(x.block({row, i}, {m, n}), {0, 1}), DType::F32), 1); });
    if (parameters.integer("wrong") == n) sum = sum * 2;
    store(out.block({row}, {m}), sum, {0});
  };
  what.grid = [](const Parameters&, const TileConfig& tile, std::span<const std::int64_t> extents) {
    return Grid{(extents[0] + tile.block_m - 1) / tile.block_m};
  };
  what.tile = [](const Parameters&, const Machine&) { return TileConfig{.block_m = 4, .block_n = 16}; };
  what.space = [](const Parameters&, const Machine&) {
    return std::vector<TileConfig>{{.block_m = 4, .block_n = 16}, {.block_m = 4, .block_n = 256}, {.block_m = 4, .block_n = 512}};
  };
  what.operands = [](const Parameters& parameters, std::span<const std::int64_t> e) {
    return std::vector<Operand>{Operand::input("x", parameters.dtype("dtype"), {e[0], e[1]}), Operand::output("out", DType::F32, {e[0]})};
  };
  return what;
}

// What nobody has tuned before.
Parameters fresh() {
  static std::int64_t next = std::chrono::steady_clock::now().time_since_epoch().count() + getpid();
  return {{"salt", next++}};
}

void expectSums(const TemplateKernel& kernel, std::int64_t rows, std::int64_t columns) {
  std::vector<float> x(static_cast<std::size_t>(rows * columns)), out(static_cast<std::size_t>(rows));
  std::iota(x.begin(), x.end(), 0.0f);
  kernel.launch({}, {rows, columns},
                {{"x", TensorView(x.data(), DType::F32, {rows, columns})}, {"out", TensorView(out.data(), DType::F32, {rows})}});
  for (std::int64_t i = 0; i < rows; ++i) {
    const double first = static_cast<double>(i * columns),
                 want = static_cast<double>(columns) * (first + static_cast<double>(columns - 1) / 2);
    ASSERT_NEAR(out[static_cast<std::size_t>(i)], want, 1e-5 * want + 1e-6) << i;
  }
}

TEST(Template, RunsWithItsOwnConfigurationWhereNothingIsTuned) {
  const TemplateKernel kernel = compile(rowSum(), fresh(), {.target = "host"});
  EXPECT_EQ(kernel.info().tile.toString(), "BLOCK_M=4,BLOCK_N=16");
  EXPECT_EQ(kernel.parameters().text("dtype"), "f32");
  expectSums(kernel, 9, 50);
  expectSums(kernel, 1, 1);
}

TEST(Template, TheCallersConfigurationIsTheCallers) {
  const TemplateKernel kernel = compile(rowSum(), fresh(), {.target = "host", .tile = TileConfig{.block_n = 64}});
  EXPECT_EQ(kernel.info().tile.toString(), "BLOCK_M=4,BLOCK_N=64");
  expectSums(kernel, 9, 100);
}

TEST(Template, WhatIsTunedIsTakenByCompilationsAndLaunches) {
  const Parameters parameters = fresh();
  const TemplateKernel before = compile(rowSum(), parameters, {.target = "host"});
  const std::vector<std::vector<std::int64_t>> shapes = {{64, 2048}};
  const std::vector<Tuned> tuned = tune(rowSum(), parameters, shapes, {.target = "host", .seconds = 4});
  ASSERT_EQ(tuned.size(), 1u);
  EXPECT_EQ(tuned[0].extents, shapes[0]);
  EXPECT_EQ(tuned[0].measured, 3u);
  EXPECT_GT(tuned[0].default_us, 0);
  ASSERT_TRUE(tuned[0].tile);
  const std::string winner = tuned[0].tile->toString();
  EXPECT_EQ(compile(rowSum(), parameters, {.target = "host", .extents = {64, 2048}}).info().tile.toString(), winner);
  EXPECT_EQ(compile(rowSum(), parameters, {.target = "host", .extents = {64, 1 << 20}}).info().tile.toString(), "BLOCK_M=4,BLOCK_N=16")
      << "far";
  const std::string text = explain(rowSum(), parameters, {.target = "host", .extents = {64, 2048}});
  EXPECT_NE(text.find(" for host with " + winner + ": the winner of the tuning for this shape (columns=2048,rows=64, "), std::string::npos)
      << text;
  EXPECT_NE(text.find("columns=2048,rows=64: " + winner + " (at hand)"), std::string::npos) << text;
  expectSums(before, 64, 2048);
}

// The fastest one computes something else: it is a failed one, and never the winner.
TEST(Template, ACandidateThatComputesSomethingElseIsNoWinner) {
  Parameters parameters = fresh();
  parameters.set("wrong", std::int64_t{512});
  const std::vector<std::vector<std::int64_t>> shapes = {{64, 4096}};
  const std::vector<Tuned> tuned = tune(rowSum(), parameters, shapes, {.target = "host", .seconds = 4});
  ASSERT_TRUE(tuned[0].tile);
  EXPECT_NE(tuned[0].tile->block_n, 512);
}

TEST(Template, WhatIsNotLegalIsNamed) {
  const KernelTemplate what = rowSum();
  EXPECT_EQ(refusal([&] { compile(what, {{"dtyp", std::string("f16")}}, {.target = "host"}); }),
            "template row_sum: there is no parameter dtyp");
  EXPECT_EQ(refusal([&] { compile(what, {{"dtype", true}}, {.target = "host"}); }), "template row_sum: parameter dtype is of another type");
  EXPECT_EQ(refusal([&] { compile(what, {{"dtype", std::string("f17")}}, {.target = "host"}); }),
            "dtype is \"f17\"; it must name an element type");
  EXPECT_EQ(refusal([&] { compile(what, {}, {.target = "host", .extents = {1, 2, 3}}); }),
            "template row_sum: 3 extents are told; it has 2");
  EXPECT_EQ(refusal([&] { compile(what, {}, {.target = "host", .extents = {-1}}); }),
            "template row_sum: an extent is -1; legal extents are 0 to 2147483647");
  EXPECT_EQ(refusal([&] { compile(what, {}, {.target = "host"}).launch({}, {1}, {}); }),
            "a launch of template row_sum is given 1 extents; it has rows, columns");
  KernelTemplate bad = what;
  bad.name = "Row-Sum";
  EXPECT_EQ(refusal([&] { compile(bad, {}, {.target = "host"}); }), "template Row-Sum: \"Row-Sum\" is no name");
  bad = what;
  bad.extents = {"rows"};
  EXPECT_EQ(refusal([&] { compile(bad, {}, {.target = "host"}); }),
            "template row_sum: it has 1 extents and 2 typical ones; 1 to 4 are needed, and as many typical ones");
  bad = what;
  bad.operands = {};
  EXPECT_EQ(refusal([&] { tune(bad, {}, std::vector<std::vector<std::int64_t>>{{1, 1}}, {.target = "host"}); }),
            "template row_sum: to be tuned it needs a space and operands");
  EXPECT_EQ(refusal([&] { tune(what, {}, std::vector<std::vector<std::int64_t>>{{1, 1}}, {.target = "nvidia:sm_90"}); }),
            "target 'nvidia:sm_90' names a chip to compile for; only a device can be tuned for");
}

TEST(Template, ALaunchAllocatesNothing) {
  const TemplateKernel kernel = compile(rowSum(), fresh(), {.target = "host"});
  float x[64] = {}, out[4];
  const TensorView from(x, DType::F32, {4, 16}), to(out, DType::F32, {4});
  kernel.launch({}, {4, 16}, {{"x", from}, {"out", to}});
  const long before = test::allocations();
  kernel.launch({}, {4, 16}, {{"x", from}, {"out", to}});
  EXPECT_EQ(test::allocations(), before);
}

// As rowSum(), with rows of a multiple of 16 bytes where `alignment` is 16: 0 leaves that to the template.
KernelTemplate alignedRowSum() {
  KernelTemplate what = rowSum();
  what.name = "aligned_row_sum";
  what.parameters.set("alignment", std::int64_t{0});
  what.program = [](Params& args, const Parameters& parameters, const TileConfig& tile) {
    TensorArg x = args.tensor("x", DType::F32, 2, {.alignment = parameters.integer("alignment")}), out = args.tensor("out", DType::F32, 1);
    Scalar row = program_id(0) * tile.block_m, columns = cast(x.size[1], DType::I32);
    auto [sum] = for_(0, columns, tile.block_n, carry(zeros({tile.block_m})), [&](Scalar i, Tile sum) {
      return sum + reduce_sum(load(x.block({row, i}, {tile.block_m, tile.block_n}), {0, 1}), 1);
    });
    store(out.block({row}, {tile.block_m}), sum, {0});
  };
  what.complete = [](Parameters parameters, const Machine&) {
    if (parameters.integer("alignment") == 0) parameters.set("alignment", std::int64_t{16});
    return parameters;
  };
  what.relaxed = [](const Parameters& parameters) {
    Parameters any = parameters;
    any.set("alignment", std::int64_t{4});
    return std::optional(any);
  };
  return what;
}

TEST(Template, ArgumentsThatBreakAPromiseTakeTheRelaxedKernel) {
  KernelTemplate what = alignedRowSum();
  std::vector<std::string> compiled;
  what.progress = [&](const TemplateProgress& progress) {
    if (!progress.done) compiled.push_back(progress.parameters.toString() + " " + progress.tile.toString());
  };
  Parameters parameters = fresh();
  const TemplateKernel kernel = compile(what, parameters, {.target = "host"});
  EXPECT_EQ(kernel.parameters().integer("alignment"), 16);
  EXPECT_EQ(kernel.args()[0].divisibility, 16);
  expectSums(kernel, 9, 48);
  EXPECT_EQ(compiled.size(), 1u);
  expectSums(kernel, 9, 49);
  expectSums(kernel, 9, 50);
  ASSERT_EQ(compiled.size(), 2u) << "once, by the first launch";
  EXPECT_TRUE(compiled[1].starts_with("alignment=4,")) << compiled[1];
  EXPECT_TRUE(compiled[1].ends_with(" BLOCK_M=4,BLOCK_N=16")) << compiled[1];

  what.relaxed = {};
  const TemplateKernel strict = compile(what, parameters, {.target = "host"});
  EXPECT_EQ(refusal([&] { expectSums(strict, 9, 49); }), "x_stride0: it is 49; the program was promised a multiple of 4");
}

TEST(Template, SlotsAreLookedAtWherePromisesMayBeBroken) {
  const TemplateKernel kernel = compile(alignedRowSum(), fresh(), {.target = "host"});
  std::vector<float> x(2 * 6, 1), out(2);
  const auto address = [](std::vector<float>& of) { return reinterpret_cast<std::uint64_t>(of.data()); };
  std::vector<std::uint64_t> slots;
  for (const Param& param : kernel.args())
    slots.push_back(param.name == "x"           ? address(x)
                    : param.name == "out"       ? address(out)
                    : param.name == "x_size1"   ? 5
                    : param.name == "x_stride0" ? 6
                                                : 2);
  const std::array<std::int64_t, 2> extents = {2, 5};
  kernel.launchSlots({}, extents, slots);
  EXPECT_EQ(out, (std::vector<float>{5, 5}));
  slots.pop_back();
  EXPECT_EQ(refusal([&] { kernel.launchSlots({}, extents, slots); }), "a launch of template aligned_row_sum is given " +
                                                                          std::to_string(slots.size()) + " slots; its program declares " +
                                                                          std::to_string(slots.size() + 1) + " arguments");
}

TEST(Template, AUniqueOneIsNotTracedToBeFound) {
  KernelTemplate what = rowSum();
  int traces = 0;
  what.program = [program = what.program, &traces](Params& args, const Parameters& parameters, const TileConfig& tile) {
    ++traces;
    program(args, parameters, tile);
  };
  const Parameters parameters = fresh();
  const TemplateFor how{.target = "host", .tile = TileConfig{.block_n = 32}};
  compile(what, parameters, how);
  compile(what, parameters, how);
  EXPECT_EQ(traces, 3) << "to be told apart, to be compiled, to be told apart";
  traces = 0;
  what.unique = true;
  compile(what, parameters, how);
  compile(what, parameters, how);
  EXPECT_EQ(traces, 1);
}

TEST(Template, MoreExtentsAreForTheGridAndNotForTuning) {
  KernelTemplate what = rowSum();
  what.more = {"first"};
  what.typical.push_back(0);
  std::vector<std::int64_t> seen;
  what.grid = [grid = what.grid, &seen](const Parameters& parameters, const TileConfig& tile, std::span<const std::int64_t> extents) {
    seen.assign(extents.begin(), extents.end());
    return grid(parameters, tile, extents);
  };
  const TemplateKernel kernel = compile(what, fresh(), {.target = "host", .extents = {2, 3, 7}});
  const float x[] = {1, 2, 3, 4, 5, 6};
  float out[2] = {};
  const TensorView in(const_cast<float*>(x), DType::F32, {2, 3}), sums(out, DType::F32, {2});
  kernel.launch({}, {2, 3, 7}, {{"x", in}, {"out", sums}});
  EXPECT_EQ(seen, (std::vector<std::int64_t>{2, 3, 7}));
  EXPECT_EQ(refusal([&] { kernel.launch({}, {2, 3}, {{"x", in}, {"out", sums}}); }),
            "a launch of template row_sum is given 2 extents; it has rows, columns, first");
}

TEST(Template, ItsAuthorNamesItAndSaysWhichTilesThereAre) {
  KernelTemplate what = rowSum();
  what.names = [](const Parameters&) { return TemplateNames{.text = "sums of rows", .tuned = "sums", .folder = "sums"}; };
  what.checkTile = [](const Parameters&, const TileConfig& tile) {
    if (tile.block_k != 0) throw Error(ErrorCode::InvalidArgument, "BLOCK_K is not a choice of sums");
  };
  EXPECT_EQ(explain(what, {}, {.target = "host", .tile = TileConfig{.block_n = 32}}), "sums of rows for host with BLOCK_M=4,BLOCK_N=32");
  const TemplateFor wrong{.target = "host", .tile = TileConfig{.block_k = 32}};
  EXPECT_EQ(refusal([&] { compile(what, {}, wrong); }), "BLOCK_K is not a choice of sums");
  const auto verdict = supports(what, {}, wrong);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().constraint(), "BLOCK_K is not a choice of sums");
  EXPECT_TRUE(supports(what, {}, {.target = "host"}));
}

TEST(Template, SupportsAsksTheCompilerWhetherAChosenTileFits) {
  const KernelTemplate& gemm = *findTemplate("gemm");
  EXPECT_TRUE(supports(gemm, {}, {.target = "nvidia:sm_90"}));
  const TemplateFor large{.target = "nvidia:sm_90",
                          .tile = TileConfig{.block_m = 1024, .block_n = 1024, .block_k = 64, .stages = 2, .warps = 8}};
  const auto verdict = supports(gemm, {}, large);
  const auto kernel = try_compile(gemm, {}, large);
  ASSERT_FALSE(kernel);
  ASSERT_FALSE(verdict);
  EXPECT_STREQ(verdict.error().what(), kernel.error().what());
}

struct Letters {
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  using is_transparent = void;
};

TEST(Handles, AreMadeOnceAndFoundWithoutAllocation) {
  static constinit Undestroyed<Handles<std::string, int, Letters>> handles;
  int made = 0;
  const std::string_view key = "a key that is longer than what a string holds by itself";
  auto get = [&]() -> const int& { return handles.value.get(key, [&] { return ++made; }); };
  const int* first = &get();
  EXPECT_EQ(*first, 1);
  for (int i = 0; i < 100; ++i) handles.value.get("other " + std::to_string(i), [&] { return i; });
  const long before = test::allocations();
  EXPECT_EQ(&get(), first);
  EXPECT_EQ(test::allocations(), before);
  EXPECT_EQ(made, 1);
}

TEST(Handles, WhatFailsIsTriedAgainAndLeavesAsAnError) {
  Handles<std::string, int, Letters> handles;
  EXPECT_EQ(refusal([&] { handles.get("x", []() -> int { throw std::runtime_error("first try"); }); }), "while compiling: first try");
  EXPECT_EQ(handles.get("x", [] { return 2; }), 2);
}

TEST(Template, RegisteredOnesAreFoundByName) {
  KernelTemplate what = rowSum();
  what.name = "registered_here";
  registerTemplate(what);
  EXPECT_EQ(findTemplate("registered_here")->extents, what.extents);
  const std::vector<std::string> names = templateNames();
  for (const char* name : {"gemm", "layer_norm", "registered_here", "rms_norm", "row_softmax"})
    EXPECT_NE(std::ranges::find(names, name), names.end()) << name;
  EXPECT_EQ(refusal([] { findTemplate("gem"); }), "there is no template \"gem\"");
}

TEST(Target, AMachineIsWhatCodeMayUse) {
  const Machine host = machineOf("host");
  EXPECT_TRUE(host.isHost() && host.chip == "host" && host.warp_size == 0 && host.dotRows(DType::BF16) == 0 && host.registers(64) == 0);
  const Machine hopper = machineOf("nvidia:sm_90a"), ampere = machineOf("nvidia:sm_80");
  EXPECT_EQ(hopper.chip, "nvidia:sm_90a");
  EXPECT_TRUE(hopper.warp_groups && !ampere.warp_groups && hopper.warp_size == 32 && ampere.async_copies);
  EXPECT_EQ(ampere.shared_bytes, 166912);
  EXPECT_EQ(ampere.dotRows(DType::BF16), 16);
  EXPECT_EQ(ampere.dotRows(DType::I64), 0);
  const Machine blackwell = machineOf("nvidia:sm_100");  // of whose instructions those with results in tensor memory are not emitted
  EXPECT_FALSE(blackwell.warp_groups);
  EXPECT_EQ(blackwell.dotRows(DType::BF16), 16);
  EXPECT_EQ(ampere.registers(512), 128);
  EXPECT_EQ(ampere.registers(64), 255);
  EXPECT_THROW(machineOf("nvidia:sm_1"), Error);
  EXPECT_EQ(resolveTarget("nvidia:sm_1"), "nvidia:sm_1");
  EXPECT_TRUE(namesChip("amd:gfx942") && !namesChip("cuda") && namesHost("host:avx2"));
}

}  // namespace
}  // namespace fattn
