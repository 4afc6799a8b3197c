// SPDX-License-Identifier: Apache-2.0
// The known layouts of shared memory.
#include "compiler/layout/Shared.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "compiler/layout/Invalid.h"

namespace fattn::layout {
namespace {

std::vector<std::string> tileNames(std::size_t rank) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < rank; ++i) names.push_back(dim(static_cast<int>(i)));
  return names;
}

void checkShape(const Coords& shape) {
  if (shape.empty() || std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 1; })) {
    invalid(fmt::format("a tile of ({}): every dimension has to be at least 1", fmt::join(shape, ",")));
  }
}

}  // namespace

SharedLayout::SharedLayout(LinearLayout elements, std::int64_t interval, std::int64_t amount)
    : elements_(std::move(elements)), offsets_(elements_.inverse()), interval_(interval), amount_(amount) {
  if (elements_.inputs().size() != 1 || !elements_.hasInput(kOffset)) invalid("a layout of shared memory has one input, offset");
  if (interval < 0 || amount < 0 || (interval && powerOfTwoIn(interval) != interval)) {
    invalid(fmt::format("padding of {} after every {} elements; the interval is a power of two", amount, interval));
  }
}

SharedLayout rowMajor(const Coords& shape, std::int64_t padInterval, std::int64_t padAmount) {
  checkShape(shape);
  LinearLayout result;
  for (std::size_t d = shape.size(); d-- > 0;) {
    result = result * LinearLayout::identity(kOffset, powerOfTwoIn(shape[d]), dim(static_cast<int>(d)));
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    result = result * LinearLayout::identity(kOffset, shape[d] / powerOfTwoIn(shape[d]), dim(static_cast<int>(d)));
  }
  return SharedLayout(result.withOutputs(tileNames(shape.size())), padInterval, padAmount);
}

SharedLayout swizzled(const Coords& shape, int elementBits, int swizzleBytes, int pieceBytes) {
  checkShape(shape);
  if (shape.size() != 2) invalid(fmt::format("a swizzled tile has rows and columns, not {} dimensions", shape.size()));
  if (swizzleBytes != 0 && swizzleBytes != 32 && swizzleBytes != 64 && swizzleBytes != 128) {
    invalid(fmt::format("there is no {}-byte swizzle; legal are 0, 32, 64 and 128", swizzleBytes));
  }
  if (elementBits != 8 && elementBits != 16 && elementBits != 32)
    invalid(fmt::format("elements of {} bits; legal are 8, 16 and 32", elementBits));
  if (pieceBytes != 16 && pieceBytes != 32 && pieceBytes != 64)
    invalid(fmt::format("pieces of {} bytes; legal are 16, 32 and 64", pieceBytes));
  if (pieceBytes > std::max(16, swizzleBytes))
    invalid(fmt::format("pieces of {} bytes do not fit into a {}-byte swizzle", pieceBytes, swizzleBytes));
  int elementBytes = elementBits / 8;
  std::int64_t columns = std::max(16, swizzleBytes) / elementBytes;  // of an atom
  if (shape[1] % columns) {
    invalid(fmt::format("{} columns of {} bits are no multiple of the atom's {}", shape[1], elementBits, columns));
  }
  std::int64_t rows = powerOfTwoIn(shape[0]);
  std::int64_t atoms = shape[1] / columns;
  auto flat = LinearLayout::identity(kOffset, columns, dim(1)) * LinearLayout::identity(kOffset, rows, dim(0)) *
              LinearLayout::identity(kOffset, powerOfTwoIn(atoms), dim(1)) * LinearLayout::identity(kOffset, shape[0] / rows, dim(0)) *
              LinearLayout::identity(kOffset, atoms / powerOfTwoIn(atoms), dim(1));
  flat = flat.withOutputs(tileNames(2));
  // Address bits 7, 8, 9 are xored into bits 4, 5, 6, from that of a piece on. Basis k of the offset leads where the swizzled address 2^k
  // came from.
  f2::Columns bases = flat.columns();
  int shift = std::countr_zero(static_cast<unsigned>(elementBytes));
  int piece = std::countr_zero(static_cast<unsigned>(pieceBytes));
  for (int bit = 0; bit < std::countr_zero(static_cast<unsigned>(std::max(16, swizzleBytes))) - piece; ++bit) {
    std::size_t from = 7 + bit - shift, to = piece + bit - shift;
    if (from < bases.size()) bases[from] ^= flat.columns()[to];
  }
  return SharedLayout(LinearLayout::fromColumns(flat.inputs(), flat.outputs(), bases, flat.repeats()));
}

}  // namespace fattn::layout
