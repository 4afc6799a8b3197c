// SPDX-License-Identifier: Apache-2.0
// NVIDIA's fragments, each as a product read from the inside out.
#include "compiler/layout/Nvidia.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "fattn/Error.h"

namespace fattn::layout::nvidia {
namespace {

LinearLayout registers(int size, int d) { return LinearLayout::identity(kRegister, size, dim(d)); }
LinearLayout lanes(int size, int d) { return LinearLayout::identity(kLane, size, dim(d)); }

/// `rows` x `columns` of 32-bit words with four lanes a row of 8 rows: what all of NVIDIA's fragments are made of.
LinearLayout quad(int elements, int rowDim) { return registers(elements, 1 - rowDim) * lanes(4, 1 - rowDim) * lanes(8, rowDim); }

}  // namespace

LinearLayout mma(Operand operand, int k, int bits) {
  bool legal = (bits == 8 && (k == 16 || k == 32)) || (bits == 16 && (k == 8 || k == 16)) || (bits == 32 && (k == 4 || k == 8));
  if (!legal) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("mma.m16n8k{} has no operands of {} bits", k, bits),
                "8 bits: k16, k32; 16 bits: k8, k16; 32 bits (tf32): k4, k8");
  }
  int word = 32 / bits;        // elements in a register of the machine
  int steps = k / (4 * word);  // words along k
  switch (operand) {
    case Operand::A:  // PTX: row = lane/4 (+8 for every second word), column = word * (lane%4) + i (+4 words for the upper half)
      return (quad(word, 0) * registers(2, 0) * registers(steps, 1)).asTile(2);
    case Operand::B:  // PTX: row = word * (lane%4) + i (+4 words for the upper half), column = lane/4
      return (quad(word, 1) * registers(steps, 0)).asTile(2);
    case Operand::C:
      break;
  }
  return (quad(2, 0) * registers(2, 0)).asTile(2);  // PTX: row = lane/4 (+8 for c2, c3), column = 2 * (lane%4) + (i & 1)
}

LinearLayout wgmmaAccumulator(int n) {
  if (n < 8 || n > 256 || n % 8) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("wgmma.m64n{}: n is a multiple of 8 from 8 to 256", n));
  }
  // PTX, wgmma D fragment: row = 16 * warp + lane/4 + 8 * (i/2 % 2), column = 8 * (i/4) + 2 * (lane%4) + i%2
  return (quad(2, 0) * registers(2, 0) * LinearLayout::identity(kWarp, 4, dim(0)) * registers(n / 8, 1)).asTile(2);
}

LinearLayout wgmmaA(int bits) {
  if (bits != 8 && bits != 16 && bits != 32) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("wgmma has no operand A of {} bits; legal are 8, 16 and 32", bits));
  }
  // PTX, wgmma A fragment: that of mma with 32 bytes of k, 16 rows a warp
  return (mma(Operand::A, 256 / bits, bits) * LinearLayout::identity(kWarp, 4, dim(0))).asTile(2);
}

LinearLayout ldmatrix(int count, bool transposed) {
  if (count != 1 && count != 2 && count != 4) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("ldmatrix.x{}: legal are x1, x2 and x4", count));
  }
  // PTX: lane gets elements 2 * (lane%4) and the next of row lane/4; with .trans of column lane/4
  return (quad(2, transposed ? 1 : 0) * registers(count, 0)).asTile(2);
}

std::optional<MatrixAccess> matrixAccess(const LinearLayout& fragment, int memoryDim, int elementBits) {
  if (elementBits != 8 && elementBits != 16 && elementBits != 32) return std::nullopt;
  int wordBits = std::countr_zero(32U / elementBits);
  f2::Columns reg = fragment.columns(kRegister), lane = fragment.columns(kLane), unit = fragment.outputUnits(dim(memoryDim));
  if (lane.size() != 5 || static_cast<int>(reg.size()) < wordBits) return std::nullopt;
  // The 16 bytes of a matrix row in memory order: within a lane's word and along four lanes, or, transposed, along the lanes 4 apart.
  f2::Columns along(reg.begin(), reg.begin() + wordBits), across(lane.begin() + 2, lane.end());
  along.insert(along.end(), lane.begin(), lane.begin() + 2);
  auto startsWith = [&](const f2::Columns& columns) {
    return columns.size() <= unit.size() && std::equal(columns.begin(), columns.end(), unit.begin());
  };
  MatrixAccess result;
  if (startsWith(along)) {
    result.transposed = false;
  } else if (elementBits == 16 && startsWith(across)) {
    result.transposed = true;
    std::swap(along, across);
  } else {
    return std::nullopt;
  }
  f2::Columns rest(reg.begin() + wordBits, reg.end());
  int countBits = std::min<int>(2, static_cast<int>(rest.size()));
  result.count = 1 << countBits;
  f2::Columns columns = along;
  columns.insert(columns.end(), rest.begin() + countBits, rest.end());
  int registerBits = static_cast<int>(columns.size());
  columns.insert(columns.end(), across.begin(), across.end());
  columns.insert(columns.end(), rest.begin(), rest.begin() + countBits);
  columns.insert(columns.end(), 2 - countBits, 0);  // addresses of lanes that the instruction ignores
  for (f2::Vector column : fragment.columns(kWarp)) columns.push_back(column);
  result.access = LinearLayout::fromColumns(
      {{std::string(kRegister), registerBits}, {std::string(kLane), 5}, {std::string(kWarp), fragment.inputBits(kWarp)}},
      fragment.outputs(), columns, fragment.repeats());
  return result;
}

}  // namespace fattn::layout::nvidia
