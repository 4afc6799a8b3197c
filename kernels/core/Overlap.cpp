// SPDX-License-Identifier: Apache-2.0
#include "fattn/Overlap.h"

#include <algorithm>
#include <array>
#include <functional>

namespace fattn {
namespace {

// Sums of products of 63-bit numbers.
__extension__ using Wide = __int128;

// A difference of two indices times their stride, or one of them alone: stride * x, least <= x <= most.
struct Term {
  std::int64_t stride, least, most;
};

Wide floorDivided(Wide a, Wide b) { return a / b - (a % b != 0 && a < 0 ? 1 : 0); }

// The distance from a run of bytes of b to one of a: a constant and terms. Two runs meet where it lies in [first, last].
class Distance {
 public:
  Distance(const TensorView& a, const TensorView& b)
      : constant_(static_cast<Wide>(reinterpret_cast<std::uintptr_t>(a.data)) - reinterpret_cast<std::uintptr_t>(b.data)) {
    last_ = addTerms(b, -1) - 1;
    first_ = 1 - addTerms(a, 1);
    std::sort(terms_.begin(), terms_.begin() + count_, [](const Term& x, const Term& y) { return x.stride > y.stride; });
    for (int i = count_; i-- > 0;) {
      const Term& term = terms_[static_cast<std::size_t>(i)];
      rest_[static_cast<std::size_t>(i)] = {rest_[static_cast<std::size_t>(i) + 1].first + Wide{term.stride} * term.least,
                                            rest_[static_cast<std::size_t>(i) + 1].second + Wide{term.stride} * term.most};
    }
  }

  bool canMeet() { return search(0, constant_); }

 private:
  // Returns the length of a run: the innermost dimension, where its elements lie side by side.
  std::int64_t addTerms(const TensorView& view, int sign) {
    const std::int64_t size = sizeInBytes(view.dtype);
    std::int64_t run = size;
    for (int d = 0; d < view.rank; ++d) {
      const std::int64_t last = view.shape[d] - 1, stride = view.strides[d] * size;
      if (last <= 0 || stride == 0) continue;
      if (d == view.rank - 1 && stride == size)
        run = (last + 1) * size;
      else
        add(sign > 0 ? Term{stride, 0, last} : Term{stride, -last, 0});
    }
    return run;
  }
  void add(const Term& term) {
    for (int i = 0; i < count_; ++i)
      if (Term& known = terms_[static_cast<std::size_t>(i)]; known.stride == term.stride) {
        known.least += term.least;
        known.most += term.most;
        return;
      }
    terms_[static_cast<std::size_t>(count_++)] = term;
  }
  bool search(int level, Wide at) {
    if (++steps_ > 4096) return true;
    const auto [least, most] = rest_[static_cast<std::size_t>(level)];
    if (at + most < first_ || at + least > last_) return false;
    if (level == count_) return true;
    const Term& term = terms_[static_cast<std::size_t>(level)];
    const auto [restLeast, restMost] = rest_[static_cast<std::size_t>(level) + 1];
    const Wide from = std::max<Wide>(term.least, -floorDivided(at + restMost - first_, term.stride));
    const Wide to = std::min<Wide>(term.most, floorDivided(last_ - at - restLeast, term.stride));
    for (Wide x = from; x <= to; ++x)
      if (search(level + 1, at + x * term.stride)) return true;
    return false;
  }

  static constexpr std::size_t kMost = 2 * TensorView::kMaxRank;
  Wide constant_, first_ = 0, last_ = 0;
  int count_ = 0, steps_ = 0;
  std::array<Term, kMost> terms_{};
  std::array<std::pair<Wide, Wide>, kMost + 1> rest_{};
};

}  // namespace

bool shareMemory(const TensorView& a, std::int64_t aBytes, const TensorView& b, std::int64_t bBytes) {
  if (aBytes == 0 || bBytes == 0) return false;
  if (areApart(a, aBytes, b, bBytes)) return false;
  return Distance(a, b).canMeet();
}

bool haveSameRows(const TensorView& a, const TensorView& b) {
  if (a.data != b.data || a.rank != b.rank || a.dtype != b.dtype) return false;
  for (int d = 0; d + 1 < a.rank; ++d)
    if (a.shape[d] > 1 && a.strides[d] != b.strides[d]) return false;
  return true;
}

}  // namespace fattn
