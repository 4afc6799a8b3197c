// SPDX-License-Identifier: Apache-2.0
// The emitted program, run beside what the program before scheduling found.
#ifndef FATTN_COMPILER_GPU_CHECK_EMITTEDRUN_H
#define FATTN_COMPILER_GPU_CHECK_EMITTEDRUN_H

#include <set>

#include "compiler/gpu/check/CheckOrder.h"
#include "compiler/gpu/check/SourceRun.h"

namespace fattn::check {

/// Collects faults, each pair of accesses once.
class Faults {
 public:
  void add(std::string_view kind, const Step* at, const Step* other, std::string text, std::string note);
  std::vector<Fault> list;

 private:
  std::set<std::tuple<std::string_view, mlir::Operation*, mlir::Operation*>> known;
};

class EmittedRun final : public Execution {
 public:
  /// `source` is null where there is nothing to compare with; `sourceSteps` has its accesses by label.
  EmittedRun(const Program& program, const Scenario& scenario, Owners& owners, std::int64_t budget, const SourceRun* source,
             const std::vector<const Step*>& sourceSteps, Faults& faults)
      : Execution(program, scenario, owners, /*watched=*/true, budget),
        source(source),
        sourceSteps(sourceSteps),
        faults(faults),
        entries(static_cast<size_t>(program.streams)) {}

  /// After a run: whether every store of the program before scheduling has been made.
  void compareRuns();

 protected:
  void onRead(const Step& step, std::int64_t count, int slot) override;
  void onGlobal(const Step& step, std::int64_t count, const Window& window, const Versions& after) override;
  void onHazard(Hazard hazard, const Step* first, const Step* second) override;
  void onSlotOutside(const Step& step, std::int64_t slot) override;
  void onOtherPhase(const Step& step, std::int64_t told, std::int64_t before) override;

 private:
  /// Of a stream's reads: the run of the body around their loop, and the number of its first one.
  struct Entry {
    std::int64_t number = -1, firstRun = 0;
  };
  /// The number of the run of the program before scheduling that a read is; none where there is none, as nobody uses its result. Of reads
  /// that one run of a loop makes the last ones may be missing for that reason: what the last trip reads only for a trip that is none.
  std::optional<std::int64_t> sourceRun(const Step& step, std::int64_t count);
  std::string describe(const Content& content) const;
  std::string accessOf(int label) const;
  void compareOrder(const Step& step, const Versions& expected, const Versions& found);

  const SourceRun* source;
  const std::vector<const Step*>& sourceSteps;
  Faults& faults;
  std::vector<Entry> entries;  ///< by stream
};

}  // namespace fattn::check

#endif
