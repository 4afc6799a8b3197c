// SPDX-License-Identifier: Apache-2.0
// The operations of the `tilegpu` dialect.
#ifndef FATTN_COMPILER_GPU_DIALECT_TILEGPUOPS_TD
#define FATTN_COMPILER_GPU_DIALECT_TILEGPUOPS_TD

include "compiler/gpu/dialect/TileGpuBase.td"
include "compiler/gpu/dialect/TileGpuProgramOps.td"

//===-- Registers -----------------------------------------------------------------------------------------------===//

def TileGpu_ConvertLayoutOp : TileGpu_Op<"convert_layout", [Pure, Tile_MovesElements]> {
  let opDocGroup = TileGpu_LayoutsTopic;
  let summary = "move a tile to other registers";
  let description = [{
    The same tile in another layout. What it takes is the layout library's to say (planConversion): nothing, renaming registers, shuffles
    between the lanes of a warp, or a round trip through shared memory; the last is rewritten by `-tilegpu-decompose-conversions`, so that a
    later conversion stays within a warp.

    Constraints:
    - C1: shape and element type of input and result match.
    - C2: both are encoded with `#tilegpu.regs`, with the same number of lanes and warps.

    Folds: to the same layout is the identity; a conversion of a conversion goes there directly.
  }];
  let arguments = (ins Tile_Tile:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TileGpu_SliceOp : TileGpu_Op<"slice", [Pure, Tile_MovesElements]> {
  let opDocGroup = TileGpu_LayoutsTopic;
  let summary = "a box of a tile's elements, in place";
  let description = [{
    Element `j` of the result is element `offsets + j` of the input. Every thread gives some of its own registers: nothing moves.

    Constraints:
    - C1: there are as many offsets as dimensions, each a multiple of the result's size there, and the box lies within the input; the element
      types match.
    - C2: each thread that holds element `j` of the result in its layout holds element `offsets + j` of the input.
  }];
  let arguments = (ins Tile_Tile:$input, DenseI64ArrayAttr:$offsets);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input $offsets attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def TileGpu_ReshapeOp : TileGpu_Op<"reshape", [Pure]> {
  let opDocGroup = TileGpu_LayoutsTopic;
  let summary = "same elements in row-major order, in tiles that are larger";
  let description = [{
    The elements of the input with indices below `from`, in row-major order, are those of the result with indices below `to`. The result's
    other elements are unspecified. This is `tile.reshape` for tiles that have been padded, and for shapes between which no layout follows
    from the other; `-tilegpu-decompose-conversions` moves the elements through shared memory.

    Constraints:
    - C1: `from` has an extent for each dimension of the input, at least 1 and at most its size; `to` for those of the result.
    - C2: `from` and `to` have as many elements; the element types match.
  }];
  let arguments = (ins Tile_Tile:$input, DenseI64ArrayAttr:$from, DenseI64ArrayAttr:$to);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input `from` $from `to` $to attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

//===-- Shared memory -------------------------------------------------------------------------------------------===//

def TileGpu_AllocOp : TileGpu_Op<"alloc", [MemoryEffects<[TileGpu_SharedAlloc]>]> {
  let opDocGroup = TileGpu_BuffersTopic;
  let summary = "shared memory for tiles";
  let description = [{
    Room in shared memory, contents undefined. `offset` (bytes from the start of the block's shared memory) is set by
    `-tilegpu-allocate-shared`: buffers that are never alive together may have the same bytes. In a loop each trip gets room of its own:
    what a trip leaves there no other one reads.

    Where whole boxes are copied into the buffer (`tilegpu.copy_async` with a map), `barriers` is where the barrier objects of its slots lie,
    8 bytes each: one a slot that a copy completes, then one a slot on which the warps release it (`tilegpu.release`), if they do. With `arrives`
    (set by `-tilegpu-share-arrivals`) copies complete the objects of another buffer instead, whose `barriers` these are: a wait for its slot is one
    for both.

    Constraints:
    - C1: `offset` and `barriers` are at least 0, and what lies there ends within the function's `tilegpu.shared_bytes` where that is known.
    - C2: a buffer of several slots is allocated outside of loops, as trips take turns with its slots.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset, OptionalAttr<I64Attr>:$barriers, OptionalAttr<I64Attr>:$arrives);
  let results = (outs Res<TileGpu_BufferType, "", [TileGpu_SharedAlloc]>:$result);
  let assemblyFormat = "attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def TileGpu_LoadBufferOp : TileGpu_Op<"load_buffer"> {
  let opDocGroup = TileGpu_BuffersTopic;
  let summary = "from shared memory to registers";
  let description = [{
    Element `j` of the result is element `offsets + j` of the tile in slot `slot`. The instruction (one that reads whole matrices, where the
    machine has such, or the widest vector loads) is chosen from the two layouts.

    Constraints:
    - C1: without `offsets` the result has the buffer's shape; with them there is one for each dimension, a multiple of the result's size
      there, and the box lies within the buffer's tile.
    - C2: the element types match.
    - C3: `extents` are as for `tilegpu.store_buffer`, and there are no `offsets`. Elements of the result outside of them are unspecified.
    - C4: the buffer is the result of a `tilegpu.alloc`, so that its bytes are known; a slot that is a constant is one of its slots.
  }];
  let arguments = (ins Arg<TileGpu_BufferType, "", [TileGpu_SharedRead]>:$buffer, I32:$slot, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$offsets,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$extents);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$buffer `[` $slot `]` attr-dict `:` qualified(type($buffer)) `->` type($result)";
  let hasVerifier = 1;
}

def TileGpu_StoreBufferOp : TileGpu_Op<"store_buffer", [TileGpu_NeedsAllWarps]> {
  let opDocGroup = TileGpu_BuffersTopic;
  let summary = "from registers to shared memory";
  let description = [{
    Writes the whole tile of slot `slot`. Elements that several threads hold are written by each of them or by one.

    With `extents` the elements of the value with indices below them, in row-major order, are the elements of a buffer of one dimension; the
    others are not written.

    Constraints:
    - C1: the value has the buffer's element type, and without `extents` its shape.
    - C2: `extents` are one for each dimension of the value, at least 1 and at most its size; the buffer has one dimension, of as many
      elements as the extents have.
    - C3: buffer and slot are as for `tilegpu.load_buffer`.
  }];
  let arguments = (ins Tile_Tile:$value, Arg<TileGpu_BufferType, "", [TileGpu_SharedWrite]>:$buffer, I32:$slot,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$extents);
  let assemblyFormat = "$value `,` $buffer `[` $slot `]` attr-dict `:` type($value) `,` qualified(type($buffer))";
  let hasVerifier = 1;
}

//===-- Copies in flight ----------------------------------------------------------------------------------------===//

def TileGpu_CopyAsyncOp : TileGpu_Op<"copy_async", [AttrSizedOperandSegments, TileGpu_NeedsAllWarps]> {
  let opDocGroup = TileGpu_CopiesTopic;
  let summary = "begin to copy a tile from global to shared memory";
  let description = [{
    Copies the tile that `ptr` points at into slot `slot`, as `tile.load` with padding 0 would read it; the data is there for the executing
    thread after `tilegpu.copy_wait` of the token, and for the others after a barrier behind that. Until then the slot may hold anything.
    Where `pred` is given and false, nothing is read and nothing is written: the slot keeps what it holds, which may be another buffer's by
    then. Every copy_async is one group of its own, whether its predicate holds or not: groups complete in order.

    `layout` says which thread copies which elements, in vectors of its registers that follow each other in both memories. An element that
    several threads hold is copied by the first of them.

    With `map` in place of a layout, one thread has an engine copy whole boxes of the array that the function's tensor map of this number
    describes (`tilegpu.tensor_maps`); `coordinates` are the window's place in the array's dimensions beyond the window's own. The data is
    then there for every thread that has waited. The copy begins when all warps have released the slot's last content (`tilegpu.release`),
    where they release it. `phase` is then the number of boxes' copies into this slot before, of which the lowest bit matters; without it
    the thread counts them itself (`-tilegpu-count-phases`).

    Constraints:
    - C1: the buffer has the block pointer's shape and element type.
    - C2: `boundary_check` names distinct dimensions of the block pointer.
    - C3: `layout` is a layout of the block pointer's tile.
    - C4: along some dimension every thread of `layout` holds at least 4 bytes of elements that follow each other, and these follow each
      other in the buffer: no machine copies less.
    - C5: buffer and slot are as for `tilegpu.load_buffer`, and the buffer is allocated outside of loops: a copy may be in flight from one
      trip to the next.
    - C6: it has a layout or a map; with a map C3 and C4 do not apply, the function has a tensor map of this number, and there is a coordinate
      for each dimension of it beyond two.
  }];
  let arguments = (ins Arg<Tile_BlockPtrType, "", [MemRead]>:$ptr, Arg<TileGpu_BufferType, "", [TileGpu_SharedWrite]>:$buffer, I32:$slot, Optional<I1>:$pred,
                       Optional<I32>:$phase, Variadic<I32>:$coordinates, OptionalAttr<TileGpu_RegsAttr>:$layout, OptionalAttr<I64Attr>:$map,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$boundary_check);
  let results = (outs TileGpu_TokenType:$token);
  let assemblyFormat = [{
    $ptr `,` $buffer `[` $slot `]` (`if` $pred^)? (`phase` $phase^)? (`map` $map^ `[` $coordinates `]`)? attr-dict `:` qualified(type($ptr)) `,` qualified(type($buffer))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// An engine copies whole boxes by a tensor map.
    bool isBulk() { return getMap().has_value(); }
  }];
}

def TileGpu_StoreBoxesOp : TileGpu_Op<"store_boxes"> {
  let opDocGroup = TileGpu_CopiesTopic;
  let summary = "write a tile to global memory by a copy engine";
  let description = [{
    Stores the tile as `tile.store` does, or with `add` adds it as `tile.accumulate` does. Each warp lays its part into the buffer, and an engine takes them from there, in boxes of the array
    that the function's tensor map of number `map` describes; `coordinates` are as for `tilegpu.copy_async`. The warp goes on while the
    engine works. It waits for the engine before it lays the next tile, or the next part of one, into the buffer, and before the kernel ends.
    With `tilegpu.made = "elsewhere"` a `tilegpu.send_boxes` tells the engine.

    Nothing else may use the buffer's bytes behind it; where it stands in a loop, nothing else in the loop may. No program may read or write
    again what it has stored: threads and the engine have no order. Additions have none among themselves, so that a loop may repeat them.

    Constraints:
    - C1: value, block pointer and buffer have one shape of two dimensions and one element type; the buffer has one slot and is allocated
      outside of loops.
    - C2: `boundary_check` names distinct dimensions of the block pointer.
    - C3: the function has a tensor map of this number, and there is a coordinate for each dimension of it beyond two.
    - C4: the map's box is whole in one warp: the value's layout has each element once, and gives a warp blocks of as many rows
      as the box has, whose columns are a multiple of the box's. Not needed with `tilegpu.made = "elsewhere"`.
    - C5: an operation in a loop has `add`.
    - C6: with `awaited`, `tilegpu.await_sent` stands before it and behind the store before it.
  }];
  let arguments = (ins Arg<Tile_BlockPtrType, "", [MemWrite]>:$ptr, Tile_Tile:$value, Arg<TileGpu_BufferType, "", [TileGpu_SharedWrite]>:$buffer,
                       Variadic<I32>:$coordinates, I64Attr:$map, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$boundary_check, UnitAttr:$add,
                       UnitAttr:$awaited);
  let assemblyFormat = [{
    $ptr `,` $value `in` $buffer `map` $map `[` $coordinates `]` attr-dict `:` qualified(type($ptr)) `,` type($value) `,` qualified(type($buffer))
  }];
  let hasVerifier = 1;
}

def TileGpu_AwaitSentOp : TileGpu_Op<"await_sent", [MemoryEffects<[TileGpu_SharedWrite]>]> {
  let opDocGroup = TileGpu_CopiesTopic;
  let summary = "wait until a copy engine has read what was stored before";
  let description = [{
    The thread waits for the engine that takes what its `tilegpu.store_boxes` have laid into buffers. A `tilegpu.store_boxes` with `awaited`
    does not wait by itself. Inserted by `-tilegpu-fill-dots` where the thread waits for dots in any case.
  }];
  let assemblyFormat = "attr-dict";
}

def TileGpu_SendBoxesOp : TileGpu_Op<"send_boxes"> {
  let opDocGroup = TileGpu_CopiesTopic;
  let summary = "let a copy engine take what the computing warps have laid into a buffer";
  let description = [{
    The part of a `tilegpu.store_boxes` that warps which only copy do for those that compute. It waits until each computing warp has laid its
    part of the tile into the buffer, lets the engine take all of it, and hands the buffer back when the engine has read it. The store that
    lays the tile has `tilegpu.made = "elsewhere"`; each of its runs has one of this operation, in the same order. Inserted by
    `-tilegpu-split-roles`.

    Constraints:
    - C1: block pointer and buffer have one shape of two dimensions and one element type; the buffer has one slot and is allocated outside of
      loops.
    - C2: `boundary_check` names distinct dimensions of the block pointer.
    - C3: the function has a tensor map of this number, whose box divides the tile, and there is a coordinate for each dimension of it beyond
      two.
  }];
  let arguments = (ins Arg<Tile_BlockPtrType, "", [MemWrite]>:$ptr, Arg<TileGpu_BufferType, "", [TileGpu_SharedRead]>:$buffer,
                       Variadic<I32>:$coordinates, I64Attr:$map, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$boundary_check, UnitAttr:$add);
  let assemblyFormat = "$ptr `in` $buffer `map` $map `[` $coordinates `]` attr-dict `:` qualified(type($ptr)) `,` qualified(type($buffer))";
  let hasVerifier = 1;
}

def TileGpu_CopyWaitOp : TileGpu_Op<"copy_wait", [
    AttrSizedOperandSegments, MemoryEffects<[TileGpu_SharedRead, TileGpu_SharedWrite]>, TileGpu_NeedsAllWarps, TileGpu_Synchronizes]> {
  let opDocGroup = TileGpu_CopiesTopic;
  let summary = "wait for copies of the executing thread";
  let description = [{
    Returns when the copies of these tokens are complete. `pending` (set by `-tilegpu-place-waits`) is the number of younger copies that may
    still be in flight; without it, none may. Copies of whole boxes are not counted: a wait for one names its buffer and slot, and
    there is exactly one such wait for each copy that was issued. `phase` is as for `tilegpu.copy_async`: the number of waits for this slot
    before.

    Constraints:
    - C1: each token comes from a `tilegpu.copy_async`, perhaps round a loop or through branches.
    - C2: `pending` is at least 0.
    - C3: a wait for a copy by a tensor map is for that token alone, and has the copy's buffer and a slot; others have neither, and no phase.
  }];
  let arguments = (ins Variadic<TileGpu_TokenType>:$tokens, Optional<TileGpu_BufferType>:$buffer, Optional<I32>:$slot, Optional<I32>:$phase,
                       OptionalAttr<I64Attr>:$pending);
  let assemblyFormat = "$tokens (`in` $buffer^ `[` $slot `]` (`phase` $phase^)? `:` qualified(type($buffer)))? attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// For a copy of whole boxes by a tensor map.
    bool isBulk() { return static_cast<bool>(getBuffer()); }
  }];
}

def TileGpu_ReleaseOp : TileGpu_Op<"release", [
    MemoryEffects<[TileGpu_SharedRead, TileGpu_SharedWrite]>, TileGpu_NeedsAllWarps, TileGpu_Synchronizes]> {
  let opDocGroup = TileGpu_CopiesTopic;
  let summary = "the executing warp reads a slot no more";
  let description = [{
    What the slot holds has been read: the next `tilegpu.copy_async` by a tensor map into it begins when every warp has said so. There is
    exactly one release of each warp for each such copy into the buffer. In `tilegpu.owner_only` it is one of each warp of the owner, for what
    warps have filled (`tilegpu.slot_acquire`).

    Constraints:
    - C1: buffer and slot are as for `tilegpu.load_buffer`.
  }];
  let arguments = (ins TileGpu_BufferType:$buffer, I32:$slot);
  let assemblyFormat = "$buffer `[` $slot `]` attr-dict `:` qualified(type($buffer))";
  let hasVerifier = 1;
}

def TileGpu_InitBarriersOp : TileGpu_Op<"init_barriers", [MemoryEffects<[TileGpu_SharedWrite]>]> {
  let opDocGroup = TileGpu_CopiesTopic;
  let summary = "barrier objects for copies by tensor maps";
  let description = [{
    Makes the barrier objects of all buffers that have some (`barriers` of `tilegpu.alloc`). Inserted at the function's start by
    `-tilegpu-allocate-shared`; a barrier follows (`-tilegpu-place-barriers`).
  }];
  let assemblyFormat = "attr-dict";
}

def TileGpu_BarrierOp : TileGpu_Op<"barrier", [MemoryEffects<[TileGpu_SharedRead, TileGpu_SharedWrite]>, TileGpu_NeedsAllWarps]> {
  let opDocGroup = TileGpu_WarpsTopic;
  let summary = "all threads of the block arrive before any goes on";
  let description = [{
    Shared memory written before it is seen by all behind it. With `global` the same holds of global memory, and no thread writes there behind the barrier
    before the others have read; on machines where each barrier does so (`Barriers::orderAll`) it is not said. Inserted by `-tilegpu-place-barriers` only.
  }];
  let arguments = (ins UnitAttr:$global);
  let assemblyFormat = "attr-dict";
}

def TileGpu_AwaitLaunchesOp : TileGpu_Op<"await_launches", [MemoryEffects<[TileGpu_SharedRead, TileGpu_SharedWrite]>]> {
  let opDocGroup = TileGpu_WarpsTopic;
  let summary = "wait for the launch in front of this one";
  let description = [{
    The thread goes on when the launch in front has ended and what it wrote is to be seen; then the one behind may start. In kernels that
    overlap with their neighbours in a stream (`tile.overlaps`), where the machine lets them (`overlapsLaunches`); elsewhere launches wait by
    themselves. Every thread does it once, before it touches global memory that is not `tile.settled`. Inserted by
    `-tilegpu-await-launches` only; where that finds nothing to read before, the kernel begins with the wait.
  }];
  let assemblyFormat = "attr-dict";
}

//===-- Roles ---------------------------------------------------------------------------------------------------===//

def TileGpu_IsCopierOp : TileGpu_Op<"is_copier", [Pure]> {
  let opDocGroup = TileGpu_WarpsTopic;
  let summary = "whether the executing warp only copies";
  let description = [{
    True in the warps behind the function's `tilegpu.warps`, of which there are `tilegpu.copier_warps`; with `thread 0` in one thread of the first
    of them, with `thread 1` in one of the second.
    Inserted by `-tilegpu-split-roles`: what stands under it no computing warp executes, and the barriers elsewhere are these warps' alone.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$thread);
  let results = (outs I1:$result);
  let assemblyFormat = "(`thread` $thread^)? attr-dict";
}

def TileGpu_WarpLeastOp : TileGpu_Op<"warp_least", [Pure]> {
  let opDocGroup = TileGpu_WarpsTopic;
  let summary = "the least element of a tile that the executing warp holds";
  let description = [{
    The least element, as a signed number, among those in the registers of the warp. It differs from warp to warp: only what no other warp takes
    part in may depend on it. Inserted by `-tilegpu-narrow-guards`.

    Constraints:
    - C1: the tile has elements of type i32.
  }];
  let arguments = (ins Tile_Tile:$input);
  let results = (outs I32:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def TileGpu_GroupLastOp : TileGpu_Op<"group_last", [Pure]> {
  let opDocGroup = TileGpu_WarpsTopic;
  let summary = "the last index that the executing warp group holds";
  let description = [{
    The greatest index along a tile's first dimension of which the warp group holds an element in this layout. It differs from group to group: only what
    no other group takes part in may depend on it. Inserted by `-tilegpu-skip-trips`.

    Constraints:
    - C1: the layout has as many warps as the function, and the function's machine has warp groups.
  }];
  let arguments = (ins TileGpu_RegsAttr:$layout);
  let results = (outs I32:$result);
  let assemblyFormat = "qualified($layout) attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The result in each warp group.
    ::llvm::SmallVector<int64_t> byGroup();
  }];
}

def TileGpu_SetRegistersOp : TileGpu_Op<"set_registers", [MemoryEffects<[TileGpu_SharedWrite]>]> {
  let opDocGroup = TileGpu_WarpsTopic;
  let summary = "a warp group's registers a thread, from here on";
  let description = [{
    Gives registers back, or with `more` waits until there are as many. All warps of a group execute it.
  }];
  let arguments = (ins I64Attr:$count, UnitAttr:$more);
  let assemblyFormat = "$count (`more` $more^)? attr-dict";
}

def TileGpu_TurnWaitOp : TileGpu_Op<"turn_wait", [MemoryEffects<[TileGpu_SharedRead, TileGpu_SharedWrite]>, TileGpu_Synchronizes]> {
  let opDocGroup = TileGpu_WarpsTopic;
  let summary = "until it is this warp group's turn";
  let description = [{
    Computing warp groups take turns, in the order of their numbers and round again: returns when the group before has passed on its turn
    (`tilegpu.turn_pass`) as often as this one has waited. It orders no memory. Inserted by `-tilegpu-place-turns`.
  }];
  let assemblyFormat = "attr-dict";
}

def TileGpu_MarkOp : TileGpu_Op<"mark", [MemoryEffects<[TileGpu_SharedRead, TileGpu_SharedWrite]>]> {
  let opDocGroup = TileGpu_WarpsTopic;
  let summary = "a warp group notes what it does, and when";
  let description = [{
    The first thread of each warp group in the launch's first block writes `event`, a number in the function's list `tilegpu.marks`, and the multiprocessor's
    clock. For debugging: inserted by `-tilegpu-place-marks`, whose events are read by `fattn-dump --trace`.
  }];
  let arguments = (ins I64Attr:$event);
  let assemblyFormat = "$event attr-dict";
}

def TileGpu_TurnPassOp : TileGpu_Op<"turn_pass", [MemoryEffects<[TileGpu_SharedRead, TileGpu_SharedWrite]>, TileGpu_Synchronizes]> {
  let opDocGroup = TileGpu_WarpsTopic;
  let summary = "it is the next warp group's turn";
  let description = [{ With `first` the last group says so, and no other: the first group may begin. }];
  let arguments = (ins UnitAttr:$first);
  let assemblyFormat = "(`first` $first^)? attr-dict";
}

//===-- Owners ----------------------------------------------------------------------------------------------------===//

class TileGpu_SlotOp<string mnemonic, list<Trait> traits = []> : TileGpu_Op<mnemonic, !listconcat(traits, [
    MemoryEffects<[TileGpu_SharedRead, TileGpu_SharedWrite]>, TileGpu_Synchronizes])> {
  let opDocGroup = TileGpu_WarpsTopic;
  let arguments = (ins TileGpu_BufferType:$buffer, I32:$slot);
  let assemblyFormat = "$buffer `[` $slot `]` attr-dict `:` qualified(type($buffer))";
  let hasVerifier = 1;
}

def TileGpu_SlotAcquireOp : TileGpu_SlotOp<"slot_acquire", [TileGpu_NeedsAllWarps]> {
  let summary = "until a slot that warps fill may be filled again";
  let description = [{
    Returns when those who read what the slot held last have released it (`tilegpu.release`); at once where it has held nothing. Behind it
    the warp writes its part of the slot (`tilegpu.store_buffer`), and says so (`tilegpu.slot_commit`). Inserted by `-tilegpu-assign-owners` and
    `-tilegpu-assign-pairs`.

    Constraints:
    - C1: buffer and slot are as for `tilegpu.load_buffer`.
  }];
}

def TileGpu_SlotCommitOp : TileGpu_SlotOp<"slot_commit", [TileGpu_NeedsAllWarps]> {
  let summary = "the executing warp has filled its part of a slot";
  let description = [{
    What the warp has written there is seen behind a `tilegpu.slot_wait`, by a matrix unit if a `tilegpu.fence_async` stands before this operation.
    There is exactly one for each `tilegpu.slot_acquire`.

    Constraints:
    - C1: buffer and slot are as for `tilegpu.load_buffer`.
  }];
}

def TileGpu_SlotWaitOp : TileGpu_SlotOp<"slot_wait"> {
  let summary = "until all warps have filled a slot";
  let description = [{
    Returns when each warp that fills the slot has committed its part. Those who read the slot execute it once for each time that the slot is
    filled, and then release the slot: the warp group that owns the slot's content (in `tilegpu.owner_only`), or, where one group fills the slot,
    all warps.

    Constraints:
    - C1: buffer and slot are as for `tilegpu.load_buffer`.
    - C2: it stands in `tilegpu.owner_only`, or what commits the slots does, always the same group's.
  }];
}

def TileGpu_OwnerOnlyOp : TileGpu_Op<"owner_only", [SingleBlockImplicitTerminator<"EndOwnerOp">, RecursiveMemoryEffects, NoRegionArguments]> {
  let opDocGroup = TileGpu_WarpsTopic;
  let summary = "the region by one warp group";
  let description = [{
    The warp group whose number is `turn` modulo the number of computing groups executes the region, and the others go on. A tile in the region has
    a layout of as many warps as a group has. What the region does to barrier objects counts for all warps, as if each had executed it.
    With `drained` no dot is in flight when the owner begins: -tilegpu-place-waits moves no wait beyond it, and says with `waits` that one is in
    flight nevertheless, from trip to trip; then the owner waits first. With `met` all groups have come to it: -tilegpu-place-barriers places
    a barrier before it. Inserted by `-tilegpu-assign-owners` and `-tilegpu-assign-pairs`.

    Constraints:
    - C1: the function's machine has warp groups, and the function two or more of them.
    - C2: the region has no result, and none of its operations needs warps of other groups.
    - C3: it does not stand in another one.
  }];
  let arguments = (ins I32:$turn, UnitAttr:$drained, UnitAttr:$waits, UnitAttr:$met);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$turn (`drained` $drained^)? (`waits` $waits^)? (`met` $met^)? $body attr-dict";
  let hasVerifier = 1;
}

def TileGpu_GroupPartOp : TileGpu_Op<"group_part", [Pure]> {
  let opDocGroup = TileGpu_WarpsTopic;
  let summary = "a tile from outside, as the executing warp group has it";
  let description = [{
    Each thread gives its own registers: nothing moves. What the groups hold in common has the input's shape. Where each of them has rows of its own,
    one group's below the other's, the result has those of the executing group.

    Constraints:
    - C1: it stands in `tilegpu.owner_only`, and the input is from outside.
    - C2: the result's layout, of as many warps as a group has, is the input's in each group.
    - C3: input and result have the same element type, and the same shape but for the number of rows, which is the same or a group's share.
  }];
  let arguments = (ins Tile_Tile:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def TileGpu_EndOwnerOp : TileGpu_Op<"end_owner", [Pure, Terminator, HasParent<"OwnerOnlyOp">]> {
  let opDocGroup = TileGpu_WarpsTopic;
  let summary = "the end of what an owner does";
  let assemblyFormat = "attr-dict";
}

//===-- Dots in flight ------------------------------------------------------------------------------------------===//

def TileGpu_DotAsyncOp : TileGpu_Op<"dot_async", [
    AllTypesMatch<["acc", "result"]>, AttrSizedOperandSegments, MemoryEffects<[TileGpu_SharedRead]>, TileGpu_NeedsAllWarps]> {
  let opDocGroup = TileGpu_MatrixUnitTopic;
  let summary = "begin a dot that reads shared memory";
  let description = [{
    `result = a . b + acc`, as `tile.dot`. `b`, and `a` where it is a buffer, are the tiles in these slots; with `transposed_a` or
    `transposed_b` the buffer holds the operand's transpose. The slots are read, and the result's registers written, until
    `tilegpu.dot_wait` of the result. Dots begin and complete in the order of the program.

    With `others` each warp group multiplies operands of its own: the first group `a` and `b`, the second one the first four of `others`, a buffer
    and a slot for either operand, and so on. `acc` and the result have the groups' products one below the other.

    Constraints:
    - C1: `a` is a tile of m x k, or a buffer of m x k (k x m with `transposed_a`) with a slot; `b` is a buffer of k x n (n x k with
      `transposed_b`); `acc` is m x n, with `others` as many times m as there are groups.
    - C2: `instruction` reads `b` from shared memory, and `a` exactly if it is a buffer.
    - C3: the only users of the result are `tilegpu.dot_wait`, and `tilegpu.dot_async` as its accumulator; a loop may carry it to them.
    - C4: what threads have written into the slots is visible to the matrix unit: behind the writes stands `tilegpu.fence_async`, and
      behind that a barrier (`-tilegpu-place-barriers`).
    - C5: `others` has a buffer, a slot, a buffer and a slot for each further group, of the types of `a` and `b`, and `a` is a buffer then.
  }];
  let arguments = (ins Tile_Tile:$acc, TileGpu_BufferType:$b, I32:$b_slot, AnyTypeOf<[Tile_Tile, TileGpu_BufferType]>:$a, Optional<I32>:$a_slot,
                       Variadic<AnyTypeOf<[TileGpu_BufferType, I32]>>:$others, TileGpu_InstructionAttr:$instruction, UnitAttr:$transposed_a,
                       UnitAttr:$transposed_b);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $a (`[` $a_slot^ `]`)? `,` $b `[` $b_slot `]` `,` $acc (`others` `(` $others^ `:` type($others) `)`)? attr-dict `:` qualified(type($a)) `,`
    qualified(type($b)) `,` type($acc)
  }];
  let extraClassDeclaration = [{
    /// What a warp group multiplies. `a` is a tile where `slotOfA` is null.
    struct Factors {
      ::mlir::Value a, slotOfA;
      ::mlir::Value b, slotOfB;
    };
    /// Of the first group, which is every group's where there are no others, and of each further one.
    ::llvm::SmallVector<Factors, 2> factors();
  }];
  let hasVerifier = 1;
}

def TileGpu_DotWaitOp : TileGpu_Op<"dot_wait", [SameOperandsAndResultType, MemoryEffects<[TileGpu_SharedRead]>, TileGpu_Synchronizes]> {
  let opDocGroup = TileGpu_MatrixUnitTopic;
  let summary = "wait for a dot in flight";
  let description = [{
    The result of a dot, once it and all older dots are complete; what they read of shared memory has been read then. `pending` (set by
    `-tilegpu-place-waits`) is the number of younger dots that may still be in flight; without it, none may.
    `covered` says that the dot is complete by then, as a wait before this one was for it as well; then this one waits for nothing.

    Constraints:
    - C1: the value is the result of `tilegpu.dot_async`, or what a loop carries and each trip leaves as one.
  }];
  let arguments = (ins Tile_Tile:$value, OptionalAttr<I64Attr>:$pending, UnitAttr:$covered);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def TileGpu_FenceAsyncOp : TileGpu_Op<"fence_async", [MemoryEffects<[TileGpu_SharedRead, TileGpu_SharedWrite]>]> {
  let opDocGroup = TileGpu_MatrixUnitTopic;
  let summary = "writes of the executing thread become visible to matrix units and copy engines";
  let description = [{
    What the thread has written to shared memory, copies that it has waited for included, is seen by engines that read shared memory by
    themselves, of this thread's warps and, behind a barrier, of all others. Inserted by `-tilegpu-place-fences`.
  }];
  let assemblyFormat = "attr-dict";
}

#endif
