// SPDX-License-Identifier: Apache-2.0
// Shape operations, dot, reduce, cumsum, select_lazy and the hints.
#include <fmt/format.h>

#include <cstdio>

#include "compiler/interpreter/Index.h"
#include "compiler/interpreter/Machine.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fattn::interpreter {

static ArrayRef<int64_t> shapeOf(Value value) { return tile::getShapeOrScalar(value.getType()); }

//===-- Shape ---------------------------------------------------------------------------------------------------===//

/// result[i] = input[source(i)] for every index of the result.
template <typename Source>
static Data rearrange(const Data& input, ArrayRef<int64_t> from, ArrayRef<int64_t> to, Source source) {
  Data result;
  SmallVector<int64_t> at(from.size());
  forEachIndex(to, [&](ArrayRef<int64_t> index) {
    source(index, at);
    result.elements.push_back(input.elements[flatten(at, from)]);
  });
  return result;
}

static Data half(const Data& pairs, size_t which) {
  Data result;
  for (size_t i = which; i < pairs.elements.size(); i += 2) result.elements.push_back(pairs.elements[i]);
  return result;
}

bool Machine::executeShape(Operation* op) {
  auto done = [&](Value result, Data data) {
    bind(result, std::move(data));
    return true;
  };
  return TypeSwitch<Operation*, bool>(op)
      .Case([&](tile::ArangeOp arange) {
        Data result;
        for (int64_t i = 0; i < arange.getType().getNumElements(); ++i)
          result.elements.push_back(Element::integer(static_cast<int64_t>(arange.getStart()) + i));
        return done(arange, std::move(result));
      })
      .Case([&](tile::SplatOp splat) {
        return done(splat, Data{std::vector<Element>(splat.getType().getNumElements(), get(splat.getInput()).scalar()), {}});
      })
      .Case([&](tile::UnsplatOp unsplat) { return done(unsplat, get(unsplat.getInput())); })
      .Case([&](tile::BroadcastOp broadcast) {
        ArrayRef<int64_t> from = shapeOf(broadcast.getInput());
        return done(broadcast, rearrange(get(broadcast.getInput()), from, shapeOf(broadcast), [&](ArrayRef<int64_t> to, auto& at) {
                      for (size_t dim = 0; dim < to.size(); ++dim) at[dim] = from[dim] == 1 ? 0 : to[dim];
                    }));
      })
      .Case([&](tile::TransOp trans) {
        ArrayRef<int64_t> permutation = trans.getPermutation();
        return done(trans, rearrange(get(trans.getInput()), shapeOf(trans.getInput()), shapeOf(trans), [&](ArrayRef<int64_t> to, auto& at) {
                      for (size_t dim = 0; dim < to.size(); ++dim) at[permutation[dim]] = to[dim];
                    }));
      })
      .Case<tile::ExpandDimsOp, tile::ReshapeOp>([&](auto same) { return done(same, get(same.getInput())); })
      .Case([&](tile::JoinOp join) {
        Data result;
        for (auto [left, right] : llvm::zip_equal(get(join.getLhs()).elements, get(join.getRhs()).elements)) {
          result.elements.push_back(left);
          result.elements.push_back(right);
        }
        return done(join, std::move(result));
      })
      .Case([&](tile::SplitOp split) {
        const Data pairs = get(split.getInput());
        bind(split.getLhs(), half(pairs, 0));
        return done(split.getRhs(), half(pairs, 1));
      })
      .Default([](Operation*) { return false; });
}

//===-- Computation ---------------------------------------------------------------------------------------------===//

void Machine::execute(tile::DotOp op) {
  const Data &a = get(op.getA()), &b = get(op.getB()), &acc = get(op.getAcc());
  int64_t m = shapeOf(op)[0], n = shapeOf(op)[1], k = shapeOf(op.getA())[1];
  Type element = op.getType().getElementType();
  bool isFloat = isa<FloatType>(element);
  auto operand = [&](double value) { return op.getPrecision() == tile::Precision::tf32 ? roundToTf32(value) : value; };
  Data result;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      Element sum = acc.elements[i * n + j];
      for (int64_t l = 0; l < k; ++l) {
        const Element &x = a.elements[i * k + l], &y = b.elements[l * n + j];
        if (isFloat)
          sum.f += operand(x.f) * operand(y.f);
        else
          sum.i += x.i * y.i;
      }
      result.elements.push_back(isFloat ? Element::number(roundTo(sum.f, element)) : Element::integer(wrapTo(sum.i, element)));
    }
  bind(op, std::move(result));
}

/// The lines of a tile along an axis: for each, the position of its first element; and the distance between neighbours.
struct Lines {
  std::vector<int64_t> starts;
  int64_t size, stride = 1;

