// SPDX-License-Identifier: Apache-2.0
// Linear layouts: which element of a tile each register of each lane of each warp holds, or which element each byte of shared memory.
//
// MOTIVATION
// A GPU tile lives in thousands of registers, and every machine instruction wants its own arrangement: what a matrix instruction leaves
// in lane 5 is not what the next one expects there, nor what makes a coalesced load. Formulas like "row = lane / 4 + 8 * (register / 2 %
// 2)" can be evaluated, but not inverted, compared, composed or searched. Seen bit by bit they all have one shape: each bit of the
// element's coordinates is the xor of some bits of the register, lane and warp numbers. That is a linear map over F2, the field of two
// elements, so questions about layouts become linear algebra: an inverse says who holds an element, a kernel says who holds copies, an
// intersection of spans says how wide a vector load may be. A xor-swizzled shared memory is the same kind of map, with the offset as its
// input. The idea is that of "Linear Layouts: Robust Code Generation of Efficient Tensor Computation Using F2" (arXiv 2505.23819).
//
// EXAMPLE 1: BASES
// A linear map is known by what it does to the powers of two, its bases. The accumulator of NVIDIA's mma.m16n8k16 (16 rows x 8 columns):
//     register: 1 -> (0,1), 2 -> (8,0)                     four registers: two neighbours in a row, and the same 8 rows below
//     lane:     1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0)
// Register 3 of lane 5 holds (0,1) ^ (8,0) ^ (0,2) ^ (1,0) = (9,3). In code, from the inside out, each factor above the ones before:
//     identity("register", 2, "dim1") * identity("lane", 4, "dim1") * identity("lane", 8, "dim0") * identity("register", 2, "dim0")
//
// EXAMPLE 2: A SWIZZLE
// 4 x 4 elements in shared memory, the column xored with the row so that a column of the tile touches four banks:
//     offset: 1 -> (0,1), 2 -> (0,2), 4 -> (1,1), 8 -> (2,2)       offset 5 holds (0,1) ^ (1,1) = (1,0)
//
// EXAMPLE 3: COPIES
// A zero basis means that a bit does not matter: lane: 1 -> (0), 2 -> (1) has lanes 0 and 1 hold the same element.
//
// SIZES THAT ARE NOT POWERS OF TWO
// 80 = 16 * 5: the layout is linear on a tile of 16 and is repeated 5 times, the next copy beside the one before. A Repeat names the
// input that counts the copies (register, or warp: three warp groups), the output that they advance along, and an odd count: factors of
// two are ordinary bits. So two layouts of one tile always agree on what is linear and what is repeated, which keeps the algebra exact:
// every question is answered on the linear part, once.
//
// MATHS
// Inputs x_1 .. x_n and outputs y_1 .. y_m are named numbers. With x_i = low_i + 2^bits(i) * high_i, the low parts of the outputs
// are M * (low parts of the inputs) over F2, and the high parts of inputs and outputs are mixed-radix numbers whose digits, lowest first,
// are the repeats in their order that name this input or output; a repeat copies its input's digit to its output's.
// Repeats that have no input and no output in common commute, so they are kept in one order, and two in a row that count the same are one;
// that makes equality structural: two layouts with the same inputs and outputs in the same order are equal exactly if they are the same
// map.
//     a * b         a inside, b above it: a name in both gets a's bits, then b's
//     a.then(b)     b after a: the outputs of a are the inputs of b
//     a.inverse()   of a bijection; a.then(a.inverse()) is the identity
//     a.pseudoInverse()   of a map onto its outputs: p.then(a) is the identity, and p chooses 0 for every bit that does not matter
//
// LIMITS
// At most 32 input and 32 output bits. Offsets like row * 80 + column are not of this form (a carry is not linear): memory of an odd
// width is laid out in blocks of columns, or padded (SharedLayout). Global memory, with its strides known at run time, is not a layout.
#ifndef FATTN_COMPILER_LAYOUT_LINEARLAYOUT_H
#define FATTN_COMPILER_LAYOUT_LINEARLAYOUT_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/layout/F2.h"

namespace fattn::layout {

using Coords = std::vector<std::int64_t>;

inline constexpr std::string_view kRegister = "register", kLane = "lane", kWarp = "warp", kBlock = "block", kOffset = "offset";
/// "dim0", "dim1", ...: the names of a tile's dimensions.
std::string dim(int i);

/// A named input or output and how many bits of it the linear part covers.
struct Axis {
  std::string name;
  int bits = 0;
  bool operator==(const Axis&) const = default;
};

/// An odd number of copies: digit d of `in` advances `out` by d times what is below it. An empty `out`: d copies of the same.
struct Repeat {
  std::string in, out;
  std::int64_t count = 1;
  bool operator==(const Repeat&) const = default;
};

class LinearLayout {
 public:
  /// An input by its bases: where its bit 0, 1, ... leads, one number for each output.
  struct Input {
    std::string name;
    std::vector<Coords> bases;
  };

  /// One element, no inputs and no outputs: the unit of the product.
  LinearLayout() = default;
  /// `outputs` are names with the bits of their linear part. Throws Error if a basis lies outside or a count is not odd.
  LinearLayout(const std::vector<Input>& inputs, std::vector<Axis> outputs, std::vector<Repeat> repeats = {});

