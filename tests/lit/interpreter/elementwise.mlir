// arith and math: rounding, wrapping, NaN.
// RUN: fattn-opt --interpret %s | FileCheck %s

// CHECK-LABEL: @rounding
func.func @rounding() {
  // f32: 2^24 + 1 is halfway and goes to the even neighbour; bf16 has 7 fraction bits; f16 overflows to infinity.
  // CHECK: f32 16777216
  %a = arith.constant 16777216.0 : f32
  %one = arith.constant 1.0 : f32
  %0 = arith.addf %a, %one : f32
  tile.device_print "f32", %0 : f32
  // CHECK: casts 3.140625 3.140625 3.25 3 inf
  %pi = arith.constant 3.14159274 : f32
  %1 = arith.truncf %pi : f32 to f16
  %2 = arith.truncf %pi : f32 to bf16
  %3 = arith.truncf %pi : f32 to f8E4M3FN
  %4 = arith.truncf %pi : f32 to f8E5M2
  %big = arith.constant 65520.0 : f32
  %5 = arith.truncf %big : f32 to f16
  tile.device_print "casts", %1, %2, %3, %4, %5 : f16, bf16, f8E4M3FN, f8E5M2, f16
  // f8E4M3FN has no infinity: what is beyond 448 becomes NaN; f8E5M2 has one. The smallest f8E4M3FN is 2^-9; half of it rounds to 0.
  // CHECK: f8 nan inf 0.001953125 0
  %tiny = arith.constant 0.001953125 : f32
  %tinier = arith.constant 0.0009765625 : f32
  %6 = arith.truncf %big : f32 to f8E4M3FN
  %7 = arith.truncf %big : f32 to f8E5M2
  %8 = arith.truncf %tiny : f32 to f8E4M3FN
  %9 = arith.truncf %tinier : f32 to f8E4M3FN
  tile.device_print "f8", %6, %7, %8, %9 : f8E4M3FN, f8E5M2, f8E4M3FN, f8E4M3FN
  // CHECK: ext 3.140625
  %10 = arith.extf %1 : f16 to f32
  tile.device_print "ext", %10 : f32
  return
}

// CHECK-LABEL: @nan
func.func @nan() {
  %x = arith.constant dense<[0x7FC00000, 1.0, 2.0]> : tensor<3xf32>
  %y = arith.constant dense<[1.0, 0x7FC00000, 3.0]> : tensor<3xf32>
  // CHECK: num [1, 1, 3] [1, 1, 2]
  %0 = arith.maxnumf %x, %y : tensor<3xf32>
  %1 = arith.minnumf %x, %y : tensor<3xf32>
  tile.device_print "num", %0, %1 : tensor<3xf32>, tensor<3xf32>
  // CHECK: imum [nan, nan, 3] [nan, nan, 2]
  %2 = arith.maximumf %x, %y : tensor<3xf32>
  %3 = arith.minimumf %x, %y : tensor<3xf32>
  tile.device_print "imum", %2, %3 : tensor<3xf32>, tensor<3xf32>
  // CHECK: cmp [false, false, true] [true, true, true] [true, true, false] [false, false, true]
  %4 = arith.cmpf olt, %x, %y : tensor<3xf32>
  %5 = arith.cmpf ult, %x, %y : tensor<3xf32>
  %6 = arith.cmpf uno, %x, %y : tensor<3xf32>
  %7 = arith.cmpf one, %x, %y : tensor<3xf32>
  tile.device_print "cmp", %4, %5, %6, %7 : tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>
  // CHECK: select [nan, 1, 3]
  %8 = arith.select %4, %y, %x : tensor<3xi1>, tensor<3xf32>
  tile.device_print "select", %8 : tensor<3xf32>
  return
}

