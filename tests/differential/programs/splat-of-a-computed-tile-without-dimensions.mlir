// The host crashed where a tile without dimensions was computed with before it was repeated.
// draw: program=0 target=host stages=2 warps=4 schedule=0 alignment=mixed
// grid: 1 1 1
// argument 0: f32 count=16 seed=7 coarse=1
// argument 1: f32 count=16
module {
  func.func @splat_of_a_computed_tile_without_dimensions(%from: !tile.ptr<f32>, %to: !tile.ptr<f32>) attributes {tile.kernel} {
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c16 = arith.constant 16 : i64
    %half = arith.constant dense<0.5> : tensor<f32>
    %source = tile.make_block_ptr %from, shape [%c16], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<16xf32>
    %x = tile.load %source : !tile.block_ptr<16xf32> -> tensor<16xf32>
    %sum = tile.reduce %x axis 0 : tensor<16xf32> -> tensor<f32> {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      tile.yield %s : f32
    }
    %y = arith.mulf %sum, %half : tensor<f32>
    %all = tile.splat %y : tensor<f32> -> tensor<16xf32>
    %target = tile.make_block_ptr %to, shape [%c16], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<16xf32>
    tile.store %target, %all : !tile.block_ptr<16xf32>, tensor<16xf32>
    return
  }
}
