// The host read a row for all rows in the loop over elements that overwrote this row first.
// draw: program=1004 target=host:sse2 stages=2 warps=3 schedule=2 alignment=unaligned
// grid: 1 1 1
// argument 0: f32 count=256 seed=7 coarse=1 misalignment=4
module {
  func.func @load_fused_past_the_store_of_its_row(%array: !tile.ptr<f32> {tile.name = "array"}) attributes {tile.kernel} {
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c16 = arith.constant 16 : i64
    %one = arith.constant dense<1.0> : tensor<16x16xf32>
    %row = tile.make_block_ptr %array, shape [%c16, %c16], strides [%c16, %c1], offsets [%c0, %c0]
      : !tile.ptr<f32> -> !tile.block_ptr<1x16xf32>
    %x = tile.load %row : !tile.block_ptr<1x16xf32> -> tensor<1x16xf32>
    %all = tile.broadcast %x : tensor<1x16xf32> -> tensor<16x16xf32>
    %y = arith.addf %all, %one : tensor<16x16xf32>
    %whole = tile.make_block_ptr %array, shape [%c16, %c16], strides [%c16, %c1], offsets [%c0, %c0]
      : !tile.ptr<f32> -> !tile.block_ptr<16x16xf32>
    tile.store %whole, %y : !tile.block_ptr<16x16xf32>, tensor<16x16xf32>
    return
  }
}
