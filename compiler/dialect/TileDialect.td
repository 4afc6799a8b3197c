// SPDX-License-Identifier: Apache-2.0
// The `tile` dialect and its types: WHAT a kernel computes, without threads or memory spaces.
#ifndef FATTN_COMPILER_DIALECT_TILEDIALECT_TD
#define FATTN_COMPILER_DIALECT_TILEDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::fattn::tile";
  let summary = "Block programs over statically shaped tiles";
  let description = [{
    A function of the `tile` dialect is one program of a grid. It computes on whole tiles (ranked tensors of
    static shape) that it loads from and stores to global memory through pointers and block pointers.
    A tile has zero or more dimensions of at least 1 element each and at most 2147483647 elements; sizes need not be powers
    of two.
    Elementwise arithmetic is `arith` and `math` on tensors, control flow is `scf`; the dialect adds only what
    upstream lacks. There are no threads, no memory spaces and no layouts at this level.

    Numbers: every floating-point operation gives the result rounded to nearest even in its element type, except where an
    operation's description says otherwise (`tile.dot`, `tile.cumsum`; approximations of `math` functions within a few
    units in the last place). Conversion to f8E4M3FN beyond its largest number, 448, gives NaN. Integers wrap at their
    width. `index` has 64 bits.

    A kernel is a `func.func` with the attribute `tile.kernel` and no results. Its arguments are pointers and scalars;
    argument attributes are `tile.name = "q"`, `tile.divisibility = 16 : i64` (bytes for a pointer, the value for an
    integer), `tile.noalias`, `tile.in_place` and `tile.settled` (a pointer; see below).

    Order: the accesses to memory of one program take effect as if one after the other, in the order of the text. A load
    gives what the program's earlier stores left, whatever pointers they went through; a tile is loaded whole before a later
    store writes any of it. Among `tile.atomic_add` whose results are not used there is no order. Between the programs of a
    grid there is none: what one writes, no other one of the launch may access but by `tile.atomic_add`.

    Aliasing: two arguments may lead to the same memory, wholly or in part, unless one of them has `tile.noalias`. It is a
    promise that what is accessed through this argument, and written by anyone in the same launch, is accessed through this
    argument alone. `tile.in_place` promises less: where one program reaches the same memory through this argument and through
    another one, it does so by windows with the same offsets and sizes, element by element the same place. An array that is written through a block pointer has a place of its own for each element, so that windows
    without a common index share no memory.

    Launches: a kernel with `tile.overlaps` may start before the launch in front of it in its stream has ended, and waits for that
    before it touches memory. `tile.settled` promises that this launch writes nothing that is reached through the argument, so
    that it may be read before. With `tile.relays` as well, the launch behind may start before this one has waited. What is
    `tile.settled` there, the launch in front of this one may not write, either.
  }];
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasCanonicalizer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

class Tile_Type<string name, string typeMnemonic> : TypeDef<Tile_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Tile_PtrType : Tile_Type<"Ptr", "ptr"> {
  let summary = "pointer to one element in global memory";
  let description = [{
    `!tile.ptr<T>`: the address of a `T` in global memory. `tensor<128x!tile.ptr<f32>>` is a tile of pointers.

    Constraints:
    - C1: `T` is one of f8E4M3FN, f8E5M2, f16, bf16, f32, f64, i1, i8, i16, i32, i64. An i1 takes one byte, 0 or 1.
  }];
  let parameters = (ins "::mlir::Type":$pointee);
  let genVerifyDecl = 1;
  let assemblyFormat = "`<` $pointee `>`";
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::Type":$pointee), [{
    return $_get(pointee.getContext(), pointee);
  }]>];
}

def Tile_BlockPtrType : Tile_Type<"BlockPtr", "block_ptr"> {
  let summary = "a rectangular window into a strided array in global memory";
  let description = [{
    `!tile.block_ptr<128x64xbf16>`: base address, shape and strides of an array (run-time values, in elements) and
    the position of a window of static shape in it. `tile.make_block_ptr` creates one, `tile.advance` moves it.

    Constraints:
    - C1: the element type is one that `!tile.ptr` points at.
    - C2: there is at least one dimension, every dimension is at least 1, and the tile has at most 2147483647 elements.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType), [{
    return $_get(elementType.getContext(), shape, elementType);
  }]>];
  let extraClassDeclaration = [{
    /// The tile that a load through this pointer gives.
    ::mlir::RankedTensorType getTileType() const;
    int64_t getRank() const { return getShape().size(); }
  }];
}

#endif
