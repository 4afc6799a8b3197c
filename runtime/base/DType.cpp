// SPDX-License-Identifier: Apache-2.0
#include "fattn/DType.h"

#include <array>
#include <utility>

namespace fattn {
namespace {

struct Row {
  DType type;
  std::string_view name;
  std::int64_t bytes;
};

constexpr std::array<Row, 9> kTypes = {{{DType::F32, "f32", 4},
                                        {DType::F16, "f16", 2},
                                        {DType::BF16, "bf16", 2},
                                        {DType::F8E4M3, "f8e4m3", 1},
                                        {DType::F8E5M2, "f8e5m2", 1},
                                        {DType::I1, "i1", 1},
                                        {DType::I8, "i8", 1},
                                        {DType::I32, "i32", 4},
                                        {DType::I64, "i64", 8}}};

const Row& row(DType type) { return kTypes[static_cast<std::size_t>(type)]; }

}  // namespace

std::int64_t sizeInBytes(DType type) { return row(type).bytes; }

std::string_view name(DType type) { return row(type).name; }

std::optional<DType> parseDType(std::string_view text) {
  for (const Row& r : kTypes)
    if (r.name == text) return r.type;
  return std::nullopt;
}

bool isFloat(DType type) { return type <= DType::F8E5M2; }

}  // namespace fattn
