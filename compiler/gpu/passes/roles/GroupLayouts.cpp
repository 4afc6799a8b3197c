// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/roles/GroupLayouts.h"

namespace fattn::tilegpu {

using layout::Coords, layout::LinearLayout;

LinearLayout inOneGroup(const LinearLayout& layout, int64_t groupWarps) {
  std::vector<LinearLayout::Input> inputs;
  std::vector<Coords> further;
  const LinearLayout linear = layout.linearPart();
  for (const layout::Axis& in : linear.inputs()) {
    inputs.push_back({in.name, {}});
    for (int bit = 0; bit < in.bits; ++bit) {
      Coords image = linear.at({{in.name, int64_t{1} << bit}});
      const bool ofGroups = in.name == layout::kWarp && (int64_t{1} << bit) >= groupWarps;
      if (!ofGroups)
        inputs.back().bases.push_back(std::move(image));
      else if (llvm::any_of(image, [](int64_t place) { return place != 0; }))
        further.push_back(std::move(image));
    }
  }
  std::vector<layout::Repeat> repeats;
  for (layout::Repeat repeat : layout.repeats()) {
    if (repeat.in == layout::kWarp && repeat.out.empty()) continue;  // copies
    if (repeat.in == layout::kWarp) repeat.in = layout::kRegister;
    repeats.push_back(std::move(repeat));
  }
  for (LinearLayout::Input& input : inputs)
    if (input.name == layout::kRegister) llvm::append_range(input.bases, further);
  return LinearLayout(inputs, linear.outputs(), repeats);
}

LinearLayout onePerGroup(const LinearLayout& own, int64_t groups) {
  return own * LinearLayout::identity(layout::kWarp, groups, layout::dim(0));
}

}  // namespace fattn::tilegpu
