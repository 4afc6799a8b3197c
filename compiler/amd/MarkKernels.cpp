// SPDX-License-Identifier: Apache-2.0
// Says which functions are kernels, how many threads a workgroup of theirs has, and how much LDS:
//
//   llvm.mlir.global external @fattn_shared() {addr_space = 3} : !llvm.array<0 x i8>
//   llvm.func @k(...) attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 4 : i64, tilegpu.shared_bytes = 512 : i64}
//   =>
//   llvm.mlir.global internal @fattn_shared() {addr_space = 3} : !llvm.array<512 x i8> { poison }
//   llvm.func @k(...) attributes {rocdl.kernel, rocdl.reqd_work_group_size = array<i32: 256, 1, 1>, ...}
//
// `tilegpu.waves = 2` becomes LLVM's attribute "amdgpu-waves-per-eu", by which registers are bounded.
//
// With a size that is known the code object says what a launch needs, and the code generator how many waves fit on a compute unit.
// Last of all, as these attributes are legal on functions of the LLVM dialect only. Test: tests/lit/amd/mark-kernels.mlir.
#include "compiler/amd/Passes.h"
#include "compiler/gpu/dialect/TileGpu.h"
#include "fattn/Error.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;

namespace fattn::amd {

#define GEN_PASS_DEF_MARKKERNELSPASS
#include "compiler/amd/Passes.h.inc"

namespace {

struct MarkKernelsPass : impl::MarkKernelsPassBase<MarkKernelsPass> {
  static void mark(LLVM::LLVMFuncOp function) {
    Builder b(function.getContext());
    auto threads = static_cast<int32_t>(tilegpu::warpsOf(function) * tilegpu::targetOf(function).warpSize);
    std::string range = std::to_string(threads) + "," + std::to_string(threads);
    function->setAttr(ROCDL::ROCDLDialect::getKernelFuncAttrName(), b.getUnitAttr());
    function->setAttr(ROCDL::ROCDLDialect::getReqdWorkGroupSizeAttrName(), b.getDenseI32ArrayAttr({threads, 1, 1}));
    function->setAttr(ROCDL::ROCDLDialect::getFlatWorkGroupSizeAttrName(), b.getStringAttr(range));
    // Accumulators stay among the other registers: half of a wave's would else be set apart for them, and values moved there and back.
    SmallVector<Attribute> more = {b.getStrArrayAttr({"amdgpu-agpr-alloc", "0"})};
    if (auto waves = function->getAttrOfType<IntegerAttr>(tilegpu::kWavesAttr))
      more.push_back(b.getStrArrayAttr({"amdgpu-waves-per-eu", std::to_string(waves.getInt())}));
    function.setPassthroughAttr(b.getArrayAttr(more));
  }

  /// Whether it is shared memory whose size nobody has said.
  static bool isOpen(LLVM::GlobalOp global) {
    return global.getAddrSpace() == ROCDL::ROCDLDialect::kSharedMemoryAddressSpace && global.getLinkage() == LLVM::Linkage::External &&
           global.getInitializerRegion().empty();
  }

  /// The block's shared memory, as large as the largest kernel needs.
  static void giveSize(LLVM::GlobalOp shared, int64_t bytes) {
    OpBuilder b(shared);
    Type type = LLVM::LLVMArrayType::get(b.getI8Type(), static_cast<unsigned>(bytes));
    auto sized = LLVM::GlobalOp::create(b, shared.getLoc(), type, /*isConstant=*/false, LLVM::Linkage::Internal, shared.getSymName(),
                                        Attribute(), shared.getAlignment().value_or(0), shared.getAddrSpace());
    b.createBlock(&sized.getInitializerRegion());
    LLVM::ReturnOp::create(b, shared.getLoc(), LLVM::PoisonOp::create(b, shared.getLoc(), type));
    shared.erase();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    int64_t bytes = 0;
    for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
      if (!function->hasAttr("tile.kernel")) continue;
      try {
        mark(function);
      } catch (const Error& error) {
        function.emitOpError() << error.what();
        return signalPassFailure();
      }
      if (auto own = function->getAttrOfType<IntegerAttr>(tilegpu::kSharedBytesAttr)) bytes = std::max(bytes, own.getInt());
    }
    for (auto global : llvm::make_early_inc_range(module.getOps<LLVM::GlobalOp>()))
      if (isOpen(global)) giveSize(global, bytes);
  }
};

}  // namespace

}  // namespace fattn::amd
