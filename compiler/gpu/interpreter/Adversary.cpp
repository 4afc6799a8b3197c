// SPDX-License-Identifier: Apache-2.0
// Runs of a kernel: arguments and memories, the turns of the warps, and where they meet.
#include "compiler/gpu/interpreter/Adversary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "compiler/gpu/interpreter/Code.h"
#include "fattn/Error.h"

using namespace mlir;

namespace fattn::adversary {

namespace {

using Kind = Instruction::Kind;

/// Global memory: arguments that overlap are one array.
class Arrays {
 public:
  Arrays(func::FuncOp kernel, const std::vector<interpreter::Argument>& arguments) {
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
      if (auto pointer = dyn_cast<tile::PtrType>(kernel.getArgument(i).getType())) {
        const auto* buffer = std::get_if<interpreter::Buffer>(&arguments[i]);
        if (!buffer) throw Error(ErrorCode::InvalidArgument, fmt::format("argument {} of the kernel takes a buffer", i));
        add({static_cast<char*>(buffer->data),
             buffer->bytes,
             interpreter::bytesOf(pointer.getPointee()),
             fmt::format("argument {}", i),
             {}});
      }
    for (Range& range : ranges_) range.before.assign(range.data, range.data + range.bytes);
  }

  /// As they were at first, with nothing known of them.
  std::deque<Memory> restored() {
    std::deque<Memory> memories;
    for (const Range& range : ranges_) {
      std::ranges::copy(range.before, range.data);
      memories.emplace_back(range.name, range.data, range.bytes, range.granule);
    }
    return memories;
  }
  Element pointer(const interpreter::Buffer& buffer) const {
    auto* data = static_cast<char*>(buffer.data);
    Element result;
    for (std::size_t i = 0; i < ranges_.size(); ++i)
      if (data >= ranges_[i].data && data + buffer.bytes <= ranges_[i].data + ranges_[i].bytes) {
        result.i = data - ranges_[i].data;
        result.buffer = static_cast<int32_t>(i);
        return result;
      }
    return result;
  }

 private:
  struct Range {
    char* data;
    int64_t bytes, granule;
    std::string name;
    std::vector<char> before;
  };

  void add(Range range) {
    for (auto other = ranges_.begin(); other != ranges_.end();) {
      if (other->data + other->bytes <= range.data || range.data + range.bytes <= other->data) {
        ++other;
        continue;
      }
      char* end = std::max(range.data + range.bytes, other->data + other->bytes);
      range.data = std::min(range.data, other->data);
      range.bytes = end - range.data;
      range.granule = std::min(range.granule, other->granule);
      range.name = other->name + ", " + range.name;
      other = ranges_.erase(other);
    }
    ranges_.push_back(std::move(range));
  }

  std::vector<Range> ranges_;
};

/// The warps of one block on their way through the code.
class Execution {
 public:
  Execution(const Code& code, Run& run, interpreter::Grid id, const std::vector<Datum>& arguments)
      : code_(code),
        run_(run),
        block_(run, id, code.lanes, code.warps),
        random_(run.order.seed),
        warps_(static_cast<std::size_t>(code.warps + code.copiers)) {
    for (auto [i, warp] : llvm::enumerate(warps_)) {
      warp.number = static_cast<int64_t>(i);
      warp.values.resize(code.values);
      for (auto [slot, datum] : llvm::zip_equal(code.arguments, arguments)) warp.values[slot] = datum;
    }
  }

