// SPDX-License-Identifier: Apache-2.0
// The `tilegpu` dialect, its attributes and types: WHERE a tile lives and WHEN it gets there.
#ifndef FATTN_COMPILER_GPU_DIALECT_TILEGPUDIALECT_TD
#define FATTN_COMPILER_GPU_DIALECT_TILEGPUDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/IR/DialectBase.td"

def TileGpu_Dialect : Dialect {
  let name = "tilegpu";
  let cppNamespace = "::fattn::tilegpu";
  let summary = "Tiles with homes: registers, shared memory, and copies in flight";
  let description = [{
    The same operations as in `tile`, `arith`, `math` and `scf`, on tiles whose type says where they live. A tensor with the
    encoding `#tilegpu.regs<...>` is spread over the registers of a block's threads; a `!tilegpu.buffer` lies in shared
    memory. What moves a tile between two homes is an operation of this dialect; everything else keeps its own.

    Rules that hold once `-tilegpu-assign-layouts` has run:
    - every tile has an encoding; elementwise operations have one encoding for operands and results;
    - `tile.expand_dims`, `tile.broadcast`, `tile.trans`, `tile.reduce` (within a warp), `tile.reshape`, `tile.join`, `tile.split`
      only rename registers, apart from what they compute: the result's layout follows from the operand's;
    - a `tile.reduce` whose region yields its left side gives any one of the elements: every thread takes one of its own;
    - where a tile was padded (`-tilegpu-pad-tiles`), `tile.load`, `tile.store`, `tile.device_print` and `tilegpu.copy_async` carry
      `tilegpu.extents`: elements with an index at or beyond its extent are not accessed, and a load or copy gives its padding there; of what
      else is in the padding nobody may rely on anything;
    - a `tile.cumsum` with `tilegpu.exclusive` leaves the element itself out of its sum (`-tilegpu-decompose-conversions`);
    - the operands and the accumulator of `tile.dot` have the fragments of one matrix instruction, which `tilegpu.instruction` names; an
      operand that it reads from shared memory comes from a load, and has the fragments that would be in registers else;
    - where copy engines move whole boxes, the function carries `tilegpu.tensor_maps`, an array with one dictionary for each map that a launch
      makes of its arguments: `pointer`, the number of the argument that is the array's first element; `sizes`, the elements along each
      dimension, the contiguous one first; `strides`, the bytes from one index to the next along all but the first; `box`, the elements that a
      copy moves along each of the first two; `swizzle`, the bytes of a row of the box. Sizes and strides are products, each an array of a
      constant and the numbers of the arguments to multiply it by. `tilegpu.non_negative` are the numbers of arguments for which the
      maps are right only if they are not negative;
    - with roles (`-tilegpu-split-roles`) the block has `tilegpu.copier_warps` more warps than layouts know, and each copy by a tensor map stands
      twice: `tilegpu.made = "alone"` where the one thread that executes it makes it, `"elsewhere"` where the program waits for it;
    - with `tilegpu.several` blocks are to take several programs, if the passes behind can let them, and rows that are redone get no shared
      memory; with `tilegpu.repeats` a block takes one program after another (`tilegpu.each_program`);
    - the function carries `tilegpu.target`, the name of a row of the machine table, and `tilegpu.warps = 4 : i64`, the warps of a block.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class TileGpu_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<TileGpu_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
}

class TileGpu_Type<string name, string typeMnemonic> : TypeDef<TileGpu_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def TileGpu_Layout : AttrOrTypeParameter<"::fattn::layout::LinearLayout", "linear layout"> {
  let cppAccessorType = "const ::fattn::layout::LinearLayout &";
}

def TileGpu_RegsAttr : TileGpu_Attr<"Regs", "regs", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "which element each register of each lane of each warp holds";
  let description = [{
    A linear layout from `register`, `lane` and `warp` to `dim0`, `dim1`, ... in the notation of the layout library:

    ```mlir
    #acc = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 | dim0: 16, dim1: 8">
    ```

    Constraints:
    - C1: its outputs are the dimensions of the tensor, with their sizes, and every element is held.
    - C2: its inputs are `register`, `lane` and `warp`, in this order.
  }];
  let parameters = (ins TileGpu_Layout:$layout);
}

def TileGpu_SharedAttr : TileGpu_Attr<"Shared", "shared"> {
  let summary = "which element each offset of shared memory holds";
  let description = [{
    A bijective linear layout from `offset` (in elements) to `dim0`, `dim1`, ..., swizzles included:
    `#tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (1,1), 8 -> (2,2) | dim0: 4, dim1: 4">`.
  }];
  let parameters = (ins TileGpu_Layout:$layout);
}

def TileGpu_BufferType : TileGpu_Type<"Buffer", "buffer"> {
  let summary = "slots of shared memory, each with room for one tile";
  let description = [{
    `!tilegpu.buffer<2 x 64x128xbf16, #tilegpu.shared<...>>`: two slots one after the other, each with a tile of 64 x 128.
  }];
  let parameters = (ins "int64_t":$slots, ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType, "SharedAttr":$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    /// Of one element in memory; an i1 takes one byte.
    int64_t getElementBytes() const;
    int64_t getSlotBytes() const;
    int64_t getBytes() const { return getSlots() * getSlotBytes(); }
    /// The same slots in another number.
    BufferType withSlots(int64_t slots) const;
  }];
}

def TileGpu_InstructionAttr : TileGpu_Attr<"Instruction", "instruction"> {
  let summary = "the matrix instruction that a dot becomes";
  let description = [{
    `#tilegpu.instruction<"wgmma" depth 16 shared a b>`: a row of the machine table by its name, the depth of one instruction, and which
    operands it reads from shared memory; the others are in registers. `-tilegpu-assign-layouts` records it on every `tile.dot` as
    `tilegpu.instruction`, and whoever needs it asks there.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$depth, "bool":$sharedA, "bool":$sharedB);
}

def TileGpu_TokenType : TileGpu_Type<"Token", "token"> {
  let summary = "a copy in flight";
  let description = [{ What `tilegpu.copy_async` gives and `tilegpu.copy_wait` takes. It has no value at run time. }];
}

#endif
