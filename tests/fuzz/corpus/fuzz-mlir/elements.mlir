func.func @elements(%p: !tile.ptr<i32>, %n: i32) {
  %0 = tile.arange 0 : tensor<8xi32>
  %1 = tile.splat %n : i32 -> tensor<8xi32>
  %mask = arith.cmpi slt, %0, %1 : tensor<8xi32>
  %2 = tile.splat %p : !tile.ptr<i32> -> tensor<8x!tile.ptr<i32>>
  %3 = tile.addptr %2, %0 : tensor<8x!tile.ptr<i32>>, tensor<8xi32>
  %4 = tile.gather %3, mask %mask : tensor<8xi1>, other %1 : tensor<8xi32> : tensor<8x!tile.ptr<i32>> -> tensor<8xi32>
  %5 = tile.select_lazy %mask usual(%4) : tensor<8xi1>, tensor<8xi32> -> tensor<8xi32> {
    %6 = arith.divsi %4, %1 : tensor<8xi32>
    tile.yield %6 : tensor<8xi32>
  }
  tile.scatter %3, %5, mask %mask : tensor<8xi1> : tensor<8x!tile.ptr<i32>>, tensor<8xi32>
  %7 = tile.atomic_add %p, %n : !tile.ptr<i32>, i32 -> i32
  %8 = tile.join %5, %4 : tensor<8xi32> -> tensor<8x2xi32>
  %9, %10 = tile.split %8 : tensor<8x2xi32> -> tensor<8xi32>
  %11 = tile.reshape %9 : tensor<8xi32> -> tensor<2x4xi32>
  %12 = tile.assume_divisible %n, 5 : i32
  %13 = scf.while (%i = %n) : (i32) -> i32 {
    %c0 = arith.constant 0 : i32
    %more = arith.cmpi sgt, %i, %c0 : i32
    scf.condition(%more) %i : i32
  } do {
  ^bb0(%i: i32):
    %c1 = arith.constant 1 : i32
    %j = arith.subi %i, %c1 : i32
    scf.yield %j : i32
  }
  return
}