  void finish() {
    while (!run_.log.full()) {
      std::vector<Warp*> ready;
      for (Warp& warp : warps_)
        if (warp.state == Warp::State::Running && canGoOn(warp)) ready.push_back(&warp);
      if (!ready.empty())
        advance(ready);
      else if (std::ranges::all_of(warps_, [](const Warp& warp) { return warp.state == Warp::State::Ended; }) || !release())
        break;
    }
    // Nobody waits for what is still in flight.
    for (Warp& warp : warps_) block_.complete(warp, 0);
    bool ended = std::ranges::all_of(warps_, [](const Warp& warp) { return warp.state == Warp::State::Ended; });
    for (auto& [place, channel] : block_.channels)
      if (const uint64_t fills = channel.committed.empty() ? 0 : *std::ranges::max_element(channel.committed)) {
        if (ended && std::ranges::any_of(channel.passed, [&](uint64_t passed) { return passed != fills; })) neverTaken(place.first);
      } else if (ended && code_.repeats &&
                 std::ranges::any_of(channel.releases, [&](uint64_t releases) { return releases != channel.copies; }))
        neverReleased(channel);
      else if (ended && std::ranges::any_of(channel.waits, [&](uint64_t waits) { return waits != channel.copies; }))
        neverWaitedFor(channel);
      else if (ended && std::ranges::any_of(channel.laid, [&](uint64_t laid) { return laid != channel.sent; }))
        neverSent(place.first);
    ++run_.phase;
  }

 private:
  bool canGoOn(Warp& warp) {
    const Instruction& instruction = code_.instructions[warp.at];
    return instruction.kind != Kind::Await || instruction.test(block_, warp);
  }

  void advance(const std::vector<Warp*>& ready) {
    switch (run_.order.turn) {
      case Turn::Ascending:
        while (step(*ready.front())) continue;
        break;
      case Turn::Descending:
        while (step(*ready.back())) continue;
        break;
      case Turn::Random:
        stepAny(ready);
        break;
      case Turn::Held: {
        if (heldFor_-- == 0) {
          heldFor_ = random_() % (1 << random_() % 12);  // a trip of a loop, or a few operations
          firstHeld_ = random_() % warps_.size();
          lastHeld_ = firstHeld_ + random_() % (warps_.size() - firstHeld_);
        }
        std::vector<Warp*> free;
        llvm::copy_if(ready, std::back_inserter(free), [&](const Warp* warp) {
          const auto number = static_cast<std::size_t>(warp->number);
          return number < firstHeld_ || number > lastHeld_;
        });
        stepAny(free.empty() ? ready : free);
        break;
      }
    }
  }

  void stepAny(const std::vector<Warp*>& ready) {
    Warp& warp = *ready[random_() % ready.size()];
    for (auto left = 1 + random_() % 6; left > 0 && step(warp); --left) continue;
  }

  /// One instruction; whether the warp can go on.
  bool step(Warp& warp) {
    const Instruction& instruction = code_.instructions[warp.at];
    if (--run_.stepsLeft < 0)
      interpreter::fail(instruction.op, fmt::format("exceeds the limit of {} instructions", run_.maxSteps), ErrorCode::Unsupported);
    switch (instruction.kind) {
      case Kind::Act:
        instruction.act(block_, warp);
        ++warp.at;
        return !run_.log.full();
      case Kind::Branch:
        warp.at = instruction.test(block_, warp) ? warp.at + 1 : instruction.target;
        return true;
      case Kind::Await:
        if (!instruction.test(block_, warp)) return false;
        ++warp.at;
        return true;
      case Kind::Vote:
        warp.vote = instruction.test(block_, warp);
        [[fallthrough]];
      case Kind::Barrier:
      case Kind::Meet:
        warp.state = Warp::State::Waiting;
        return false;
      case Kind::End:
        warp.state = Warp::State::Ended;
        return false;
    }
    return false;
  }

  /// All warps wait or have ended: lets them go on where all wait for each other.
  bool release() {
    auto stuck = std::ranges::find_if(warps_, [](const Warp& warp) { return warp.state == Warp::State::Running && !warp.apart; });
    if (stuck != warps_.end()) return endless(*stuck);
    auto waiting = std::ranges::find(warps_, Warp::State::Waiting, &Warp::state);
    if (waiting == warps_.end()) return endless(*std::ranges::find(warps_, Warp::State::Running, &Warp::state));
    const Warp& first = *waiting;
    for (const Warp& warp : warps_)
      if (!warp.apart && (warp.state != first.state || warp.at != first.at || warp.path != first.path)) return diverged(first, warp);
    const Instruction& instruction = code_.instructions[first.at];
    bool any = std::ranges::any_of(warps_, &Warp::vote);
    for (Warp& warp : warps_) {
      if (warp.apart) continue;
      warp.state = Warp::State::Running;
      warp.at = instruction.kind == Kind::Vote && !any ? instruction.target : warp.at + 1;
    }
    if (instruction.kind == Kind::Barrier) ++run_.phase;
    return true;
  }

