// SPDX-License-Identifier: Apache-2.0
// The state of a block's memory as any order of its threads may leave it: what each slot holds, which copies are in flight, and what has
// been accessed since the last barrier.
//
// A thread's copies complete in order, and for that thread alone, when a wait covers them; what it has done since the last barrier the
// other threads may still be doing, or not have seen.
#ifndef FATTN_COMPILER_GPU_CHECK_MEMORY_H
#define FATTN_COMPILER_GPU_CHECK_MEMORY_H

#include "compiler/gpu/check/Numbers.h"
#include "compiler/gpu/check/Owners.h"
#include "compiler/gpu/check/Program.h"

namespace fattn::check {

/// One run of one access of the program before scheduling: the (count + 1)-th of the one with this number.
struct Instance {
  int label = kNothing;
  std::int64_t count = 0;
  static constexpr int kNothing = -1;  ///< nothing has been written there
  static constexpr int kOther = -2;    ///< some bytes of something else
  auto operator<=>(const Instance&) const = default;
};
/// What a slot may hold: one thing, but behind branches that depend on data.
using Content = llvm::SmallVector<Instance, 1>;

enum class Hazard : std::uint8_t {
  ReadOfCopyInFlight,  ///< no wait covers the copy
  WriteOverCopyInFlight,
  StoreOverCopySource,  ///< global memory that a copy may still read
  WriteOverDotInFlight,
  CoveredByNothing,    ///< a wait for a dot that no wait before it covers, although it says so
  WaitLeavesDot,       ///< for a dot, that lets so many dots go on that this one may be among them
  WaitWithoutCopy,     ///< for boxes that nobody has begun to copy: it never ends
  CopyWithoutWait,     ///< of boxes, at the end of the program
  CopyWithoutFence,    ///< of boxes, over what threads have written and not shown to the engine
  CopyWithoutRelease,  ///< of boxes, into a slot that not all warps have released since the last one: it never begins
  BarriersNotMade,     ///< boxes without barrier objects, or without a barrier since these were made
  TurnNotPassed,       ///< a group waits for a turn that the one before does not pass on
  TurnPassedEarly,     ///< a turn is passed on before the next group has taken the one before
  SentOtherwise,       ///< a tile that is laid for other warps to send, where these send another one, or none
  LaidByNobody,        ///< a tile that is sent more often than it is laid: it would wait for ever
  AcquireHeld,         ///< of a slot whose last content no owner has released: it would never end
  WriteNotAcquired,    ///< of a slot that warps fill for an owner, by none that has acquired it
  CommitNotAcquired,   ///< of a slot that nobody has acquired since its last commit
  AwaitNotCommitted,   ///< by an owner, of a slot that nobody has filled for it: it would never end
  ReleaseTwice,        ///< of a slot whose last content was released already
  ReadWithoutFence,    ///< by a dot, of what threads have written and not shown to the matrix unit
  ReadAfterWrite,      ///< by other threads, without a barrier in between
  WriteAfterRead,
  WriteAfterWrite,
  GlobalReadAfterWrite,
  GlobalWriteAfterRead,
  GlobalWriteAfterWrite
};

/// Hears of hazards; `second` is the access at hand.
using Report = llvm::function_ref<void(Hazard, const Step* first, const Step* second)>;

/// A copy that is about to begin.
struct Copying {
  const Step* step = nullptr;
  int slot = 0;
  Number wanted = {};
  Window from = {};
  int program = 0;    ///< which of those that the block takes
  Number phase = {};  ///< known where it is told how many copies there were into the slot
};

class Memory {
 public:
  /// `watched`: hazards are looked for. The program before scheduling is in order, and has none.
  Memory(const Program& program, bool watched) : program(&program), watched(watched) {
    contents.resize(static_cast<size_t>(program.slots), Content{Instance{}});
    writers.resize(static_cast<size_t>(program.slots));
    unfenced.resize(static_cast<size_t>(program.slots));
    unread.resize(static_cast<size_t>(program.slots));
    held.resize(static_cast<size_t>(program.slots));
  }