// CHECK-LABEL: @integers
func.func @integers() {
  %a = arith.constant 100 : i8
  %b = arith.constant -7 : i8
  %two = arith.constant 2 : i8
  // CHECK: wrap -56 68
  %0 = arith.addi %a, %a : i8
  %1 = arith.muli %b, %a : i8
  tile.device_print "wrap", %0, %1 : i8, i8
  // CHECK: divide -3 -4 -3 124 -1 1
  %2 = arith.divsi %b, %two : i8
  %3 = arith.floordivsi %b, %two : i8
  %4 = arith.ceildivsi %b, %two : i8
  %5 = arith.divui %b, %two : i8
  %6 = arith.remsi %b, %two : i8
  %7 = arith.remui %b, %two : i8
  tile.device_print "divide", %2, %3, %4, %5, %6, %7 : i8, i8, i8, i8, i8, i8
  // CHECK: shift -28 -2 62
  %8 = arith.shli %b, %two : i8
  %9 = arith.shrsi %b, %two : i8
  %10 = arith.shrui %b, %two : i8
  tile.device_print "shift", %8, %9, %10 : i8, i8, i8
  // CHECK: compare true false -7 100 -7
  %11 = arith.cmpi slt, %b, %a : i8
  %12 = arith.cmpi ult, %b, %a : i8
  %13 = arith.minsi %a, %b : i8
  %14 = arith.minui %a, %b : i8
  %15 = arith.maxui %a, %b : i8
  tile.device_print "compare", %11, %12, %13, %14, %15 : i1, i1, i8, i8, i8
  // CHECK: casts -7 249 -7 -1 1 1
  %true = arith.constant true
  %16 = arith.extsi %b : i8 to i32
  %17 = arith.extui %b : i8 to i32
  %18 = arith.trunci %17 : i32 to i8
  %19 = arith.extsi %true : i1 to i32
  %20 = arith.extui %true : i1 to i32
  %21 = arith.index_cast %20 : i32 to index
  tile.device_print "casts", %16, %17, %18, %19, %20, %21 : i32, i32, i8, i32, i32, index
  return
}

// CHECK-LABEL: @conversions
func.func @conversions() {
  %x = arith.constant dense<[-2.75, 3.5, 1.0e10, 0x7FC00000]> : tensor<4xf32>
  // CHECK: to [-2, 3, 2147483647, 0] [0, 3, -1, 0]
  %0 = arith.fptosi %x : tensor<4xf32> to tensor<4xi32>
  %1 = arith.fptoui %x : tensor<4xf32> to tensor<4xi32>
  tile.device_print "to", %0, %1 : tensor<4xi32>, tensor<4xi32>
  // CHECK: from -7 249 -1 1
  %b = arith.constant -7 : i8
  %true = arith.constant true
  %2 = arith.sitofp %b : i8 to f16
  %3 = arith.uitofp %b : i8 to f16
  %4 = arith.sitofp %true : i1 to f32
  %5 = arith.uitofp %true : i1 to f32
  tile.device_print "from", %2, %3, %4, %5 : f16, f16, f32, f32
  // CHECK: bits 1065353216 1
  %one = arith.constant 1.0 : f32
  %6 = arith.bitcast %one : f32 to i32
  %7 = arith.bitcast %6 : i32 to f32
  tile.device_print "bits", %6, %7 : i32, f32
  return
}

// CHECK-LABEL: @math
func.func @math() {
  %x = arith.constant dense<[0.25, 1.0, 4.0]> : tensor<3xf32>
  // CHECK: exp2 [1.1892071, 2, 16]
  // CHECK: log2 [-2, 0, 2]
  %0 = math.exp2 %x : tensor<3xf32>
  %1 = math.log2 %x : tensor<3xf32>
  tile.device_print "exp2", %0 : tensor<3xf32>
  tile.device_print "log2", %1 : tensor<3xf32>
  // CHECK: sqrt [0.5, 1, 2] [2, 1, 0.5]
  %2 = math.sqrt %x : tensor<3xf32>
  %3 = math.rsqrt %x : tensor<3xf32>
  tile.device_print "sqrt", %2, %3 : tensor<3xf32>, tensor<3xf32>
  // CHECK: exp [1.2840254, 2.7182817, 54.59815]
  %4 = math.exp %x : tensor<3xf32>
  tile.device_print "exp", %4 : tensor<3xf32>
  // CHECK: log [-1.3862944, 0, 1.3862944]
  %5 = math.log %x : tensor<3xf32>
  tile.device_print "log", %5 : tensor<3xf32>
  // CHECK: tanh [0.24491866, 0.7615942, 0.9993293]
  %6 = math.tanh %x : tensor<3xf32>
  tile.device_print "tanh", %6 : tensor<3xf32>
  // fma rounds once: 4097 * 4097 = 16785409 needs 25 bits, the difference is exact.
  // CHECK: fma 1 0
  %a = arith.constant 4097.0 : f32
  %minus = arith.constant -16785408.0 : f32
  %7 = math.fma %a, %a, %minus : f32
  %8 = arith.mulf %a, %a : f32
  %9 = arith.addf %8, %minus : f32
  tile.device_print "fma", %7, %9 : f32, f32
  // CHECK: signs 2.5 -2.5 -2 -3 -2
  %s = arith.constant -2.5 : f32
  %10 = math.absf %s : f32
  %11 = arith.negf %10 : f32
  %12 = math.ceil %s : f32
  %13 = math.floor %s : f32
  %14 = math.roundeven %s : f32
  tile.device_print "signs", %10, %11, %12, %13, %14 : f32, f32, f32, f32, f32
  return
}
