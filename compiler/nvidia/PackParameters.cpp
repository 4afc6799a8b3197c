// SPDX-License-Identifier: Apache-2.0
// Makes one parameter of the arguments of a kernel with tensor maps: a structure in the launch's constant memory (nvvm.grid_constant).
//
//   llvm.func @k(%p: !llvm.ptr<1>, %n: i32, %map: !llvm.ptr) attributes {tilegpu.tensor_maps = [...]}
//   =>  llvm.func @k(%all: !llvm.ptr {llvm.align = 64, llvm.byval = !llvm.array<192 x i8>, nvvm.grid_constant})
//         %p = load %all[0]; %n = load %all[8]; %map = %all + 64
//
// A map has to lie at a multiple of 64 bytes. The driver aligns parameters only where a launch hands over each one by itself, and takes
// time for each: 0.3 us for 34 of them, 0.1 us for one (H200, docs/performance.md). A kernel without maps keeps its arguments, which a
// launch hands over as one block.
//
// Arguments lie at their natural alignment, one behind the other, and maps behind them: runtime/gpu/ArgumentLayout.h packs them so.
// Test: tests/lit/nvidia/pack-parameters.mlir.
#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/nvidia/Passes.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace fattn::nvidia {

#define GEN_PASS_DEF_PACKPARAMETERSPASS
#include "compiler/nvidia/Passes.h.inc"

namespace {

constexpr int64_t kMapBytes = 128, kMapAlignment = 64, kPointerBytes = 8;

int64_t bytesOf(Type type) { return isa<LLVM::LLVMPointerType>(type) ? kPointerBytes : llvm::divideCeil(type.getIntOrFloatBitWidth(), 8); }

struct PackParametersPass : impl::PackParametersPassBase<PackParametersPass> {
  void runOnOperation() override {
    LLVM::LLVMFuncOp function = getOperation();
    auto maps = function->getAttrOfType<ArrayAttr>(tilegpu::kTensorMapsAttr);
    if (!function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()) || !maps || maps.empty()) return;
    Block& entry = function.getBody().front();
    const unsigned count = entry.getNumArguments(), firstMap = count - static_cast<unsigned>(maps.size());
    Location loc = function.getLoc();
    Type pointer = LLVM::LLVMPointerType::get(&getContext());
    Value all = entry.insertArgument(0u, pointer, loc);
    OpBuilder b = OpBuilder::atBlockBegin(&entry);
    int64_t end = 0;
    for (unsigned i = 0; i < count; ++i) {
      const bool isMap = i >= firstMap;
      BlockArgument argument = entry.getArgument(i + 1);
      const int64_t bytes = isMap ? kMapBytes : bytesOf(argument.getType());
      const auto offset = static_cast<int32_t>(llvm::alignTo(end, isMap ? kMapAlignment : bytes));
      end = offset + bytes;
      if (argument.use_empty()) continue;
      Value value = LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), all, ArrayRef<LLVM::GEPArg>{offset});
      if (!isMap)
        value = LLVM::LoadOp::create(b, loc, argument.getType(), value, static_cast<unsigned>(bytes), /*isVolatile=*/false,
                                     /*isNonTemporal=*/false, /*isInvariant=*/true);
      argument.replaceAllUsesWith(value);
    }
    entry.eraseArguments(1, count);
    auto type = function.getFunctionType();
    function.setFunctionType(LLVM::LLVMFunctionType::get(type.getReturnType(), {pointer}));
    function.setAllArgAttrs(ArrayRef<DictionaryAttr>{b.getDictionaryAttr(
        {b.getNamedAttr(LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(LLVM::LLVMArrayType::get(b.getI8Type(), end))),
         b.getNamedAttr(LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(kMapAlignment)),
         b.getNamedAttr(NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr())})});
  }
};

}  // namespace

}  // namespace fattn::nvidia
