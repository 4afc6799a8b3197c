// SPDX-License-Identifier: Apache-2.0
// Asks for a least number of waves (warps) a SIMD:
//
//   func.func @k(...) attributes {...}   =>   func.func @k(...) attributes {..., tilegpu.waves = 2 : i64}
//
// A code generator that knows it takes no more registers than so many waves have together, and stores what has no place. Left to itself
// it takes as many as the program needs at its widest place, which may be one that rarely runs.
//
// What no SIMD reaches is an error: the machine has places for waves, and its shared memory has room for blocks. Test:
// tests/lit/gpu/bound-waves.mlir.
#include <fmt/format.h>

#include "compiler/gpu/Occupancy.h"
#include "compiler/gpu/passes/Passes.h"
#include "fattn/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_BOUNDWAVESPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

int64_t sharedBytesOf(func::FuncOp func) {
  auto bytes = func->getAttrOfType<IntegerAttr>(kSharedBytesAttr);
  return bytes ? bytes.getInt() : 0;
}

/// Machines whose code generator bounds registers like that.
std::string machinesWithSimds() {
  std::string names;
  for (std::string_view name : gpu::targetNames())
    if (gpu::findTarget(name).simds > 0) names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

void requireWaves(func::FuncOp func, int64_t waves) {
  const gpu::Target& target = targetOf(func);
  const gpu::BlockNeeds needs{.warps = static_cast<int>(warpsOf(func)), .sharedBytes = sharedBytesOf(func)};
  const int most = gpu::mostWarpsOfSimd(target, needs);
  if (most == 0)
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("waves{} asks for waves a SIMD, which {} has no bound of registers for", waves, target.name),
                "it is for " + machinesWithSimds());
  if (waves < 1 || waves > most)
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format(
            "waves{} asks for {} waves a SIMD; with {} waves and {} bytes of shared memory a program legal numbers on {} are 1 to {}",
            waves, waves, needs.warps, needs.sharedBytes, target.name, most),
        "leave it out to let the compiler choose");
}

class BoundWavesPass : public impl::BoundWavesPassBase<BoundWavesPass> {
 public:
  using BoundWavesPassBase::BoundWavesPassBase;
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration() || !func->hasAttr(kTargetAttr)) return;
    try {
      requireWaves(func, waves);
    } catch (const Error& error) {
      func.emitError() << error.what();
      return signalPassFailure();
    }
    func->setAttr(kWavesAttr, Builder(func).getI64IntegerAttr(waves));
  }
};

}  // namespace

}  // namespace fattn::tilegpu
