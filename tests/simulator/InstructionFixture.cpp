// SPDX-License-Identifier: Apache-2.0
#include "tests/simulator/InstructionFixture.h"

#include <fmt/format.h>

#include "tests/simulator/MakeCodeObject.h"

namespace fattn::test {
namespace {

constexpr const char* kBefore = R"(
  {scalars} s[8:15], s[4:5], 0x0
  v_lshlrev_b32 v1, 4, v0
  s_mov_b32 s20, 0xeeeeeeee
  s_mov_b32 s21, 0
  v_mov_b32 v10, 0xeeeeeeee
  v_mov_b32 v11, 0xeeeeeeee
  v_mov_b32 v12, 0
  {wait}
  v_mov_b32 v2, s8
  v_mov_b32 v3, s9
  v_mov_b32 v4, s10
  v_mov_b32 v5, s11
  v_mov_b32 v6, s12
  v_mov_b32 v7, s13
  v_mov_b32 v8, s14
  v_mov_b32 v9, s15
  s_cmp_lg_u32 s8, s8
)";
constexpr const char* kScalarsAfter = R"(
  s_cselect_b32 s22, 1, 0
  v_mov_b32 v10, s20
  v_mov_b32 v11, s21
  v_mov_b32 v12, s22
)";

}  // namespace

void Instructions::check(const std::vector<InstructionRow>& rows, bool flushesDenormals) {
  using namespace fmt::literals;
  std::vector<AssemblyKernel> kernels;
  std::vector<const InstructionRow*> tested;
  for (const InstructionRow& row : rows) {
    std::string text = isCdna() || row.rdna.empty() ? row.text : row.rdna;
    if (text == "-" || (isCdna() && row.cdna == "-")) continue;
    const char* wait = chip().starts_with("gfx12") ? "s_wait_kmcnt 0x0" : "s_waitcnt lgkmcnt(0)";
    std::string body = fmt::format("  {} s[4:7], s[0:1], 0x0\n  {}\n", isCdna() ? "s_load_dwordx4" : "s_load_b128", wait);
    body +=
        fmt::format(fmt::runtime(kBefore), "scalars"_a = isCdna() ? "s_load_dwordx8" : "s_load_b256", "wait"_a = wait) + "  " + text + "\n";
    if (row.text.starts_with("s_")) body += kScalarsAfter;
    body += fmt::format("  {} v1, v[10:12], s[6:7]\n", isCdna() ? "global_store_dwordx3" : "global_store_b96");
    kernels.push_back({.name = "k" + std::to_string(tested.size()), .body = body, .flushesDenormals = flushesDenormals});
    tested.push_back(&row);
  }
  auto object = makeKernels(chip(), kernels);
  EXPECT_EQ(object->unknownMnemonics(), std::vector<std::string>());
  for (std::size_t i = 0; i < tested.size(); ++i) {
    const InstructionRow& row = *tested[i];
    SCOPED_TRACE(row.text);
    std::vector<std::uint32_t> in = row.sources, out(static_cast<std::size_t>(lanes()) * 4);
    in.resize(8);
    forgetBuffers();
    buffer("in", in, simulator::Memory::Use::ReadOnly);
    buffer("out", out);
    EXPECT_EQ(faultOf(*object, kernels[i].name, static_cast<std::uint32_t>(lanes())), "");
    for (std::size_t lane : {std::size_t{0}, static_cast<std::size_t>(lanes()) - 1})
      for (std::size_t r = 0; r < row.results.size(); ++r)
        EXPECT_EQ(fmt::format("{:#x}", out[lane * 4 + r]), fmt::format("{:#x}", row.results[r])) << "result " << r << ", lane " << lane;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, Instructions, testing::Values("gfx942", "gfx1100"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace fattn::test
