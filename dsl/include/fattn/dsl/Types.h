// SPDX-License-Identifier: Apache-2.0
// The values of the tile language: Scalar, Tile, Ptr, BlockPtr, and the argument types operations take them through.
// A value is a cheap handle on something recorded in the trace that is running on this thread; copying it copies no data.
#ifndef FATTN_DSL_TYPES_H
#define FATTN_DSL_TYPES_H

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <source_location>
#include <string>
#include <type_traits>
#include <vector>

#include "fattn/DType.h"

namespace fattn::dsl {

/// Where in the kernel's source an operation stands; every operation takes it as a defaulted argument.
using Loc = std::source_location;

/// For padding and start values of a maximum: `-infinity`.
inline constexpr float infinity = std::numeric_limits<float>::infinity();

template <class T>
concept Literal = std::is_arithmetic_v<T>;

namespace detail {

/// A recorded value: what it is inside the trace, and which trace that is (so that a stale one is never touched).
struct Handle {
  const void* value = nullptr;
  std::uint64_t trace = 0;
};

/// A C++ number in a kernel. It has no element type of its own: it takes that of what it meets.
struct Number {
  enum class Kind : std::uint8_t { Bool, Int, Float };
  Kind kind = Kind::Int;
  std::int64_t integer = 0;
  double real = 0;

  Number() = default;
  template <Literal N>
  Number(N value)
      : kind(std::same_as<N, bool> ? Kind::Bool : (std::is_integral_v<N> ? Kind::Int : Kind::Float)),
        integer(std::is_integral_v<N> ? static_cast<std::int64_t>(value) : 0),
        real(static_cast<double>(value)) {}
};

/// The constant a literal stands for on its own: bool -> i1, up to 32 bits -> i32, wider -> i64, floating point -> f32.
Handle literal(Number number, bool wide, Loc loc);

DType elementType(const Handle& handle, Loc loc);
std::vector<std::int64_t> shapeOf(const Handle& handle, Loc loc);
std::string typeName(const Handle& handle, Loc loc);

}  // namespace detail

/// What the four value types share. A default-constructed value holds nothing; using it is an error that says so.
class Value {
 public:
  Value() = default;
  detail::Handle handle() const { return handle_; }

  /// Element type; for pointers, that of what they point at.
  DType dtype(Loc loc = Loc::current()) const { return detail::elementType(handle_, loc); }
  /// As in the error messages: "f16[128,64]", "i32", "ptr<f32>", "block_ptr<bf16[64,128]>".
  std::string typeName(Loc loc = Loc::current()) const { return detail::typeName(handle_, loc); }

 protected:
  explicit Value(detail::Handle handle) : handle_(handle) {}

 private:
  detail::Handle handle_;
};

/// One number: i1, i8, i32, i64 or f32 (16- and 8-bit floats where one element of such a tile is meant).
class Scalar : public Value {
 public:
  Scalar() = default;
  explicit Scalar(detail::Handle handle) : Value(handle) {}
  template <Literal N>
  Scalar(N number, Loc loc = Loc::current()) : Value(detail::literal(number, sizeof(N) > 4, loc)) {}
};

/// A block of elements with a shape known while tracing.
class Tile : public Value {
 public:
  Tile() = default;
  explicit Tile(detail::Handle handle) : Value(handle) {}

  std::vector<std::int64_t> shape(Loc loc = Loc::current()) const { return detail::shapeOf(handle(), loc); }
  std::int64_t rank(Loc loc = Loc::current()) const { return static_cast<std::int64_t>(shape(loc).size()); }
  /// Extent of dimension `index`; negative counts from the last.
  std::int64_t dim(std::int64_t index, Loc loc = Loc::current()) const;
};

/// The address of one element in global memory.
class Ptr : public Value {
 public:
  Ptr() = default;
  explicit Ptr(detail::Handle handle) : Value(handle) {}
};

/// A window of static shape into a strided array in global memory.
class BlockPtr : public Value {
 public:
  BlockPtr() = default;
  explicit BlockPtr(detail::Handle handle) : Value(handle) {}
  std::vector<std::int64_t> shape(Loc loc = Loc::current()) const { return detail::shapeOf(handle(), loc); }
};

/// A tile, a scalar or a C++ number, with the place it is used at. Operators cannot have defaulted arguments, but the
/// conversion of their operands to this type can: that is how `a + b` knows its line.
class AnyArg {
 public:
  enum class Kind : std::uint8_t { Nothing, Number, Scalar, Tile, Ptr };

  AnyArg(const Tile& tile, Loc where = Loc::current()) : kind(Kind::Tile), handle(tile.handle()), loc(where) {}
  AnyArg(const Scalar& scalar, Loc where = Loc::current()) : kind(Kind::Scalar), handle(scalar.handle()), loc(where) {}
  template <Literal N>
  AnyArg(N value, Loc where = Loc::current()) : number(value), loc(where) {}

  Kind kind = Kind::Number;
  detail::Handle handle;
  detail::Number number;
  Loc loc;

 protected:
  AnyArg(Kind what, detail::Handle of, Loc where) : kind(what), handle(of), loc(where) {}
};

/// A scalar or a C++ number.
class ScalarArg : public AnyArg {
 public:
  ScalarArg(const Scalar& scalar, Loc where = Loc::current()) : AnyArg(scalar, where) {}
  template <Literal N>
  ScalarArg(N value, Loc where = Loc::current()) : AnyArg(value, where) {}
};

/// A tile and nothing else.
class TileArg : public AnyArg {
 public:
  TileArg(const Tile& tile, Loc where = Loc::current()) : AnyArg(tile, where) {}
};

/// A pointer, with the place it is used at (for pointer arithmetic).
class PtrArg : public AnyArg {
 public:
  PtrArg(const Ptr& ptr, Loc where = Loc::current()) : AnyArg(Kind::Ptr, ptr.handle(), where) {}
};

/// An optional mask or other value: `{}` means there is none.
class OptionalArg : public AnyArg {
 public:
  OptionalArg(Loc where = Loc::current()) : AnyArg(Kind::Nothing, {}, where) {}
  OptionalArg(const Tile& tile, Loc where = Loc::current()) : AnyArg(tile, where) {}
  OptionalArg(const Scalar& scalar, Loc where = Loc::current()) : AnyArg(scalar, where) {}
  template <Literal N>
  OptionalArg(N value, Loc where = Loc::current()) : AnyArg(value, where) {}
};

/// Run-time extents, strides or offsets, one a dimension: {rows, 64}.
class Scalars : public std::vector<ScalarArg> {
 public:
  Scalars(std::initializer_list<ScalarArg> list) : std::vector<ScalarArg>(list) {}
  Scalars(const std::vector<Scalar>& list) : std::vector<ScalarArg>(list.begin(), list.end()) {}
};

/// Extents known while tracing: {128, 64}.
class Shape : public std::vector<std::int64_t> {
 public:
  Shape(std::initializer_list<std::int64_t> list) : std::vector<std::int64_t>(list) {}
  Shape(const std::vector<std::int64_t>& list) : std::vector<std::int64_t>(list) {}
};

/// Dimension numbers: {0, 1}.
class Dims : public std::vector<std::int64_t> {
 public:
  Dims() = default;
  Dims(std::initializer_list<std::int64_t> list) : std::vector<std::int64_t>(list) {}
  Dims(const std::vector<std::int64_t>& list) : std::vector<std::int64_t>(list) {}
};

}  // namespace fattn::dsl

#endif
