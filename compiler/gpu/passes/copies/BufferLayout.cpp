// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/copies/BufferLayout.h"

#include "compiler/gpu/Fragments.h"
#include "compiler/layout/Swizzle.h"
#include "llvm/Support/MathExtras.h"

namespace fattn::tilegpu {

using layout::LinearLayout;
using llvm::ArrayRef;

std::vector<layout::SharedLayout> candidateLayouts(ArrayRef<LinearLayout> reads, const LinearLayout& write, int bits,
                                                   const layout::Banks& banks, int inOrder) {
  std::vector<layout::SharedLayout> candidates;
  // First those that keep the lines of global memory together: a copy engine moves 32 bytes and more at once, which passes do not tell.
  layout::Coords shape = write.outputShape();
  constexpr std::pair<int, int> kSwizzles[] = {{128, 16}, {128, 32}, {128, 64}, {64, 16}, {64, 32}, {32, 16}, {0, 16}};
  for (auto [bytes, piece] : kSwizzles)
    if (shape.size() == 2 && shape[1] * bits / 8 % std::max(16, bytes) == 0)
      candidates.push_back(layout::swizzled(shape, bits, bytes, piece));
  for (const LinearLayout& read : reads) candidates.push_back(layout::chooseSwizzle(read, write, bits, banks, inOrder).layout);
  candidates.push_back(layout::rowMajor(shape));
  return candidates;
}

std::optional<PricedLayout> chooseLayout(ArrayRef<layout::SharedLayout> candidates, ArrayRef<LinearLayout> reads, const LinearLayout& write,
                                         int bits, const layout::Banks& banks, int inOrder, std::optional<int64_t> writes) {
  const layout::SharedLayout* best = nullptr;
  int64_t fewest = 0;
  for (const layout::SharedLayout& candidate : candidates) {
    if (!layout::keepsOrder(candidate, write, inOrder)) continue;
    auto slots = [&](const LinearLayout& side) {  // of issue and of the banks
      layout::BankReport report = layout::bankConflicts(side, candidate, bits, /*vector=*/0, banks);
      return int64_t{1 + report.passes} * report.instructions;
    };
    int64_t sum = writes ? *writes : slots(write);
    for (const LinearLayout& read : reads) sum += slots(read);
    if (!best || sum < fewest) best = &candidate, fewest = sum;
  }
  if (!best) return std::nullopt;
  return PricedLayout{best->elements(), fewest};
}

/// The layout of copies by an engine that puts lanes' vectors next to each other: registers of one vector, lanes, warps, further vectors.
static LinearLayout lanesInOrder(const LinearLayout& home, int vector, int lanes, int warps) {
  const layout::f2::Columns places = home.columns(layout::kOffset);
  const int ofThreads = vector + lanes + warps;
  layout::f2::Columns columns(places.begin(), places.begin() + vector);
  columns.insert(columns.end(), places.begin() + ofThreads, places.end());
  columns.insert(columns.end(), places.begin() + vector, places.begin() + ofThreads);
  return LinearLayout::fromColumns({{std::string(layout::kRegister), static_cast<int>(places.size()) - lanes - warps},
                                    {std::string(layout::kLane), lanes},
                                    {std::string(layout::kWarp), warps}},
                                   home.outputs(), std::move(columns));
}

std::optional<DirectCopy> chooseDirectCopy(ArrayRef<LinearLayout> reads, const LinearLayout& vectors, int bits, int64_t bytes,
                                           int64_t warps, const gpu::Target& target) {
  const layout::Banks banks = gpu::banksOf(target);
  const int64_t ofWarp = target.warpSize * bytes, together = ofWarp * warps,
                tile = vectors.outputSize("dim0") * vectors.outputSize("dim1") * bits / 8;
  if (bytes * 8 < bits || !llvm::isPowerOf2_64(static_cast<uint64_t>(together)) || tile % together != 0) return std::nullopt;
  const auto inOrder = static_cast<int>(bytes * 8 / bits);
  const int64_t writes = tile / together * (1 + llvm::divideCeil(ofWarp, int64_t{banks.count} * banks.bytes));
  auto home = chooseLayout(candidateLayouts(reads, vectors, bits, banks, inOrder), reads, vectors, bits, banks, inOrder, writes);
  if (!home || !home->layout.repeats().empty()) return std::nullopt;
  auto bitsOf = [](int64_t size) { return static_cast<int>(llvm::Log2_64(static_cast<uint64_t>(size))); };
  return DirectCopy{.write = lanesInOrder(home->layout, bitsOf(inOrder), bitsOf(target.warpSize), bitsOf(warps)),
                    .home = home->layout,
                    .slots = home->slots + target.copy(gpu::CopyKind::DirectToShared)->slotsOfTile};
}

}  // namespace fattn::tilegpu
