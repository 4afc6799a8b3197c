// SPDX-License-Identifier: Apache-2.0
// Dots, reductions and running sums: what a warp computes from what its lanes hold. Copies of a result get what the first register of each
// operand's element gives; sums are rounded once, as the interpreter of `tile` does.
#include <numeric>

#include "compiler/gpu/interpreter/Code.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fattn::adversary {

namespace {

using RegisterTable = std::vector<std::vector<int32_t>>;

/// A warp's part of a dot: rows of A and columns of B in dense numbers, and for each register of the result its row and column there.
struct DotPart {
  std::vector<int32_t> a, b;  ///< the registers, row by row of A, column by column of B
  std::vector<std::pair<int32_t, int32_t>> results;
  std::size_t rows = 0, columns = 0;
};

std::vector<int32_t> holdersIn(const Distribution& tile, int64_t warp) {
  std::vector<int32_t> first(static_cast<std::size_t>(tile.elementCount()), -1);
  auto elements = tile.elements(warp);
  for (std::size_t i = elements.size(); i-- > 0;) first[static_cast<std::size_t>(elements[i])] = static_cast<int32_t>(i);
  return first;
}

int32_t holderOf(Operation* op, const std::vector<int32_t>& holders, int64_t element) {
  int32_t holder = holders[static_cast<std::size_t>(element)];
  if (holder < 0) interpreter::fail(op, "needs data of other warps", ErrorCode::Unsupported);
  return holder;
}

DotPart dotPart(tile::DotOp op, const Distribution& a, const Distribution& b, const Distribution& c, int64_t warp) {
  int64_t n = c.shape()[1], depth = a.shape()[1];
  DotPart part;
  std::vector<int32_t> rowOf(static_cast<std::size_t>(c.shape()[0]), -1), columnOf(static_cast<std::size_t>(n), -1);
  std::vector<int32_t> fromA = holdersIn(a, warp), fromB = holdersIn(b, warp);
  for (int32_t element : c.elements(warp)) {
    int64_t row = element / n, column = element % n;
    if (rowOf[static_cast<std::size_t>(row)] < 0) {
      rowOf[static_cast<std::size_t>(row)] = static_cast<int32_t>(part.rows++);
      for (int64_t k = 0; k < depth; ++k) part.a.push_back(holderOf(op, fromA, row * depth + k));
    }
    if (columnOf[static_cast<std::size_t>(column)] < 0) {
      columnOf[static_cast<std::size_t>(column)] = static_cast<int32_t>(part.columns++);
      for (int64_t k = 0; k < depth; ++k) part.b.push_back(holderOf(op, fromB, k * n + column));
    }
    part.results.emplace_back(rowOf[static_cast<std::size_t>(row)], columnOf[static_cast<std::size_t>(column)]);
  }
  return part;
}

template <typename Number, typename Read>
std::vector<Number> gathered(const Elements& tile, const std::vector<int32_t>& registers, Read read) {
  std::vector<Number> result;
  result.reserve(registers.size());
  for (int32_t r : registers) result.push_back(read(tile[static_cast<std::size_t>(r)]));
  return result;
}

/// All sums of products of rows and columns.
template <typename Number>
std::vector<Number> products(const DotPart& part, const std::vector<Number>& a, const std::vector<Number>& b, std::size_t depth) {
  std::vector<Number> sums(part.rows * part.columns);
  for (std::size_t i = 0; i < part.rows; ++i)
    for (std::size_t j = 0; j < part.columns; ++j)
      sums[i * part.columns + j] =
          std::inner_product(a.begin() + static_cast<int64_t>(i * depth), a.begin() + static_cast<int64_t>((i + 1) * depth),
                             b.begin() + static_cast<int64_t>(j * depth), Number(0));
  return sums;
}

Action dot(Flattener& to, tile::DotOp op) {
  auto a = to.distribution(op.getA()), b = to.distribution(op.getB()), c = to.distribution(op.getResult());
  auto parts = std::make_shared<std::vector<DotPart>>();
  for (int64_t warp = 0; warp < c->warps(); ++warp) parts->push_back(dotPart(op, *a, *b, *c, warp));
  Type element = op.getType().getElementType();
  auto depth = static_cast<std::size_t>(a->shape()[1]);
  bool tf32 = op.getPrecision() == tile::Precision::tf32, isFloat = isa<FloatType>(element);
  return [=, left = to.slot(op.getA()), right = to.slot(op.getB()), acc = to.slot(op.getAcc()), into = to.slot(op.getResult())](
             Block&, Warp& warp) {
    const DotPart& part = (*parts)[static_cast<std::size_t>(warp.number) % parts->size()];
    auto tile = std::make_shared<Elements>(*warp.values[acc].tile);
    const Elements &x = *warp.values[left].tile, &y = *warp.values[right].tile;
    if (isFloat) {
      auto number = [&](const Element& e) { return tf32 ? interpreter::roundToTf32(e.f) : e.f; };
      auto sums = products(part, gathered<double>(x, part.a, number), gathered<double>(y, part.b, number), depth);
      for (auto [e, at] : llvm::zip_equal(*tile, part.results))
        e.f = interpreter::roundTo(e.f + sums[static_cast<std::size_t>(at.first) * part.columns + static_cast<std::size_t>(at.second)],
                                   element);
    } else {
      auto number = [](const Element& e) { return e.i; };
      auto sums = products(part, gathered<int64_t>(x, part.a, number), gathered<int64_t>(y, part.b, number), depth);
      for (auto [e, at] : llvm::zip_equal(*tile, part.results))
        e.i = interpreter::wrapTo(
            static_cast<uint64_t>(e.i + sums[static_cast<std::size_t>(at.first) * part.columns + static_cast<std::size_t>(at.second)]),
            element);
    }
    warp.values[into].tile = std::move(tile);
  };
}

/// The lines of a warp along an axis, and for each register of a result the number of its line.
struct Lines {
  std::vector<std::vector<int32_t>> registers;  ///< of each line in the order of the axis
  std::vector<int32_t> ofResult;
};

/// `lineOf` says which line of the input an element of the result belongs to: the number of the line's first element.
Lines linesOf(Operation* op, const Distribution& input, const Distribution& result, int64_t axis, int64_t warp,
              llvm::function_ref<int64_t(int64_t)> lineOf) {
  int64_t stride = 1;
  for (std::size_t d = static_cast<std::size_t>(axis) + 1; d < input.shape().size(); ++d) stride *= input.shape()[d];
  std::vector<int32_t> holders = holdersIn(input, warp);
  llvm::DenseMap<int64_t, int32_t> numbers;
  Lines lines;
  for (int32_t element : result.elements(warp)) {
    int64_t start = lineOf(element);
    auto [at, fresh] = numbers.try_emplace(start, static_cast<int32_t>(lines.registers.size()));
    lines.ofResult.push_back(at->second);
    if (!fresh) continue;
    std::vector<int32_t>& line = lines.registers.emplace_back();
    // Where any element will do, those that the warp has.
    auto reduce = dyn_cast<tile::ReduceOp>(op);
    bool any = reduce && tilegpu::picksAny(reduce);
    for (int64_t k = 0; k < input.shape()[static_cast<std::size_t>(axis)]; ++k)
      if (!any || holders[static_cast<std::size_t>(start + k * stride)] >= 0) line.push_back(holderOf(op, holders, start + k * stride));
  }
  return lines;
}

Action reduce(Flattener& to, tile::ReduceOp op) {
  auto input = to.distribution(op.getInputs()[0]), result = to.distribution(op.getResults()[0]);
  auto axis = static_cast<std::size_t>(op.getAxis());
  auto lines = std::make_shared<std::vector<Lines>>();
  for (int64_t warp = 0; warp < result->warps(); ++warp)
    lines->push_back(linesOf(op, *input, *result, static_cast<int64_t>(axis), warp, [&](int64_t element) {
      std::vector<int64_t> at = coordinates(element, result->shape());
      at.insert(at.begin() + static_cast<int64_t>(axis), 0);
      return elementAt(at, input->shape());
    }));
  for (Value other : llvm::concat<Value>(llvm::to_vector(op.getInputs()), llvm::to_vector(op.getResults())))
    if (to.distribution(other) != input && to.distribution(other) != result) interpreter::fail(op, "has tiles of different layouts");
  ScalarFunction combine = scalarFunction(to, op.getCombine().front());
  std::vector<int> from = to.slots(op.getInputs()), into = to.slots(op.getResults());
  return [=](Block&, Warp& warp) {
    const Lines& own = (*lines)[static_cast<std::size_t>(warp.number) % lines->size()];
    std::size_t count = from.size();
    std::vector<Elements> sums(count);
    std::vector<Element> both(2 * count), sum(count);
    for (const std::vector<int32_t>& line : own.registers) {
      for (std::size_t i = 0; i < count; ++i) sum[i] = (*warp.values[from[i]].tile)[static_cast<std::size_t>(line[0])];
      for (int32_t r : ArrayRef(line).drop_front()) {
        for (std::size_t i = 0; i < count; ++i) {
          both[i] = sum[i];
          both[count + i] = (*warp.values[from[i]].tile)[static_cast<std::size_t>(r)];
        }
        combine(warp, both.data(), sum.data());
      }
      for (std::size_t i = 0; i < count; ++i) sums[i].push_back(sum[i]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      auto tile = std::make_shared<Elements>();
      for (int32_t line : own.ofResult) tile->push_back(sums[i][static_cast<std::size_t>(line)]);
      warp.values[into[i]].tile = std::move(tile);
    }
  };
}

Action cumsum(Flattener& to, tile::CumsumOp op) {
  auto layout = to.distribution(op.getInput());
  auto axis = static_cast<std::size_t>(op.getAxis());
  auto lines = std::make_shared<std::vector<Lines>>();
  for (int64_t warp = 0; warp < layout->warps(); ++warp)
    lines->push_back(linesOf(op, *layout, *layout, static_cast<int64_t>(axis), warp, [&](int64_t element) {
      std::vector<int64_t> at = coordinates(element, layout->shape());
      at[axis] = 0;
      return elementAt(at, layout->shape());
    }));
  Type element = op.getType().getElementType();
  bool isFloat = isa<FloatType>(element), reverse = op.getReverse(), exclusive = op->hasAttr(tilegpu::kExclusiveAttr);
  return [=, from = to.slot(op.getInput()), into = to.slot(op.getResult())](Block&, Warp& warp) {
    const Lines& own = (*lines)[static_cast<std::size_t>(warp.number) % lines->size()];
    const Elements& source = *warp.values[from].tile;
    std::vector<Elements> sums;
    for (const std::vector<int32_t>& line : own.registers) {
      Elements& all = sums.emplace_back(line.size());
      double sum = 0;
      uint64_t integers = 0;
      for (std::size_t k = 0; k < line.size(); ++k) {
        std::size_t at = reverse ? line.size() - 1 - k : k;
        const Element& next = source[static_cast<std::size_t>(line[at])];
        if (exclusive)
          all[at] =
              isFloat ? Element::number(interpreter::roundTo(sum, element)) : Element::integer(interpreter::wrapTo(integers, element));
        sum += next.f;
        integers += static_cast<uint64_t>(next.i);
        if (exclusive) continue;
        all[at] = isFloat ? Element::number(interpreter::roundTo(sum, element)) : Element::integer(interpreter::wrapTo(integers, element));
      }
    }
    auto elements = layout->elements(warp.number);
    auto tile = std::make_shared<Elements>();
    for (std::size_t i = 0; i < elements.size(); ++i)
      tile->push_back(
          sums[static_cast<std::size_t>(own.ofResult[i])][static_cast<std::size_t>(coordinates(elements[i], layout->shape())[axis])]);
    warp.values[into].tile = std::move(tile);
  };
}

}  // namespace

Action computeAction(Flattener& to, Operation* op) {
  return llvm::TypeSwitch<Operation*, Action>(op)
      .Case<tile::DotOp>([&](auto one) { return dot(to, one); })
      .Case<tile::ReduceOp>([&](auto one) { return reduce(to, one); })
      .Case<tile::CumsumOp>([&](auto one) { return cumsum(to, one); })
      .Default([](Operation*) { return Action(); });
}

}  // namespace fattn::adversary
