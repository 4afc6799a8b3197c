// SPDX-License-Identifier: Apache-2.0
// Computation on tiles that is not elementwise, hints and debugging.
#ifndef FATTN_COMPILER_DIALECT_TILECOMPUTEOPS_TD
#define FATTN_COMPILER_DIALECT_TILECOMPUTEOPS_TD

include "compiler/dialect/TileBase.td"

//===-- Computation ---------------------------------------------------------------------------------------------===//

def Tile_DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let opDocGroup = Tile_ComputationTopic;
  let summary = "matrix product added to an accumulator";
  let description = [{
    `result[m, n] = acc[m, n] + sum_k a[m, k] * b[k, n]`.

    Products are not rounded to the operands' type. The order of the sum is not specified; a back end rounds partial sums
    to at least the accumulator's type, the interpreter once at the end. i8 operands are signed, the sum wraps in 32 bits.
    `precision tf32` permits a target to round f32 operands to 10 fraction bits before the products (the interpreter
    rounds them to nearest even); `precision ieee`, the default, does not. Infinities and NaN among the operands are IEEE's:
    infinity times 0, or plus the opposite infinity, is NaN. A back end may compute products of f32 in parts; then those
    beyond 2^135 may be NaN instead of infinity, and operands below 2^-113 lose bits and count as 0 below 2^-137.

    | a, b | acc |
    |------|-----|
    | f32, f32 | f32 |
    | f16, f16 | f32 or f16 |
    | bf16, bf16 | f32 |
    | f8E4M3FN or f8E5M2, each | f32 |
    | i8, i8 | i32 |

    Constraints:
    - C1: `a`, `b` and `acc` have two dimensions.
    - C2: `a` is `[M, K]`, `b` is `[K, N]`, `acc` and the result are `[M, N]`.
    - C3: the element types are a row of the table.
    - C4: `precision tf32` needs f32 operands.

    Example:
    ```mlir
    func.func @dot(%a: tensor<16x64xbf16>, %b: tensor<64x80xbf16>, %acc: tensor<16x80xf32>) -> tensor<16x80xf32> {
      %0 = tile.dot %a, %b, %acc : tensor<16x64xbf16>, tensor<64x80xbf16> -> tensor<16x80xf32>
      return %0 : tensor<16x80xf32>
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$a, Tile_Tile:$b, Tile_Tile:$acc,
                       DefaultValuedAttr<Tile_Precision, "::fattn::tile::Precision::ieee">:$precision);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$a `,` $b `,` $acc (`precision` $precision^)? attr-dict `:` type($a) `,` type($b) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure, SameVariadicOperandSize, SingleBlock]> {
  let opDocGroup = Tile_ComputationTopic;
  let summary = "combine the elements along a dimension";
  let description = [{
    Combines the elements along `axis` with an operation of the author, on `n >= 1` tiles at once. The region takes
    `2 * n` scalars, first `n` of the left side, then `n` of the right side, and yields `n` scalars:

        x = (inputs_0[.., 0, ..], ..., inputs_{n-1}[.., 0, ..])
        for k in 1 .. size(axis)-1:
          x = combine(x, (inputs_0[.., k, ..], ..., inputs_{n-1}[.., k, ..]))

    The combination must be associative and commutative up to rounding: a back end may pair the elements in any order
    (the interpreter takes the order above). Along a dimension of size 1 the region is not applied. Results have the
    inputs' shapes without dimension `axis`; reducing a tile of rank 1 gives tiles of rank 0.

    Constraints:
    - C1: there is at least one input, and as many results as inputs.
    - C2: all inputs have the same shape, and `0 <= axis < rank`.
    - C3: each result has the shape of its input without dimension `axis`, and its element type.
    - C4: the region has `2 * n` arguments: the inputs' element types in order, twice.
    - C5: the region yields `n` values of the inputs' element types.
    - C6: the region has no side effects and reads no memory.

    Example:
    ```mlir
    func.func @reduce(%x: tensor<16x64xf32>) -> tensor<16xf32> {
      %0 = tile.reduce %x axis 1 : tensor<16x64xf32> -> tensor<16xf32> {
      ^bb0(%lhs: f32, %rhs: f32):
        %max = arith.maxnumf %lhs, %rhs : f32
        tile.yield %max : f32
      }
      return %0 : tensor<16xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_Tile>:$inputs, I64Attr:$axis);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` type($inputs) `->` type($results) $combine";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, "int64_t":$axis,
      "::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange, ::mlir::ValueRange)>":$combine)>];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
}

def Tile_CumsumOp : Tile_Op<"cumsum", [Pure, AllTypesMatch<["input", "result"]>, Tile_KeepsIndices]> {
  let opDocGroup = Tile_ComputationTopic;
  let summary = "running sum along a dimension";
  let description = [{
    `result[.., k, ..] = sum_{l <= k} input[.., l, ..]` along `axis`, or `sum_{l >= k}` with `reverse`. Integers wrap; the
    order in which floating-point numbers are added is not specified (the interpreter sums in float64 and rounds each
    element of the result once).

    Constraints:
    - C1: `0 <= axis < rank`.
    - C2: the elements are floating-point numbers or integers of at least 8 bits.

    Example:
    ```mlir
    func.func @cumsum(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
      %0 = tile.cumsum %x axis 1 reverse : tensor<16x64xf32>
      return %0 : tensor<16x64xf32>
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$input, I64Attr:$axis, UnitAttr:$reverse);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input `axis` $axis (`reverse` $reverse^)? attr-dict `:` type($input)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_SelectLazyOp : Tile_Op<"select_lazy", [RecursiveMemoryEffects, SingleBlock]> {
  let opDocGroup = Tile_RareSidesTopic;
  let summary = "take a rarely needed exact value where a condition holds";
  let description = [{
    Where `condition` holds the results are what the region yields (the exact side); where it does not hold, either
    side is right. That is the author's promise, and it lets a target branch as coarsely as it likes (a thread, a warp, the
    whole tile), so that the exact side costs nothing where it is not needed.

    The condition is a scalar i1, or a tile of i1 with shape `[M]`: one truth value for each row, that is for each index
    of dimension 0 of every result. The interpreter takes the exact side only in the rows where the condition holds, or,
    on demand, in all rows: a kernel that keeps its promise gives the same answers either way. The region may read
    memory and use values from outside. It may also run where no row needs it.

    Constraints:
    - C1: `condition` is an i1 or a tile of i1 with one dimension.
    - C2: there are as many usual values as results, and their types are equal.
    - C3: with a tile of `M` conditions every result is a tile whose dimension 0 is `M`.
    - C4: the region has no arguments and yields values of the results' types.
    - C5: the region does not write memory (`tile.device_print` is allowed).

    Example:
    ```mlir
    func.func @select_lazy(%overflow: tensor<16xi1>, %x: tensor<16x64xf32>, %fast: tensor<16x64xf32>) -> tensor<16x64xf32> {
      %0 = tile.select_lazy %overflow usual(%fast) : tensor<16xi1>, tensor<16x64xf32> -> tensor<16x64xf32> {
        %1 = math.exp2 %x : tensor<16x64xf32>
        tile.yield %1 : tensor<16x64xf32>
      }
      return %0 : tensor<16x64xf32>
    }
    ```
  }];
  let arguments = (ins Tile_TileOrScalar:$condition, Variadic<Tile_TileOrScalar>:$usual);
  let results = (outs Variadic<Tile_TileOrScalar>:$results);
  let regions = (region SizedRegion<1>:$exact);
  let assemblyFormat = [{
    $condition `usual` `(` $usual `)` attr-dict `:` type($condition) `,` type($usual) `->` type($results) $exact
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasFolder = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ParentOneOf<["ReduceOp", "SelectLazyOp"]>]> {
  let opDocGroup = Tile_ComputationTopic;
  let summary = "the values of a reduce or select_lazy region";
  let description = [{
    Ends the region of `tile.reduce` or `tile.select_lazy` and gives its values; the enclosing operation says how many
    and of which types.

    Example:
    ```mlir
    func.func @yield(%x: tensor<64xi32>) -> tensor<i32> {
      %0 = tile.reduce %x axis 0 : tensor<64xi32> -> tensor<i32> {
      ^bb0(%lhs: i32, %rhs: i32):
        %sum = arith.addi %lhs, %rhs : i32
        tile.yield %sum : i32
      }
      return %0 : tensor<i32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

//===-- Hints and debugging -------------------------------------------------------------------------------------===//

def Tile_AssumeDivisibleOp : Tile_Op<"assume_divisible", [Pure, AllTypesMatch<["input", "result"]>]> {
  let opDocGroup = Tile_FactsTopic;
  let summary = "promise that an integer, or an address in bytes, is a multiple of a constant";
  let description = [{
    The result is the input. The author promises that it is a multiple of `divisor` (for a pointer: its address in
    bytes); otherwise the program is undefined, and the interpreter reports an error.

    Constraints:
    - C1: `divisor` is positive.

    Example:
    ```mlir
    func.func @assume_divisible(%stride: i64, %base: !tile.ptr<f16>) -> (i64, !tile.ptr<f16>) {
      %0 = tile.assume_divisible %stride, 8 : i64
      %1 = tile.assume_divisible %base, 16 : !tile.ptr<f16>
      return %0, %1 : i64, !tile.ptr<f16>
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[AnySignlessIntegerOrIndex, Tile_PtrType]>:$input, I64Attr:$divisor);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input `,` $divisor attr-dict `:` type($input)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_DevicePrintOp : Tile_Op<"device_print", [MemoryEffects<[MemWrite]>]> {
  let opDocGroup = Tile_FactsTopic;
  let summary = "print values while the kernel runs";
  let description = [{
    Prints one line: the program's index, `prefix`, and the values; a tile in row-major order with a pair of brackets
    for each dimension. For debugging: the order of the lines of different programs is not specified.

    Constraints:
    - C1: the values are integers or floating-point numbers, or tiles of them.

    Example:
    ```mlir
    func.func @device_print(%x: tensor<4xf32>, %n: i32) {
      tile.device_print "x and n:", %x, %n : tensor<4xf32>, i32
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$prefix, Variadic<Tile_TileOrScalar>:$values);
  let assemblyFormat = "$prefix (`,` $values^ `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

#endif
