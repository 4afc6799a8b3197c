// SPDX-License-Identifier: Apache-2.0
// Linear algebra over F2, the field of two elements, on vectors of at most 64 bits: what every layout computation rests on.
//
// A vector is a machine word, addition is xor, and a matrix is the list of its columns: multiplying picks the columns named by the set
// bits of the argument and xors them. Example: columns {0b01, 0b11} map 0b10 to 0b11 and 0b11 to 0b01 ^ 0b11 = 0b10.
#ifndef FATTN_COMPILER_LAYOUT_F2_H
#define FATTN_COMPILER_LAYOUT_F2_H

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace fattn::layout::f2 {

using Vector = std::uint64_t;
using Columns = std::vector<Vector>;

/// The matrix times x.
Vector multiply(const Columns& matrix, Vector x);

/// The matrices a * b (b first).
Columns multiply(const Columns& a, const Columns& b);

/// A set of linearly independent vectors that grows one vector at a time and remembers how each came about, so that it can express
/// any vector of its span by the vectors that were given. At most 64 vectors may be added.
class Span {
 public:
  Span() = default;
  explicit Span(const Columns& vectors);

  /// Adds a vector; false, and nothing but the count changes, when it already lies in the span.
  bool add(Vector v);
  bool contains(Vector v) const { return reduce(v).rest == 0; }
  /// Bit i of the result says whether the i-th added vector takes part in the sum that is v; nothing if v lies outside.
  /// Vectors that were dependent when they were added take no part.
  std::optional<Vector> solve(Vector v) const;
  int rank() const { return rank_; }

 private:
  struct Row {
    Vector value, combination;
  };
  struct Reduced {
    Vector rest, combination;
  };
  Reduced reduce(Vector v) const;

  std::array<Row, 64> rows_;  // the first rank_ are set, with distinct leading bits; layouts make thousands of spans of a few vectors
  int rank_ = 0, added_ = 0;
};

/// A basis of the x with matrix * x = 0.
Columns kernel(const Columns& matrix);
int rank(const Columns& matrix);
/// A basis of what the two spans have in common.
Columns intersection(const Columns& a, const Columns& b);
/// The vectors of `candidates`, in their order, that each enlarge the span of `base` and of the ones before.
Columns extension(const Columns& base, const Columns& candidates);
/// The first n unit vectors.
Columns units(int n);
/// A subspace H of F2^n with H + A = H + B = F2^n and nothing in common with A or with B, for A and B of one dimension.
/// It exists for any two: pair up bases r_i, w_i of A and B modulo what they share, take all r_i + w_i, and what neither reaches.
Columns commonComplement(const Columns& a, const Columns& b, int n);
/// The inverse of a square matrix of n rows; nothing if it has none.
std::optional<Columns> inverse(const Columns& matrix, int n);

}  // namespace fattn::layout::f2

#endif
