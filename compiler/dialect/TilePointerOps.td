// SPDX-License-Identifier: Apache-2.0
// The grid, pointers and memory.
#ifndef FATTN_COMPILER_DIALECT_TILEPOINTEROPS_TD
#define FATTN_COMPILER_DIALECT_TILEPOINTEROPS_TD

include "compiler/dialect/TileBase.td"

//===-- The grid ------------------------------------------------------------------------------------------------===//

def Tile_ProgramIdOp : Tile_Op<"program_id", [Pure]> {
  let opDocGroup = Tile_GridTopic;
  let summary = "index of this program along a grid axis";
  let description = [{
    The programs of a launch form a grid of up to three axes `x`, `y`, `z`. The result is in `[0, num_programs(axis))`.

    Example:
    ```mlir
    func.func @program_id() -> i32 {
      %0 = tile.program_id x : i32
      return %0 : i32
    }
    ```
  }];
  let arguments = (ins Tile_Axis:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

def Tile_NumProgramsOp : Tile_Op<"num_programs", [Pure]> {
  let opDocGroup = Tile_GridTopic;
  let summary = "number of programs along a grid axis";
  let description = [{
    The extent of the launched grid along `axis`, at least 1.

    Example:
    ```mlir
    func.func @num_programs() -> i32 {
      %0 = tile.num_programs z : i32
      return %0 : i32
    }
    ```
  }];
  let arguments = (ins Tile_Axis:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

//===-- Pointers ------------------------------------------------------------------------------------------------===//

def Tile_MakeBlockPtrOp : Tile_Op<"make_block_ptr", [Pure, AttrSizedOperandSegments]> {
  let opDocGroup = Tile_PointersTopic;
  let summary = "make a block pointer";
  let description = [{
    Describes an array in global memory and a window of it. With rank `n`, element `i = (i_0, ..., i_{n-1})` of the
    array, `0 <= i_d < shape_d`, lies at `base + sum_d i_d * strides_d`, counted in elements. The window has the static
    shape of the result type; its element `j` is the array's element `offsets + j`.

    Nothing is read: the window may lie partly or wholly outside the array, also at negative offsets. Strides may be
    zero or negative; where anything is written through the pointer, different elements of the array lie at different places.
    Sums and products are taken in 64 bits.

    Constraints:
    - C1: the element type of the result is the pointee of `base`.
    - C2: `shape`, `strides` and `offsets` each have as many operands as the result has dimensions.

    Example:
    ```mlir
    func.func @make_block_ptr(%base: !tile.ptr<bf16>, %rows: i64, %stride: i64, %row: i64) -> !tile.block_ptr<128x64xbf16> {
      %c0 = arith.constant 0 : i64
      %c1 = arith.constant 1 : i64
      %c64 = arith.constant 64 : i64
      %0 = tile.make_block_ptr %base, shape [%rows, %c64], strides [%stride, %c1], offsets [%row, %c0]
        : !tile.ptr<bf16> -> !tile.block_ptr<128x64xbf16>
      return %0 : !tile.block_ptr<128x64xbf16>
    }
    ```
  }];
  let arguments = (ins Tile_PtrType:$base, Variadic<I64>:$shape, Variadic<I64>:$strides, Variadic<I64>:$offsets);
  let results = (outs Tile_BlockPtrType:$result);
  let assemblyFormat = [{
    $base `,` `shape` `[` $shape `]` `,` `strides` `[` $strides `]` `,` `offsets` `[` $offsets `]` attr-dict `:` qualified(type($base)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Tile_AdvanceOp : Tile_Op<"advance", [Pure, AllTypesMatch<["ptr", "result"]>]> {
  let opDocGroup = Tile_PointersTopic;
  let summary = "move a block pointer";
  let description = [{
    The same array, with the window at `offsets + deltas`.

    Constraints:
    - C1: there are as many deltas as the block pointer has dimensions.

    Folds: advancing by zeros is the identity; an advance of an advance adds the deltas.

    Example:
    ```mlir
    func.func @advance(%ptr: !tile.block_ptr<32x64xf32>, %rows: i64) -> !tile.block_ptr<32x64xf32> {
      %c0 = arith.constant 0 : i64
      %0 = tile.advance %ptr, [%rows, %c0] : !tile.block_ptr<32x64xf32>
      return %0 : !tile.block_ptr<32x64xf32>
    }
    ```
  }];
  let arguments = (ins Tile_BlockPtrType:$ptr, Variadic<I64>:$deltas);
  let results = (outs Tile_BlockPtrType:$result);
  let assemblyFormat = "$ptr `,` `[` $deltas `]` attr-dict `:` qualified(type($ptr))";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tile_AddPtrOp : Tile_Op<"addptr", [Pure, AllTypesMatch<["ptr", "result"]>, Tile_CheapToRepeat, Tile_KeepsIndices]> {
  let opDocGroup = Tile_PointersTopic;
  let summary = "offset a pointer, or a tile of pointers, by elements";
  let description = [{
    `result = ptr + offset`, element by element; `offset` is a signed integer and counts elements of the pointee type.

    Constraints:
    - C1: the elements of `offset` are integers of at least 8 bits, or `index`.
    - C2: `offset` is a scalar where `ptr` is one, and a tile of the same shape where `ptr` is a tile.

    Example:
    ```mlir
    func.func @addptr(%base: !tile.ptr<f16>, %row: i64) -> tensor<128x!tile.ptr<f16>> {
      %0 = tile.addptr %base, %row : !tile.ptr<f16>, i64
      %1 = tile.splat %0 : !tile.ptr<f16> -> tensor<128x!tile.ptr<f16>>
      %2 = tile.arange 0 : tensor<128xi32>
      %3 = tile.addptr %1, %2 : tensor<128x!tile.ptr<f16>>, tensor<128xi32>
      return %3 : tensor<128x!tile.ptr<f16>>
    }
    ```
  }];
  let arguments = (ins Tile_PtrLike:$ptr, Tile_TileOrScalar:$offset);
  let results = (outs Tile_PtrLike:$result);
  let assemblyFormat = "$ptr `,` $offset attr-dict `:` type($ptr) `,` type($offset)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===-- Memory --------------------------------------------------------------------------------------------------===//

def Tile_LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead]>, Tile_AccessesArrays]> {
  let opDocGroup = Tile_MemoryTopic;
  let summary = "load the tile a block pointer points at";
  let description = [{
    Element `j` of the result is the array's element `i = offsets + j` where `0 <= i_d < shape_d` for every dimension
    `d` in `boundary_check`, and `padding` elsewhere. Padded elements are not read from memory. Without `padding` they
    are zero. In a dimension that is not checked the window must lie inside the array; otherwise the load is undefined.

    Constraints:
    - C1: the result is the block pointer's tile: its shape and element type.
    - C2: `boundary_check` names distinct dimensions of the block pointer.
    - C3: `padding` is a number of the element type.

    Example:
    ```mlir
    func.func @load(%ptr: !tile.block_ptr<128x64xf32>) -> tensor<128x64xf32> {
      %0 = tile.load %ptr {boundary_check = array<i64: 0>, padding = 1.0 : f32} : !tile.block_ptr<128x64xf32> -> tensor<128x64xf32>
      return %0 : tensor<128x64xf32>
    }
    ```
  }];
  let arguments = (ins Tile_BlockPtrType:$ptr, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$boundary_check,
                       OptionalAttr<AnyAttr>:$padding);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$ptr attr-dict `:` qualified(type($ptr)) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>, Tile_AccessesArrays]> {
  let opDocGroup = Tile_MemoryTopic;
  let summary = "store a tile where a block pointer points at";
  let description = [{
    Writes element `j` of `value` to the array's element `i = offsets + j` where `0 <= i_d < shape_d` for every
    dimension `d` in `boundary_check`; other elements are not written. In a dimension that is not checked the window must
    lie inside the array; otherwise the store is undefined.

    Constraints:
    - C1: `value` has the shape and element type of the block pointer.
    - C2: `boundary_check` names distinct dimensions of the block pointer.

    Example:
    ```mlir
    func.func @store(%ptr: !tile.block_ptr<16x16xf32>, %value: tensor<16x16xf32>) {
      tile.store %ptr, %value {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<16x16xf32>, tensor<16x16xf32>
      return
    }
    ```
  }];
  let arguments = (ins Tile_BlockPtrType:$ptr, Tile_Tile:$value, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$boundary_check);
  let assemblyFormat = "$ptr `,` $value attr-dict `:` qualified(type($ptr)) `,` type($value)";
  let hasVerifier = 1;
}

def Tile_AccumulateOp : Tile_Op<"accumulate", [MemoryEffects<[MemRead, MemWrite]>, Tile_AccessesArrays]> {
  let opDocGroup = Tile_MemoryTopic;
  let summary = "atomically add a tile to the window that a block pointer points at";
  let description = [{
    Adds element `j` of `value` to the array's element `i = offsets + j` where `0 <= i_d < shape_d` for every dimension
    `d` in `boundary_check`; other elements stay as they are. Each addition is one indivisible step, rounded to the
    element type; their order, among themselves and among programs, is not specified, nor is that of other accesses. In
    a dimension that is not checked the window must lie inside the array; otherwise the operation is undefined. Where an
    element has 16 bits, the aligned 4 bytes around it may be exchanged; the array's memory includes them.

    Constraints:
    - C1: `value` has the shape and element type of the block pointer.
    - C2: `boundary_check` names distinct dimensions of the block pointer.
    - C3: the element type is one of i32, i64, f16, bf16, f32, f64.

    Example:
    ```mlir
    func.func @accumulate(%ptr: !tile.block_ptr<16x16xf32>, %value: tensor<16x16xf32>) {
      tile.accumulate %ptr, %value {boundary_check = array<i64: 0>} : !tile.block_ptr<16x16xf32>, tensor<16x16xf32>
      return
    }
    ```
  }];
  let arguments = (ins Tile_BlockPtrType:$ptr, Tile_Tile:$value, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$boundary_check);
  let assemblyFormat = "$ptr `,` $value attr-dict `:` qualified(type($ptr)) `,` type($value)";
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [MemoryEffects<[MemRead]>, AttrSizedOperandSegments, Tile_AccessesArrays, Tile_KeepsIndices]> {
  let opDocGroup = Tile_MemoryTopic;
  let summary = "load through a pointer, or a tile of pointers";
  let description = [{
    `result[i] = mask[i] ? *ptr[i] : other[i]`. Without `mask` every element is read; without `other` a masked-off
    element is zero. Masked-off pointers are not read and need not be valid.

    Constraints:
    - C1: the result has the shape of `ptr` (a scalar where `ptr` is one) and the pointee as element type.
    - C2: `mask` has the shape of `ptr` and element type i1.
    - C3: `other` has the type of the result.
    - C4: `other` needs a `mask`.

    Example:
    ```mlir
    func.func @gather(%ptr: tensor<64x!tile.ptr<f32>>, %mask: tensor<64xi1>, %one: !tile.ptr<i32>) -> (tensor<64xf32>, i32) {
      %minus = arith.constant dense<-1.0> : tensor<64xf32>
      %0 = tile.gather %ptr, mask %mask : tensor<64xi1>, other %minus : tensor<64xf32>
        : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
      %1 = tile.gather %one : !tile.ptr<i32> -> i32
      return %0, %1 : tensor<64xf32>, i32
    }
    ```
  }];
  let arguments = (ins Tile_PtrLike:$ptr, Optional<Tile_TileOrScalar>:$mask, Optional<Tile_TileOrScalar>:$other);
  let results = (outs Tile_TileOrScalar:$result);
  let assemblyFormat = [{
    $ptr (`,` `mask` $mask^ `:` type($mask))? (`,` `other` $other^ `:` type($other))? attr-dict `:` type($ptr) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ScatterOp : Tile_Op<"scatter", [MemoryEffects<[MemWrite]>, Tile_AccessesArrays, Tile_KeepsIndices]> {
  let opDocGroup = Tile_MemoryTopic;
  let summary = "store through a pointer, or a tile of pointers";
  let description = [{
    `*ptr[i] = value[i]` where `mask[i]` holds, or everywhere without `mask`. Where two elements have the same address,
    one of them is stored; which one is not specified.

    Constraints:
    - C1: `value` has the shape of `ptr` (a scalar where `ptr` is one) and the pointee as element type.
    - C2: `mask` has the shape of `ptr` and element type i1.

    Example:
    ```mlir
    func.func @scatter(%ptr: tensor<64x!tile.ptr<f32>>, %value: tensor<64xf32>, %mask: tensor<64xi1>) {
      tile.scatter %ptr, %value, mask %mask : tensor<64xi1> : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
      return
    }
    ```
  }];
  let arguments = (ins Tile_PtrLike:$ptr, Tile_TileOrScalar:$value, Optional<Tile_TileOrScalar>:$mask);
  let assemblyFormat = "$ptr `,` $value (`,` `mask` $mask^ `:` type($mask))? attr-dict `:` type($ptr) `,` type($value)";
  let hasVerifier = 1;
}

def Tile_AtomicAddOp : Tile_Op<"atomic_add", [MemoryEffects<[MemRead, MemWrite]>, Tile_AccessesArrays, Tile_KeepsIndices]> {
  let opDocGroup = Tile_MemoryTopic;
  let summary = "atomically add through a pointer, or a tile of pointers";
  let description = [{
    `result[i] = *ptr[i]; *ptr[i] += value[i]` as one indivisible step where `mask[i]` holds, or everywhere without
    `mask`. The sum is rounded to the element type. A masked-off element of the result is zero. The order in which
    elements and programs add is not specified; the effect is visible to the other programs of the launch.
    Where an element has 16 bits, the aligned 4 bytes around it are exchanged; the array's memory includes them.

    With `order acq_rel` the addition also orders the other accesses of the programs that make it: let one program's
    addition find what another program's addition to the same element has left, directly or with further such additions
    between the two. Then all loads and stores that the other program made before its addition come before all that this
    one makes behind its own. The default, `relaxed`, says nothing about other accesses.

    Constraints:
    - C1: `value` and the result have the shape of `ptr` (scalars where `ptr` is one) and the pointee as element type.
    - C2: `mask` has the shape of `ptr` and element type i1.
    - C3: the element type is one of i32, i64, f16, bf16, f32, f64.

    Example:
    ```mlir
    func.func @atomic_add(%counter: !tile.ptr<i32>) -> i32 {
      %one = arith.constant 1 : i32
      %0 = tile.atomic_add %counter, %one order acq_rel : !tile.ptr<i32>, i32 -> i32
      return %0 : i32
    }
    ```
  }];
  let arguments = (ins Tile_PtrLike:$ptr, Tile_TileOrScalar:$value, Optional<Tile_TileOrScalar>:$mask,
                       DefaultValuedAttr<Tile_MemoryOrder, "::fattn::tile::MemoryOrder::relaxed">:$order);
  let results = (outs Tile_TileOrScalar:$result);
  let assemblyFormat = [{
    $ptr `,` $value (`,` `mask` $mask^ `:` type($mask))? (`order` $order^)? attr-dict `:` type($ptr) `,` type($value) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif
