// A window that is stored one row further overlaps itself: the host stored rows before it had read them.
// draw: program=0 target=host stages=2 warps=4 schedule=0 alignment=mixed
// grid: 1 1 1
// argument 0: f32 count=272 seed=7 coarse=1
module {
  func.func @window_stored_one_row_further(%array: !tile.ptr<f32> {tile.name = "array"}) attributes {tile.kernel} {
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c16 = arith.constant 16 : i64
    %c17 = arith.constant 17 : i64
    %from = tile.make_block_ptr %array, shape [%c17, %c16], strides [%c16, %c1], offsets [%c0, %c0]
      : !tile.ptr<f32> -> !tile.block_ptr<16x16xf32>
    %x = tile.load %from : !tile.block_ptr<16x16xf32> -> tensor<16x16xf32>
    %to = tile.make_block_ptr %array, shape [%c17, %c16], strides [%c16, %c1], offsets [%c1, %c0]
      : !tile.ptr<f32> -> !tile.block_ptr<16x16xf32>
    tile.store %to, %x : !tile.block_ptr<16x16xf32>, tensor<16x16xf32>
    return
  }
}