  /// in = out, for any size >= 1: the power of two in it becomes bits, the odd rest a repeat.
  static LinearLayout identity(std::string_view in, std::int64_t size, std::string_view out);
  /// An input that does not matter: each of its `size` values holds the same.
  static LinearLayout broadcast(std::string_view in, std::int64_t size);

  const std::vector<Axis>& inputs() const { return inputs_; }
  const std::vector<Axis>& outputs() const { return outputs_; }
  const std::vector<Repeat>& repeats() const { return repeats_; }
  bool hasInput(std::string_view name) const { return find(inputs_, name) >= 0; }
  bool hasOutput(std::string_view name) const { return find(outputs_, name) >= 0; }
  /// Bits of the linear part; 0 for a name that is not there.
  int inputBits(std::string_view name) const;
  int outputBits(std::string_view name) const;
  /// Sizes with the repeats; 1 for a name that is not there.
  std::int64_t inputSize(std::string_view name) const;
  std::int64_t outputSize(std::string_view name) const;
  Coords outputShape() const;

  /// The outputs of one input, both in the order of inputs() and outputs(). Numbers have to be within their sizes.
  Coords apply(std::span<const std::int64_t> inputs) const;
  Coords apply(std::initializer_list<std::int64_t> inputs) const { return apply(std::span(inputs.begin(), inputs.size())); }
  /// The same with inputs by name; those not named are 0.
  Coords at(std::initializer_list<std::pair<std::string_view, std::int64_t>> inputs) const;

  /// a inside, `outer` above it. Throws if a repeat of this one would come below bits of the other.
  LinearLayout operator*(const LinearLayout& outer) const;
  /// `next` after this one. Every output has to be an input of `next` of at least its size.
  LinearLayout then(const LinearLayout& next) const;
  LinearLayout inverse() const;
  LinearLayout pseudoInverse() const;
  /// The b with inner * b == *this, if there is one (odd copies of `inner` are found where they are repeats of their own).
  std::optional<LinearLayout> divide(const LinearLayout& inner) const;

  bool isInjective() const;   ///< no two inputs hold the same element
  bool isSurjective() const;  ///< every element is held
  bool isBijective() const { return isInjective() && isSurjective(); }
  /// The bits of an input that can be cleared without losing an element: where they are set there is only a copy.
  std::uint64_t freeBits(std::string_view in) const;
  /// Without those bits: each lane keeps one register of every element it holds.
  LinearLayout withoutFreeBits(std::string_view in) const;

  /// The inputs in this order; one that is missing is added with size 1. Throws if one with bits would be lost.
  LinearLayout withInputs(const std::vector<std::string>& names) const;
  LinearLayout withOutputs(const std::vector<std::string>& names) const;
  /// Inputs register, lane, warp (block where present), outputs dim0 .. dim<rank-1>: the form in which tiles' layouts are compared.
  LinearLayout asTile(int rank) const;
  /// Without inputs and outputs of size 1: two layouts say the same of hardware exactly when these are equal.
  LinearLayout canonical() const;
  LinearLayout linearPart() const { return fromColumns(inputs_, outputs_, columns_); }  ///< one copy, without the repeats
  LinearLayout renamed(std::string_view from, std::string_view to) const;

  /// Keeps only these inputs at work, all others at 0, and only these outputs.
  LinearLayout sublayout(const std::vector<std::string>& ins, const std::vector<std::string>& outs) const;

  // Shapes. Outputs are dim0, dim1, ...; the last one runs fastest.
  LinearLayout slice(int d) const;                           ///< without dimension d: what a reduction leaves (later dimensions move up)
  LinearLayout expand(int d) const;                          ///< with a new dimension d of size 1
  LinearLayout transpose(std::span<const int> order) const;  ///< new dimension i is the old order[i]
  LinearLayout reshape(const Coords& shape) const;           ///< the same elements in row-major order; odd factors stay outermost
  LinearLayout join() const;                                 ///< a new last dimension of size 2 in the lowest register bit
  LinearLayout split() const;                                ///< undoes join; throws if the last dimension is not one register bit

  /// The columns of an input, each with the outputs' bits packed from dim0 upwards; and of all inputs in order.
  f2::Columns columns(std::string_view in) const;
  const f2::Columns& columns() const { return columns_; }
  /// The packed unit vectors of an output.
  f2::Columns outputUnits(std::string_view out) const;
  int totalInputBits() const { return static_cast<int>(columns_.size()); }
  int totalOutputBits() const;
  /// From packed columns; for algorithms that compute them.
  static LinearLayout fromColumns(std::vector<Axis> inputs, std::vector<Axis> outputs, f2::Columns columns,
                                  std::vector<Repeat> repeats = {});

  bool operator==(const LinearLayout&) const = default;
  /// "register: 1 -> (0,1), x5 along dim1; lane: 1 -> (1,0) | dim0: 2, dim1: 10".
  std::string str() const;

 private:
  static int find(const std::vector<Axis>& axes, std::string_view name);
  void check() const;
  int inputShift(int i) const;
  int outputShift(int i) const;

  std::vector<Axis> inputs_, outputs_;
  f2::Columns columns_;  // of all inputs in order
  std::vector<Repeat> repeats_;
};

}  // namespace fattn::layout

#endif
