// SPDX-License-Identifier: Apache-2.0
// The state of one program of the grid: its warps, and the memories they share.
#ifndef FATTN_COMPILER_GPU_INTERPRETER_BLOCK_H
#define FATTN_COMPILER_GPU_INTERPRETER_BLOCK_H

#include <array>
#include <deque>
#include <limits>
#include <map>
#include <memory>

#include "compiler/gpu/interpreter/Shadow.h"
#include "compiler/interpreter/Machine.h"

namespace fattn::adversary {

using interpreter::Element, interpreter::Window;

using Elements = std::vector<Element>;

/// A value as one warp has it: a number or pointer, one element for each register of each lane, or a window of global memory.
struct Datum {
  Element scalar;
  std::shared_ptr<const Elements> tile;
  std::shared_ptr<const Window> window;
};

/// Bytes, and what is known of them.
struct Memory {
  Memory(std::string name, char* data, int64_t bytes, int64_t granule)
      : data(data), bytes(bytes), shadow(std::move(name), bytes, granule) {}
  char* data;
  int64_t bytes;
  Shadow shadow;
};

/// What a thread's part of a copy moves: from global to shared memory, or zeros.
struct Move {
  int32_t thread;
  Element from;  ///< no buffer: zeros
  int64_t into;
  int64_t bytes;
};
/// A group of copies of one warp.
struct Copy {
  Access issued;
  std::vector<Move> moves;
};

/// Copies of boxes into one slot, and what warps have done with them. Each copy, wait and release counts.
struct Channel {
  uint64_t copies = 0;
  std::vector<uint64_t> waits, releases;  ///< of each warp
  Copy last;
  Memory* source = nullptr;      ///< what the last copy reads
  uint32_t boxes = 0;            ///< the last copy's number there
  std::vector<uint64_t> laid;    ///< tiles of which each warp has laid its part, or an owner has, for another to send
  uint64_t parts = 0, sent = 0;  ///< warps' parts, and tiles
  // What warps fill for an owner: how often each has acquired and committed the slot, and for how many fills the owner was another warp's
  // group or its own.
  std::vector<uint64_t> acquired, committed, passed;
};

/// A warp's turns: those that it has taken, and those that it has passed on to the next group.
struct Turns {
  uint64_t taken = 0, passed = 0;
};

class Block;

struct Warp {
  enum class State : std::uint8_t { Running, Waiting, Ended };

  int64_t number = 0;
  State state = State::Running;
  std::size_t at = 0;  ///< the next instruction
  std::vector<Datum> values;
  bool apart = false;  ///< it copies, and meets no others
  bool vote = false;   ///< while waiting: what it says

  /// Tells the trips of the loops around `at` apart.
  struct Loop {
    uint32_t outer = 0, trip = 0;
  };
  uint32_t path = 0;
  std::vector<Loop> loops;
  std::deque<Copy> copies;                       ///< in flight, the oldest first
  std::deque<std::function<void(Block&)>> dots;  ///< in flight, the oldest first: what completes each
  /// Bytes of shared memory that the warp has written and not shown to matrix units: where they begin, and how many.
  std::vector<std::pair<int64_t, int64_t>> unfenced;
};

/// What all programs of a run share.
struct Run {
  Log& log;
  Order order;
  interpreter::Grid grid = {1, 1, 1};
  int64_t stepsLeft = 0;
  int64_t maxSteps = 0;
  std::deque<Memory>& global;
  Memory& shared;
  uint32_t phase = 1;  ///< barriers so far, those of other programs included
  int64_t blocks = 0;  ///< where each takes several programs
};

class Block {
 public:
  Block(Run& run, interpreter::Grid id, int64_t lanes, int64_t warps)
      : run(run), id(id), lanes(lanes), warps(warps), firstPhase(run.phase), turns(static_cast<std::size_t>(warps)) {}

  Run& run;
  interpreter::Grid id;
  int64_t lanes;  ///< of a warp
  int64_t warps;
  uint32_t firstPhase;
  uint32_t barriersMade = std::numeric_limits<uint32_t>::max();      ///< the phase in which barrier objects were
  std::vector<Turns> turns;                                          ///< by warp
  std::map<std::pair<mlir::Operation*, int64_t>, Channel> channels;  ///< by allocation and slot
  std::map<mlir::Operation*, Elements> exchanged;                    ///< old values of atomic additions on their way to other threads

  /// The access that this thread of the warp makes now.
  Access access(const Warp& warp, mlir::Operation* op, int64_t thread) const {
    return {run.phase, warp.path, static_cast<int32_t>(thread), op};
  }
  /// The bytes an element of global memory has; null, and a fault, where it lies outside.
  char* locate(mlir::Operation* op, const Element& pointer, int64_t bytes);
  Element load(const Access& access, const Element& pointer, mlir::Type type);
  void store(const Access& access, const Element& pointer, const Element& value, mlir::Type type);
  /// Gives the old value. One that `orders` speaks for the accesses of other threads as well, if barriers are between these and it.
  Element add(const Access& access, const Element& pointer, const Element& value, mlir::Type type, bool orders);

  void issue(Warp& warp, Copy copy);
  /// Completes the warp's oldest copies until `pending` are left.
  void complete(Warp& warp, std::size_t pending);
  Channel& channel(mlir::Operation* alloc, int64_t slot);
  /// The engine begins to copy boxes; the warp sees that the last of them is complete.
  void issueBoxes(Channel& channel, Copy copy);
  void completeBoxes(Warp& warp, Channel& channel);
  /// Shows matrix units what the warp has written, completed copies included.
  void fence(Warp& warp);

  /// Any choice, the same for all that ask with the same numbers in the same trip.
  bool choose(const Warp& warp, uint64_t place, uint64_t number) const;

 private:
  void land(const Copy& copy);
  /// Reports an access to global memory and an addition that orders it, of different threads, with no barrier between them.
  void meetOrder(const Access& access, bool orders);

  Access orderedBy_;                ///< the last addition that orders others
  std::array<Access, 2> accessed_;  ///< to global memory, of two threads in the phase of the last one
};

}  // namespace fattn::adversary

#endif
