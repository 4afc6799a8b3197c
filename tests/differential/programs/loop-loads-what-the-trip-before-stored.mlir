// A loop's copies run ahead of their use, and must not run ahead of the store that they read.
// draw: program=0 target=nvidia:sm_90 stages=2 warps=4 schedule=0 alignment=aligned
// grid: 1 1 1
// argument 0: f16 count=2560 seed=1 coarse=1 tolerance=0.01
// argument 1: f16 count=256 seed=2 coarse=1
module {
  func.func @loop_loads_what_the_trip_before_stored(%array: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "array"},
                                                    %weight: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = "weight"})
      attributes {tile.kernel} {
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c9 = arith.constant 9 : i64
    %c16 = arith.constant 16 : i64
    %c160 = arith.constant 160 : i64
    %zero = arith.constant dense<0.0> : tensor<16x16xf32>
    %small = arith.constant dense<1.562500e-02> : tensor<16x16xf32>
    %half = arith.constant dense<0.5> : tensor<16x16xf32>
    %pw = tile.make_block_ptr %weight, shape [%c16, %c16], strides [%c16, %c1], offsets [%c0, %c0]
      : !tile.ptr<f16> -> !tile.block_ptr<16x16xf16>
    %w = tile.load %pw : !tile.block_ptr<16x16xf16> -> tensor<16x16xf16>
    scf.for %i = %c0 to %c9 step %c1 : i64 {
      %row = arith.muli %i, %c16 : i64
      %next = arith.addi %row, %c16 : i64
      %from = tile.make_block_ptr %array, shape [%c160, %c16], strides [%c16, %c1], offsets [%row, %c0]
        : !tile.ptr<f16> -> !tile.block_ptr<16x16xf16>
      %x = tile.load %from : !tile.block_ptr<16x16xf16> -> tensor<16x16xf16>
      %product = tile.dot %x, %w, %zero : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf32>
      %scaled = arith.mulf %product, %small : tensor<16x16xf32>
      %y = arith.addf %scaled, %half : tensor<16x16xf32>
      %narrow = arith.truncf %y : tensor<16x16xf32> to tensor<16x16xf16>
      %to = tile.make_block_ptr %array, shape [%c160, %c16], strides [%c16, %c1], offsets [%next, %c0]
        : !tile.ptr<f16> -> !tile.block_ptr<16x16xf16>
      tile.store %to, %narrow : !tile.block_ptr<16x16xf16>, tensor<16x16xf16>
    }
    return
  }
}
