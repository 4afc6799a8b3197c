// SPDX-License-Identifier: Apache-2.0
// From a C++ function to a recorded program:
//   Program p = trace("scale", [&](Params& args) { Ptr x = args.ptr("x", DType::F32); ... });
#ifndef FATTN_DSL_TRACE_H
#define FATTN_DSL_TRACE_H

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fattn/Error.h"
#include "fattn/dsl/Types.h"

namespace fattn::dsl {

/// Whether memory that is reached through a pointer argument may be reached through other arguments as well. None is the caller's promise:
/// what is accessed through this argument and written in the same launch is accessed through this argument alone. InPlace is the promise
/// that where one program reaches the same memory through this argument and through another one, it does so by windows with the same
/// offsets and sizes: element by element the same place.
enum class Aliasing : std::uint8_t { Possible, None, InPlace };

/// One argument of a program, in launch order.
struct Param {
  std::string name;
  bool isPointer = false;
  DType type = DType::F32;
  /// What the caller promises: the address in bytes, or the integer, is a multiple of this. 1: nothing.
  std::int64_t divisibility = 1;
  Aliasing aliasing = Aliasing::Possible;  ///< of a pointer
  int rank = -1;                           ///< of a tensor's pointer (Params::tensor): its dimensions; -1: it was declared without any
  bool rows = false;                       ///< of a tensor's pointer: the elements of its last dimension lie side by side
  bool settled = false;                    ///< of a pointer: TensorForm::settled
};

/// How the memory of a tensor argument looks.
struct TensorForm {
  /// Bytes that the address, and all strides but the last, are multiples of: 16 lets a GPU load widely.
  std::int64_t alignment = 1;
  /// The elements of the last dimension lie side by side: its stride is 1, and no argument.
  bool rows = true;
  Aliasing aliasing = Aliasing::Possible;
  /// The caller promises that the launch in front of this one in its stream writes nothing of it: a kernel with overlap_launches() may read
  /// it before that launch has ended. If that launch lets this one start at once (LaunchRelease::AtOnce), the launch in front of that one
  /// writes nothing of it, either.
  bool settled = false;
};

/// A tensor among the arguments of a program: its pointer, its extents and its strides in elements.
struct TensorArg {
  Ptr base;
  std::vector<Scalar> size;    ///< I64, dimension by dimension
  std::vector<Scalar> stride;  ///< I64; the last one is the constant 1 where the form says so

  /// The window of `shape` at `offsets`, which may be partly outside.
  BlockPtr block(const Scalars& offsets, const Shape& shape, Loc loc = Loc::current()) const;
};

/// Declares the arguments of the program being traced; each call appends one.
class Params {
 public:
  Ptr ptr(std::string_view name, DType element, std::int64_t divisibility = 1, Aliasing aliasing = Aliasing::Possible,
          Loc loc = Loc::current());
  /// i1, i8, i32, i64 or f32.
  Scalar scalar(std::string_view name, DType type, std::int64_t divisibility = 1, Loc loc = Loc::current());
  /// A pointer NAME and the I64 scalars NAME_size0, NAME_size1 .. NAME_stride0 .., which a launch fills from the TensorView for NAME.
  TensorArg tensor(std::string_view name, DType element, int rank, const TensorForm& form = {}, Loc loc = Loc::current());

 private:
  friend struct ParamsAccess;
  Params() = default;
};

/// A recorded program. Movable; owns everything it needs, and any thread may use it (one at a time).
class Program {
 public:
  struct Impl;
  explicit Program(std::unique_ptr<Impl> impl);
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  const std::string& name() const;
  std::span<const Param> args() const;
  /// The recorded `tile` IR as text; with `locations`, each operation says which line of the kernel it comes from,
  /// in a form that is read back: `fattn-dump` ties what it shows of such a file to the kernel's lines.
  std::string mlir(bool locations = false) const;

  Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Runs `kernel` once and records what it does. Throws Error{TraceError} naming the kernel's file and line where it
/// breaks a rule of the language. Traces on different threads are independent; a trace inside a trace is a program of its own.
Program trace(std::string_view name, const std::function<void(Params&)>& kernel, Loc loc = Loc::current());

/// The program that a text of `tile` IR records, as Program::mlir() prints it: a module with one function that has the attribute
/// tile.kernel. Arguments are called by their attributes tile.name, else arg0, arg1 ... Throws Error{CompileError} with the text's line
/// where it is not valid, or beyond the limits of docs/robustness.md (16 MiB, brackets nested 100 deep).
Program parse(std::string_view text);

}  // namespace fattn::dsl

#endif
