// SPDX-License-Identifier: Apache-2.0
// The templates behind the calls compile for every chip with their own configuration, which fits into each of them.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/gpu/Target.h"
#include "fattn/Template.h"

namespace fattn {
namespace {

void expectEveryChip(const char* name, const Parameters& parameters) {
  for (const std::string_view chip : gpu::targetNames()) {
    if (!chip.starts_with("nvidia:")) continue;
    EXPECT_NO_THROW(compile(*findTemplate(name), parameters, {.target = std::string(chip)}))
        << chip << " " << name << " " << parameters.toString();
  }
}

TEST(LibraryTemplates, GemmCompilesForEveryChip) {
  for (const char* dtype : {"f32", "f16", "bf16"})
    expectEveryChip("gemm", {{"dtype", std::string(dtype)},
                             {"out", std::string(dtype)},
                             {"b_columns", true},
                             {"bias", true},
                             {"residual", true},
                             {"activation", std::string("gelu")}});
  expectEveryChip("gemm", {{"dtype", std::string("i8")}, {"out", std::string("i32")}});
}

TEST(LibraryTemplates, RowsCompileForEveryChip) {
  for (const char* name : {"row_softmax", "layer_norm", "rms_norm"}) expectEveryChip(name, {{"dtype", std::string("bf16")}});
}

TEST(LibraryTemplates, TheirSpacesBeginWithTheirOwnConfigurationAndHoldEachPointOnce) {
  for (const char* name : {"gemm", "row_softmax", "layer_norm", "rms_norm", "attention_decode", "attention_merge",
                           "attention_backward_rows", "attention_backward_keys", "attention_backward_queries", "attention_backward_round"})
    for (const Machine& machine : {Machine{.chip = "host"}, machineOf("nvidia:sm_90")}) {
      const auto found = findTemplate(name);
      const std::vector<TileConfig> space = found->space(found->parameters, machine);
      EXPECT_EQ(space.front(), found->tile(found->parameters, machine));
      for (const TileConfig& tile : space) {
        EXPECT_NO_THROW(tile.validate());
        EXPECT_EQ(std::ranges::count(space, tile), 1) << tile.toString();
      }
    }
}

TEST(LibraryTemplates, RowsThatFitAreOneBlock) {
  const Machine machine = machineOf("nvidia:sm_90");
  for (const char* name : {"row_softmax", "layer_norm", "rms_norm"}) {
    const auto found = findTemplate(name);
    for (const std::int64_t columns : {1, 100, 1000, 1024, 5000, 16384}) {
      const std::int64_t extents[] = {4096, columns};
      const TileConfig tile = found->tileFor(found->parameters, machine, extents);
      EXPECT_GE(tile.block_n, columns);
      EXPECT_LT(tile.block_n, std::max<std::int64_t>(2 * columns, 65)) << columns;
      EXPECT_EQ(found->misfit(found->parameters, tile, machine, extents), std::nullopt) << columns;
    }
    const std::int64_t wide[] = {4096, 16385}, unknown[] = {4096, 0};
    EXPECT_EQ(found->tileFor(found->parameters, machine, wide).block_n, 4096);
    EXPECT_EQ(found->tileFor(found->parameters, machine, unknown), found->tile(found->parameters, machine));
  }
}

TEST(LibraryTemplates, ExtentsThatAreToldDecideTheConfiguration) {
  const auto softmax = findTemplate("row_softmax");
  const std::string target = "nvidia:sm_90";
  EXPECT_EQ(compile(*softmax, {}, {.target = target, .tile = {}, .extents = {4096, 3000}}).info().tile.block_n, 4096);
  const Machine machine = machineOf(target);
  EXPECT_EQ(compile(*softmax, {}, {.target = target}).info().tile, softmax->tile(softmax->parameters, machine));
  EXPECT_THROW(compile(*softmax, {}, {.target = target, .tile = {}, .extents = {1, 2, 3}}), Error);
}

}  // namespace
}  // namespace fattn
