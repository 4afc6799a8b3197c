// SPDX-License-Identifier: Apache-2.0
// Matrix products D = A B + C of a wave. Products are exact and summed in 53 bits, then rounded once: chips round in between, in ways that
// are not documented, so that results may differ in the last bits.
#include <array>
#include <bit>
#include <vector>

#include "simulator/Execute.h"
#include "simulator/Float.h"
#include "simulator/Table.h"

namespace fattn::simulator {
namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;

enum class Element : std::uint8_t { F32, F16, BF16, FP8, BF8, I8 };
constexpr int bitsOf(Element element) {
  return element == Element::F32 ? 32 : element == Element::F16 || element == Element::BF16 ? 16 : 8;
}

/// Element `number` of those that a lane holds in consecutive registers.
double elementOf(Wave& wave, const Operand& operand, Element element, int lane, int number) {
  int bits = bitsOf(element), perWord = 32 / bits;
  U word = wave.row(operand.index + number / perWord)[lane] >> number % perWord * bits;
  switch (element) {
    case Element::F32:
      return static_cast<double>(std::bit_cast<float>(word));
    case Element::F16:
      return static_cast<double>(halfToFloat(word & 0xffff));
    case Element::BF16:
      return static_cast<double>(bfloatToFloat(word & 0xffff));
    case Element::FP8:
      return static_cast<double>(decodeFloat8(word, float8(wave.chip().fnuz, false)));
    case Element::BF8:
      return static_cast<double>(decodeFloat8(word, float8(wave.chip().fnuz, true)));
    case Element::I8:
      return static_cast<double>(static_cast<std::int8_t>(word));
  }
  return 0;
}

/// Which lane and which of its elements hold (row, k) of A; B is the same with its column for the row.
struct Place {
  int lane, number;
};

struct Shape {
  int size;   ///< rows and columns of the result
  int depth;  ///< of the products
  Element first, second;
  bool integer;
};

/// Rows of the result are columns of bits of this matrix instruction: the wave's lanes hold a column each, in groups of rows.
struct Product {
  std::array<std::array<double, 32>, 32> sums{};
  std::array<std::array<bool, 32>, 32> undefined{};
};

void checkExecFull(const Wave& wave) {
  if (wave.exec != wave.allLanes) violate("multiplies matrices with lanes switched off");
}

/// sums[row][column] += A B; `place` gives the lane and number of (row, k).
template <class PlaceOf>
void multiply(Wave& wave, const Instruction& instruction, const Shape& shape, PlaceOf place, Product& product) {
  const Operand &a = instruction.source(0), &b = instruction.source(1);
  auto size = static_cast<std::size_t>(shape.size), depth = static_cast<std::size_t>(shape.depth);
  std::vector<double> left(size * depth), right(depth * size);
  std::vector<bool> badRow(size), badColumn(size);
  auto undefined = [&](const Operand& operand, Element element, Place at) {
    return (wave.undefined(operand.index + at.number * bitsOf(element) / 32) >> at.lane & 1) != 0;
  };
  for (std::size_t row = 0; row < size; ++row)
    for (std::size_t k = 0; k < depth; ++k) {
      Place at = place(static_cast<int>(row), static_cast<int>(k));
      left[row * depth + k] = elementOf(wave, a, shape.first, at.lane, at.number);
      right[k * size + row] = elementOf(wave, b, shape.second, at.lane, at.number);
      if (undefined(a, shape.first, at)) badRow[row] = true;
      if (undefined(b, shape.second, at)) badColumn[row] = true;
    }
  for (std::size_t row = 0; row < size; ++row)
    for (std::size_t k = 0; k < depth; ++k)
      for (std::size_t column = 0; column < size; ++column) product.sums[row][column] += left[row * depth + k] * right[k * size + column];
  for (std::size_t row = 0; row < size; ++row)
    for (std::size_t column = 0; column < size; ++column)
      product.undefined[row][column] = product.undefined[row][column] || badRow[row] || badColumn[column];
}

/// Rows of the result that register `r` of a lane holds, and its column.
template <class RowOf>
void accumulate(Wave& wave, const Instruction& instruction, const Shape& shape, int registers, RowOf rowOf, Product& product, bool store) {
  const Operand& source = store ? instruction.operands[0] : instruction.source(2);
  for (int r = 0; r < registers; ++r) {
    U64 undefined = 0;
    for (int lane = 0; lane < wave.lanes; ++lane) {
      auto row = static_cast<std::size_t>(rowOf(r, lane)), column = static_cast<std::size_t>(lane % shape.size);
      if (store) {
        double sum = product.sums[row][column];
        wave.row(source.index + r)[lane] =
            shape.integer ? static_cast<U>(static_cast<std::int64_t>(sum)) : std::bit_cast<U>(static_cast<float>(sum));
        undefined |= static_cast<U64>(product.undefined[row][column]) << lane;
        continue;
      }
      U bits = source.kind == Operand::Vector ? wave.row(source.index + r)[lane] : wave.scalar(source);
      product.sums[row][column] =
          shape.integer ? static_cast<double>(static_cast<std::int32_t>(bits)) : static_cast<double>(std::bit_cast<float>(bits));
      if (source.kind == Operand::Vector) product.undefined[row][column] = (wave.undefined(source.index + r) >> lane & 1) != 0;
    }
    if (store) wave.undefined(source.index + r) = undefined;
  }
}

/// MFMA of one block: lane l holds row (column) l % size and depth / groups consecutive k. EXEC does not matter to the chip; it does here.
template <int size, int depth, Element first, Element second>
void mfma(Wave& wave, const Instruction& instruction) {
  constexpr Shape kShape{size, depth, first, second, first == Element::I8};
  constexpr int kEach = depth / (64 / size);
  checkExecFull(wave);
  auto rowOf = [](int r, int lane) { return size == 32 ? 8 * (r / 4) + 4 * (lane / 32) + r % 4 : 4 * (lane / 16) + r; };
  Product product;
  accumulate(wave, instruction, kShape, size * size / 64, rowOf, product, false);
  multiply(wave, instruction, kShape, [](int row, int k) { return Place{row + k / kEach * size, k % kEach}; }, product);
  accumulate(wave, instruction, kShape, size * size / 64, rowOf, product, true);
}

/// Hardware may read either half of the wave: both have to hold the same.
void checkCopies(const Wave& wave, const Operand& operand, const char* what) {
  for (int i = 0; i < operand.dwords; ++i) {
    const Wave::Row& row = wave.rows[slot(operand.index + i)];
    for (std::size_t lane = 0; lane < 16; ++lane)
      if (row[lane] != row[lane + 16])
        violate(std::string(what) + " of the product differs between the lanes 0 to 15 and 16 to 31, which have to hold copies",
                static_cast<int>(lane + 16));
  }
}

/// WMMA of gfx11: lane l and l + 16 hold the whole row (column) l; of the result register r holds row 2 r + l / 16.
template <Element element>
void wmma(Wave& wave, const Instruction& instruction) {
  constexpr Shape kShape{16, 16, element, element, false};
  if (wave.chip().generation != Generation::Rdna3 || wave.lanes != 32) violate("is simulated for waves of 32 lanes of gfx11 only");
  checkExecFull(wave);
  checkCopies(wave, instruction.source(0), "the first operand");
  checkCopies(wave, instruction.source(1), "the second operand");
  auto rowOf = [](int r, int lane) { return 2 * r + lane / 16; };
  Product product;
  accumulate(wave, instruction, kShape, 8, rowOf, product, false);
  multiply(wave, instruction, kShape, [](int row, int k) { return Place{row, k}; }, product);
  accumulate(wave, instruction, kShape, 8, rowOf, product, true);
}

Row matrixRow(std::string_view name, Handler handler, Type type = Type::F32) {
  Row row{.name = name, .handler = handler, .plainTaint = false, .count = 3};
  row.sources.fill(type);
  return row;
}

}  // namespace

