// SPDX-License-Identifier: Apache-2.0
// Layouts of lines and of parts of lines, for -tilegpu-decompose-conversions.
#include <numeric>

#include "compiler/gpu/passes/layouts/DecomposeConversions.h"

using namespace mlir;

namespace fattn::tilegpu {

using layout::kRegister, layout::kWarp, layout::LinearLayout;

SmallVector<Part> partsOf(const LinearLayout& layout, int axis) {
  uint64_t byWarps = 0, byOthers = 0;
  for (const layout::Axis& in : layout.inputs())
    for (int bit = 0; bit < in.bits; ++bit) {
      auto image = static_cast<uint64_t>(layout.linearPart().at({{in.name, int64_t{1} << bit}})[static_cast<size_t>(axis)]);
      (in.name == kWarp ? byWarps : byOthers) |= image;
    }
  if (byWarps & byOthers) return {};
  SmallVector<Part> parts;
  const layout::Axis& out = layout.outputs()[static_cast<size_t>(axis)];
  auto extend = [&](int bits, int64_t size, bool warps) {
    if (parts.empty() || parts.back().byWarps != warps) parts.push_back({0, 1, warps});
    parts.back().bits += bits;
    parts.back().size *= size;
  };
  for (int bit = 0; bit < out.bits; ++bit) extend(1, 2, (byWarps >> bit & 1) != 0);
  // An odd number of copies lies above all bits, and a part has room for nothing above them.
  SmallVector<const layout::Repeat*> odd;
  for (const layout::Repeat& repeat : layout.repeats())
    if (repeat.out == out.name) odd.push_back(&repeat);
  for (const layout::Repeat* repeat : odd) {
    if (odd.size() > 1 && repeat->in != odd.front()->in) return {};
    extend(0, repeat->count, repeat->in == kWarp);
  }
  return parts;
}

LinearLayout splitDimension(const LinearLayout& layout, int axis, ArrayRef<Part> parts) {
  int extra = static_cast<int>(parts.size()) - 1;
  std::vector<layout::Axis> outputs;
  for (auto [d, out] : llvm::enumerate(layout.outputs())) {
    if (static_cast<int>(d) != axis) {
      outputs.push_back({layout::dim(static_cast<int>(outputs.size())), out.bits});
      continue;
    }
    for (const Part& part : llvm::reverse(parts)) outputs.push_back({layout::dim(static_cast<int>(outputs.size())), part.bits});
  }
  std::vector<LinearLayout::Input> inputs;
  for (const layout::Axis& in : layout.inputs()) {
    inputs.push_back({in.name, {}});
    for (int bit = 0; bit < in.bits; ++bit) {
      layout::Coords image = layout.linearPart().at({{in.name, int64_t{1} << bit}}), split;
      for (auto [d, number] : llvm::enumerate(image)) {
        if (static_cast<int>(d) != axis) {
          split.push_back(number);
          continue;
        }
        int above = std::accumulate(parts.begin(), parts.end(), 0, [](int sum, const Part& part) { return sum + part.bits; });
        for (const Part& part : llvm::reverse(parts)) {
          above -= part.bits;
          split.push_back(number >> above & ((int64_t{1} << part.bits) - 1));
        }
      }
      inputs.back().bases.push_back(std::move(split));
    }
  }
  std::vector<layout::Repeat> repeats = layout.repeats();
  for (layout::Repeat& repeat : repeats)
    for (int d = axis + 1; d < static_cast<int>(layout.outputs().size()); ++d)
      if (repeat.out == layout::dim(d)) {
        repeat.out = layout::dim(d + extra);
        break;
      }
  return LinearLayout(inputs, outputs, repeats);
}

LinearLayout warpsOnTop(const LinearLayout& layout, int axis, ArrayRef<Part> parts) {
  SmallVector<std::pair<int, int>> moves;  // the new place of each bit
  int place = 0;
  for (bool byWarps : {false, true}) {
    int bit = 0;
    for (const Part& part : parts)
      for (int i = 0; i < part.bits; ++i, ++bit)
        if (part.byWarps == byWarps) moves.emplace_back(bit, place++);
  }
  std::vector<LinearLayout::Input> inputs;
  for (const layout::Axis& in : layout.inputs()) {
    inputs.push_back({in.name, {}});
    for (int bit = 0; bit < in.bits; ++bit) {
      layout::Coords image = layout.linearPart().at({{in.name, int64_t{1} << bit}});
      int64_t& number = image[static_cast<size_t>(axis)];
      int64_t moved = 0;
      for (auto [from, to] : moves) moved |= (number >> from & 1) << to;
      number = moved;
      inputs.back().bases.push_back(std::move(image));
    }
  }
  return LinearLayout(inputs, layout.outputs(), layout.repeats());
}

LinearLayout wholeLines(const LinearLayout& lines, int axis, int64_t size) {
  int rank = static_cast<int>(lines.outputs().size()) + 1;
  // Odd numbers of copies come above all powers of two.
  int64_t bits = size & -size;
  LinearLayout low = LinearLayout::identity(kRegister, bits, layout::dim(axis));
  return (low * lines.expand(axis) * LinearLayout::identity(kRegister, size / bits, layout::dim(axis))).asTile(rank);
}

SmallVector<int64_t> without(ArrayRef<int64_t> shape, int64_t axis) {
  SmallVector<int64_t> result(shape);
  result.erase(result.begin() + axis);
  return result;
}

SmallVector<Value> convert(OpBuilder& b, Location loc, ArrayRef<Value> values, const LinearLayout& layout) {
  SmallVector<Value> result;
  for (Value value : values) {
    RankedTensorType type = withLayout(cast<RankedTensorType>(value.getType()), layout);
    result.push_back(type == value.getType() ? value : ConvertLayoutOp::create(b, loc, type, value).getResult());
  }
  return result;
}

}  // namespace fattn::tilegpu
