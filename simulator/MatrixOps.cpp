// SPDX-License-Identifier: Apache-2.0
// Matrix products D = A B + C of a wave. Products are exact and summed in 53 bits, then rounded once: chips round in between, in ways that
// are not documented, so that results may differ in the last bits.
#include <array>
#include <bit>
#include <string>
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

/// An element from the word that holds it.
template <Element element>
double elementOf(U word, const Chip& chip) {
  if constexpr (element == Element::F32)
    return static_cast<double>(std::bit_cast<float>(word));
  else if constexpr (element == Element::F16)
    return static_cast<double>(halfToFloat(word & 0xffff));
  else if constexpr (element == Element::BF16)
    return static_cast<double>(bfloatToFloat(word & 0xffff));
  else if constexpr (element == Element::I8)
    return static_cast<double>(static_cast<std::int8_t>(word));
  else
    return static_cast<double>(decodeFloat8(word, float8(chip.fnuz, element == Element::BF8)));
}

/// Where a wave holds (row, k) of A: element `number` of those that a lane has in consecutive registers. B is the same with its column for
/// the row.
struct Place {
  int lane, number;
};

/// Rows and columns of the result, and which of its elements depend on undefined values: a bit for each column.
template <int size>
struct Product {
  alignas(64) std::array<std::array<double, size>, size> sums;
  std::array<U, size> undefined{};
};

void checkExecFull(const Wave& wave) {
  if (wave.exec != wave.allLanes) violate("multiplies matrices with lanes switched off");
}

/// One operand with its rows behind one another for each k, and its undefined rows as bits.
template <int size, int depth>
struct Factor {
  alignas(64) std::array<std::array<double, size>, depth> values;
  U undefined = 0;
};

template <int size, int depth, Element element, class PlaceOf>
void fetchFactor(Wave& wave, const Operand& operand, PlaceOf place, Factor<size, depth>& factor) {
  constexpr int kBits = bitsOf(element), kPerWord = 32 / kBits;
  for (int k = 0; k < depth; ++k) {
    Place first = place(0, k);
    int index = operand.index + first.number / kPerWord, shift = first.number % kPerWord * kBits;
    const U* words = wave.row(index) + first.lane;
    for (int row = 0; row < size; ++row) factor.values[slot(k)][slot(row)] = elementOf<element>(words[row] >> shift, wave.chip());
    factor.undefined |= static_cast<U>(wave.undefined(index) >> first.lane & ((U64{1} << size) - 1));
  }
}

/// sums[row][column] += A B.
template <int size, int depth, Element first, Element second, class PlaceOf>
void multiply(Wave& wave, const Instruction& instruction, PlaceOf place, Product<size>& product) {
  Factor<size, depth> left, right;
  fetchFactor<size, depth, first>(wave, instruction.source(0), place, left);
  fetchFactor<size, depth, second>(wave, instruction.source(1), place, right);
  for (std::size_t row = 0; row < size; ++row) {
    for (std::size_t k = 0; k < depth; ++k)
      for (std::size_t column = 0; column < size; ++column) product.sums[row][column] += left.values[k][row] * right.values[k][column];
    product.undefined[row] |= (left.undefined >> row & 1) != 0 ? ~U{0} : right.undefined;
  }
}

/// C, or D: `size` consecutive lanes hold a row, rowOf(register, first of the lanes).
template <int size, bool integer, class RowOf>
void fetchSums(Wave& wave, const Operand& operand, RowOf rowOf, Product<size>& product) {
  bool vector = operand.kind == Operand::Vector;
  if (!vector) wave.checkDefined(operand, "what is added to the product");
  for (int r = 0; r < size * size / wave.lanes; ++r)
    for (int lane = 0; lane < wave.lanes; lane += size) {
      auto row = slot(rowOf(r, lane));
      for (int column = 0; column < size; ++column) {
        U bits = vector ? wave.row(operand.index + r)[lane + column] : wave.scalar(operand);
        product.sums[row][slot(column)] =
            integer ? static_cast<double>(static_cast<std::int32_t>(bits)) : static_cast<double>(std::bit_cast<float>(bits));
      }
      if (vector) product.undefined[row] = static_cast<U>(wave.undefined(operand.index + r) >> lane);
    }
}

