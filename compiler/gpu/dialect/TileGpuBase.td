// SPDX-License-Identifier: Apache-2.0
// What the operations of the `tilegpu` dialect have in common.
#ifndef FATTN_COMPILER_GPU_DIALECT_TILEGPUBASE_TD
#define FATTN_COMPILER_GPU_DIALECT_TILEGPUBASE_TD

include "compiler/dialect/TileBase.td"
include "compiler/gpu/dialect/TileGpuDialect.td"

class TileGpu_Op<string mnemonic, list<Trait> traits = []> : Op<TileGpu_Dialect, mnemonic, traits>;

// Traits of TileGpuTraits.h.
class TileGpu_Trait<string name> : NativeOpTrait<name> {
  let cppNamespace = "::fattn::tilegpu";
}
def TileGpu_NeedsAllWarps : TileGpu_Trait<"NeedsAllWarps">;
def TileGpu_Synchronizes : TileGpu_Trait<"Synchronizes">;

// Topics of the reference.
class TileGpu_Topic<string title, string text> : OpDocGroup {
  let summary = title;
  let description = text;
}
def TileGpu_LayoutsTopic : TileGpu_Topic<"Layouts", "Tiles in registers that come into another layout, or in parts.">;
def TileGpu_BuffersTopic : TileGpu_Topic<"Buffers", "Tiles in shared memory.">;
def TileGpu_CopiesTopic : TileGpu_Topic<"Copies", "From global memory into buffers, ahead of their use.">;
def TileGpu_MatrixUnitTopic : TileGpu_Topic<"Dots that run by themselves", "A matrix unit that reads shared memory.">;
def TileGpu_WarpsTopic : TileGpu_Topic<"Warps", "Who waits for whom, and who does what.">;
def TileGpu_ProgramsTopic : TileGpu_Topic<"Several programs a block", "One program of the grid after the other.">;

/// What a block's threads share and no other block sees: apart from global memory, so that code that may run speculatively may use it.
def TileGpu_SharedMemory : Resource<"::fattn::tilegpu::SharedMemory">;
def TileGpu_SharedRead : MemRead<TileGpu_SharedMemory>;
def TileGpu_SharedWrite : MemWrite<TileGpu_SharedMemory>;
def TileGpu_SharedAlloc : MemAlloc<TileGpu_SharedMemory>;

#endif
