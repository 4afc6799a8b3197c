// SPDX-License-Identifier: Apache-2.0
// What is known of each byte of a memory beside its value: who touched it last, since which barrier, and which copies are under way.
//
// All barriers are the block's, so two accesses are ordered exactly if they are one thread's, or if a barrier was passed between them: the
// number of barriers so far (the phase) is all the time there is. What conflicts does so in every order of the warps.
#ifndef FATTN_COMPILER_GPU_INTERPRETER_SHADOW_H
#define FATTN_COMPILER_GPU_INTERPRETER_SHADOW_H

#include <set>
#include <tuple>

#include "compiler/gpu/interpreter/Adversary.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace fattn::adversary {

/// "file:line:column: 'op'".
std::string describe(mlir::Operation* op);

/// Collects faults, each pair of operations once.
class Log {
 public:
  Log(std::size_t most, int64_t lanes) : most_(most), lanes_(lanes) {}

  void report(FaultKind kind, mlir::Operation* first, mlir::Operation* second, llvm::function_ref<std::string()> text);
  bool full() const { return faults.size() >= most_; }
  int64_t warpOf(int64_t thread) const { return thread / lanes_; }

  std::vector<Fault> faults;

 private:
  std::size_t most_;
  int64_t lanes_;
  std::set<std::tuple<FaultKind, mlir::Operation*, mlir::Operation*>> seen_;
};

inline constexpr int32_t kNobody = -1, kSeveral = -2, kEngine = -3;

/// A thread's access in the phase after so many barriers. `path` tells the trips of loops apart.
struct Access {
  uint32_t phase = 0, path = 0;
  int32_t thread = kNobody;
  mlir::Operation* op = nullptr;

  bool isSameInstance(const Access& other) const { return op == other.op && path == other.path; }
};

class Shadow {
 public:
  /// `name`: "shared memory"; `granule`: bytes that are never touched apart.
  Shadow(std::string name, int64_t bytes, int64_t granule)
      : name_(std::move(name)), granule_(granule), cells_(static_cast<std::size_t>((bytes + granule - 1) / granule)) {}

  /// Nobody has touched anything: a block begins.
  void clear() { cells_.assign(cells_.size(), Cell()); }
  void read(int64_t at, int64_t bytes, const Access& now, Log& log);
  void write(int64_t at, int64_t bytes, const Access& now, Log& log, bool atomic = false);
  /// A copy that writes these bytes, or reads them, begins, or is complete for its thread.
  void beginInto(int64_t at, int64_t bytes, const Access& now, Log& log);
  void endInto(int64_t at, int64_t bytes, const Access& now);
  void beginFrom(int64_t at, int64_t bytes, const Access& now, Log& log);
  void endFrom(int64_t at, int64_t bytes, const Access& now);
  /// The number of a copy of boxes that an engine makes from here for all warps: until a warp has waited, it may not write these bytes.
  uint32_t openBoxes(mlir::Operation* op, int64_t warps);
  void beginBoxesFrom(int64_t at, int64_t bytes, const Access& now, uint32_t boxes, Log& log);
  void waitForBoxes(uint32_t boxes, int64_t warp);
  /// All warps have waited.
  void endBoxesFrom(int64_t at, int64_t bytes, uint32_t boxes);
  /// An engine begins to write these bytes for all warps; it is over for one warp, which has waited.
  void beginBoxes(int64_t at, int64_t bytes, const Access& now, int warps, Log& log);
  void endBoxes(int64_t at, int64_t bytes, int warp);
  /// Whoever comes from now on has waited for what threads have written here.
  void handOver(int64_t at, int64_t bytes);
  /// A warp will read these bytes no more before they are written again, and says so to whoever writes them next.
  void release(int64_t at, int64_t bytes, int64_t warp, const Log& log);
  /// A matrix unit begins to read these bytes, as a copy would: they must have been shown since threads wrote them.
  void beginUnitRead(int64_t at, int64_t bytes, const Access& now, Log& log);
  void show(int64_t at, int64_t bytes);
  /// Who writes the byte by a copy in flight, or wrote it last in a phase from `since` on; null where nobody has.
  const Access* writer(int64_t at, uint32_t since) const;

 private:
  struct Cell {
    Access write, read;
    mlir::Operation* other = nullptr;  ///< of another reader than `read`, in its phase
    int32_t otherThread = kNobody;
    bool atomic = false;                   ///< `write` was atomic
    bool hidden = false;                   ///< from matrix units
    uint32_t sources = 0;                  ///< copies that read the cell
    mlir::Operation* source = nullptr;     ///< one of them
    Access into;                           ///< the copy that writes the cell
    uint64_t waiting = 0;                  ///< warps that have not waited for boxes, a bit each
    llvm::SmallVector<uint32_t, 1> boxes;  ///< copies of boxes that read the cell
  };
  /// A copy of boxes that reads this memory, and the warps that have not waited for it, a bit each.
  struct BoxRead {
    mlir::Operation* op;
    uint64_t waiting;
  };

  template <typename Visit>
  void forEach(int64_t at, int64_t bytes, Visit visit) {
    for (int64_t i = at / granule_; i <= (at + bytes - 1) / granule_; ++i) visit(cells_[static_cast<std::size_t>(i)], i * granule_);
  }
  void checkRead(const Cell& cell, int64_t at, const Access& now, Log& log);
  void checkSources(const Cell& cell, int64_t at, const Access& now, Log& log);
  void checkWrite(const Cell& cell, int64_t at, const Access& now, bool atomic, Log& log);
  void checkFlight(const Cell& cell, int64_t at, const Access& now, const char* does, Log& log);
  void race(mlir::Operation* first, int32_t thread, const char* did, const Access& now, const char* does, int64_t at, Log& log);

  std::string name_;
  int64_t granule_;
  std::vector<Cell> cells_;
  std::vector<BoxRead> boxReads_;
};

}  // namespace fattn::adversary

#endif
