// SPDX-License-Identifier: Apache-2.0
#include "simulator/Permutations.h"

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace fattn::simulator {
namespace {

/// The numbers of a list such as [3,2,1,0].
std::vector<int> listed(std::string_view text) {
  std::vector<int> values;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] < '0' || text[at] > '9') {
      ++at;
      continue;
    }
    values.push_back(0);
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) values.back() = values.back() * 10 + (text[at] - '0');
  }
  return values;
}

/// from(lane) is the source lane, or -1.
void fill(LanePermutation& permutation, int lanes, const std::function<int(int)>& from) {
  for (int lane = 0; lane < lanes; ++lane) {
    int source = from(lane);
    if (source < 0 || source >= lanes) continue;
    permutation.from[static_cast<std::size_t>(lane)] = static_cast<std::uint8_t>(source);
    permutation.valid |= std::uint64_t{1} << lane;
  }
}

/// Source of a lane in its row of 16 for the shapes that take a number; -2 where the name is none of them.
int rowSource(std::string_view key, int lane, int by) {
  int row = lane & ~15, at = lane & 15;
  if (key == "row_shl") return at + by < 16 ? lane + by : -1;
  if (key == "row_shr") return at - by >= 0 ? lane - by : -1;
  if (key == "row_ror") return row | ((at - by) & 15);
  if (key == "row_mirror") return row | (15 - at);
  if (key == "row_half_mirror") return (lane & ~7) | (7 - (lane & 7));
  if (key == "row_share" || key == "row_newbcast") return row | by;
  if (key == "row_xmask") return row | (at ^ by);
  return -2;
}

/// The shapes of gfx9 that cross rows.
int waveSource(std::string_view key, int lane, int by, int lanes) {
  if (key == "row_bcast" && by == 15) return lane >= 16 ? (lane & ~15) - 1 : -1;
  if (key == "row_bcast" && by == 31) return lane >= 32 ? 31 : -1;
  if (key == "wave_shl") return lane + 1 < lanes ? lane + 1 : -1;
  if (key == "wave_shr") return lane - 1;
  if (key == "wave_rol") return (lane + 1) % lanes;
  if (key == "wave_ror") return (lane + lanes - 1) % lanes;
  return -2;
}

}  // namespace

bool PermutationText::shape(std::string_view key, std::string_view value, int lanes) {
  std::vector<int> numbers = listed(value);
  if (key == "quad_perm" && numbers.size() == 4)
    fill(permutation_, lanes, [&](int lane) { return (lane & ~3) | numbers[static_cast<std::size_t>(lane & 3)]; });
  else if (key == "dpp8" && numbers.size() == 8)
    fill(permutation_, lanes, [&](int lane) { return (lane & ~7) | numbers[static_cast<std::size_t>(lane & 7)]; });
  else {
    int by = numbers.empty() ? 0 : numbers[0];
    if (rowSource(key, 0, by) != -2)
      fill(permutation_, lanes, [&](int lane) { return rowSource(key, lane, by); });
    else if (waveSource(key, 0, by, lanes) != -2)
      fill(permutation_, lanes, [&](int lane) { return waveSource(key, lane, by, lanes); });
    else
      return false;
  }
  return present_ = true;
}

bool PermutationText::take(std::string_view key, std::string_view value, int lanes) {
  int number = static_cast<int>(std::strtol(std::string(value).c_str(), nullptr, 0));
  if (key == "row_mask")
    rowMask_ = number;
  else if (key == "bank_mask")
    bankMask_ = number;
  else if (key == "bound_ctrl")
    permutation_.zeroInvalid = number == 1;
  else if (key == "fi")
    permutation_.fetchInactive = number == 1;
  else
    return shape(key, value, lanes);
  return true;
}

std::shared_ptr<const LanePermutation> PermutationText::finish() const {
  if (!present_) return nullptr;
  LanePermutation result = permutation_;
  for (int lane = 0; lane < 64; ++lane)
    if ((rowMask_ >> (lane / 16 & 3) & 1) && (bankMask_ >> (lane / 4 % 4) & 1)) result.writable |= std::uint64_t{1} << lane;
  return std::make_shared<const LanePermutation>(result);
}

}  // namespace fattn::simulator
