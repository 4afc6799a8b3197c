// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/layout/Support.h"

#include <bit>

namespace fattn::layout::test {

std::mt19937 seeded(unsigned seed) { return std::mt19937(seed); }

void forEach(const LinearLayout& layout, const std::function<void(const Coords&, const Coords&)>& visit) {
  Coords inputs(layout.inputs().size());
  std::int64_t count = 1;
  for (const Axis& axis : layout.inputs()) count *= layout.inputSize(axis.name);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      inputs[k] = rest % layout.inputSize(layout.inputs()[k].name);
      rest /= layout.inputSize(layout.inputs()[k].name);
    }
    visit(inputs, layout.apply(inputs));
  }
}

std::map<Coords, int> holders(const LinearLayout& layout) {
  std::map<Coords, int> result;
  forEach(layout, [&](const Coords&, const Coords& element) { ++result[element]; });
  return result;
}

void expectBijection(const LinearLayout& layout, const Coords& shape) {
  EXPECT_EQ(layout.outputShape(), shape) << layout.str();
  std::size_t elements = 1;
  for (std::int64_t extent : shape) elements *= extent;
  auto held = holders(layout);
  EXPECT_EQ(held.size(), elements) << "1. every element is held: " << layout.str();
  for (const auto& [element, count] : held) {
    ASSERT_EQ(count, 1) << "2. by one register of one lane only: " << layout.str();
    for (std::size_t d = 0; d < shape.size(); ++d) ASSERT_TRUE(element[d] >= 0 && element[d] < shape[d]) << "3. it lies in the tile";
  }
  EXPECT_TRUE(layout.isBijective());
}

LinearLayout randomTile(std::mt19937& random, const Coords& shape, int warpBits, int laneBits) {
  std::vector<Axis> outs;
  std::vector<Repeat> repeats;
  int bits = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    int low = std::countr_zero(static_cast<std::uint64_t>(shape[d]));
    outs.push_back({dim(static_cast<int>(d)), low});
    bits += low;
    if (shape[d] >> low > 1) repeats.push_back({random() % 4 ? "register" : "warp", dim(static_cast<int>(d)), shape[d] >> low});
  }
  f2::Columns columns;
  f2::Span span;
  while (static_cast<int>(columns.size()) < bits) {
    f2::Vector v = random() & ((f2::Vector{1} << bits) - 1);
    if (span.contains(v)) continue;
    span.add(v);
    columns.push_back(v);
  }
  return LinearLayout::fromColumns({{"register", bits - laneBits - warpBits}, {"lane", laneBits}, {"warp", warpBits}}, outs, columns,
                                   repeats);
}

LinearLayout withCopies(std::mt19937& random, const LinearLayout& layout, int bits) {
  std::vector<Axis> ins = layout.inputs();
  f2::Columns columns;
  std::vector<f2::Columns> parts;
  for (const Axis& axis : ins) parts.push_back(layout.columns(axis.name));
  for (int i = 0; i < bits; ++i) {
    // A new register bit that repeats a combination of what is there, or nothing; or a lane's bit pushed out into the registers.
    f2::Vector copy = 0;
    for (const f2::Columns& part : parts) {
      for (f2::Vector column : part) copy ^= random() % 3 ? 0 : column;
    }
    std::size_t lane = random() % parts[1].size();
    if (random() % 2) std::swap(copy, parts[1][lane]);
    parts[0].insert(parts[0].begin() + static_cast<std::ptrdiff_t>(random() % (parts[0].size() + 1)), copy);
    ++ins[0].bits;
  }
  for (const f2::Columns& part : parts) columns.insert(columns.end(), part.begin(), part.end());
  return LinearLayout::fromColumns(ins, layout.outputs(), columns, layout.repeats());
}

std::string messageOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace fattn::layout::test
