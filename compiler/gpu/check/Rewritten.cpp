// SPDX-License-Identifier: Apache-2.0
// Which buffers hold nothing at a loop's head that anyone reads:
//
//   scf.for ... {
//     tile.select_lazy ... {
//       copy_async %p, %b[0]       // every read of %b follows a write of all of it in the same trip: what %b holds at the head is dead,
//       copy_wait; barrier         // whichever trip left it
//       %x = load_buffer %b[0]
//     }
//   }
#include "compiler/gpu/check/Program.h"
#include "llvm/ADT/STLExtras.h"

namespace fattn::check {
namespace {

bool isRead(const Step& step) { return step.act == Act::ReadBuffer || step.act == Act::ReadByDot; }
bool isLoop(const Step& step) { return step.kind == StepKind::For || step.kind == StepKind::While; }

class RewriteFinder {
 public:
  explicit RewriteFinder(Program& program) : program(program), parents(program.blocks.size(), {-1, 0}) {
    for (auto [block, body] : llvm::enumerate(program.blocks))
      for (auto [place, step] : llvm::enumerate(body.steps))
        for (int inner : step.blocks)
          if (inner >= 0) parents[static_cast<size_t>(inner)] = {static_cast<int>(block), place};
  }

  void run() {
    for (Buffer& buffer : program.buffers) buffer.rewritten = buffer.slots == 1;
    for (auto [block, body] : llvm::enumerate(program.blocks))
      for (auto [place, step] : llvm::enumerate(body.steps))
        if (isRead(step) && step.buffer >= 0 && !followsWrite({static_cast<int>(block), place}, step.buffer))
          program.buffers[static_cast<size_t>(step.buffer)].rewritten = false;
  }

 private:
  struct Place {
    int block;
    size_t step;
  };

  /// A copy with a predicate may leave the slot as it is.
  static bool writes(const Step& step, int buffer) {
    if (step.buffer != buffer) return false;
    return step.act == Act::WriteBuffer || (step.act == Act::Copy && step.operands.size() <= 3);
  }
  bool mayWriteInside(const Step& step, int buffer) const {
    return llvm::any_of(step.blocks, [&](int inner) {
      return inner >= 0 && llvm::any_of(program.blocks[static_cast<size_t>(inner)].steps, [&](const Step& one) {
               bool write = one.buffer == buffer && !isRead(one);
               return write || mayWriteInside(one, buffer);
             });
    });
  }

  /// Whether the read at `place` finds what the same trip of the innermost loop around it has written. A loop in between that writes has
  /// heads of its own at which the buffer is alive.
  bool followsWrite(Place place, int buffer) const {
    for (; place.block >= 0; place = parents[static_cast<size_t>(place.block)]) {
      const std::vector<Step>& steps = program.blocks[static_cast<size_t>(place.block)].steps;
      for (size_t i = place.step; i-- > 0;) {
        if (writes(steps[i], buffer)) return true;
        if (isLoop(steps[i]) && mayWriteInside(steps[i], buffer)) return false;
      }
      Place parent = parents[static_cast<size_t>(place.block)];
      if (parent.block >= 0 && isLoop(program.blocks[static_cast<size_t>(parent.block)].steps[parent.step])) return false;
    }
    return false;
  }

  Program& program;
  std::vector<Place> parents;  ///< of each block the step that it is a region of
};

}  // namespace

void findRewrittenBuffers(Program& program) { RewriteFinder(program).run(); }

}  // namespace fattn::check
