// The host crashed where a computed tile without dimensions was repeated in two shapes: it stored it in the loops over the first.
// draw: program=0 target=host stages=2 warps=4 schedule=0 alignment=mixed
// grid: 1 1 1
// argument 0: f32 count=2 seed=7 coarse=1
// argument 1: f32 count=2
// argument 2: f32 count=2
// argument 3: 3
module {
  func.func @tile_without_dimensions_splat_to_two_shapes(%from: !tile.ptr<f32>, %column: !tile.ptr<f32>, %line: !tile.ptr<f32>, %n: i64) attributes {tile.kernel} {
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c2 = arith.constant 2 : i64
    %half = arith.constant dense<0.5> : tensor<f32>
    %zero = arith.constant dense<0.0> : tensor<2x1xf32>
    %p = tile.make_block_ptr %from, shape [%c2], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<2xf32>
    %x = tile.load %p : !tile.block_ptr<2xf32> -> tensor<2xf32>
    %sums:2 = scf.for %i = %c0 to %n step %c1 iter_args(%u = %zero, %v = %x) -> (tensor<2x1xf32>, tensor<2xf32>) : i64 {
      %y = tile.load %p : !tile.block_ptr<2xf32> -> tensor<2xf32>
      %sum = tile.reduce %y axis 0 : tensor<2xf32> -> tensor<f32> {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        tile.yield %s : f32
      }
      %z = arith.mulf %sum, %half : tensor<f32>
      %rows = tile.splat %z : tensor<f32> -> tensor<2x1xf32>
      %all = tile.splat %z : tensor<f32> -> tensor<2xf32>
      %more = arith.addf %u, %rows : tensor<2x1xf32>
      %most = arith.addf %v, %all : tensor<2xf32>
      scf.yield %more, %most : tensor<2x1xf32>, tensor<2xf32>
    }
    %q = tile.make_block_ptr %column, shape [%c2, %c1], strides [%c1, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<2x1xf32>
    tile.store %q, %sums#0 : !tile.block_ptr<2x1xf32>, tensor<2x1xf32>
    %r = tile.make_block_ptr %line, shape [%c2], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<2xf32>
    tile.store %r, %sums#1 : !tile.block_ptr<2xf32>, tensor<2xf32>
    return
  }
}
