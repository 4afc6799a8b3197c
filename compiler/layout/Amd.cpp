// SPDX-License-Identifier: Apache-2.0
// AMD's fragments, each as a product read from the inside out.
#include "compiler/layout/Amd.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fattn/Error.h"

namespace fattn::layout::amd {
namespace {

LinearLayout registers(int size, int d) { return LinearLayout::identity(kRegister, size, dim(d)); }
LinearLayout lanes(int size, int d) { return LinearLayout::identity(kLane, size, dim(d)); }

}  // namespace

LinearLayout mfma(Operand operand, int mn, int k, int bits) {
  static constexpr std::array<std::array<int, 3>, 12> kLegal = {{{32, 8, 16},
                                                                 {16, 16, 16},
                                                                 {32, 16, 16},
                                                                 {16, 32, 16},
                                                                 {32, 16, 8},
                                                                 {16, 32, 8},
                                                                 {32, 2, 32},
                                                                 {16, 4, 32},
                                                                 {32, 4, 32},
                                                                 {16, 8, 32},
                                                                 {32, 8, 32},
                                                                 {16, 16, 32}}};
  if (std::ranges::find(kLegal, std::array{mn, k, bits}) == kLegal.end()) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("there is no mfma {0}x{0}x{1} with operands of {2} bits", mn, k, bits),
                "16 bits: 32x32x8, 16x16x16, 32x32x16, 16x16x32; 8 bits: 32x32x16, 16x16x32; 32 bits: 32x32x2, 16x16x4, 32x32x4, 16x16x8, "
                "32x32x8, 16x16x16");
  }
  int groups = 64 / mn;  // lanes of one row or column
  switch (operand) {
    case Operand::A:  // row = lane % mn; each group of lanes has the next k / groups columns
      return (registers(k / groups, 1) * lanes(mn, 0) * lanes(groups, 1)).asTile(2);
    case Operand::B:
      return (registers(k / groups, 0) * lanes(mn, 1) * lanes(groups, 0)).asTile(2);
    case Operand::C:
      break;
  }
  // 32x32: row = 8 * (register/4) + 4 * (lane/32) + register%4; 16x16: row = 4 * (lane/16) + register; column = lane % mn
  return (registers(4, 0) * lanes(mn, 1) * lanes(groups, 0) * registers(mn / (4 * groups), 0)).asTile(2);
}

LinearLayout wmma(int gfx, Operand operand, int wave, int bits) {
  if ((gfx != 11 && gfx != 12) || (wave != 32 && wave != 64) || (bits != 8 && bits != 16)) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("there is no wmma for gfx{} in wave{} with operands of {} bits", gfx, wave, bits),
                "legal are gfx11 and gfx12, wave32 and wave64, 8 and 16 bits");
  }
  int groups = wave / 16;
  if (operand == Operand::C) {
    if (gfx == 11) return (lanes(16, 1) * lanes(groups, 0) * registers(16 / groups, 0)).asTile(2);  // row = groups * register + lane/16
    if (wave == 32) return (registers(8, 0) * lanes(16, 1) * lanes(2, 0)).asTile(2);                // row = 8 * (lane/16) + register
    // wave64: row = register + 8 * (lane/16 % 2) + 4 * (lane/32)
    return LinearLayout({{"register", {{1, 0}, {2, 0}}}, {"lane", {{0, 1}, {0, 2}, {0, 4}, {0, 8}, {8, 0}, {4, 0}}}, {"warp", {}}},
                        {{"dim0", 4}, {"dim1", 4}});
  }
  int line = operand == Operand::A ? 0 : 1, k = 1 - line;
  if (gfx == 11) return (registers(16, k) * lanes(16, line) * LinearLayout::broadcast(kLane, groups)).asTile(2);
  // 16 bits: groups of lanes take turns with 4 consecutive k. 8 bits: wave32 8 each; wave64 4 each, group order 0, 2, 1, 3.
  if (bits == 16) return (registers(4, k) * lanes(16, line) * lanes(groups, k) * registers(4 / groups, k)).asTile(2);
  if (wave == 32) return (registers(8, k) * lanes(16, line) * lanes(2, k)).asTile(2);
  auto basis = [&](int d, std::int64_t value) { return d == 0 ? Coords{value, 0} : Coords{0, value}; };
  return LinearLayout({{"register", {basis(k, 1), basis(k, 2)}},
                       {"lane", {basis(line, 1), basis(line, 2), basis(line, 4), basis(line, 8), basis(k, 8), basis(k, 4)}},
                       {"warp", {}}},
                      {{"dim0", 4}, {"dim1", 4}});
}

}  // namespace fattn::layout::amd