  void neverWaitedFor(const Channel& channel) {
    Operation* op = channel.last.issued.op;
    run_.log.report(FaultKind::InFlight, nullptr, op, [&] {
      return fmt::format("{} copies boxes that some warp does not wait for: they may land when the block has ended", describe(op));
    });
  }

  void neverReleased(const Channel& channel) {
    Operation* op = channel.last.issued.op;
    run_.log.report(FaultKind::Endless, nullptr, op, [&] {
      return fmt::format(
          "{} copies boxes into a slot that some warp does not release: a copy for the block's next program would wait for it",
          describe(op));
    });
  }

  void neverTaken(Operation* alloc) {
    run_.log.report(FaultKind::Undefined, nullptr, alloc, [&] {
      return fmt::format("{} has slots that warps filled and that some warp which reads them never waited for", describe(alloc));
    });
  }

  void neverSent(Operation* alloc) {
    run_.log.report(FaultKind::InFlight, nullptr, alloc,
                    [&] { return fmt::format("a tile that warps have laid into the buffer of {} is sent by none", describe(alloc)); });
  }

  bool endless(const Warp& warp) {
    Operation* op = code_.instructions[warp.at].op;
    run_.log.report(FaultKind::Endless, nullptr, op, [&] {
      std::string_view what = "boxes that are not copied, or a slot that is not released";
      if (isa<tilegpu::TurnWaitOp>(op)) what = "a turn that the group before does not pass on";
      if (isa<tilegpu::StoreBoxesOp, tilegpu::SendBoxesOp>(op)) what = "a tile that some warp does not lay, or that is not sent";
      return fmt::format("{} in warp {} waits for what no warp does: {}", describe(op), warp.number, what);
    });
    return false;
  }

  bool diverged(const Warp& waiting, const Warp& other) {
    Operation *first = code_.instructions[waiting.at].op, *second = code_.instructions[other.at].op;
    run_.log.report(FaultKind::Divergence, first, second, [&] {
      std::string what = other.state == Warp::State::Ended ? "has ended"
                         : other.at == waiting.at          ? "waits there in another trip"
                                                           : "waits at " + describe(second);
      return fmt::format("{} in warp {} waits for all warps, but warp {} {}: it stands under a condition that differs between warps",
                         describe(first), waiting.number, other.number, what);
    });
    return false;
  }