  Lines(ArrayRef<int64_t> shape, int64_t axis) : size(shape[axis]) {
    for (int64_t inner : shape.drop_front(axis + 1)) stride *= inner;
    forEachIndex(shape, [&](ArrayRef<int64_t> index) {
      if (index[axis] == 0) starts.push_back(flatten(index, shape));
    });
  }
};

void Machine::execute(tile::ReduceOp op) {
  Lines lines(shapeOf(op.getInputs()[0]), static_cast<int64_t>(op.getAxis()));
  std::vector<Data> inputs = dataOf(op.getInputs()), results(inputs.size());
  Block& combine = op.getCombine().front();
  auto lineElement = [&](int64_t start, int64_t k) {
    std::vector<Data> at;
    for (const Data& input : inputs) at.push_back({{input.elements[start + k * lines.stride]}, {}});
    return at;
  };
  for (int64_t start : lines.starts) {
    std::vector<Data> left = lineElement(start, 0);
    for (int64_t k = 1; k < lines.size; ++k) {
      bindAll(combine.getArguments().take_front(inputs.size()), std::move(left));
      bindAll(combine.getArguments().drop_front(inputs.size()), lineElement(start, k));
      left = runBlock(combine);
    }
    for (size_t i = 0; i < results.size(); ++i) results[i].elements.push_back(left[i].scalar());
  }
  bindAll(op.getResults(), std::move(results));
}

void Machine::execute(tile::CumsumOp op) {
  Type element = op.getType().getElementType();
  Lines lines(shapeOf(op), static_cast<int64_t>(op.getAxis()));
  Data result = get(op.getInput());
  for (int64_t start : lines.starts) {
    double sum = 0;
    uint64_t integerSum = 0;
    for (int64_t k = 0; k < lines.size; ++k) {
      Element& at = result.elements[start + (op.getReverse() ? lines.size - 1 - k : k) * lines.stride];
      if (isa<FloatType>(element))
        at.f = roundTo(sum += at.f, element);
      else
        at.i = wrapTo(integerSum += static_cast<uint64_t>(at.i), element);
    }
  }
  bind(op, std::move(result));
}

void Machine::execute(tile::SelectLazyOp op) {
  std::vector<Element> condition = get(op.getCondition()).elements;
  std::vector<Data> results = dataOf(op.getUsual());
  auto holds = [&](const Element& c) { return options_.takeExactEverywhere || c.i != 0; };
  if (llvm::any_of(condition, holds)) {
    std::vector<Data> exact = runBlock(op.getExact().front());
    for (auto [result, taken] : llvm::zip_equal(results, exact)) {
      if (!tile::isTile(op.getCondition().getType())) {
        result = std::move(taken);
        continue;
      }
      size_t perRow = result.elements.size() / condition.size();
      for (size_t i = 0; i < result.elements.size(); ++i)
        if (holds(condition[i / perRow])) result.elements[i] = taken.elements[i];
    }
  }
  bindAll(op.getResults(), std::move(results));
}

//===-- Hints and debugging -------------------------------------------------------------------------------------===//

void Machine::execute(tile::AssumeDivisibleOp op) {
  Data input = get(op.getInput());
  auto divisor = static_cast<int64_t>(op.getDivisor());
  int64_t value = input.scalar().i;
  if (isa<tile::PtrType>(op.getInput().getType()) && input.scalar().buffer >= 0)
    value = static_cast<int64_t>(static_cast<uint64_t>(value) + reinterpret_cast<uintptr_t>(buffers_[input.scalar().buffer].data));
  if (value % divisor != 0) fail(op, fmt::format("promises a multiple of {}, but got {}", divisor, value));
  bind(op.getResult(), std::move(input));
}

/// Nested brackets, one pair for each dimension.
static void appendTile(std::string& text, const Data& data, Type element, ArrayRef<int64_t> shape, size_t& next) {
  if (shape.empty()) {
    text += toText(data.elements[next++], element);
    return;
  }
  text += '[';
  for (int64_t i = 0; i < shape[0]; ++i) {
    if (i) text += ", ";
    appendTile(text, data, element, shape.drop_front(), next);
  }
  text += ']';
}

void Machine::execute(tile::DevicePrintOp op) {
  std::string line = fmt::format("[{},{},{}] {}", id_[0], id_[1], id_[2], op.getPrefix().str());
  for (Value value : op.getValues()) {
    size_t next = 0;
    line += ' ';
    appendTile(line, get(value), getElementTypeOrSelf(value.getType()), shapeOf(value), next);
  }
  if (options_.print)
    options_.print(line);
  else
    std::puts(line.c_str());
}

bool Machine::executeCompute(Operation* op) {
  return TypeSwitch<Operation*, bool>(op)
      .Case<tile::DotOp, tile::ReduceOp, tile::CumsumOp, tile::SelectLazyOp, tile::AssumeDivisibleOp, tile::DevicePrintOp>(
          [&](auto compute) {
            execute(compute);
            return true;
          })
      .Default([](Operation*) { return false; });
}

}  // namespace fattn::interpreter
