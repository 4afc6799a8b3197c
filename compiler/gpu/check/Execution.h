// SPDX-License-Identifier: Apache-2.0
// Runs a Program on one draw of its arguments: integers and pointers are computed, data is not.
//
// A branch whose condition depends on data is followed on both sides, one after the other, and what either leaves is joined; the region of
// a select_lazy may be skipped or run; a scf.while whose condition depends on data takes as many trips as the draw says.
//
// Where warps of their own make the copies of boxes, their part is run first, by itself: it reads no memory. Then the others' part is run,
// and each copy begins as soon as the releases before it allow. That is the worst for what a copy may meet; that a copy is still under way
// is assumed until it is waited for, as ever.
#ifndef FATTN_COMPILER_GPU_CHECK_EXECUTION_H
#define FATTN_COMPILER_GPU_CHECK_EXECUTION_H

#include "compiler/gpu/check/Memory.h"

namespace fattn::check {

/// The last row of the computing warp group whose path is followed: its own, or any row below or above it. The latter two leave out other
/// trips than the group's own rows do, and the groups must keep in step then too.
enum class GroupBound : std::uint8_t { Own, Below, Above };

/// One draw of what a launch decides.
struct Scenario {
  std::vector<std::int64_t> arguments = {};
  std::array<std::int64_t, 3> programs = {1, 1, 1};            ///< of the grid
  std::vector<std::array<std::int64_t, 3>> ids = {{0, 0, 0}};  ///< of those that the block takes, in order
  std::int64_t trips = 1;                                      ///< of loops that data decides on
  std::uint64_t group = 0;                                     ///< which computing warp group's path is followed
  GroupBound bound = GroupBound::Own;
  std::uint64_t seed = 0;  ///< of integers that are loaded: small multiples of one of `scales`, or small
  std::vector<std::int64_t> scales = {};
};

/// Which runs of writes an access comes after: those of each label that may touch the same elements.
struct Version {
  int label;
  std::int64_t count;
  std::uint64_t runs;  ///< a hash of their numbers
  bool operator==(const Version&) const = default;
};
using Versions = llvm::SmallVector<Version, 2>;

enum class Outcome : std::uint8_t { Finished, TooLong, Undecided };

class Execution {
 public:
  Execution(const Program& program, const Scenario& scenario, Owners& owners, bool watched, std::int64_t budget);
  virtual ~Execution() = default;

  Outcome run();
  /// How often each scf.for went round, at most; -1 where none was reached.
  const std::vector<std::int64_t>& trips() const { return loopTrips; }
  /// For each scf.for: whether its memory came back to a state of some trips before, once it had trips enough for that.
  const std::vector<bool>& settled() const { return loopSettled; }
  std::int64_t steps() const { return spent; }

 protected:
  /// Reads of buffers, before they are made, and accesses to global memory, copies included.
  virtual void onRead(const Step& step, std::int64_t count, int slot) = 0;
  virtual void onGlobal(const Step& step, std::int64_t count, const Window& window, const Versions& after) = 0;
  virtual void onHazard(Hazard hazard, const Step* first, const Step* second) = 0;
  virtual void onSlotOutside(const Step& step, std::int64_t slot) = 0;
  /// A copy or a wait that is told another number of those before, in its lowest bit.
  virtual void onOtherPhase(const Step& step, std::int64_t told, std::int64_t before) = 0;
  /// Which run of the body of the `depth`-th loop around the step this is, the outermost one being 1; where `depth` is 0 which program.
  std::int64_t entryOf(const Step& step, size_t depth) const {
    return depth == 0 ? current : blockRuns[static_cast<size_t>(step.loops[depth - 1])];
  }
  /// What a write leaves in a slot.
  Instance instanceOf(const Step& step, std::int64_t count) const;

  const Program& program;
  const Scenario& scenario;
  Memory memory;
  std::vector<std::int64_t> counts;  ///< by stream

