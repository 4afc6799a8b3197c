// SPDX-License-Identifier: Apache-2.0
// Where a kernel's arguments lie in the block of memory that a launch hands to the driver (of CUDA, and of HIP). Callers give 8-byte slots;
// a PTX kernel's parameters lie at their natural alignment, one after another: (ptr, i32, f32, i64) is 0, 8, 12, 16. What the launch adds
// follows: where blocks take several programs, the address of the counter of those that are taken, if they count them, and how many there
// are along each axis (three i32), then tensor maps, each of 128 bytes at a multiple of 64.
#ifndef FATTN_RUNTIME_GPU_ARGUMENTLAYOUT_H
#define FATTN_RUNTIME_GPU_ARGUMENTLAYOUT_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "runtime/base/Binary.h"

namespace fattn {

class ArgumentLayout {
 public:
  /// The largest block that every GPU and driver takes.
  static constexpr std::size_t kMaxBytes = 4096;

  static constexpr std::size_t kMapBytes = 128, kMapAlignment = 64;
  static constexpr std::size_t kAxes = 3;

  /// `repeats`: blocks take several programs. `counts`: these do, with a counter.
  explicit ArgumentLayout(const std::vector<compiler::ArgInfo>& arguments, std::size_t maps = 0, bool repeats = false,
                          bool counts = false) {
    places_.reserve(arguments.size()), pointers_.reserve(arguments.size());
    for (const compiler::ArgInfo& argument : arguments) {
      std::size_t size = argument.isPointer ? 8 : static_cast<std::size_t>(sizeInBytes(argument.type));
      bytes_ = (bytes_ + size - 1) / size * size;
      if (runs_.empty() || runs_.back().size != size) runs_.push_back({places_.size(), bytes_, size, 0});
      ++runs_.back().count;
      places_.push_back(bytes_), pointers_.push_back(argument.isPointer);
      bytes_ += size;
    }
    if (counts) {
      counter_ = (bytes_ + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t) * sizeof(std::uint64_t);
      bytes_ = counter_ + sizeof(std::uint64_t);
    }
    if (repeats) {
      programs_ = (bytes_ + sizeof(std::int32_t) - 1) / sizeof(std::int32_t) * sizeof(std::int32_t);
      bytes_ = programs_ + kAxes * sizeof(std::int32_t);
    }
    if (maps == 0) return;
    firstMap_ = (bytes_ + kMapAlignment - 1) / kMapAlignment * kMapAlignment;
    bytes_ = firstMap_ + maps * kMapBytes;
  }

  std::size_t bytes() const { return bytes_; }
  std::size_t offset(std::size_t argument) const { return places_[argument]; }
  bool isPointer(std::size_t argument) const { return argument < pointers_.size() && pointers_[argument]; }
  std::size_t counterOffset() const { return counter_; }
  /// Of the number of programs along the first axis; those of the others follow.
  std::size_t programsOffset() const { return programs_; }
  std::size_t mapOffset(std::size_t map) const { return firstMap_ + map * kMapBytes; }

  /// Writes the arguments' values into `block`, which has bytes() bytes. `slots` are as many as there are arguments.
  void pack(std::span<const std::uint64_t> slots, std::byte* block) const {
    for (const Run& run : runs_) {
      const std::uint64_t* from = slots.data() + run.first;
      std::byte* to = block + run.offset;
      if (run.size == sizeof(std::uint64_t))
        std::memcpy(to, from, run.count * sizeof(std::uint64_t));
      else if (run.size == sizeof(std::uint32_t))  // of a size known to the compiler a copy is one move
        for (std::size_t i = 0; i < run.count; ++i) std::memcpy(to + i * sizeof(std::uint32_t), from + i, sizeof(std::uint32_t));
      else
        for (std::size_t i = 0; i < run.count; ++i) std::memcpy(to + i * run.size, from + i, run.size);
    }
  }

 private:
  /// Arguments of one size behind one another.
  struct Run {
    std::size_t first, offset, size, count;
  };
  std::vector<std::size_t> places_;
  std::vector<bool> pointers_;
  std::vector<Run> runs_;
  std::size_t bytes_ = 0, counter_ = 0, programs_ = 0, firstMap_ = 0;
};

}  // namespace fattn

#endif
