// draw: program=101880 target=nvidia:sm_89 stages=1 warps=1 schedule=2 alignment=mixed
// grid: 1 1 1
// argument 0: i32 count=4 seed=0 low=-8 high=8 coarse=1
// argument 1: 4
// argument 2: 1
// argument 3: 1
// argument 4: i32 count=4 seed=0 low=-8 high=8 coarse=1
// argument 5: 4
// argument 6: 1
// argument 7: f16 count=40 seed=0 coarse=1
// argument 8: 8
// argument 9: 5
// argument 10: 5
// argument 11: f16 count=8 seed=0 coarse=1
// argument 12: 8
// argument 13: 1
// argument 14: 1
// argument 15: f16 count=40
// argument 16: 8
// argument 17: 5
// argument 18: 5
// argument 19: f32 count=5 seed=0 coarse=1
// argument 20: 5
// argument 21: 5
module {
  func.func @replayed(%arg0: !tile.ptr<i32> {tile.divisibility = 16 : i64, tile.name = "in0"}, %arg1: i64 {tile.divisibility = 4 : i64, tile.name = "n1"}, %arg2: i64 {tile.name = "n2"}, %arg3: i64 {tile.name = "n3"}, %arg4: !tile.ptr<i32> {tile.divisibility = 16 : i64, tile.name = "in4"}, %arg5: i64 {tile.divisibility = 4 : i64, tile.name = "n5"}, %arg6: i64 {tile.name = "n8"}, %arg7: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "in9"}, %arg8: i64 {tile.divisibility = 8 : i64, tile.name = "n10"}, %arg9: i64 {tile.name = "n11"}, %arg10: i64 {tile.name = "n12"}, %arg11: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "in13"}, %arg12: i64 {tile.divisibility = 8 : i64, tile.name = "n14"}, %arg13: i64 {tile.name = "n15"}, %arg14: i64 {tile.name = "n16"}, %arg15: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "out17"}, %arg16: i64 {tile.divisibility = 8 : i64, tile.name = "n18"}, %arg17: i64 {tile.name = "n19"}, %arg18: i64 {tile.name = "n20"}, %arg19: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "in21"}, %arg20: i64 {tile.name = "n22"}, %arg21: i64 {tile.name = "n23"}) attributes {tile.kernel} {
    %0 = tile.program_id x : i32
    %1 = arith.extsi %0 : i32 to i64
    %2 = tile.program_id y : i32
    %3 = arith.extsi %2 : i32 to i64
    %c1_i64 = arith.constant 1 : i64
    %c1_i64_0 = arith.constant 1 : i64
    %4 = arith.muli %1, %c1_i64_0 : i64
    %c1_i64_1 = arith.constant 1 : i64
    %5 = arith.muli %3, %c1_i64_1 : i64
    %c-1_i64 = arith.constant -1 : i64
    %6 = arith.addi %5, %c-1_i64 : i64
    %7 = tile.arange 0 : tensor<1xi64>
    %8 = tile.expand_dims %7, 1 : tensor<1xi64> -> tensor<1x1xi64>
    %9 = tile.splat %4 : i64 -> tensor<1x1xi64>
    %10 = arith.addi %8, %9 : tensor<1x1xi64>
    %cst = arith.constant dense<0> : tensor<1x1xi64>
    %11 = tile.splat %arg2 : i64 -> tensor<1x1xi64>
    %12 = arith.cmpi sge, %10, %cst : tensor<1x1xi64>
    %13 = arith.cmpi slt, %10, %11 : tensor<1x1xi64>
    %14 = arith.andi %12, %13 : tensor<1x1xi1>
    %15 = tile.arange 0 : tensor<1xi64>
    %16 = tile.expand_dims %15, 0 : tensor<1xi64> -> tensor<1x1xi64>
    %17 = tile.splat %6 : i64 -> tensor<1x1xi64>
    %18 = arith.addi %16, %17 : tensor<1x1xi64>
    %cst_2 = arith.constant dense<0> : tensor<1x1xi64>
    %19 = tile.splat %arg3 : i64 -> tensor<1x1xi64>
    %20 = arith.cmpi sge, %18, %cst_2 : tensor<1x1xi64>
    %21 = arith.cmpi slt, %18, %19 : tensor<1x1xi64>
    %22 = arith.andi %20, %21 : tensor<1x1xi1>
    %23 = arith.andi %14, %22 : tensor<1x1xi1>
    %24 = arith.muli %4, %arg1 : i64
    %25 = tile.addptr %arg0, %24 : !tile.ptr<i32>, i64
    %26 = arith.muli %6, %c1_i64 : i64
    %27 = tile.addptr %25, %26 : !tile.ptr<i32>, i64
    %28 = tile.arange 0 : tensor<1xi32>
    %29 = tile.expand_dims %28, 1 : tensor<1xi32> -> tensor<1x1xi32>
    %cst_3 = arith.constant dense<4> : tensor<1x1xi32>
    %30 = arith.muli %29, %cst_3 : tensor<1x1xi32>
    %31 = tile.arange 0 : tensor<1xi32>
    %32 = tile.expand_dims %31, 0 : tensor<1xi32> -> tensor<1x1xi32>
    %33 = arith.addi %30, %32 : tensor<1x1xi32>
    %34 = tile.splat %27 : !tile.ptr<i32> -> tensor<1x1x!tile.ptr<i32>>
    %35 = tile.addptr %34, %33 : tensor<1x1x!tile.ptr<i32>>, tensor<1x1xi32>
    %36 = tile.gather %35, mask %23 : tensor<1x1xi1> : tensor<1x1x!tile.ptr<i32>> -> tensor<1x1xi32>
    %c1_i64_4 = arith.constant 1 : i64
    %c1_i64_5 = arith.constant 1 : i64
    %37 = arith.muli %1, %c1_i64_5 : i64
    %c0_i64 = arith.constant 0 : i64
    %c1_i64_6 = arith.constant 1 : i64
    %38 = scf.for %arg22 = %c0_i64 to %arg6 step %c1_i64_6 iter_args(%arg23 = %36) -> (tensor<1x1xi32>)  : i64 {
      %39 = arith.muli %37, %arg5 : i64
      %40 = tile.addptr %arg4, %39 : !tile.ptr<i32>, i64
      %41 = arith.muli %arg22, %c1_i64_4 : i64
      %42 = tile.addptr %40, %41 : !tile.ptr<i32>, i64
      %43 = tile.arange 0 : tensor<1xi32>
      %44 = tile.expand_dims %43, 1 : tensor<1xi32> -> tensor<1x1xi32>
      %cst_7 = arith.constant dense<4> : tensor<1x1xi32>
      %45 = arith.muli %44, %cst_7 : tensor<1x1xi32>
      %46 = tile.arange 0 : tensor<1xi32>
      %47 = tile.expand_dims %46, 0 : tensor<1xi32> -> tensor<1x1xi32>
      %48 = arith.addi %45, %47 : tensor<1x1xi32>
      %49 = tile.splat %42 : !tile.ptr<i32> -> tensor<1x1x!tile.ptr<i32>>
      %50 = tile.addptr %49, %48 : tensor<1x1x!tile.ptr<i32>>, tensor<1x1xi32>
      %51 = tile.gather %50 : tensor<1x1x!tile.ptr<i32>> -> tensor<1x1xi32>
      %c1_i64_8 = arith.constant 1 : i64
      %c1_i64_9 = arith.constant 1 : i64
      %c1_i64_10 = arith.constant 1 : i64
      %52 = arith.muli %1, %c1_i64_10 : i64
      %c5_i64 = arith.constant 5 : i64
      %53 = arith.muli %3, %c5_i64 : i64
      %54 = tile.arange 0 : tensor<1xi64>
      %55 = tile.expand_dims %54, 1 : tensor<1xi64> -> tensor<1x1xi64>
      %56 = tile.broadcast %55 : tensor<1x1xi64> -> tensor<1x5xi64>
      %57 = tile.splat %52 : i64 -> tensor<1x5xi64>
      %58 = arith.addi %56, %57 : tensor<1x5xi64>
      %cst_11 = arith.constant dense<0> : tensor<1x5xi64>
      %59 = tile.splat %arg13 : i64 -> tensor<1x5xi64>
      %60 = arith.cmpi sge, %58, %cst_11 : tensor<1x5xi64>
      %61 = arith.cmpi slt, %58, %59 : tensor<1x5xi64>
      %62 = arith.andi %60, %61 : tensor<1x5xi1>
      %63 = tile.arange 0 : tensor<5xi64>
      %64 = tile.expand_dims %63, 0 : tensor<5xi64> -> tensor<1x5xi64>
      %65 = tile.splat %53 : i64 -> tensor<1x5xi64>
      %66 = arith.addi %64, %65 : tensor<1x5xi64>
      %cst_12 = arith.constant dense<0> : tensor<1x5xi64>
      %67 = tile.splat %arg14 : i64 -> tensor<1x5xi64>
      %68 = arith.cmpi sge, %66, %cst_12 : tensor<1x5xi64>
      %69 = arith.cmpi slt, %66, %67 : tensor<1x5xi64>
      %70 = arith.andi %68, %69 : tensor<1x5xi1>
      %71 = arith.andi %62, %70 : tensor<1x5xi1>
      %72 = arith.muli %52, %arg12 : i64
      %73 = tile.addptr %arg11, %72 : !tile.ptr<f16>, i64
      %74 = arith.muli %53, %c1_i64_9 : i64
      %75 = tile.addptr %73, %74 : !tile.ptr<f16>, i64
      %76 = tile.arange 0 : tensor<1xi32>
      %77 = tile.expand_dims %76, 1 : tensor<1xi32> -> tensor<1x1xi32>
      %78 = tile.broadcast %77 : tensor<1x1xi32> -> tensor<1x5xi32>
      %cst_13 = arith.constant dense<8> : tensor<1x5xi32>
      %79 = arith.muli %78, %cst_13 : tensor<1x5xi32>
      %80 = tile.arange 0 : tensor<5xi32>
      %81 = tile.expand_dims %80, 0 : tensor<5xi32> -> tensor<1x5xi32>
      %82 = arith.addi %79, %81 : tensor<1x5xi32>
      %83 = tile.splat %75 : !tile.ptr<f16> -> tensor<1x5x!tile.ptr<f16>>
      %84 = tile.addptr %83, %82 : tensor<1x5x!tile.ptr<f16>>, tensor<1x5xi32>
      %85 = tile.gather %84, mask %71 : tensor<1x5xi1> : tensor<1x5x!tile.ptr<f16>> -> tensor<1x5xf16>
      %c1_i64_14 = arith.constant 1 : i64
      %c1_i64_15 = arith.constant 1 : i64
      %cst_16 = arith.constant dense<0.000000e+00> : tensor<1x5xf32>
      %c0_i64_17 = arith.constant 0 : i64
      %c5_i64_18 = arith.constant 5 : i64
      %86 = scf.for %arg24 = %c0_i64_17 to %arg21 step %c5_i64_18 iter_args(%arg25 = %cst_16) -> (tensor<1x5xf32>)  : i64 {
        %c0_i64_19 = arith.constant 0 : i64
        %88 = tile.make_block_ptr %arg7, shape[%arg9, %arg10], strides[%arg8, %c1_i64_8], offsets[%arg24, %c0_i64_19] : !tile.ptr<f16> -> !tile.block_ptr<5x5xf16>
        %89 = tile.load %88 : !tile.block_ptr<5x5xf16> -> tensor<5x5xf16>
        %90 = tile.make_block_ptr %arg15, shape[%arg17, %arg18], strides[%arg16, %c1_i64_14], offsets[%arg24, %c0_i64_19] : !tile.ptr<f16> -> !tile.block_ptr<5x5xf16>
        tile.store %90, %89 : !tile.block_ptr<5x5xf16>, tensor<5x5xf16>
        %91 = tile.trans %89, [1, 0] : tensor<5x5xf16> -> tensor<5x5xf16>
        %cst_20 = arith.constant dense<0.000000e+00> : tensor<1x5xf32>
        %92 = tile.dot %85, %91, %cst_20 : tensor<1x5xf16>, tensor<5x5xf16> -> tensor<1x5xf32>
        %cst_21 = arith.constant dense<3.125000e-02> : tensor<1x5xf32>
        %93 = arith.mulf %92, %cst_21 : tensor<1x5xf32>
        %94 = tile.make_block_ptr %arg19, shape[%arg20], strides[%c1_i64_15], offsets[%arg24] : !tile.ptr<f32> -> !tile.block_ptr<5xf32>
        %95 = tile.load %94 : !tile.block_ptr<5xf32> -> tensor<5xf32>
        %96 = tile.expand_dims %95, 0 : tensor<5xf32> -> tensor<1x5xf32>
        %97 = arith.addf %93, %96 : tensor<1x5xf32>
        %98 = math.exp2 %97 : tensor<1x5xf32>
        %99 = arith.truncf %98 : tensor<1x5xf32> to tensor<1x5xf16>
        %100 = tile.dot %99, %89, %arg25 : tensor<1x5xf16>, tensor<5x5xf16> -> tensor<1x5xf32>
        scf.yield %100 : tensor<1x5xf32>
      }
      %87 = arith.addi %arg23, %51 : tensor<1x1xi32>
      scf.yield %87 : tensor<1x1xi32>
    }
    return
  }
}
