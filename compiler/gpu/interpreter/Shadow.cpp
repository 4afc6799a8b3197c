// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/interpreter/Shadow.h"

#include <fmt/format.h>

#include <algorithm>

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

using namespace mlir;

namespace fattn::adversary {

std::string_view name(FaultKind kind) {
  static constexpr std::string_view kNames[] = {"race",    "in flight",  "unfenced",  "unwritten", "bounds",
                                                "endless", "divergence", "undefined", "values"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string describe(Operation* op) {
  std::string place;
  if (auto file = op->getLoc()->findInstanceOf<FileLineColLoc>())
    place = fmt::format("{}:{}:{}", file.getFilename().str(), file.getLine(), file.getColumn());
  else
    llvm::raw_string_ostream(place) << op->getLoc();
  return fmt::format("{}: '{}'", place, op->getName().getStringRef().str());
}

void Log::report(FaultKind kind, Operation* first, Operation* second, llvm::function_ref<std::string()> text) {
  auto pair = std::minmax(first, second);
  if (full() || !seen_.emplace(kind, pair.first, pair.second).second) return;
  faults.push_back({kind, text(), first, second});
}

void Shadow::race(Operation* first, int32_t thread, const char* did, const Access& now, const char* does, int64_t at, Log& log) {
  log.report(FaultKind::Race, first, now.op, [&] {
    std::string other = thread == kSeveral ? "several threads" : fmt::format("thread {} of warp {}", thread, log.warpOf(thread));
    return fmt::format("{} in thread {} of warp {} {} byte {} of {}, which {} in {} {}, with no barrier between them", describe(now.op),
                       now.thread, log.warpOf(now.thread), does, at, name_, describe(first), other, did);
  });
}

void Shadow::checkFlight(const Cell& cell, int64_t at, const Access& now, const char* does, Log& log) {
  if (!cell.into.op) return;
  bool boxes = cell.into.thread == kEngine;
  if (boxes && (cell.waiting >> log.warpOf(now.thread) & 1) == 0) return;
  log.report(FaultKind::InFlight, cell.into.op, now.op, [&] {
    std::string owner = boxes ? "" : fmt::format(" of warp {}", log.warpOf(cell.into.thread));
    return fmt::format("{} in warp {} {} byte {} of {}, which {}{} may still write: no wait covers that copy", describe(now.op),
                       log.warpOf(now.thread), does, at, name_, describe(cell.into.op), owner);
  });
}

void Shadow::checkRead(const Cell& cell, int64_t at, const Access& now, Log& log) {
  checkFlight(cell, at, now, "reads", log);
  if (cell.write.phase == now.phase && cell.write.thread != now.thread && cell.write.op && cell.write.thread != kEngine)
    race(cell.write.op, cell.write.thread, "writes", now, "reads", at, log);
}

void Shadow::read(int64_t at, int64_t bytes, const Access& now, Log& log) {
  forEach(at, bytes, [&](Cell& cell, int64_t place) {
    checkRead(cell, place, now, log);
    if (cell.read.phase != now.phase || !cell.read.op) {
      cell.read = now;
      cell.other = nullptr;
    } else if (cell.read.thread != now.thread) {
      cell.other = now.op;
      cell.otherThread = now.thread;
    }
  });
}

/// Copies that read the cell and that the warp has not waited for.
void Shadow::checkSources(const Cell& cell, int64_t at, const Access& now, Log& log) {
  auto report = [&](Operation* source) {
    log.report(FaultKind::InFlight, source, now.op, [&] {
      return fmt::format("{} in warp {} writes byte {} of {}, which {} may still read: no wait covers that copy", describe(now.op),
                         log.warpOf(now.thread), at, name_, describe(source));
    });
  };
  if (cell.sources > 0) report(cell.source);
  for (uint32_t boxes : cell.boxes)
    if (boxReads_[boxes].waiting >> log.warpOf(now.thread) & 1) report(boxReads_[boxes].op);
}

void Shadow::checkWrite(const Cell& cell, int64_t at, const Access& now, bool atomic, Log& log) {
  checkFlight(cell, at, now, "writes", log);
  checkSources(cell, at, now, log);
  bool bothAtomic = atomic && cell.atomic;
  if (cell.write.op && cell.write.phase == now.phase && cell.write.thread != now.thread && cell.write.thread != kEngine &&
      !cell.write.isSameInstance(now) && !bothAtomic)
    race(cell.write.op, cell.write.thread, "writes", now, "writes", at, log);
  if (!cell.read.op || cell.read.phase != now.phase) return;
  if (cell.read.thread != now.thread)
    race(cell.read.op, cell.read.thread, "reads", now, "writes", at, log);
  else if (cell.other)
    race(cell.other, cell.otherThread, "reads", now, "writes", at, log);
}

void Shadow::write(int64_t at, int64_t bytes, const Access& now, Log& log, bool atomic) {
  forEach(at, bytes, [&](Cell& cell, int64_t place) {
    checkWrite(cell, place, now, atomic, log);
    bool several = cell.write.op && cell.write.phase == now.phase && cell.write.thread != now.thread &&
                   (cell.write.isSameInstance(now) || (atomic && cell.atomic));
    cell.write = now;
    cell.hidden = true;
    if (several) cell.write.thread = kSeveral;
    cell.atomic = atomic;
  });
}

void Shadow::beginInto(int64_t at, int64_t bytes, const Access& now, Log& log) {
  forEach(at, bytes, [&](Cell& cell, int64_t place) {
    checkWrite(cell, place, now, false, log);
    cell.into = now;
  });
}

void Shadow::endInto(int64_t at, int64_t bytes, const Access& now) {
  forEach(at, bytes, [&](Cell& cell, int64_t) {
    cell.into = {};
    cell.write = now;
    cell.hidden = true;
    cell.atomic = false;
  });
}

void Shadow::beginBoxes(int64_t at, int64_t bytes, const Access& now, int warps, Log& log) {
  forEach(at, bytes, [&](Cell& cell, int64_t place) {
    if (cell.hidden && cell.write.op)
      log.report(FaultKind::Unfenced, cell.write.op, now.op, [&] {
        return fmt::format("{} in warp {} copies boxes over byte {} of {}, to which no fence has shown what {} wrote", describe(now.op),
                           log.warpOf(now.thread), place, name_, describe(cell.write.op));
      });
    checkWrite(cell, place, now, false, log);
    cell.into = now;
    cell.into.thread = kEngine;
    cell.waiting = (uint64_t{1} << warps) - 1;
    cell.write = cell.into;
    cell.hidden = cell.atomic = false;
  });
}

void Shadow::endBoxes(int64_t at, int64_t bytes, int warp) {
  forEach(at, bytes, [&](Cell& cell, int64_t) {
    cell.waiting &= ~(uint64_t{1} << warp);
    if (cell.waiting == 0) cell.into = {};
  });
}

void Shadow::handOver(int64_t at, int64_t bytes) {
  forEach(at, bytes, [](Cell& cell, int64_t) { cell.write.thread = kEngine; });
}

void Shadow::release(int64_t at, int64_t bytes, int64_t warp, const Log& log) {
  forEach(at, bytes, [&](Cell& cell, int64_t) {
    if (cell.other && log.warpOf(cell.otherThread) == warp) cell.other = nullptr;
    if (!cell.read.op || log.warpOf(cell.read.thread) != warp) return;
    cell.read.op = cell.other;
    cell.read.thread = cell.otherThread;
    cell.other = nullptr;
  });
}

void Shadow::beginFrom(int64_t at, int64_t bytes, const Access& now, Log& log) {
  read(at, bytes, now, log);
  forEach(at, bytes, [&](Cell& cell, int64_t) {
    ++cell.sources;
    cell.source = now.op;
  });
}

uint32_t Shadow::openBoxes(Operation* op, int64_t warps) {
  boxReads_.push_back({op, (uint64_t{1} << warps) - 1});
  return static_cast<uint32_t>(boxReads_.size() - 1);
}

void Shadow::beginBoxesFrom(int64_t at, int64_t bytes, const Access& now, uint32_t boxes, Log& log) {
  forEach(at, bytes, [&](Cell& cell, int64_t place) {
    checkRead(cell, place, now, log);
    cell.boxes.push_back(boxes);
  });
}

void Shadow::waitForBoxes(uint32_t boxes, int64_t warp) { boxReads_[boxes].waiting &= ~(uint64_t{1} << warp); }

void Shadow::endBoxesFrom(int64_t at, int64_t bytes, uint32_t boxes) {
  forEach(at, bytes, [&](Cell& cell, int64_t) { llvm::erase(cell.boxes, boxes); });
}

void Shadow::beginUnitRead(int64_t at, int64_t bytes, const Access& now, Log& log) {
  forEach(at, bytes, [&](Cell& cell, int64_t place) {
    if (!cell.hidden || !cell.write.op) return;
    log.report(FaultKind::Unfenced, cell.write.op, now.op, [&] {
      return fmt::format("{} in warp {} reads byte {} of {} by the matrix unit, to which no fence has shown what {} wrote",
                         describe(now.op), log.warpOf(now.thread), place, name_, describe(cell.write.op));
    });
  });
  beginFrom(at, bytes, now, log);
}

void Shadow::show(int64_t at, int64_t bytes) {
  forEach(at, bytes, [](Cell& cell, int64_t) { cell.hidden = false; });
}

void Shadow::endFrom(int64_t at, int64_t bytes, const Access& now) {
  forEach(at, bytes, [&](Cell& cell, int64_t) {
    --cell.sources;
    if (cell.read.phase == now.phase && cell.read.op && cell.read.thread != now.thread) {
      cell.other = now.op;
      cell.otherThread = now.thread;
    } else {
      cell.read = now;
    }
  });
}

const Access* Shadow::writer(int64_t at, uint32_t since) const {
  const Cell& cell = cells_[static_cast<std::size_t>(at / granule_)];
  if (cell.into.op) return &cell.into;
  return cell.write.op && cell.write.phase >= since ? &cell.write : nullptr;
}

}  // namespace fattn::adversary
