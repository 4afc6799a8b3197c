// SPDX-License-Identifier: Apache-2.0
// Operations that move elements around without computing on them.
#ifndef FATTN_COMPILER_DIALECT_TILESHAPEOPS_TD
#define FATTN_COMPILER_DIALECT_TILESHAPEOPS_TD

include "compiler/dialect/TileBase.td"

def Tile_ArangeOp : Tile_Op<"arange", [Pure, Tile_CheapToRepeat]> {
  let opDocGroup = Tile_ShapesTopic;
  let summary = "consecutive integers start, start+1, ...";
  let description = [{
    `result[i] = start + i`.

    Constraints:
    - C1: the result has one dimension and integer elements of at least 8 bits, or `index`.
    - C2: `start` and the last element fit the element type as signed integers.

    Example:
    ```mlir
    func.func @arange() -> tensor<80xi32> {
      %0 = tile.arange 0 : tensor<80xi32>
      return %0 : tensor<80xi32>
    }
    ```
  }];
  let arguments = (ins I64Attr:$start);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$start attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_SplatOp : Tile_Op<"splat", [Pure, Tile_MovesElements, Tile_CheapToRepeat]> {
  let opDocGroup = Tile_ShapesTopic;
  let summary = "a tile whose elements all are one scalar";
  let description = [{
    `result[i] = input`. The input is a scalar or a tile of rank 0.

    Constraints:
    - C1: `input` is a scalar, or a tile of rank 0.
    - C2: the element type of the result is the type of the scalar.

    Example:
    ```mlir
    func.func @splat(%x: f32) -> tensor<16x8xf32> {
      %0 = tile.splat %x : f32 -> tensor<16x8xf32>
      return %0 : tensor<16x8xf32>
    }
    ```
  }];
  let arguments = (ins Tile_TileOrScalar:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_UnsplatOp : Tile_Op<"unsplat", [Pure]> {
  let opDocGroup = Tile_ShapesTopic;
  let summary = "the scalar that a tile of one element is";
  let description = [{
    `result = input[0, ..., 0]`. So what is found out about a tile, as its sum, can be a loop's bound or a branch's condition. All threads of
    a program have the same scalar.

    Constraints:
    - C1: `input` has one element.
    - C2: the element type of `input` is the type of the result, and no pointer.

    Example:
    ```mlir
    func.func @unsplat(%x: tensor<1x1xi32>) -> i32 {
      %0 = tile.unsplat %x : tensor<1x1xi32> -> i32
      return %0 : i32
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$input);
  let results = (outs AnyTypeOf<[AnySignlessIntegerOrIndex, AnyFloat]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure, Tile_MovesElements, Tile_CheapToRepeat]> {
  let opDocGroup = Tile_ShapesTopic;
  let summary = "repeat size-1 dimensions";
  let description = [{
    `result[i_0, i_1, ...] = input[j_0, j_1, ...]` with `j_d = 0` where dimension `d` of the input is 1, else `j_d = i_d`.

    Constraints:
    - C1: element types and ranks of input and result are equal.
    - C2: each dimension of the input is 1 or that of the result.

    Example:
    ```mlir
    func.func @broadcast(%x: tensor<16x1xf32>) -> tensor<16x80xf32> {
      %0 = tile.broadcast %x : tensor<16x1xf32> -> tensor<16x80xf32>
      return %0 : tensor<16x80xf32>
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tile_ExpandDimsOp : Tile_Op<"expand_dims", [Pure, Tile_MovesElements, Tile_CheapToRepeat]> {
  let opDocGroup = Tile_ShapesTopic;
  let summary = "insert a dimension of size 1";
  let description = [{
    The elements of `input`, with a dimension of size 1 inserted before dimension `axis`; `axis = rank` appends it.

    Constraints:
    - C1: `0 <= axis <= rank(input)`.
    - C2: the result is `input` with a dimension of size 1 at `axis`, and has its element type.

    Example:
    ```mlir
    func.func @expand_dims(%x: tensor<16xf32>) -> tensor<16x1xf32> {
      %0 = tile.expand_dims %x, 1 : tensor<16xf32> -> tensor<16x1xf32>
      return %0 : tensor<16x1xf32>
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$input, I64Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input `,` $axis attr-dict `:` type($input) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "int64_t":$axis)>];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tile_TransOp : Tile_Op<"trans", [Pure, Tile_MovesElements, Tile_CheapToRepeat]> {
  let opDocGroup = Tile_ShapesTopic;
  let summary = "permute dimensions";
  let description = [{
    Dimension `d` of the result is dimension `permutation[d]` of the input:
    `result[i] = input[j]` with `j_{permutation[d]} = i_d` for every `d`.

    Constraints:
    - C1: `permutation` holds each of `0 .. rank-1` once.
    - C2: dimension `d` of the result is dimension `permutation[d]` of the input; the element types are equal.

    Example:
    ```mlir
    func.func @trans(%x: tensor<16x64xf16>) -> tensor<64x16xf16> {
      %0 = tile.trans %x, [1, 0] : tensor<16x64xf16> -> tensor<64x16xf16>
      return %0 : tensor<64x16xf16>
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input `,` $permutation attr-dict `:` type($input) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$permutation)>];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tile_ReshapeOp : Tile_Op<"reshape", [Pure, Tile_MovesElements]> {
  let opDocGroup = Tile_ShapesTopic;
  let summary = "same elements in row-major order, another shape";
  let description = [{
    The result's elements in row-major order (the last dimension fastest) are those of the input.

    Constraints:
    - C1: input and result have as many elements and the same element type.

    Example:
    ```mlir
    func.func @reshape(%x: tensor<16x64xf16>) -> tensor<4x4x64xf16> {
      %0 = tile.reshape %x : tensor<16x64xf16> -> tensor<4x4x64xf16>
      return %0 : tensor<4x4x64xf16>
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$input);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tile_JoinOp : Tile_Op<"join", [Pure, AllTypesMatch<["lhs", "rhs"]>]> {
  let opDocGroup = Tile_ShapesTopic;
  let summary = "two tiles side by side along a new innermost dimension";
  let description = [{
    `result[..., 0] = lhs[...]`, `result[..., 1] = rhs[...]`.

    Constraints:
    - C1: `lhs` and `rhs` have the same type.
    - C2: the result has their shape with a last dimension of 2 appended, and their element type.

    Example:
    ```mlir
    func.func @join(%even: tensor<16x32xf32>, %odd: tensor<16x32xf32>) -> tensor<16x64xf32> {
      %0 = tile.join %even, %odd : tensor<16x32xf32> -> tensor<16x32x2xf32>
      %1 = tile.reshape %0 : tensor<16x32x2xf32> -> tensor<16x64xf32>
      return %1 : tensor<16x64xf32>
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs)>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_SplitOp : Tile_Op<"split", [Pure, AllTypesMatch<["lhs", "rhs"]>]> {
  let opDocGroup = Tile_ShapesTopic;
  let summary = "the inverse of join";
  let description = [{
    `lhs[...] = input[..., 0]`, `rhs[...] = input[..., 1]`.

    Constraints:
    - C1: the last dimension of `input` is 2.
    - C2: the results have the shape of `input` without its last dimension, and its element type.

    Example:
    ```mlir
    func.func @split(%pairs: tensor<16x32x2xf32>) -> (tensor<16x32xf32>, tensor<16x32xf32>) {
      %0, %1 = tile.split %pairs : tensor<16x32x2xf32> -> tensor<16x32xf32>
      return %0, %1 : tensor<16x32xf32>, tensor<16x32xf32>
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$input);
  let results = (outs Tile_Tile:$lhs, Tile_Tile:$rhs);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($lhs)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif
