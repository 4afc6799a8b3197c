// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/interpreter/Distribution.h"

namespace fattn::adversary {

namespace {

/// An output's number apart: bits of the linear part, which xor, and digits of repeats above them, which add.
struct Split {
  std::vector<int64_t> low, high;
};

Split split(const layout::LinearLayout& layout, const layout::Coords& coords) {
  Split result;
  for (std::size_t d = 0; d < coords.size(); ++d) {
    int64_t mask = (int64_t{1} << layout.outputs()[d].bits) - 1;
    result.low.push_back(coords[d] & mask);
    result.high.push_back(coords[d] & ~mask);
  }
  return result;
}

std::vector<Split> parts(const layout::LinearLayout& layout, std::string_view in) {
  std::vector<Split> result;
  for (int64_t i = 0; i < layout.inputSize(in); ++i) result.push_back(split(layout, layout.at({{in, i}})));
  return result;
}

}  // namespace

Distribution::Distribution(const layout::LinearLayout& layout)
    : warps_(layout.inputSize(layout::kWarp)),
      lanes_(layout.inputSize(layout::kLane)),
      registers_(layout.inputSize(layout::kRegister)),
      shape_(layout.outputShape()) {
  std::vector<Split> ofWarp = parts(layout, layout::kWarp), ofLane = parts(layout, layout::kLane),
                     ofRegister = parts(layout, layout::kRegister);
  int64_t count = 1;
  for (int64_t size : shape_) count *= size;
  elements_.reserve(static_cast<std::size_t>(warps_ * lanes_ * registers_));
  owners_.assign(static_cast<std::size_t>(count), -1);
  for (const Split& warp : ofWarp)
    for (const Split& lane : ofLane)
      for (const Split& reg : ofRegister) {
        int64_t number = 0;
        for (std::size_t d = 0; d < shape_.size(); ++d)
          number = number * shape_[d] + (warp.low[d] ^ lane.low[d] ^ reg.low[d]) + warp.high[d] + lane.high[d] + reg.high[d];
        auto place = static_cast<int64_t>(elements_.size());
        int64_t& owner = owners_[static_cast<std::size_t>(number)];
        if (owner < 0) owner = place;
        hasCopies_ |= owner / registers_ != place / registers_;
        elements_.push_back(static_cast<int32_t>(number));
      }
}

std::vector<int64_t> coordinates(int64_t element, std::span<const int64_t> shape) {
  std::vector<int64_t> result(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; element /= shape[d]) result[d] = element % shape[d];
  return result;
}

int64_t elementAt(std::span<const int64_t> coordinates, std::span<const int64_t> shape) {
  int64_t number = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) number = number * shape[d] + coordinates[d];
  return number;
}

}  // namespace fattn::adversary
