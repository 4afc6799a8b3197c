// SPDX-License-Identifier: Apache-2.0
// Reduction by delta debugging over a stream of choices: fewer operations first, then fewer choices, then simpler ones.
#include "tests/generator/Reducer.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace fattn::generator {
namespace {

using Values = std::vector<uint64_t>;

Values without(const Values& values, Span part) {
  Values result(values.begin(), values.begin() + static_cast<int64_t>(part.begin));
  result.insert(result.end(), values.begin() + static_cast<int64_t>(part.end), values.end());
  return result;
}

class Reducer {
 public:
  Reducer(mlir::MLIRContext& context, const Options& options, const Predicate& fails, int attempts)
      : context_(context), options_(options), fails_(fails), left_(attempts), all_(attempts) {}

  Reduction run(const Values& first) {
    best_ = first;
    if (tries(first, /*smaller=*/false)) {
      for (bool better = true; better && left_ > 0;) {
        Values before = best_;
        leaveOutParts();
        lift();
        zeroParts();
        leaveOutRuns();
        lower();
        better = best_ != before;
      }
    }
    return {replay(context_, best_, options_), all_ - left_};
  }

 private:
  /// Whether a stream fails; then it is the best from now on. What it was read as counts, not what it was.
  bool tries(const Values& candidate, bool smaller = true) {
    if (left_ == 0) return false;
    Program program = replay(context_, candidate, options_);
    Values read = program.choices;
    size_t operations = 0;
    program.module->walk([&](mlir::Operation*) { ++operations; });
    bool simpler = std::tuple(operations, read.size(), read) < std::tuple(operations_, best_.size(), best_);
    if (smaller && (!simpler || !seen_.insert(read).second)) return false;
    std::vector<Span> spans = program.spans;
    --left_;
    if (!fails_(program)) return false;
    best_ = std::move(read);
    operations_ = operations;
    spans_ = std::move(spans);
    return true;
  }

  /// The longest first, and the last first of equals.
  std::vector<Span> longestFirst() const {
    std::vector<Span> spans = spans_;
    std::ranges::sort(spans, [](Span a, Span b) { return std::pair(a.end - a.begin, a.begin) > std::pair(b.end - b.begin, b.begin); });
    return spans;
  }

  /// After a success the parts are others, and the search goes on among those that are no longer than the last one.
  template <typename Change>
  void forParts(Change change) {
    for (size_t longest = SIZE_MAX; left_ > 0;) {
      bool changed = false;
      for (Span part : longestFirst()) {
        if (part.end - part.begin > longest) continue;
        if (!change(part)) continue;
        longest = part.end - part.begin;
        changed = true;
        break;
      }
      if (!changed) return;
    }
  }

  void leaveOutParts() {
    forParts([&](Span part) { return tries(without(best_, part)); });
  }

  /// A part inside of another one takes its place: the body of a loop, once.
  void lift() {
    forParts([&](Span outer) {
      int tried = 0;
      for (Span inner : longestFirst()) {
        if (inner.begin < outer.begin || inner.end > outer.end || inner.end - inner.begin == outer.end - outer.begin) continue;
        if (++tried > 4) return false;
        Values candidate = without(best_, {inner.end, outer.end});
        if (tries(without(candidate, {outer.begin, inner.begin}))) return true;
      }
      return false;
    });
  }

  void zeroParts() {
    forParts([&](Span part) {
      Values candidate = best_;
      std::fill(candidate.begin() + static_cast<int64_t>(part.begin), candidate.begin() + static_cast<int64_t>(part.end), 0);
      return tries(candidate);
    });
  }

  void leaveOutRuns() {
    for (size_t size : {8, 4, 3, 2, 1})
      for (size_t end = best_.size(); end >= size && left_ > 0;) {
        tries(without(best_, {end - size, end}));
        end = std::min(end - 1, best_.size());
      }
  }

  /// Each choice alone: the first alternative, else the smallest that bisection finds.
  void lower() {
    for (size_t at = 0; at < best_.size() && left_ > 0; ++at) {
      auto with = [&](uint64_t value) {
        Values candidate = best_;
        candidate[at] = value;
        return candidate;
      };
      if (best_[at] == 0 || tries(with(0))) continue;
      for (uint64_t low = 0; at < best_.size() && best_[at] - low > 1 && left_ > 0;) {
        uint64_t middle = low + (best_[at] - low) / 2;
        if (!tries(with(middle))) low = middle;
        if (at < best_.size() && best_[at] <= low) break;  // the stream is read otherwise now
      }
    }
  }

  mlir::MLIRContext& context_;
  const Options& options_;
  const Predicate& fails_;
  int left_, all_;
  Values best_;
  size_t operations_ = 0;  ///< of the best one's program
  std::vector<Span> spans_;
  std::set<Values> seen_;
};

}  // namespace

Reduction reduce(mlir::MLIRContext& context, const Program& failing, const Options& options, const Predicate& fails, int attempts) {
  return Reducer(context, options, fails, attempts).run(failing.choices);
}

}  // namespace fattn::generator
