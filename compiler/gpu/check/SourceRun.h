// SPDX-License-Identifier: Apache-2.0
// The program before scheduling, run in order: what each run of each access finds.
#ifndef FATTN_COMPILER_GPU_CHECK_SOURCERUN_H
#define FATTN_COMPILER_GPU_CHECK_SOURCERUN_H

#include <map>
#include <optional>

#include "compiler/gpu/check/Execution.h"

namespace fattn::check {

class SourceRun final : public Execution {
 public:
  struct Global {
    Window window;
    Versions after;
  };

  SourceRun(const Program& program, const Scenario& scenario, Owners& owners, std::int64_t budget)
      : Execution(program, scenario, owners, /*watched=*/false, budget) {}

  /// How many loops stand around the one that a step is in.
  static size_t depthAround(const Step& step) { return step.loops.empty() ? 0 : step.loops.size() - 1; }
  /// The number of a read's run: the `index`-th, from 0, of those in this run of the body around its loop (entryOf). None where there are
  /// fewer.
  std::optional<std::int64_t> runOf(int label, std::int64_t entry, std::int64_t index) const {
    auto all = firstRuns.find(label);
    if (all == firstRuns.end()) return std::nullopt;
    auto first = all->second.find(entry);
    if (first == all->second.end()) return std::nullopt;
    auto next = std::next(first);
    std::int64_t run = first->second + index;
    if (next != all->second.end() && run >= next->second) return std::nullopt;
    return run;
  }
  /// What the run of this number found; null where there is none.
  const Content* read(int label, std::int64_t count) const { return at(reads, label, count); }
  const Global* global(int label, std::int64_t count) const { return at(globals, label, count); }
  std::int64_t runs(int label) const { return static_cast<size_t>(label) < globals.size() ? size(globals[label]) : 0; }
  int labels() const { return static_cast<int>(globals.size()); }

 protected:
  void onRead(const Step& step, std::int64_t, int slot) override {
    noteEntry(step, size(of(reads, step.label)));
    of(reads, step.label).push_back(memory.content(slot));
  }
  void onGlobal(const Step& step, std::int64_t, const Window& window, const Versions& after) override {
    noteEntry(step, size(of(globals, step.label)));
    of(globals, step.label).push_back({window, after});
  }
  void onHazard(Hazard, const Step*, const Step*) override {}
  void onSlotOutside(const Step&, std::int64_t) override {}
  void onOtherPhase(const Step&, std::int64_t, std::int64_t) override {}

 private:
  void noteEntry(const Step& step, std::int64_t runs) { firstRuns[step.label].try_emplace(entryOf(step, depthAround(step)), runs); }

  template <typename T>
  using ByRun = std::vector<std::vector<T>>;
  template <typename T>
  static std::int64_t size(const std::vector<T>& runs) {
    return static_cast<std::int64_t>(runs.size());
  }
  template <typename T>
  static const T* at(const ByRun<T>& all, int label, std::int64_t count) {
    if (label < 0 || static_cast<size_t>(label) >= all.size() || count >= size(all[static_cast<size_t>(label)])) return nullptr;
    return &all[static_cast<size_t>(label)][static_cast<size_t>(count)];
  }
  template <typename T>
  static std::vector<T>& of(ByRun<T>& all, int label) {
    auto index = static_cast<size_t>(std::max(label, 0));
    if (index >= all.size()) all.resize(index + 1);
    return all[index];
  }

  ByRun<Content> reads;
  ByRun<Global> globals;
  std::map<int, std::map<std::int64_t, std::int64_t>> firstRuns;  ///< by label and entry
};

}  // namespace fattn::check

#endif
