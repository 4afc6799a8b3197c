// SPDX-License-Identifier: Apache-2.0
// Conversions between element types.
#include <algorithm>
#include <cmath>

#include "simulator/Lanes.h"

namespace fattn::simulator {
namespace {

using U = std::uint32_t;
using I = std::int32_t;

U pack(U low, U high) { return (low & 0xffff) | high << 16; }
U saturatedWord(I value, I least, I largest) { return static_cast<U>(std::clamp(value, least, largest)) & 0xffff; }

void addIntegers(std::vector<Row>& rows) {
  rows.push_back(laneRow<[](float a) { return toSigned(static_cast<double>(a)); }>("v_cvt_i32_f32"));
  rows.push_back(laneRow<[](float a) { return toUnsigned(static_cast<double>(a)); }>("v_cvt_u32_f32"));
  rows.push_back(laneRow<[](float a) { return toSigned(std::floor(static_cast<double>(a))); }>("v_cvt_flr_i32_f32"));
  rows.push_back(laneRow<[](float a) { return toSigned(std::floor(static_cast<double>(a) + 0.5)); }>("v_cvt_rpi_i32_f32"));
  rows.push_back(laneRow<[](I a) { return static_cast<float>(a); }>("v_cvt_f32_i32"));
  rows.push_back(laneRow<[](U a) { return static_cast<float>(a); }>("v_cvt_f32_u32"));
  rows.push_back(laneRow<[](U a) { return static_cast<float>(a & 0xff); }>("v_cvt_f32_ubyte0"));
  rows.push_back(laneRow<[](U a) { return static_cast<float>(a >> 8 & 0xff); }>("v_cvt_f32_ubyte1"));
  rows.push_back(laneRow<[](U a) { return static_cast<float>(a >> 16 & 0xff); }>("v_cvt_f32_ubyte2"));
  rows.push_back(laneRow<[](U a) { return static_cast<float>(a >> 24); }>("v_cvt_f32_ubyte3"));
  rows.push_back(laneRow<[](I a) { return static_cast<double>(a); }>("v_cvt_f64_i32"));
  rows.push_back(laneRow<[](U a) { return static_cast<double>(a); }>("v_cvt_f64_u32"));
  rows.push_back(laneRow<[](double a) { return toSigned(a); }>("v_cvt_i32_f64"));
  rows.push_back(laneRow<[](double a) { return toUnsigned(a); }>("v_cvt_u32_f64"));
  rows.push_back(laneRow<[](std::int16_t a) { return Half{static_cast<float>(a)}; }>("v_cvt_f16_i16"));
  rows.push_back(laneRow<[](std::uint16_t a) { return Half{static_cast<float>(a)}; }>("v_cvt_f16_u16"));
  rows.push_back(
      laneRow<[](Half a) { return static_cast<std::int16_t>(std::clamp(toSigned(static_cast<double>(a.value)), -32768, 32767)); }>(
          "v_cvt_i16_f16"));
  rows.push_back(laneRow<[](Half a) { return static_cast<std::uint16_t>(std::min(toUnsigned(static_cast<double>(a.value)), 65535U)); }>(
      "v_cvt_u16_f16"));
  rows.push_back(laneRow<[](std::int16_t a) { return static_cast<I>(a); }>("v_cvt_i32_i16"));
  rows.push_back(laneRow<[](std::uint16_t a) { return static_cast<U>(a); }>("v_cvt_u32_u16"));
  rows.push_back(besideEachOther(
      laneRow<[](I a, I b) { return pack(saturatedWord(a, -32768, 32767), saturatedWord(b, -32768, 32767)); }>("v_cvt_pk_i16_i32")));
  rows.push_back(besideEachOther(laneRow<[](U a, U b) { return pack(std::min(a, 65535U), std::min(b, 65535U)); }>("v_cvt_pk_u16_u32")));
  rows.push_back(besideEachOther(laneRow<[](float a, float b) {
    return pack(saturatedWord(toSigned(static_cast<double>(a)), -32768, 32767),
                saturatedWord(toSigned(static_cast<double>(b)), -32768, 32767));
  }>("v_cvt_pk_i16_f32")));
}

void addFloats(std::vector<Row>& rows) {
  rows.push_back(laneRow<[](float a) { return Half{a}; }>("v_cvt_f16_f32"));
  rows.push_back(laneRow<[](Half a) { return a.value; }>("v_cvt_f32_f16"));
  rows.push_back(laneRow<[](float a) { return static_cast<double>(a); }>("v_cvt_f64_f32"));
  rows.push_back(laneRow<[](double a) { return static_cast<float>(a); }>("v_cvt_f32_f64"));
  rows.push_back(besideEachOther(
      laneRow<[](float a, float b) { return pack(floatToHalfTruncated(a), floatToHalfTruncated(b)); }>("v_cvt_pkrtz_f16_f32")));
  rows.push_back(besideEachOther(laneRow<[](float a, float b) { return pack(floatToHalf(a), floatToHalf(b)); }>("v_cvt_pk_f16_f32")));
  rows.push_back(besideEachOther(laneRow<[](float a, float b) { return pack(floatToBfloat(a), floatToBfloat(b)); }>("v_cvt_pk_bf16_f32")));
  rows.push_back(laneRow<[](std::uint16_t a) { return bfloatToFloat(a); }>("v_cvt_f32_bf16"));
}

/// The byte of the source that an 8-bit float is taken from: SDWA has selected it, op_sel (gfx12: byte_sel) names it.
template <bool e5m2>
void floatFromByte(Wave& wave, const Instruction& instruction) {
  alignas(64) std::uint32_t scratch[64], result[64];
  const std::uint32_t* data = fetchBits(wave, instruction, instruction.source(0), 0, scratch);
  int shift = wave.chip().hasSplitCounters() || !instruction.subDword ? (instruction.opSel & 3) * 8 : 0;
  Float8 format = float8(wave.chip().fnuz, e5m2);
  for (int lane = 0; lane < wave.lanes; ++lane) result[lane] = std::bit_cast<std::uint32_t>(decodeFloat8(data[lane] >> shift, format));
  storeFloat(wave, instruction, result);
}

/// Two of them, from the lower or (op_sel, or .h) the upper half.
template <bool e5m2>
void floatsFromHalf(Wave& wave, const Instruction& instruction) {
  alignas(64) std::uint32_t scratch[64];
  std::uint64_t result[64];
  const std::uint32_t* data = fetch16(wave, instruction, instruction.source(0), 0, false, scratch);
  Float8 format = float8(wave.chip().fnuz, e5m2);
  for (int lane = 0; lane < wave.lanes; ++lane)
    result[lane] = std::bit_cast<std::uint32_t>(decodeFloat8(data[lane], format)) |
                   static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(decodeFloat8(data[lane] >> 8, format))) << 32;
  store64(wave, instruction, result);
}

/// Two floats to 8 bits each, into one half of the destination; the other half stays.
template <bool e5m2>
void packFloat8(Wave& wave, const Instruction& instruction) {
  alignas(64) std::uint32_t first[64], second[64];
  const std::uint32_t* a = fetchFloat(wave, instruction, instruction.source(0), 0, first);
  const std::uint32_t* b = fetchFloat(wave, instruction, instruction.source(1), 1, second);
  Float8 format = float8(wave.chip().fnuz, e5m2);
  alignas(64) std::uint32_t result[64];
  for (int lane = 0; lane < wave.lanes; ++lane)
    result[lane] = encodeFloat8(std::bit_cast<float>(a[lane]), format) | encodeFloat8(std::bit_cast<float>(b[lane]), format) << 8;
  store16(wave, instruction, result);
}

Row special(std::string_view name, Handler handler, Type type) {
  Row row{.name = name, .handler = handler};
  row.sources.fill(type);
  return row;
}

void addFloat8(std::vector<Row>& rows) {
  rows.push_back(special("v_cvt_f32_fp8", floatFromByte<false>, Type::B32));
  rows.push_back(special("v_cvt_f32_bf8", floatFromByte<true>, Type::B32));
  rows.push_back(special("v_cvt_pk_f32_fp8", floatsFromHalf<false>, Type::B32));
  rows.push_back(special("v_cvt_pk_f32_bf8", floatsFromHalf<true>, Type::B32));
  rows.push_back(keepingHigh(besideEachOther(special("v_cvt_pk_fp8_f32", packFloat8<false>, Type::F32))));
  rows.push_back(keepingHigh(besideEachOther(special("v_cvt_pk_bf8_f32", packFloat8<true>, Type::F32))));
}

}  // namespace

std::vector<Row> conversionRows() {
  std::vector<Row> rows;
  addIntegers(rows);
  addFloats(rows);
  addFloat8(rows);
  return rows;
}

}  // namespace fattn::simulator