template <int size, bool integer, class RowOf>
void storeSums(Wave& wave, const Operand& operand, RowOf rowOf, const Product<size>& product) {
  for (int r = 0; r < size * size / wave.lanes; ++r) {
    U64 undefined = 0;
    for (int lane = 0; lane < wave.lanes; lane += size) {
      auto row = slot(rowOf(r, lane));
      U* into = wave.row(operand.index + r) + lane;
      for (int column = 0; column < size; ++column) {
        double sum = product.sums[row][slot(column)];
        into[column] = integer ? static_cast<U>(static_cast<std::int64_t>(sum)) : std::bit_cast<U>(static_cast<float>(sum));
      }
      undefined |= (product.undefined[row] & ((U64{1} << size) - 1)) << lane;
    }
    wave.undefined(operand.index + r) = undefined;
  }
}

/// MFMA of one block: lane l holds row (column) l % size and depth / groups consecutive k. EXEC does not matter to the chip; it does here.
template <int size, int depth, Element first, Element second>
void mfma(Wave& wave, const Instruction& instruction) {
  constexpr int kEach = depth / (64 / size);
  constexpr bool kInteger = first == Element::I8;
  checkExecFull(wave);
  auto rowOf = [](int r, int lane) { return size == 32 ? 8 * (r / 4) + 4 * (lane / 32) + r % 4 : 4 * (lane / 16) + r; };
  Product<size> product;
  fetchSums<size, kInteger>(wave, instruction.source(2), rowOf, product);
  multiply<size, depth, first, second>(wave, instruction, [](int row, int k) { return Place{row + k / kEach * size, k % kEach}; }, product);
  storeSums<size, kInteger>(wave, instruction.operands[0], rowOf, product);
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

/// WMMA in waves of 32 lanes. gfx11: lanes l and l + 16 hold the whole row (column) l; of the result register r is row 2 r + l / 16.
/// gfx12: lane l holds 8 consecutive k of row (column) l % 16, from 8 (l / 16) on, and register r of the result is row r + 8 (l / 16).
template <Element first, Element second>
void wmma(Wave& wave, const Instruction& instruction) {
  bool copies = wave.chip().generation == Generation::Rdna3;
  if (wave.lanes != 32) violate("is simulated for waves of 32 lanes only");
  checkExecFull(wave);
  if (copies) checkCopies(wave, instruction.source(0), "the first operand");
  if (copies) checkCopies(wave, instruction.source(1), "the second operand");
  auto rowOf = [copies](int r, int lane) { return copies ? 2 * r + lane / 16 : r + lane / 16 * 8; };
  auto place = [copies](int row, int k) { return copies ? Place{row, k} : Place{row + k / 8 * 16, k % 8}; };
  Product<16> product;
  fetchSums<16, false>(wave, instruction.source(2), rowOf, product);
  multiply<16, 16, first, second>(wave, instruction, place, product);
  storeSums<16, false>(wave, instruction.operands[0], rowOf, product);
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
      matrixRow("v_wmma_f32_16x16x16_f16", wmma<F16, F16>),
      matrixRow("v_wmma_f32_16x16x16_bf16", wmma<BF16, BF16>),
      matrixRow("v_wmma_f32_16x16x16_fp8_fp8", wmma<FP8, FP8>),
      matrixRow("v_wmma_f32_16x16x16_fp8_bf8", wmma<FP8, BF8>),
      matrixRow("v_wmma_f32_16x16x16_bf8_fp8", wmma<BF8, FP8>),
      matrixRow("v_wmma_f32_16x16x16_bf8_bf8", wmma<BF8, BF8>),
  };
}

}  // namespace fattn::simulator
