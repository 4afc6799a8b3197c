// SPDX-License-Identifier: Apache-2.0
// Gaussian elimination on machine words.
#include "compiler/layout/F2.h"

#include <bit>
#include <span>

namespace fattn::layout::f2 {

Vector multiply(const Columns& matrix, Vector x) {
  Vector result = 0;
  for (; x; x &= x - 1) result ^= matrix[std::countr_zero(x)];
  return result;
}

Columns multiply(const Columns& a, const Columns& b) {
  Columns result;
  result.reserve(b.size());
  for (Vector column : b) result.push_back(multiply(a, column));
  return result;
}

Span::Span(const Columns& vectors) {
  for (Vector v : vectors) add(v);
}

Span::Reduced Span::reduce(Vector v) const {
  Reduced result{v, 0};
  for (const Row& row : std::span(rows_).first(static_cast<std::size_t>(rank_))) {
    if (result.rest & std::bit_floor(row.value)) {
      result.rest ^= row.value;
      result.combination ^= row.combination;
    }
  }
  return result;
}

bool Span::add(Vector v) {
  Vector self = added_ < 64 ? Vector{1} << added_ : 0;  // beyond, only membership is asked for
  ++added_;
  auto [rest, combination] = reduce(v);
  if (!rest) return false;
  rows_[static_cast<std::size_t>(rank_++)] = {rest, combination ^ self};
  return true;
}

std::optional<Vector> Span::solve(Vector v) const {
  auto [rest, combination] = reduce(v);
  if (rest) return std::nullopt;
  return combination;
}

Columns kernel(const Columns& matrix) {
  Columns result;
  Span span;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    if (auto combination = span.solve(matrix[i])) result.push_back(*combination ^ (Vector{1} << i));
    span.add(matrix[i]);
  }
  return result;
}

int rank(const Columns& matrix) { return Span(matrix).rank(); }

Columns intersection(const Columns& a, const Columns& b) {
  // A combination of a's vectors that b reaches, too, is the a part of a vector of the kernel of [a | b].
  Columns independent = extension({}, a);
  Columns both = independent;
  for (Vector v : extension({}, b)) both.push_back(v);
  Columns result;
  for (Vector combination : kernel(both)) {
    result.push_back(multiply(independent, combination & ((Vector{1} << independent.size()) - 1)));
  }
  return result;
}

Columns extension(const Columns& base, const Columns& candidates) {
  Span span;
  for (Vector v : base) span.add(v);
  Columns result;
  for (Vector v : candidates) {
    if (span.contains(v)) continue;
    span.add(v);
    result.push_back(v);
  }
  return result;
}

Columns units(int n) {
  Columns result;
  for (int i = 0; i < n; ++i) result.push_back(Vector{1} << i);
  return result;
}

Columns commonComplement(const Columns& a, const Columns& b, int n) {
  Columns shared = intersection(a, b);
  Columns onlyA = extension(shared, a);
  Columns onlyB = extension(shared, b);
  Columns result;
  for (std::size_t i = 0; i < onlyA.size() && i < onlyB.size(); ++i) result.push_back(onlyA[i] ^ onlyB[i]);
  Columns sum = a;
  sum.insert(sum.end(), b.begin(), b.end());
  for (Vector v : extension(sum, units(n))) result.push_back(v);
  return result;
}

std::optional<Columns> inverse(const Columns& matrix, int n) {
  if (static_cast<int>(matrix.size()) != n) return std::nullopt;
  Span span(matrix);
  if (span.rank() != n) return std::nullopt;
  Columns result;
  for (Vector unit : units(n)) {
    auto combination = span.solve(unit);
    if (!combination) return std::nullopt;
    result.push_back(*combination);
  }
  return result;
}

}  // namespace fattn::layout::f2
