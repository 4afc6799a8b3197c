// SPDX-License-Identifier: Apache-2.0
// A program's arrays in the memory of a device, with guard bytes around each. The memory is reused from one program to the next.
#ifndef FATTN_TESTS_RANDOM_ARENA_H
#define FATTN_TESTS_RANDOM_ARENA_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fattn/Device.h"
#include "tests/generator/Generator.h"

namespace fattn::random {

enum class Placing : std::uint8_t {
  Together,  ///< one block of memory for all arrays
  Apart,     ///< an allocation for each array that ends where the array ends, so that compute-sanitizer sees accesses beyond it;
             ///< behind the word in which it ends where the program adds atomically to elements of 16 bits
};

class Arena {
 public:
  Arena(Device& device, Placing placing) : device_(device), placing_(placing) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Copies the arrays to the device, each at its misalignment, and gives one slot for each argument of the program.
  std::vector<std::uint64_t> upload(const generator::Program& program);
  /// Copies the arrays of the program that was uploaded last back into `program`. Names what was written beside them; "" where nothing was.
  std::string download(generator::Program& program);

 private:
  struct Place {
    std::size_t argument = 0, begin = 0, bytes = 0;  ///< where its bytes begin in image_
    std::size_t end = 0;                             ///< of its memory, which a narrow atomic addition takes in whole words
  };
  void plan(const generator::Program& program);
  std::vector<std::uint64_t> place(const generator::Program& program);
  std::string damage() const;

  Device& device_;
  Placing placing_;
  std::vector<Place> places_;
  std::vector<char> image_, sent_;  ///< what is on the device, as it came back and as it was sent
  std::shared_ptr<void> block_;
  std::size_t blockBytes_ = 0;
  std::vector<std::shared_ptr<void>> pieces_;
};

}  // namespace fattn::random

#endif
