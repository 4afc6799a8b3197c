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
    for (const Machine& machine : {Machine{.chip = "host"}, Machine{.chip = "nvidia:sm_90", .shared_bytes = 232448}}) {
      const auto found = findTemplate(name);
      const std::vector<TileConfig> space = found->space(found->parameters, machine);
      EXPECT_EQ(space.front(), found->tile(found->parameters, machine));
      for (const TileConfig& tile : space) {
        EXPECT_NO_THROW(tile.validate());
        EXPECT_EQ(std::ranges::count(space, tile), 1) << tile.toString();
      }
    }
}

}  // namespace
}  // namespace fattn
