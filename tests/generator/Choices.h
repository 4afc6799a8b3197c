// SPDX-License-Identifier: Apache-2.0
// The stream of choices that a program is made of: drawn from a seed and recorded, or replayed.
//
// What is recorded is what was chosen, not the random number behind it: a value counted from the first alternative. So 0 is the simplest
// choice wherever the generator names the simplest alternative first, a replay whose stream was shortened or changed still makes a valid
// program (each value is taken modulo the number of alternatives, and 0 follows the end), and a reducer needs to know nothing else.
#ifndef FATTN_TESTS_GENERATOR_CHOICES_H
#define FATTN_TESTS_GENERATOR_CHOICES_H

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <vector>

namespace fattn::generator {

/// SplitMix64: the same numbers with every standard library.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  /// In [low, high].
  int64_t between(int64_t low, int64_t high) { return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1)); }
  double uniform(double low, double high) { return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

/// A part of the stream that makes one thing, such as a step: it can be left out or stand in for a part around it.
struct Span {
  size_t begin = 0, end = 0;
};

class Choices {
 public:
  /// Draws.
  explicit Choices(uint64_t seed) : random_(seed) {}
  /// Replays.
  explicit Choices(std::vector<uint64_t> values) : random_(0), replayed_(std::move(values)), replays_(true) {}

  /// In [low, high]; `low` is the simplest.
  int64_t between(int64_t low, int64_t high);
  /// True so often in a hundred; false is the simplest.
  bool chance(int percent);
  /// One of the elements; the first is the simplest.
  template <typename List>
  auto pick(const List& list) {
    return *(std::begin(list) + between(0, static_cast<int64_t>(std::size(list)) - 1));
  }
  template <typename T>
  T pick(std::initializer_list<T> list) {
    return *(list.begin() + between(0, static_cast<int64_t>(list.size()) - 1));
  }
  /// The place of one of the weights, which is drawn in proportion to it.
  size_t weighted(std::span<const int> weights);

  /// What was chosen so far, and the parts it is made of in the order of their ends.
  const std::vector<uint64_t>& values() const { return values_; }
  const std::vector<Span>& spans() const { return spans_; }

  /// Marks what is chosen during its life as a span.
  class Part {
   public:
    explicit Part(Choices& choices) : choices_(choices), begin_(choices.values_.size()) {}
    ~Part() { choices_.spans_.push_back({begin_, choices_.values_.size()}); }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

   private:
    Choices& choices_;
    size_t begin_;
  };

  /// Repeats something between `least` and `most` times. Each time is a span of its own that begins with the choice to go on.
  ///   for (Choices::Repeat again(choices, 4, 14); again.next();) step();
  class Repeat {
   public:
    Repeat(Choices& choices, int64_t least, int64_t most);
    ~Repeat() { close(); }
    Repeat(const Repeat&) = delete;
    Repeat& operator=(const Repeat&) = delete;
    bool next();

   private:
    void close();
    Choices& choices_;
    int64_t wanted_, most_, times_ = 0;
    size_t begin_ = 0;
    bool open_ = false;
  };

 private:
  /// Records `drawn`, or what the replay has instead, below `count`.
  uint64_t choose(uint64_t drawn, uint64_t count);

  Random random_;
  std::vector<uint64_t> replayed_;
  bool replays_ = false;
  std::vector<uint64_t> values_;
  std::vector<Span> spans_;
};

}  // namespace fattn::generator

#endif
