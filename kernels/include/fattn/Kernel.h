// SPDX-License-Identifier: Apache-2.0
// Any program of the tile language, compiled for a device and launched on a stream:
//   TileKernel kernel = compile(dsl::trace("scale", scale));
//   kernel.launch(stream, {cdiv(n, 1024)}, {{"x", x}, {"out", y}, {"length", n}, {"factor", 2.0f}});
#ifndef FATTN_KERNEL_H
#define FATTN_KERNEL_H

#include <concepts>
#include <cstdint>
#include <expected>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "fattn/DType.h"
#include "fattn/Device.h"
#include "fattn/Error.h"
#include "fattn/TensorView.h"
#include "fattn/TileConfig.h"
#include "fattn/dsl/Trace.h"

namespace fattn {

/// What became of a program for a target.
struct KernelCode {
  std::string target;                               ///< in full: "host", "cuda:0", "nvidia:sm_90"
  TileConfig tile;                                  ///< the choices in use
  std::string device;                               ///< Device::description(); "none" where the target is a chip
  std::string entry;                                ///< name of the function in the binary
  bool from_cache = false;                          ///< whether the code came from the cache on disk
  double compile_ms = 0;                            ///< compile or read, and load
  std::int64_t binary_bytes = 0;                    ///< size of the machine code's file
  std::int64_t scratch_bytes = 0;                   ///< memory each thread of the host sets aside
  std::int64_t shared_bytes = 0;                    ///< shared memory of one program
  int threads = 0, registers = 0, spill_bytes = 0;  ///< of one program; 0 on the host
  int resident = 0;                                 ///< programs that a multiprocessor holds at once; 0 on the host and for a chip
};

/// An argument of a launch: the name that the program declared, and a value. It refers to the name and to the view, which have to
/// live until launch() has returned.
class Argument {
 public:
  enum class Kind : std::uint8_t { Tensor, Pointer, Integer, Number };

  /// For a pointer; and for the scalars NAME_sizeD and NAME_strideD that Params::tensor() declares, dimension by dimension.
  Argument(std::string_view name, const TensorView& view) : name_(name), kind_(Kind::Tensor), view_(&view) {}
  /// For a pointer. Memory of the kernel's device. Pointers to float, to integers of 8, 32 and 64 bits and to bool are checked against
  /// the declared element type; other pointers, as void*, are taken as they are.
  template <typename T>
  Argument(std::string_view name, T* memory) : name_(name), kind_(Kind::Pointer), memory_(memory), element_(elementOf<T>()) {}
  /// For a scalar of i1, i8, i32 or i64, whose range it has to be in, or of f32, which has to hold it exactly.
  template <std::integral T>
  Argument(std::string_view name, T value) : name_(name), kind_(Kind::Integer), integer_(static_cast<std::int64_t>(value)) {}
  /// For a scalar of f32, to which it is rounded.
  template <std::floating_point T>
  Argument(std::string_view name, T value) : name_(name), kind_(Kind::Number), number_(static_cast<double>(value)) {}

  std::string_view name() const { return name_; }
  Kind kind() const { return kind_; }
  const TensorView& view() const { return *view_; }
  const void* memory() const { return memory_; }
  /// The element type that a pointer's C++ type says; -1 where it says none.
  int element() const { return element_; }
  std::int64_t integer() const { return integer_; }
  double number() const { return number_; }

 private:
  template <typename T>
  static constexpr int elementOf() {
    using Element = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<Element, float>)
      return static_cast<int>(DType::F32);
    else if constexpr (std::is_same_v<Element, bool>)
      return static_cast<int>(DType::I1);
    else if constexpr (std::is_same_v<Element, std::int8_t>)
      return static_cast<int>(DType::I8);
    else if constexpr (std::is_same_v<Element, std::int32_t>)
      return static_cast<int>(DType::I32);
    else if constexpr (std::is_same_v<Element, long> || std::is_same_v<Element, long long>)
      return static_cast<int>(DType::I64);
    else
      return -1;
  }

  std::string_view name_;
  Kind kind_;
  union {
    const TensorView* view_;
    const void* memory_;
    std::int64_t integer_;
    double number_;
  };
  int element_ = -1;
};

/// What a compilation is asked for.
struct CompileFor {
  std::string target{};  ///< as openDevice() takes it, or a chip, "nvidia:sm_90", to compile for without a device; "" = the default
  TileConfig tile{};     ///< warps, stages and schedule of a GPU; block sizes are the program's own business
};

/// A compiled program. A cheap handle: copies share the code. All members but assignment may be called from any number of threads at once.
class TileKernel {
 public:
  /// An empty handle; launch() and info() throw.
  TileKernel() = default;
  explicit operator bool() const { return impl_ != nullptr; }

  /// Runs grid.x * grid.y * grid.z programs. Every argument that the program declared is given, by name, in any order; in the order of the
  /// declarations they are found quickest. Checks names, types and promised divisibilities; whether arrays are large enough is the caller's
  /// business. Locks, allocates and compiles nothing, and does not wait for the result, except on the host, where launches are synchronous.
  /// Throws Error{InvalidArgument} naming the argument.
  void launch(Stream stream, Grid grid, std::span<const Argument> arguments) const;
  void launch(Stream stream, Grid grid, std::initializer_list<Argument> arguments) const {
    launch(stream, grid, std::span(arguments.begin(), arguments.size()));
  }

  /// The same with one slot of 8 bytes for each argument in the order of args(), its value at the slot's start. Only their number is
  /// checked.
  void launchSlots(Stream stream, Grid grid, std::span<const std::uint64_t> slots) const;

  const KernelCode& info() const;
  /// The declared arguments, in order.
  std::span<const dsl::Param> args() const;

  struct Impl;
  explicit TileKernel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  friend class TileRelaunch;
  std::shared_ptr<const Impl> impl_;
};

/// Compiles a program, or finds its code in the process's cache or in the one on disk (docs/cache-format.md), where programs are known by
/// their recorded text: one that was traced again is found. Threads that ask for the same code at once compile it once. The program stays
/// as it is. Throws Error: NoDevice, InvalidArgument, Unsupported, CompileError.
TileKernel compile(const dsl::Program& program, const CompileFor& how = {});
/// The same, with the error as a value.
std::expected<TileKernel, Error> try_compile(const dsl::Program& program, const CompileFor& how = {});
/// Compiles several programs, in parallel, so that later calls of compile() find them. Throws the first error after all ended.
void warmup(std::span<const dsl::Program* const> programs, const CompileFor& how = {});
/// In words: the target, the arguments in order with their types and promises, and whether this process has compiled it.
std::string explain(const dsl::Program& program, const CompileFor& how = {});

/// Told when any compilation begins (done = false, ms = 0) and when it has ended (done = true), on the compiling thread.
struct KernelProgress {
  std::string_view kernel;  ///< "scale for host", "attention bf16 head_dim 64 for cuda:0 with BLOCK_M=128,BLOCK_N=64"
  bool done;
  double ms;
};
/// Sets the process's callback for all kernels, an empty one for none. Finding a kernel in the process's cache does not call it.
void setProgressCallback(std::function<void(const KernelProgress&)> callback);

}  // namespace fattn

#endif
