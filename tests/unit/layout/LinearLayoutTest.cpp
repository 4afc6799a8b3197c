// SPDX-License-Identifier: Apache-2.0
// The laws of the algebra, on the examples of the header and on seeded random layouts.
#include "compiler/layout/LinearLayout.h"
#include "compiler/layout/Nvidia.h"
#include "compiler/layout/Tiling.h"
#include "tests/unit/layout/Support.h"

namespace fattn::layout {
namespace {

using test::expectBijection;

LinearLayout random(std::mt19937& source) {
  static const std::vector<Coords> kShapes = {{32, 32}, {16, 80}, {48, 16}, {24, 40}, {8, 8, 12}, {1024}, {176, 8}};
  return test::randomTile(source, kShapes[source() % kShapes.size()], static_cast<int>(source() % 2));
}

TEST(LinearLayout, ExamplesOfTheHeader) {
  LinearLayout c = LinearLayout::identity("register", 2, "dim1") * LinearLayout::identity("lane", 4, "dim1") *
                   LinearLayout::identity("lane", 8, "dim0") * LinearLayout::identity("register", 2, "dim0");
  c = c.withOutputs({"dim0", "dim1"});
  EXPECT_EQ(c.at({{"register", 3}, {"lane", 5}}), (Coords{9, 3}));
  EXPECT_EQ(c.asTile(2), nvidia::mma(Operand::C, 16, 16));
  LinearLayout swizzle({{"offset", {{0, 1}, {0, 2}, {1, 1}, {2, 2}}}}, {{"dim0", 2}, {"dim1", 2}});
  EXPECT_EQ(swizzle.apply({5}), (Coords{1, 0}));
  LinearLayout copies({{"lane", {{0}, {1}}}}, {{"dim0", 1}});
  EXPECT_EQ(copies.apply({2}), copies.apply({3}));
  EXPECT_EQ(copies.freeBits("lane"), 1U);
  EXPECT_FALSE(copies.isInjective());
}

TEST(LinearLayout, EightyIsFiveTimesSixteen) {
  LinearLayout layout = LinearLayout::identity("register", 80, "dim0");
  EXPECT_EQ(layout.inputBits("register"), 4);
  EXPECT_EQ(layout.repeats(), (std::vector<Repeat>{{"register", "dim0", 5}}));
  for (std::int64_t i = 0; i < 80; ++i) EXPECT_EQ(layout.apply({i}), Coords{i});
  EXPECT_EQ(layout.str(), "register: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), x5 along dim0 | dim0: 80");
}

TEST(LinearLayout, RepeatsHaveOneForm) {
  auto of = [](std::string_view in, std::int64_t count, std::string_view out) { return LinearLayout::identity(in, count, out); };
  LinearLayout none = LinearLayout::fromColumns({{"register", 0}, {"warp", 0}}, {{"dim0", 0}, {"dim1", 0}}, {});
  EXPECT_EQ(none * of("register", 5, "dim1") * of("register", 3, "dim1"), none * of("register", 15, "dim1"));
  EXPECT_EQ(none * of("warp", 3, "dim0") * of("register", 5, "dim1"), none * of("register", 5, "dim1") * of("warp", 3, "dim0"));
  EXPECT_EQ(none * of("register", 5, "dim1") * of("warp", 3, "dim0") * of("register", 3, "dim1"),
            none * of("warp", 3, "dim0") * of("register", 15, "dim1"));
  EXPECT_NE(none * of("register", 5, "dim1") * of("register", 3, "dim0"), none * of("register", 3, "dim0") * of("register", 5, "dim1"));
  EXPECT_EQ(tileFragment(nvidia::wgmmaAccumulator(80), {64, 240}, {1, 1}), nvidia::wgmmaAccumulator(240));
}

TEST(LinearLayout, RandomLayoutsAreBijections) {
  std::mt19937 source = test::seeded(1);
  for (int trial = 0; trial < 60; ++trial) {
    LinearLayout layout = random(source);
    expectBijection(layout, layout.outputShape());
  }
}

TEST(LinearLayout, InverseLaws) {
  std::mt19937 source = test::seeded(2);
  for (int trial = 0; trial < 100; ++trial) {
    LinearLayout layout = random(source), inverse = layout.inverse();
    EXPECT_EQ(inverse.inverse(), layout);
    test::forEach(layout, [&](const Coords& in, const Coords& out) { ASSERT_EQ(inverse.apply(out), in) << layout.str(); });
    test::forEach(layout.then(inverse), [&](const Coords& in, const Coords& out) { ASSERT_EQ(in, out); });
    test::forEach(inverse.then(layout), [&](const Coords& in, const Coords& out) { ASSERT_EQ(in, out); });
  }
}

TEST(LinearLayout, PseudoInverseFindsOneHolder) {
  std::mt19937 source = test::seeded(3);
  for (int trial = 0; trial < 100; ++trial) {
    LinearLayout layout = test::withCopies(source, random(source), 1 + trial % 3), holder = layout.pseudoInverse();
    EXPECT_FALSE(layout.isInjective());
    test::forEach(holder, [&](const Coords& element, const Coords& in) { ASSERT_EQ(layout.apply(in), element) << layout.str(); });
  }
  LinearLayout half({{"register", {{2}}}}, {{"dim0", 2}});
  EXPECT_NE(test::messageOf([&] { half.pseudoInverse(); }).find("a layout that leaves elements out has no inverse"), std::string::npos);
}

TEST(LinearLayout, CompositionIsApplicationAndAssociates) {
  std::mt19937 source = test::seeded(4);
  for (int trial = 0; trial < 60; ++trial) {
    LinearLayout a = test::randomTile(source, {64, 16}, 1), b = test::randomTile(source, {64, 16}, 0).inverse(),
                 c = test::randomTile(source, {64, 16}, 0);
    LinearLayout composed = a.then(b);
    test::forEach(composed, [&](const Coords& in, const Coords& out) { ASSERT_EQ(b.apply(a.apply(in)), out); });
    LinearLayout left = a.then(b).then(c), right = a.then(b.then(c));
    EXPECT_EQ(left, right);
  }
}

TEST(LinearLayout, ProductAndDivision) {
  std::mt19937 source = test::seeded(5);
  for (int trial = 0; trial < 60; ++trial) {
    LinearLayout inner = test::randomTile(source, {16, 8}, 1), outer = test::randomTile(source, {12, 40}, 0, 2), product = inner * outer;
    EXPECT_EQ(product.outputShape(), (Coords{192, 320}));
    auto quotient = product.divide(inner);
    ASSERT_TRUE(quotient);
    EXPECT_EQ(*quotient, outer);
    test::forEach(outer, [&](const Coords& in, const Coords& out) {
      Coords above = {in[0] << inner.inputBits("register"), in[1] << 5, in[2] << 1};
      Coords image = product.apply(above);
      ASSERT_EQ(image, (Coords{out[0] * 16, out[1] * 8}));
    });
    EXPECT_FALSE(product.divide(test::randomTile(source, {64, 32}, 1)));
  }
  EXPECT_FALSE(nvidia::mma(Operand::C, 16, 16).divide(LinearLayout::identity("register", 4, "dim1")));
}

TEST(LinearLayout, ProductsAboveOddCopiesAreRefused) {
  LinearLayout odd = LinearLayout::identity("register", 3, "dim0");
  EXPECT_EQ(test::messageOf([&] { odd* LinearLayout::identity("register", 2, "dim1"); }),
            "a product would put 1 more bit(s) of register above an odd number of copies\n  hint: multiply by repeats last: a * b * odd");
}

TEST(LinearLayout, SliceKeepsOneRegisterALine) {
  std::mt19937 source = test::seeded(6);
  for (int trial = 0; trial < 60; ++trial) {
    LinearLayout layout = random(source);
    int rank = static_cast<int>(layout.outputs().size());
    if (rank < 2) continue;
    int d = static_cast<int>(source() % rank);
    LinearLayout sliced = layout.slice(d);
    Coords shape = layout.outputShape();
    shape.erase(shape.begin() + d);
    EXPECT_EQ(sliced.outputShape(), shape);
    EXPECT_EQ(sliced.freeBits("register"), 0U);
    EXPECT_TRUE(sliced.isSurjective());
    EXPECT_EQ(sliced.expand(d).outputSize(dim(d)), 1);
  }
}

TEST(LinearLayout, TransposeReshapeJoinSplit) {
  std::mt19937 source = test::seeded(7);
  for (int trial = 0; trial < 40; ++trial) {
    LinearLayout layout = test::randomTile(source, {24, 32}, 1);
    LinearLayout transposed = layout.transpose(std::vector{1, 0});
    test::forEach(layout, [&](const Coords& in, const Coords& out) { ASSERT_EQ(transposed.apply(in), (Coords{out[1], out[0]})); });
    EXPECT_EQ(transposed.transpose(std::vector{1, 0}), layout);
    LinearLayout cube = layout.reshape({12, 8, 8});
    test::forEach(layout, [&](const Coords& in, const Coords& out) {
      std::int64_t flat = out[0] * 32 + out[1];
      ASSERT_EQ(cube.apply(in), (Coords{flat / 64, flat / 8 % 8, flat % 8}));
    });
    EXPECT_EQ(cube.reshape({24, 32}), layout);
    // Each dimension by itself keeps its odd factor where it is.
    LinearLayout wide = test::randomTile(source, {16, 48}, 1), pairs = wide.reshape({4, 4, 24, 2});
    test::forEach(wide, [&](const Coords& in, const Coords& out) {
      ASSERT_EQ(pairs.apply(in), (Coords{out[0] / 4, out[0] % 4, out[1] / 2, out[1] % 2}));
    });
    EXPECT_EQ(pairs.reshape({1, 16, 48, 1}).reshape({16, 48}), wide);
    LinearLayout joined = layout.join();
    EXPECT_EQ(joined.outputShape(), (Coords{24, 32, 2}));
    EXPECT_EQ(joined.at({{"register", 1}}), (Coords{0, 0, 1}));
    EXPECT_EQ(joined.split(), layout);
  }
}

TEST(LinearLayout, ShapeErrors) {
  LinearLayout c = nvidia::mma(Operand::C, 16, 16);
  EXPECT_EQ(test::messageOf([&] { c.reshape({16, 16}); }), "(16,8) has 128 elements, (16,16) has 256");
  EXPECT_EQ(test::messageOf([&] { LinearLayout::identity("register", 80, "dim1").withOutputs({"dim0", "dim1"}).reshape({2, 40}); }),
            "(1,80) to (2,40): of dimensions that are merged or split only the outermost may have an odd factor");
  EXPECT_EQ(test::messageOf([&] { c.transpose(std::vector{0, 2}); }), "(0,2) is no order of the 2 dimensions of the tile");
  EXPECT_EQ(test::messageOf([&] { c.split(); }), "only a tile whose last dimension is 2 can be split in two");
  EXPECT_EQ(test::messageOf([&] { LinearLayout::identity("lane", 2, "dim0").split(); }),
            "the last dimension is spread over lane, so that its halves are not registers of one lane");
  EXPECT_EQ(test::messageOf([&] { c.slice(2); }), "the layout has no dimension 2");
  EXPECT_EQ(test::messageOf([&] { c.expand(4); }), "a new dimension 4 of a tile of rank 2; legal are 0 to 2");
}

TEST(LinearLayout, CanonicalFormForgetsNamesOfSizeOne) {
  LinearLayout c = nvidia::mma(Operand::C, 16, 16);
  EXPECT_NE(c, c.withInputs({"register", "lane"}));
  EXPECT_EQ(c.canonical(), c.withInputs({"lane", "register"}).canonical());
  EXPECT_EQ(c.sublayout({"lane"}, {"dim0"}).str(), "lane: 1 -> (0), 2 -> (0), 4 -> (1), 8 -> (2), 16 -> (4) | dim0: 16");
}

TEST(LinearLayout, ConstructionErrors) {
  EXPECT_EQ(test::messageOf([] { LinearLayout({{"lane", {{4}}}}, {{"dim0", 2}}); }), "basis 0 of lane is 4 in dim0, which ends at 3");
  EXPECT_EQ(test::messageOf([] { LinearLayout({{"lane", {{1, 0}}}}, {{"dim0", 2}}); }),
            "basis 0 of lane has 2 coordinates, but the layout has 1 outputs");
  EXPECT_EQ(test::messageOf([] { LinearLayout({{"lane", {}}, {"lane", {}}}, {}); }), "lane is named twice");
  EXPECT_EQ(test::messageOf([] { LinearLayout({{"lane", {}}}, {{"dim0", 0}}, {{"lane", "dim0", 4}}); }),
            "lane is repeated 4 times, but a repeat is odd and at least 3\n  hint: powers of two belong into the linear part");
  EXPECT_EQ(test::messageOf([] { LinearLayout({}, {{"dim0", 0}}, {{"warp", "dim0", 3}}); }), "a repeat names warp, which is no input");
  EXPECT_EQ(test::messageOf([] { LinearLayout::identity("lane", 0, "dim0"); }), "a size of 0 for lane; sizes are at least 1");
  EXPECT_EQ(test::messageOf([] { LinearLayout::fromColumns({{"offset", 33}}, {}, f2::Columns(33, 0)); }),
            "a layout has at most 32 input and 32 output bits, this one has 33 and 0");
  EXPECT_EQ(test::messageOf([] { nvidia::mma(Operand::C, 16, 16).apply({4, 0, 0}); }), "register 4 is out of range: there are 4");
}

TEST(F2, CommonComplement) {
  std::mt19937 source = test::seeded(8);
  for (int trial = 0; trial < 500; ++trial) {
    int n = 1 + static_cast<int>(source() % 12), k = static_cast<int>(source() % (n + 1));
    auto subspace = [&] {
      f2::Columns result;
      while (std::ssize(result) < k) {
        f2::Vector v = source() & ((1U << n) - 1);
        if (!f2::extension(result, {v}).empty()) result.push_back(v);
      }
      return result;
    };
    f2::Columns a = subspace(), b = subspace(), h = f2::commonComplement(a, b, n);
    EXPECT_EQ(std::ssize(h), n - k);
    for (f2::Columns side : {a, b}) {
      side.insert(side.end(), h.begin(), h.end());
      EXPECT_EQ(f2::rank(side), n);
    }
    EXPECT_EQ(std::ssize(f2::intersection(a, b)), 2 * k - f2::rank([&] {
                                                    f2::Columns both = a;
                                                    both.insert(both.end(), b.begin(), b.end());
                                                    return both;
                                                  }()));
  }
}

}  // namespace
}  // namespace fattn::layout