  const Code& code_;
  Run& run_;
  Block block_;
  std::mt19937_64 random_;
  std::size_t firstHeld_ = 0, lastHeld_ = 0;
  std::uint64_t heldFor_ = 0;  ///< turns
  std::vector<Warp> warps_;
};

func::FuncOp kernelOf(ModuleOp module) {
  func::FuncOp kernel;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr("tile.kernel") || !kernel) kernel = function;
  if (!kernel || !kernel->hasAttr(tilegpu::kTargetAttr))
    throw Error(ErrorCode::InvalidArgument, "the module has no kernel with the attribute tilegpu.target");
  return kernel;
}

std::vector<Datum> dataOf(func::FuncOp kernel, const std::vector<interpreter::Argument>& arguments, const Arrays& arrays) {
  std::vector<Datum> data;
  for (unsigned i = 0; i < arguments.size(); ++i) {
    Type type = kernel.getArgument(i).getType();
    Datum& datum = data.emplace_back();
    if (const auto* buffer = std::get_if<interpreter::Buffer>(&arguments[i])) {
      datum.scalar = arrays.pointer(*buffer);
    } else if (const auto* integer = std::get_if<int64_t>(&arguments[i])) {
      datum.scalar = Element::integer(interpreter::wrapTo(static_cast<uint64_t>(*integer), type));
    } else {
      datum.scalar = Element::number(interpreter::roundTo(std::get<double>(arguments[i]), type));
    }
    bool fits = isa<tile::PtrType>(type) ? std::holds_alternative<interpreter::Buffer>(arguments[i])
                : isa<FloatType>(type)   ? std::holds_alternative<double>(arguments[i])
                                         : std::holds_alternative<int64_t>(arguments[i]);
    if (!fits) throw Error(ErrorCode::InvalidArgument, fmt::format("argument {} does not fit the kernel", i));
  }
  return data;
}

/// The smallest element that any buffer of the kernel holds.
int64_t sharedGranule(func::FuncOp kernel) {
  int64_t granule = 16;
  kernel.walk([&](tilegpu::AllocOp alloc) { granule = std::min(granule, alloc.getResult().getType().getElementBytes()); });
  return granule;
}

/// The ids of the launch's blocks: a program each, or where blocks take several, two or three each.
std::vector<interpreter::Grid> blocksOf(const Code& code, Run& run) {
  std::vector<interpreter::Grid> ids;
  if (code.repeats) {
    run.blocks = std::max<int64_t>((int64_t{run.grid[0]} * run.grid[1] * run.grid[2] + 2) / 3, 1);
    for (int32_t x = 0; x < run.blocks; ++x) ids.push_back({x, 0, 0});
    return ids;
  }
  for (int32_t z = 0; z < run.grid[2]; ++z)
    for (int32_t y = 0; y < run.grid[1]; ++y)
      for (int32_t x = 0; x < run.grid[0]; ++x) ids.push_back({x, y, z});
  return ids;
}

std::string orderText(const Order& order) {
  static constexpr const char* kTurns[] = {"ascending", "descending", "random", "some held"};
  static constexpr const char* kLazy[] = {"where needed", "everywhere", "at random"};
  return fmt::format("warps {}, copies {}, exact sides {}", kTurns[static_cast<int>(order.turn)],
                     order.completion == Completion::Late ? "late" : "at once", kLazy[static_cast<int>(order.lazy)]);
}

}  // namespace

std::vector<Fault> check(ModuleOp module, const std::vector<interpreter::Argument>& arguments, interpreter::Grid grid,
                         const Options& options) {
  func::FuncOp kernel = kernelOf(module);
  if (arguments.size() != kernel.getNumArguments())
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("the kernel takes {} arguments, but got {}", kernel.getNumArguments(), arguments.size()));
  Code code = Flattener(kernel).run();
  Arrays arrays(kernel, arguments);
  std::vector<Datum> data = dataOf(kernel, arguments, arrays);
  Log log(options.maxFaults, code.lanes);
  std::vector<char> sharedBytes(static_cast<std::size_t>(code.sharedBytes));
  for (const Order& order : options.orders) {
    if (log.full()) break;
    std::deque<Memory> global = arrays.restored();
    Memory shared("shared memory", sharedBytes.data(), code.sharedBytes, sharedGranule(kernel));
    Run run{log, order, grid, options.maxSteps, options.maxSteps, global, shared};
    try {
      for (const interpreter::Grid& id : blocksOf(code, run)) {
        std::ranges::fill(sharedBytes, static_cast<char>(0xff));
        shared.shadow.clear();
        Execution(code, run, id, data).finish();
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::InvalidArgument) throw;
      log.report(FaultKind::Undefined, nullptr, nullptr, [&] { return std::string(error.what()); });
    }
    std::string wrong = options.compare && !log.full() ? options.compare(order) : "";
    if (!wrong.empty()) log.report(FaultKind::Values, nullptr, nullptr, [&] { return wrong + " (" + orderText(order) + ")"; });
  }
  return std::move(log.faults);
}

}  // namespace fattn::adversary