  /// A copy that is not wanted, as its predicate does not hold, moves nothing, but is a group among the others.
  void copy(const Copying& copying, const Instance& what, Owners& owners, Report report);
  void wait(std::int64_t pending);
  /// Of all threads, for the boxes that are being copied into a slot.
  void waitFor(const Step& step, int slot, Report report);
  void release(const Step& step, int slot, Report report);
  /// A slot that warps fill for an owner is acquired, committed or awaited. What its owner has released, writers need no barrier for, and
  /// what they have committed, the owner needs none for.
  void handOver(const Step& step, int slot, Report report);
  /// At the end of the program.
  void end(Report report) const;
  void barrier();
  /// A dot begins to read a slot; the first read of a dot counts it among the others.
  void beginDot(const Step& step, int slot, Owners& owners, Report report);
  void waitDots(const Step& step, Report report);
  void makeBarriers() { barriersMade = true; }
  /// From now on copies of boxes are made by warps that meet no barrier: releases alone keep them behind what others do.
  void copyApart() { apart = true; }
  /// The program of the block whose accesses follow. Programs have no order in global memory.
  void beginProgram(int number) { current = number; }
  /// The copy of boxes that a slot holds until it is released; null where the next one may begin.
  const Step* heldBy(int slot) const { return unread[static_cast<size_t>(slot)]; }
  /// What threads have written so far, copies that were waited for included, is seen by dots.
  void fence();
  void read(const Step& step, int slot, Owners& owners, Report report);
  void write(const Step& step, int slot, const Instance& what, Owners& owners, Report report);
  void global(const Step& step, const Window& window, Owners& owners, Report report);
  /// The slot's buffer is no more: what it holds nobody reads. Accesses since the last barrier are still to be waited for.
  void forget(int slot);

  const Content& content(int slot) const { return contents[static_cast<size_t>(slot)]; }
  const Step* writer(int slot) const { return writers[static_cast<size_t>(slot)]; }
  /// Makes this what either may be.
  void join(const Memory& other);
  /// Whether the state is that of some trips before, apart from `advanced` runs of each access since.
  bool repeats(const Memory& earlier, llvm::function_ref<std::int64_t(int label)> advanced) const;

 private:
  struct InFlight {
    const Step* step;
    int slot;
    std::int64_t younger;  ///< copies issued since, at least
    Window from;
    int program;
    bool operator==(const InFlight&) const = default;
  };
  struct Dot {
    const Step* step;
    int slot;
    std::int64_t younger;  ///< dots begun since, at least
    bool operator==(const Dot&) const = default;
  };
  struct Access {
    const Step* step;
    int slot;
    bool write;
    bool released = false;  ///< a read that all warps have said to be over, to copies of boxes into the slot
    bool operator==(const Access&) const = default;
  };
  struct GlobalAccess {
    const Step* step;
    Window window;
    bool write, atomic;
    int program;
    bool orders = false;  ///< all other accesses as well
  };

  bool overlap(int a, int b) const;
  void meetAccesses(const Step& step, int slot, Owners& owners, Report report) const;
  void put(int slot, Content what, const Step& by);
  void note(Access access);
  void noteUnreleased(const Access& access);
  void meetApart(const Step& step, int slot, Report report) const;
  void needBarriers(const Step& step, Report report) const;
  void meetDots(const Step& step, int slot, Report report) const;
  void noteGlobal(const GlobalAccess& access);
  void meetGlobal(const GlobalAccess& access, Owners& owners, Report report) const;

  const Program* program;
  bool watched;
  std::vector<Content> contents;
  std::vector<const Step*> writers;
  std::vector<InFlight> inFlight;
  std::vector<Dot> dots;
  std::vector<const Step*> unfenced;  ///< for each slot the write that no fence has followed; null where there is none
  std::vector<const Step*> unread;    ///< for each slot the copy of boxes whose content has not been released
  /// How far a slot is that warps fill for an owner.
  enum class Held : std::uint8_t { Free, Acquired, Committed, Awaited };
  std::vector<Held> held;
  std::vector<Access> recent;  ///< since the last barrier
  std::vector<GlobalAccess> recentGlobal;
  bool barriersMade = false, barriersSeen = false;  ///< the second behind a barrier
  bool apart = false;
  /// Where boxes are copied apart: accesses of a slot's bytes that no release of it has followed.
  std::vector<std::pair<Access, int>> unreleased;
  int current = 0;
};

}  // namespace fattn::check

#endif
