// LLVM 22 read the number behind the barrier that keeps waves from overwriting it, in AMD's code.
// draw: program=1187 target=amd:gfx950 stages=4 warps=4 schedule=0 alignment=aligned
// grid: 1 1 1
// argument 0: i32 count=512 seed=0 low=-8 high=8 coarse=1
module {
  func.func @scalar_read_before_its_array_is_stored(%arg0: !tile.ptr<i32> {tile.divisibility = 16 : i64, tile.name = "array"}) attributes {tile.kernel} {
    %c0_i64 = arith.constant 0 : i64
    %0 = tile.addptr %arg0, %c0_i64 : !tile.ptr<i32>, i64
    %1 = tile.gather %0 : !tile.ptr<i32> -> i32
    %2 = tile.splat %1 : i32 -> tensor<8x64xi32>
    %cst = arith.constant dense<3> : tensor<8x64xi32>
    %3 = arith.subi %cst, %2 : tensor<8x64xi32>
    %c0_i64_0 = arith.constant 0 : i64
    %c64_i64 = arith.constant 64 : i64
    %c1_i64 = arith.constant 1 : i64
    %c8_i64 = arith.constant 8 : i64
    %c64_i64_1 = arith.constant 64 : i64
    %4 = tile.make_block_ptr %arg0, shape[%c8_i64, %c64_i64_1], strides[%c64_i64, %c1_i64], offsets[%c0_i64_0, %c0_i64_0] : !tile.ptr<i32> -> !tile.block_ptr<8x64xi32>
    tile.store %4, %3 : !tile.block_ptr<8x64xi32>, tensor<8x64xi32>
    return
  }
}