 private:
  struct Value {
    Number number;
    Window window;
  };
  /// Runs of one write of the same elements.
  struct Written {
    int label;
    Window window;
    bool unordered;
    int program;
    std::int64_t count = 0;
    std::uint64_t runs = 0;  ///< as in Version
  };
  /// Whose part of the program is run: that of all, or where there are warps that copy, theirs or the others'.
  enum class Role : std::uint8_t { All, Copying, Computing };

  void programs();
  void beginProgram(size_t number);
  bool noteCopy(const Step& step);
  void copyAhead();
  void turn(const Step& step);
  void atEnd();

  bool block(int index);
  bool step(const Step& step);
  void number(const Step& step);
  std::int64_t lastOf(tilegpu::GroupLastOp op) const;
  void pointer(const Step& step);
  void window(const Step& step);
  void forward(const Step& step);
  bool access(const Step& step);
  bool accessNow(const Step& step);
  Copying copyingOf(const Step& step, int slot) const;
  void copy(const Copying& copying, std::int64_t count);
  void checkPhase(const Step& step, Number told, std::int64_t before);
  void layForOthers(const Step& step, const Window& window);
  void global(const Step& step, std::int64_t count);
  /// The memory at a loop's head, and how often each access had run.
  struct Head {
    Memory memory;
    std::vector<std::int64_t> counts;
  };
  bool forLoop(const Step& step);
  bool returnsTo(const std::vector<Head>& heads) const;
  bool whileLoop(const Step& step);
  bool branch(const Step& step);
  bool lazy(const Step& step);
  bool eachProgram(const Step& step);

  Number numberOf(int value) const { return value < 0 ? Number() : numbers[static_cast<size_t>(value)]; }
  Window windowOf(int value) const {
    int index = value < 0 ? -1 : program.windows[static_cast<size_t>(value)];
    return index < 0 ? Window() : windows[static_cast<size_t>(index)];
  }
  void setNumber(int value, Number number) {
    if (value >= 0) numbers[static_cast<size_t>(value)] = number;
  }
  void setWindow(int value, const Window& window) {
    int index = value < 0 ? -1 : program.windows[static_cast<size_t>(value)];
    if (index >= 0) windows[static_cast<size_t>(index)] = window;
  }
  llvm::SmallVector<Value> take(llvm::ArrayRef<int> values) const;
  void give(llvm::ArrayRef<int> values, llvm::ArrayRef<Value> from);
  static Window merged(const Window& a, const Window& b);
  static Value merged(const Value& a, const Value& b);
  void noteWritten(const Step& step, std::int64_t count, const Window& window);
  Versions versionsOf(const Step& step, const Window& window, int program);
  Number loaded(std::uint64_t key, mlir::Type type) const;

  std::vector<Number> numbers;          ///< by value
  std::vector<Window> windows;          ///< by Program::windows
  std::vector<std::int64_t> blockRuns;  ///< by block
  std::vector<Written> written;
  std::vector<std::int64_t> loopTrips;
  std::vector<bool> loopSettled;
  std::vector<std::int64_t> copies, waits;  ///< of boxes, by slot, so far
  bool watched;
  Role role = Role::All;
  int copier = 0;                                    ///< which of the warps that copy, where it is one of them
  int current = 0;                                   ///< of the block's programs
  std::vector<Copying> ahead;                        ///< what the warps that copy will do, in order
  size_t nextAhead = 0;                              ///< of these
  bool apart = false;                                ///< they have begun
  std::vector<std::pair<const Step*, Window>> sent;  ///< what they send of what is laid, in order
  size_t nextSent = 0;                               ///< of these
  int unsure = 0;                                    ///< branches around, of which it is not known whether they are taken
  const Step* turnTaken = nullptr;                   ///< by a group that has not passed it on
  bool turnsOpen = false;
  Owners& owners;
  std::int64_t budget, spent = 0;
  Outcome outcome = Outcome::Finished;
};

}  // namespace fattn::check

#endif
