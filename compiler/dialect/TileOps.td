// SPDX-License-Identifier: Apache-2.0
// Operations of the `tile` dialect. The descriptions are the language reference (docs/tile-ir.md is generated from them).
#ifndef FATTN_COMPILER_DIALECT_TILEOPS_TD
#define FATTN_COMPILER_DIALECT_TILEOPS_TD

include "compiler/dialect/TileDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

def Tile_Tile : Type<CPred<"::fattn::tile::isTile($_self)">, "tile (ranked tensor of static shape)",
                     "::mlir::RankedTensorType">;
def Tile_TileOrScalar : AnyTypeOf<[Tile_Tile, AnySignlessIntegerOrIndex, AnyFloat, Tile_PtrType]>;
def Tile_PtrLike : Type<CPred<"::fattn::tile::isPtrLike($_self)">, "pointer or tile of pointers">;

//===-- The grid ------------------------------------------------------------------------------------------------===//

def Tile_Axis : I32EnumAttr<"Axis", "grid axis", [
    I32EnumAttrCase<"x", 0>, I32EnumAttrCase<"y", 1>, I32EnumAttrCase<"z", 2>]> {
  let cppNamespace = "::fattn::tile";
}

def Tile_ProgramIdOp : Tile_Op<"program_id", [Pure]> {
  let summary = "index of this program along a grid axis";
  let arguments = (ins Tile_Axis:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

def Tile_NumProgramsOp : Tile_Op<"num_programs", [Pure]> {
  let summary = "number of programs along a grid axis";
  let arguments = (ins Tile_Axis:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

//===-- Pointers ------------------------------------------------------------------------------------------------===//

def Tile_MakeBlockPtrOp : Tile_Op<"make_block_ptr", [Pure, AttrSizedOperandSegments]> {
  let summary = "make a block pointer";
  let arguments = (ins Tile_PtrType:$base, Variadic<I64>:$shape, Variadic<I64>:$strides, Variadic<I64>:$offsets);
  let results = (outs Tile_BlockPtrType:$result);
  let assemblyFormat = [{
    $base `,` `shape` `[` $shape `]` `,` `strides` `[` $strides `]` `,` `offsets` `[` $offsets `]` attr-dict `:` type($base) `->` type($result)
  }];
}

def Tile_AdvanceOp : Tile_Op<"advance", [Pure, AllTypesMatch<["ptr", "result"]>]> {
  let summary = "move a block pointer";
  let arguments = (ins Tile_BlockPtrType:$ptr, Variadic<I64>:$deltas);
  let results = (outs Tile_BlockPtrType:$result);
  let assemblyFormat = "$ptr `,` `[` $deltas `]` attr-dict `:` type($ptr)";
}

def Tile_AddPtrOp : Tile_Op<"addptr", [Pure, AllTypesMatch<["ptr", "result"]>]> {
  let summary = "offset a pointer, or a tile of pointers, by elements";
  let arguments = (ins Tile_PtrLike:$ptr, Tile_TileOrScalar:$offset);
  let results = (outs Tile_PtrLike:$result);
  let assemblyFormat = "$ptr `,` $offset attr-dict `:` type($ptr) `,` type($offset)";
}

//===-- Memory --------------------------------------------------------------------------------------------------===//

def Tile_LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "load the tile a block pointer points at";
  let arguments = (ins Tile_BlockPtrType:$ptr, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$boundary_check,
                       OptionalAttr<AnyAttr>:$padding);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$ptr attr-dict `:` type($ptr) `->` type($result)";
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "store a tile where a block pointer points at";
  let arguments = (ins Tile_BlockPtrType:$ptr, Tile_Tile:$value, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$boundary_check);
  let assemblyFormat = "$ptr `,` $value attr-dict `:` type($ptr) `,` type($value)";
}

def Tile_GatherOp : Tile_Op<"gather", [MemoryEffects<[MemRead]>, AttrSizedOperandSegments]> {
  let summary = "load through a pointer, or a tile of pointers";
  let arguments = (ins Tile_PtrLike:$ptr, Optional<Tile_TileOrScalar>:$mask, Optional<Tile_TileOrScalar>:$other);
  let results = (outs Tile_TileOrScalar:$result);
  let assemblyFormat = [{
    $ptr (`,` `mask` $mask^ `:` type($mask))? (`,` `other` $other^ `:` type($other))? attr-dict `:` type($ptr) `->` type($result)
  }];
}

def Tile_ScatterOp : Tile_Op<"scatter", [MemoryEffects<[MemWrite]>]> {
  let summary = "store through a pointer, or a tile of pointers";
  let arguments = (ins Tile_PtrLike:$ptr, Tile_TileOrScalar:$value, Optional<Tile_TileOrScalar>:$mask);
  let assemblyFormat = "$ptr `,` $value (`,` `mask` $mask^ `:` type($mask))? attr-dict `:` type($ptr) `,` type($value)";
}

def Tile_AtomicAddOp : Tile_Op<"atomic_add", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "atomically add through a pointer, or a tile of pointers";
  let arguments = (ins Tile_PtrLike:$ptr, Tile_TileOrScalar:$value, Optional<Tile_TileOrScalar>:$mask);
  let results = (outs Tile_TileOrScalar:$result);
  let assemblyFormat = [{
    $ptr `,` $value (`,` `mask` $mask^ `:` type($mask))? attr-dict `:` type($ptr) `,` type($value) `->` type($result)
  }];
}

//===-- Shape ---------------------------------------------------------------------------------------------------===//

def Tile_ArangeOp : Tile_Op<"arange", [Pure]> {
  let summary = "consecutive integers start, start+1, ...";
  let arguments = (ins I64Attr:$start);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$start attr-dict `:` type($result)";
}

def Tile_SplatOp : Tile_Op<"splat", [Pure]> {
  let summary = "a tile whose elements all are one scalar";
  let arguments = (ins Tile_TileOrScalar:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "repeat size-1 dimensions";
  let arguments = (ins Tile_Tile:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Tile_ExpandDimsOp : Tile_Op<"expand_dims", [Pure]> {
  let summary = "insert a dimension of size 1";
  let arguments = (ins Tile_Tile:$input, I64Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input `,` $axis attr-dict `:` type($input) `->` type($result)";
}

def Tile_TransOp : Tile_Op<"trans", [Pure]> {
  let summary = "permute dimensions";
  let arguments = (ins Tile_Tile:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input `,` $permutation attr-dict `:` type($input) `->` type($result)";
}

def Tile_ReshapeOp : Tile_Op<"reshape", [Pure]> {
  let summary = "same elements in row-major order, another shape";
  let arguments = (ins Tile_Tile:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Tile_JoinOp : Tile_Op<"join", [Pure, AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "two tiles side by side along a new innermost dimension";
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
}

def Tile_SplitOp : Tile_Op<"split", [Pure, AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "the inverse of join";
  let arguments = (ins Tile_Tile:$input);
  let results = (outs Tile_Tile:$lhs, Tile_Tile:$rhs);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($lhs)";
}

//===-- Computation ---------------------------------------------------------------------------------------------===//

def Tile_Precision : I32EnumAttr<"Precision", "how a dot of f32 operands rounds them", [
    I32EnumAttrCase<"ieee", 0>, I32EnumAttrCase<"tf32", 1>]> {
  let cppNamespace = "::fattn::tile";
}

def Tile_DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "matrix product added to an accumulator";
  let arguments = (ins Tile_Tile:$a, Tile_Tile:$b, Tile_Tile:$acc,
                       DefaultValuedAttr<Tile_Precision, "::fattn::tile::Precision::ieee">:$precision);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$a `,` $b `,` $acc attr-dict `:` type($a) `,` type($b) `->` type($result)";
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure, SameVariadicOperandSize, SingleBlock]> {
  let summary = "combine the elements along a dimension";
  let arguments = (ins Variadic<Tile_Tile>:$inputs, I64Attr:$axis);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` type($inputs) `->` type($results) $combine";
}

def Tile_CumsumOp : Tile_Op<"cumsum", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "running sum along a dimension";
  let arguments = (ins Tile_Tile:$input, I64Attr:$axis, UnitAttr:$reverse);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input `axis` $axis (`reverse` $reverse^)? attr-dict `:` type($input)";
}

def Tile_SelectLazyOp : Tile_Op<"select_lazy", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "take a rarely needed exact value where a condition holds";
  let arguments = (ins Tile_TileOrScalar:$condition, Variadic<Tile_TileOrScalar>:$usual);
  let results = (outs Variadic<Tile_TileOrScalar>:$results);
  let regions = (region SizedRegion<1>:$exact);
  let assemblyFormat = [{
    $condition `usual` `(` $usual `)` attr-dict `:` type($condition) `,` type($usual) `->` type($results) $exact
  }];
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ParentOneOf<["ReduceOp", "SelectLazyOp"]>]> {
  let summary = "the values of a reduce or select_lazy region";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{}]>];
}

//===-- Hints and debugging -------------------------------------------------------------------------------------===//

def Tile_AssumeDivisibleOp : Tile_Op<"assume_divisible", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "promise that an integer, or an address in bytes, is a multiple of a constant";
  let arguments = (ins AnyTypeOf<[AnySignlessIntegerOrIndex, Tile_PtrType]>:$input, I64Attr:$divisor);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input `,` $divisor attr-dict `:` type($input)";
}

def Tile_DevicePrintOp : Tile_Op<"device_print", [MemoryEffects<[MemWrite]>]> {
  let summary = "print values while the kernel runs";
  let arguments = (ins StrAttr:$prefix, Variadic<Tile_TileOrScalar>:$values);
  let assemblyFormat = "$prefix (`,` $values^ `:` type($values))? attr-dict";
}

#endif
