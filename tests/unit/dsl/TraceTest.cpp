// SPDX-License-Identifier: Apache-2.0
// Whole programs: what a trace records, who owns it, and what happens when it fails.
#include <gtest/gtest.h>

#include "fattn/dsl/Dsl.h"

using namespace fattn;
using namespace fattn::dsl;

namespace {

void twoDots(Params& args) {
  const DType dtype = DType::F16;
  Ptr a = args.ptr("a", dtype, 16), b = args.ptr("b", dtype, 16), c = args.ptr("c", dtype, 16), out = args.ptr("out", DType::F32);
  Scalar rows = args.scalar("rows", DType::I32), cols = args.scalar("cols", DType::I32);
  Scalar scale_log2 = args.scalar("scale", DType::F32);
  Scalar m0 = program_id(0) * 128;
  BlockPtr a_ptr = make_block_ptr(a, {rows, 64}, {64, 1}, {m0, 0}, {128, 64});
  BlockPtr b_ptr = make_block_ptr(b, {cols, 64}, {64, 1}, {0, 0}, {64, 64});
  BlockPtr c_ptr = make_block_ptr(c, {cols, 64}, {64, 1}, {0, 0}, {64, 64});
  Tile q = load(a_ptr, {0});
  auto [acc, row_sum, row_max] =
      for_(0, cols, 64, carry(zeros({128, 64}), zeros({128}), full({128}, -infinity, DType::F32)), [&](Scalar n, Tile acc, Tile l, Tile m) {
        Tile s = dot(q, trans(load(advance(b_ptr, {n, 0}), {0}))) * scale_log2;
        Tile m_new = max(m, reduce_max(s, 1));
        Tile p = exp2(s - expand(m_new, 1));
        Tile alpha = exp2(m - m_new);
        return carry(dot(cast(p, dtype), load(advance(c_ptr, {n, 0}), {0}), acc * expand(alpha, 1)), l * alpha + reduce_sum(p, 1), m_new);
      });
  BlockPtr o_ptr = make_block_ptr(out, {rows, 64}, {64, 1}, {m0, 0}, {128, 64});
  store(o_ptr, acc / expand(row_sum, 1), {0});
}

TEST(Trace, RecordsALoopOverTwoDots) {
  const Program program = trace("two_dots", twoDots);
  const std::string text = program.mlir();
  EXPECT_NE(text.find("func.func @two_dots(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = \"a\"}"), std::string::npos)
      << text;
  EXPECT_NE(text.find("attributes {tile.kernel}"), std::string::npos) << text;
  EXPECT_NE(text.find("scf.for"), std::string::npos) << text;
  ASSERT_EQ(program.args().size(), 7U);
  EXPECT_EQ(program.args()[6].name, "scale");
  EXPECT_FALSE(program.args()[6].isPointer);
}

TEST(Trace, LocationsAreRelativeToTheRepository) {
  EXPECT_NE(trace("two_dots", twoDots).mlir(true).find(" tests/unit/dsl/TraceTest.cpp:"), std::string::npos);
}

}  // namespace
