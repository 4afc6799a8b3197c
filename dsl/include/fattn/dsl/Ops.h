// SPDX-License-Identifier: Apache-2.0
// Operations of the tile language other than operators (Operators.h) and control flow (Control.h).
#ifndef FATTN_DSL_OPS_H
#define FATTN_DSL_OPS_H

#include <string_view>
#include <utility>

#include "fattn/dsl/Operators.h"

namespace fattn::dsl {

//===-- The grid ------------------------------------------------------------------------------------------------===//

/// Index of this program along grid axis 0, 1 or 2; and how many there are. i32.
Scalar program_id(int axis, Loc loc = Loc::current());
Scalar num_programs(int axis, Loc loc = Loc::current());

//===-- Making tiles --------------------------------------------------------------------------------------------===//

/// i32[end - start]: start, start + 1, ... end - 1.
Tile arange(std::int64_t start, std::int64_t end, Loc loc = Loc::current());
/// A tile whose elements all are `value`.
Tile full(const Shape& shape, ScalarArg value, DType type, Loc loc = Loc::current());
Tile zeros(const Shape& shape, DType type = DType::F32, Loc loc = Loc::current());

//===-- Memory --------------------------------------------------------------------------------------------------===//

/// The window `block` at `offsets` of the array `shape` with `strides` (in elements) that begins at `base`.
BlockPtr make_block_ptr(const Ptr& base, const Scalars& shape, const Scalars& strides, const Scalars& offsets, const Shape& block,
                        Loc loc = Loc::current());
/// The window moved by `deltas` elements.
BlockPtr advance(const BlockPtr& ptr, const Scalars& deltas, Loc loc = Loc::current());

/// Loads the window. Along the dimensions in `check`, elements outside of the array read as zero; along the others the
/// window must lie inside.
Tile load(const BlockPtr& ptr, const Dims& check = {}, Loc loc = Loc::current());
/// The same with another value for elements outside.
Tile load(const BlockPtr& ptr, const Dims& check, detail::Number padding, Loc loc = Loc::current());
/// Loads through a tile of pointers; where `mask` is false memory is not touched and the element is `other` (zero if absent).
Tile load(const Tile& ptrs, OptionalArg mask = {}, OptionalArg other = {}, Loc loc = Loc::current());
Scalar load(const Ptr& ptr, OptionalArg mask = {}, OptionalArg other = {}, Loc loc = Loc::current());

/// Stores the window; along the dimensions in `check`, elements outside of the array are left out.
void store(const BlockPtr& ptr, const Tile& value, const Dims& check = {}, Loc loc = Loc::current());
/// Stores through a tile of pointers where `mask` is true (everywhere if absent).
void store(const Tile& ptrs, AnyArg value, OptionalArg mask = {}, Loc loc = Loc::current());
void store(const Ptr& ptr, ScalarArg value, OptionalArg mask = {}, Loc loc = Loc::current());

/// What an atomic addition orders beside itself. AcquireRelease: where it finds what another program's such addition left, all that
/// program's loads and stores before its addition come before this one's behind its own.
enum class MemoryOrder : std::uint8_t { Relaxed, AcquireRelease };

/// Adds to the window atomically, each element by itself and in any order; along the dimensions in `check`, elements outside of the array
/// are left out. GPUs add several neighbours with one instruction where rows are aligned and where they know one.
void atomic_add(const BlockPtr& ptr, const Tile& value, const Dims& check = {}, Loc loc = Loc::current());
/// Adds to memory atomically and gives what was there before (zero where `mask` is false).
Tile atomic_add(const Tile& ptrs, AnyArg value, OptionalArg mask = {}, MemoryOrder order = MemoryOrder::Relaxed, Loc loc = Loc::current());
Scalar atomic_add(const Ptr& ptr, ScalarArg value, OptionalArg mask = {}, MemoryOrder order = MemoryOrder::Relaxed,
                  Loc loc = Loc::current());
Tile atomic_add(const Tile& ptrs, AnyArg value, MemoryOrder order, Loc loc = Loc::current());
Scalar atomic_add(const Ptr& ptr, ScalarArg value, MemoryOrder order, Loc loc = Loc::current());

//===-- Shape ---------------------------------------------------------------------------------------------------===//

/// Dimensions in another order; without `permutation` the last two change places.
Tile trans(const Tile& x, const Dims& permutation = {}, Loc loc = Loc::current());
/// The same elements in row-major order under another shape.
Tile reshape(const Tile& x, const Shape& shape, Loc loc = Loc::current());
/// A dimension of size 1 put in at `axis`; negative counts from behind, -1 appends.
Tile expand(const Tile& x, int axis, Loc loc = Loc::current());
/// Size-1 dimensions repeated to `shape`.
Tile broadcast(const Tile& x, const Shape& shape, Loc loc = Loc::current());
/// The element of a tile that has one, such as a sum over all of a tile's elements: a number that loops and branches can follow.
Scalar unsplat(const Tile& x, Loc loc = Loc::current());
/// Two tiles of shape [...] become one [..., 2]; split undoes it.
Tile join(const Tile& a, const Tile& b, Loc loc = Loc::current());
std::pair<Tile, Tile> split(const Tile& x, Loc loc = Loc::current());

//===-- Computation ---------------------------------------------------------------------------------------------===//

/// How a dot of f32 operands rounds them first: not at all, or to TF32 (10 bits of mantissa).
enum class Precision : std::uint8_t { Ieee, Tf32 };

/// Matrix product [m,k] x [k,n] + acc [m,n]. a and b have one element type, or each one of the 8-bit floats; acc is f32 (for f16
/// operands f16 too), for i8 operands i32.
Tile dot(const Tile& a, const Tile& b, const Tile& acc, Precision precision = Precision::Ieee, Loc loc = Loc::current());
/// The same from a zero accumulator.
Tile dot(const Tile& a, const Tile& b, Precision precision = Precision::Ieee, Loc loc = Loc::current());

/// a * b + c, rounded once.
Scalar fma(ScalarArg a, ScalarArg b, ScalarArg c);
Tile fma(TileArg a, AnyArg b, AnyArg c);
Tile fma(ScalarArg a, TileArg b, AnyArg c);
Tile fma(ScalarArg a, ScalarArg b, TileArg c);

/// a where the condition (i1) holds, else b. Both are computed.
Scalar where(ScalarArg condition, ScalarArg a, ScalarArg b);
Tile where(TileArg condition, AnyArg a, AnyArg b);
Tile where(ScalarArg condition, TileArg a, AnyArg b);
Tile where(ScalarArg condition, ScalarArg a, TileArg b);
/// where(), in a loop, and a promise beside it: a trip in which the condition holds nowhere in a row (an index of the first dimension)
/// changes nothing that matters in what the loop carries for this row. So a compiler may leave the trip out for such rows, and need not.
Tile where_or_skip(TileArg condition, AnyArg a, AnyArg b);

/// Conversion to another element type: floats round to nearest even, float to integer truncates towards zero, i1 counts as 0 or 1,
/// to i1 tests for nonzero.
Tile cast(const Tile& x, DType type, Loc loc = Loc::current());
Scalar cast(const Scalar& x, DType type, Loc loc = Loc::current());
/// cast() to a floating-point type, and a promise beside it: every element is of a magnitude below 2^100. What is made of a larger one or
/// of a NaN is any number, and a tie or a number below 2^-126 may be rounded either way. Chips that round to bf16 by several instructions
/// then take a third as many.
Tile cast_moderate(const Tile& x, DType type, Loc loc = Loc::current());

/// The quotient rounded up, for nonnegative a and positive b.
Scalar cdiv(ScalarArg a, ScalarArg b);

/// Reductions along one dimension, which disappears. (reduce with any combine function: Control.h.)
Tile reduce_max(const Tile& x, int axis, Loc loc = Loc::current());
Tile reduce_min(const Tile& x, int axis, Loc loc = Loc::current());
Tile reduce_sum(const Tile& x, int axis, Loc loc = Loc::current());
/// Running sum along a dimension, from its start or, with `reverse`, from its end.
Tile cumsum(const Tile& x, int axis, bool reverse = false, Loc loc = Loc::current());

//===-- Checks, hints and debugging -------------------------------------------------------------------------------===//

/// Ends the trace with `message` where `condition` is false; for what a kernel demands of its compile-time parameters.
void check(bool condition, std::string_view message, Loc loc = Loc::current());

/// Promises that an integer, or an address in bytes, is a multiple of `divisor`. Use the returned value.
Scalar assume_divisible(const Scalar& x, std::int64_t divisor, Loc loc = Loc::current());
Ptr assume_divisible(const Ptr& x, std::int64_t divisor, Loc loc = Loc::current());

/// A hint: a multiprocessor of a GPU should hold so many of these programs at once, 1 to 32, where shared memory allows it. A compiler then
/// gives a program no more registers than leave room for them.
void prefer_resident(int programs, Loc loc = Loc::current());

/// How far all programs of a kernel have to be before the kernel behind it may start.
enum class LaunchRelease : std::uint8_t {
  AfterWait,  ///< they have waited for the kernel in front
  AtOnce      ///< they have begun. For small kernels between large ones, which then overlap. What is `settled` in the kernel behind, the
              ///< kernel in front of this one may not write, either
};

/// A hint for kernels of a few microseconds: the GPU may start this one while the kernel in front of it in its stream still runs, and lets
/// the one behind it start so, too (programmatic dependent launch). A program waits for the kernel in front before it touches memory that
/// is not `settled` (TensorForm), so that results do not change.
void overlap_launches(LaunchRelease release = LaunchRelease::AfterWait, Loc loc = Loc::current());

namespace detail {
struct Text {
  std::string_view text;
  Loc loc;
  template <class T>
    requires std::convertible_to<T, std::string_view>
  Text(const T& chars, Loc where = Loc::current()) : text(chars), loc(where) {}
};
void devicePrint(const Text& prefix, std::initializer_list<AnyArg> values);
}  // namespace detail

/// Prints the values, after `prefix`, while the kernel runs.
template <class... Values>
void device_print(detail::Text prefix, const Values&... values) {
  detail::devicePrint(prefix, {AnyArg(values, prefix.loc)...});
}

}  // namespace fattn::dsl

#endif
