// SPDX-License-Identifier: Apache-2.0
// Operators on scalars and tiles. Tiles broadcast size-1 dimensions, scalars and C++ numbers broadcast to the tile's shape.
// Integers are signed; `/` truncates towards zero as in C++. There is no && or ||: both sides always are computed, write & and |.
#ifndef FATTN_DSL_OPERATORS_H
#define FATTN_DSL_OPERATORS_H

#include "fattn/dsl/Types.h"

namespace fattn::dsl {

namespace detail {

enum class Binary : std::uint8_t { Add, Sub, Mul, Div, Rem, And, Or, Xor, Shl, Shr, Min, Max, Eq, Ne, Lt, Le, Gt, Ge };
enum class Unary : std::uint8_t { Neg, Not, Exp2, Log2, Exp, Log, Rcp, Sqrt, Rsqrt, Tanh, Abs };

Handle binary(Binary op, const AnyArg& a, const AnyArg& b);
Handle unary(Unary op, const AnyArg& x);
Handle offsetPtr(const AnyArg& ptr, const AnyArg& offset);

}  // namespace detail

// Three overloads an operator decide the result's type: scalars give a scalar, anything with a tile gives a tile.
#define FATTN_DSL_BINARY(spelling, kind)                                                                          \
  inline Scalar spelling(ScalarArg a, ScalarArg b) { return Scalar(detail::binary(detail::Binary::kind, a, b)); } \
  inline Tile spelling(TileArg a, AnyArg b) { return Tile(detail::binary(detail::Binary::kind, a, b)); }          \
  inline Tile spelling(ScalarArg a, TileArg b) { return Tile(detail::binary(detail::Binary::kind, a, b)); }
FATTN_DSL_BINARY(operator+, Add)
FATTN_DSL_BINARY(operator-, Sub)
FATTN_DSL_BINARY(operator*, Mul)
FATTN_DSL_BINARY(operator/, Div)
FATTN_DSL_BINARY(operator%, Rem)
FATTN_DSL_BINARY(operator&, And)
FATTN_DSL_BINARY(operator|, Or)
FATTN_DSL_BINARY(operator^, Xor)
FATTN_DSL_BINARY(operator<<, Shl)
FATTN_DSL_BINARY(operator>>, Shr)
FATTN_DSL_BINARY(operator==, Eq)
FATTN_DSL_BINARY(operator!=, Ne)
FATTN_DSL_BINARY(operator<, Lt)
FATTN_DSL_BINARY(operator<=, Le)
FATTN_DSL_BINARY(operator>, Gt)
FATTN_DSL_BINARY(operator>=, Ge)
FATTN_DSL_BINARY(min, Min)  // where one side is NaN: the other
FATTN_DSL_BINARY(max, Max)
#undef FATTN_DSL_BINARY

#define FATTN_DSL_UNARY(spelling, kind)                                                         \
  inline Scalar spelling(ScalarArg x) { return Scalar(detail::unary(detail::Unary::kind, x)); } \
  inline Tile spelling(TileArg x) { return Tile(detail::unary(detail::Unary::kind, x)); }
FATTN_DSL_UNARY(operator-, Neg)
FATTN_DSL_UNARY(operator!, Not)  // of i1
FATTN_DSL_UNARY(exp2, Exp2)
FATTN_DSL_UNARY(log2, Log2)
FATTN_DSL_UNARY(exp, Exp)
FATTN_DSL_UNARY(log, Log)
FATTN_DSL_UNARY(rcp, Rcp)
FATTN_DSL_UNARY(sqrt, Sqrt)
FATTN_DSL_UNARY(rsqrt, Rsqrt)
FATTN_DSL_UNARY(tanh, Tanh)
FATTN_DSL_UNARY(abs, Abs)
#undef FATTN_DSL_UNARY

#define FATTN_DSL_ASSIGN(spelling, op)                                                     \
  inline Scalar& spelling(Scalar& a, ScalarArg b) { return a = ScalarArg(a, b.loc) op b; } \
  inline Tile& spelling(Tile& a, AnyArg b) { return a = TileArg(a, b.loc) op b; }
FATTN_DSL_ASSIGN(operator+=, +)
FATTN_DSL_ASSIGN(operator-=, -)
FATTN_DSL_ASSIGN(operator*=, *)
FATTN_DSL_ASSIGN(operator/=, /)
#undef FATTN_DSL_ASSIGN

/// The address `offset` elements further on; a tile of offsets gives a tile of pointers.
inline Ptr operator+(PtrArg ptr, ScalarArg offset) { return Ptr(detail::offsetPtr(ptr, offset)); }
inline Tile operator+(PtrArg ptr, TileArg offsets) { return Tile(detail::offsetPtr(ptr, offsets)); }

}  // namespace fattn::dsl

#endif
