// SPDX-License-Identifier: Apache-2.0
// Says which functions are kernels, and how many threads a block of theirs has:
//
//   llvm.func @k(...) attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64}
//   =>  ... {nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 128>}
//
// One block an SM is enough: ptxas would otherwise spill a few registers to make room for more of them, of whose shared memory it knows
// nothing. (The driver's assembler does not.) A kernel may ask for more (tile.resident).
//
// A kernel that should overlap with its neighbours in a stream (tile.overlaps) begins with
//
//   griddepcontrol.wait                  until the kernel in front has ended, and what it wrote is to be seen
//   griddepcontrol.launch_dependents     once all programs of this kernel have come here, the kernel behind may start where there is room
//
// where the chip has these instructions; elsewhere the attributes go. Both stand elsewhere where the kernel has a place for them
// (tilegpu.await_launches). A kernel that relays (tile.relays) begins with launch_dependents in any case: the kernel behind waits for this
// one, which waits for the one in front. Others do not: if programs take half of a multiprocessor or less, those of three kernels would be
// there at once, and some multiprocessors would get two of the kernel that has work while others get none. A kernel that nobody launches in
// that way passes the wait. Source: PTX ISA 8.7, "griddepcontrol".
//
// Runs late, as NVVM's attributes are legal on functions of the LLVM dialect only. Test: tests/lit/nvidia/mark-kernels.mlir.
#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/nvidia/Machine.h"
#include "compiler/nvidia/Passes.h"
#include "fattn/Error.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace fattn::nvidia {

#define GEN_PASS_DEF_MARKKERNELSPASS
#include "compiler/nvidia/Passes.h.inc"

namespace {

constexpr const char *kAwaitLaunches = "griddepcontrol.wait;", *kLetLaunches = "griddepcontrol.launch_dependents;";

void emitControl(OpBuilder& b, Location loc, const char* text) {
  LLVM::InlineAsmOp::create(b, loc, TypeRange(), ValueRange(), text, "~{memory}", /*has_side_effects=*/true, /*is_align_stack=*/false,
                            LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

struct MarkKernelsPass : impl::MarkKernelsPassBase<MarkKernelsPass> {
  static void overlap(LLVM::LLVMFuncOp function) {
    const bool relays = function->removeAttr(tile::kRelaysAttr) != nullptr;
    if (!function->hasAttr(tile::kOverlapsAttr)) return;
    if (!tilegpu::targetOf(function).overlapsLaunches) {
      function->removeAttr(tile::kOverlapsAttr);
      return;
    }
    LLVM::InlineAsmOp place;
    function.walk([&](LLVM::InlineAsmOp assembly) {
      if (assembly.getAsmString() == kAwaitLaunches) place = assembly;
    });
    OpBuilder b = OpBuilder::atBlockBegin(&function.getBody().front());
    if (relays) emitControl(b, function.getLoc(), kLetLaunches);
    if (place)
      b.setInsertionPointAfter(place);
    else
      emitControl(b, function.getLoc(), kAwaitLaunches);
    if (!relays) emitControl(b, function.getLoc(), kLetLaunches);
  }

  void runOnOperation() override {
    LLVM::LLVMFuncOp function = getOperation();
    if (!function->hasAttr("tile.kernel")) return;
    try {
      auto threads =
          static_cast<int32_t>((tilegpu::warpsOf(function) + tilegpu::copierWarpsOf(function)) * tilegpu::targetOf(function).warpSize);
      function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), UnitAttr::get(&getContext()));
      function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), DenseI32ArrayAttr::get(&getContext(), {threads}));
      auto resident = function->getAttrOfType<IntegerAttr>(tile::kResidentAttr);
      constexpr int64_t kMostResident = 32;  // what every chip holds
      if (resident && (resident.getInt() < 1 || resident.getInt() > kMostResident)) {
        function.emitOpError() << tile::kResidentAttr << " is " << resident.getInt() << "; it must be 1 to " << kMostResident;
        return signalPassFailure();
      }
      function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                        IntegerAttr::get(IntegerType::get(&getContext(), 32), resident ? resident.getInt() : 1));
      if (const int64_t cluster = tilegpu::clusterOf(function); cluster > 1)
        function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                          DenseI32ArrayAttr::get(&getContext(), {static_cast<int32_t>(cluster), 1, 1}));
      overlap(function);
    } catch (const Error& error) {
      function.emitOpError() << error.what();
      signalPassFailure();
    }
  }
};

}  // namespace

void Machine::awaitLaunches(gpu::Lowering& to) { emitControl(to.b, to.b.getLoc(), kAwaitLaunches); }

}  // namespace fattn::nvidia
