// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/check/Owners.h"

using namespace mlir;

namespace fattn::check {
namespace {

using layout::Coords, layout::LinearLayout;

const LinearLayout* layoutOf(Attribute attribute) {
  if (auto regs = dyn_cast_or_null<tilegpu::RegsAttr>(attribute)) return &regs.getLayout();
  return nullptr;
}

/// Goes through all elements that all threads hold.
class Enumerator {
 public:
  Enumerator(const LinearLayout& layout, ArrayRef<int64_t> shape) : layout(layout), shape(shape) {}

  /// Calls visit(warp, lane, coordinates) for each register of each thread.
  template <typename Visit>
  void forAll(Visit visit) {
    auto lanes = layout.inputSize(layout::kLane), warps = layout.inputSize(layout::kWarp), registers = layout.inputSize(layout::kRegister);
    int rank = static_cast<int>(shape.size());
    Coords coords(static_cast<size_t>(rank));
    for (int64_t w = 0; w < warps; ++w)
      for (int64_t l = 0; l < lanes; ++l) {
        Coords thread = at(0, l, w);
        for (int64_t r = 0; r < registers; ++r) {
          const Coords& part = registerPart(r);
          for (int d = 0; d < rank; ++d) coords[d] = combine(d, thread[d], part[d]);
          visit(w, l, coords);
        }
      }
  }

 private:
  Coords at(int64_t r, int64_t l, int64_t w) const { return layout.at({{layout::kRegister, r}, {layout::kLane, l}, {layout::kWarp, w}}); }
  const Coords& registerPart(int64_t r) {
    if (parts.empty())
      for (int64_t i = 0; i < layout.inputSize(layout::kRegister); ++i) parts.push_back(at(i, 0, 0));
    return parts[static_cast<size_t>(r)];
  }
  /// Low bits are linear over F2, what is above counts repeats.
  int64_t combine(int d, int64_t a, int64_t b) const {
    int64_t low = (int64_t{1} << layout.outputs()[static_cast<size_t>(d)].bits) - 1;
    return ((a ^ b) & low) + (a & ~low) + (b & ~low);
  }

  const LinearLayout& layout;
  ArrayRef<int64_t> shape;
  std::vector<Coords> parts;
};

}  // namespace

Owners::Map Owners::compute(const Accessor& accessor, Agent by) const {
  const LinearLayout* layout = layoutOf(accessor.layout);
  // A buffer's part is described by the buffer's shape, its own and where it begins.
  size_t rank = layout ? layout->outputs().size() : 0;
  ArrayRef<int64_t> whole = ArrayRef(accessor.shape).take_front(rank), offsets;
  ArrayRef<int64_t> part = whole;
  if (accessor.shape.size() >= 2 * rank && rank > 0) part = ArrayRef(accessor.shape).slice(rank, rank);
  if (accessor.shape.size() >= 3 * rank && rank > 0) offsets = ArrayRef(accessor.shape).slice(2 * rank, rank);
  int64_t count = 1;
  for (int64_t size : whole) count *= size;
  Map map(static_cast<size_t>(count), kNobody);
  if (!layout) {
    map.assign(1, accessor.oneHolder ? 0 : kSeveral);
    return map;
  }
  int64_t lanes = layout->inputSize(layout::kLane);
  Enumerator(*layout, part).forAll([&](int64_t w, int64_t l, const Coords& coords) {
    int64_t element = 0;
    for (size_t d = 0; d < rank; ++d) element = element * whole[d] + coords[d] + (offsets.empty() ? 0 : offsets[d]);
    if (element >= count) return;
    int owner = static_cast<int>(by == Agent::Warp ? w : w * lanes + l);
    int& known = map[static_cast<size_t>(element)];
    if (known == kNobody)
      known = owner;
    else if (known != owner)
      known = accessor.oneHolder ? std::min(known, owner) : kSeveral;
  });
  return map;
}

const Owners::Map& Owners::mapOf(int accessor, Agent by) {
  auto it = maps.find({accessor, by});
  if (it == maps.end()) it = maps.emplace(std::pair(accessor, by), compute(program.accessors[static_cast<size_t>(accessor)], by)).first;
  return it->second;
}

bool Owners::same(int first, int second) {
  if (first < 0 || second < 0) return false;
  auto [it, fresh] = known.try_emplace(std::minmax(first, second), false);
  if (!fresh) return it->second;
  auto byWarp = [&](int accessor) { return program.accessors[static_cast<size_t>(accessor)].byWarp; };
  const Agent by = byWarp(first) || byWarp(second) ? Agent::Warp : agent;
  const Map &a = mapOf(first, by), &b = mapOf(second, by);
  bool same = a.size() == b.size();
  for (size_t i = 0; same && i < a.size(); ++i) same = a[i] == kNobody || b[i] == kNobody || (a[i] == b[i] && a[i] != kSeveral);
  return it->second = same;
}

}  // namespace fattn::check