std::vector<Row> matrixRows() {
  using enum Element;
  return {
      matrixRow("v_mfma_f32_32x32x8_f16", mfma<32, 8, F16, F16>),
      matrixRow("v_mfma_f32_16x16x16_f16", mfma<16, 16, F16, F16>),
      matrixRow("v_mfma_f32_32x32x8_bf16", mfma<32, 8, BF16, BF16>),
      matrixRow("v_mfma_f32_16x16x16_bf16", mfma<16, 16, BF16, BF16>),
      matrixRow("v_mfma_f32_32x32x2_f32", mfma<32, 2, F32, F32>),
      matrixRow("v_mfma_f32_16x16x4_f32", mfma<16, 4, F32, F32>),
      matrixRow("v_mfma_f32_32x32x16_fp8_fp8", mfma<32, 16, FP8, FP8>),
      matrixRow("v_mfma_f32_32x32x16_fp8_bf8", mfma<32, 16, FP8, BF8>),
      matrixRow("v_mfma_f32_32x32x16_bf8_fp8", mfma<32, 16, BF8, FP8>),
      matrixRow("v_mfma_f32_32x32x16_bf8_bf8", mfma<32, 16, BF8, BF8>),
      matrixRow("v_mfma_f32_16x16x32_fp8_fp8", mfma<16, 32, FP8, FP8>),
      matrixRow("v_mfma_f32_16x16x32_fp8_bf8", mfma<16, 32, FP8, BF8>),
      matrixRow("v_mfma_f32_16x16x32_bf8_fp8", mfma<16, 32, BF8, FP8>),
      matrixRow("v_mfma_f32_16x16x32_bf8_bf8", mfma<16, 32, BF8, BF8>),
      matrixRow("v_mfma_i32_32x32x16_i8", mfma<32, 16, I8, I8>, Type::B32),
      matrixRow("v_mfma_i32_16x16x32_i8", mfma<16, 32, I8, I8>, Type::B32),
      matrixRow("v_mfma_f32_32x32x16_f16", mfma<32, 16, F16, F16>),
      matrixRow("v_mfma_f32_32x32x16_bf16", mfma<32, 16, BF16, BF16>),
      matrixRow("v_mfma_f32_16x16x32_f16", mfma<16, 32, F16, F16>),
      matrixRow("v_mfma_f32_16x16x32_bf16", mfma<16, 32, BF16, BF16>),
      matrixRow("v_wmma_f32_16x16x16_f16", wmma<F16>),
      matrixRow("v_wmma_f32_16x16x16_bf16", wmma<BF16>),
  };
}

}  // namespace fattn::simulator
