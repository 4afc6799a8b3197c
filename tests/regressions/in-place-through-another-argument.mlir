// Each trip overwrites what it loaded, through a second argument that is the same memory.
func.func @chain(%a: !tile.ptr<bf16> {tile.size = 8192 : i64, tile.divisibility = 16 : i64}, %w: !tile.ptr<bf16> {tile.size = 1024 : i64, tile.divisibility = 16 : i64}, %n: i32 {tile.value = 6 : i32},
                 %b: !tile.ptr<bf16> {tile.same = 0 : i64, tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %o = arith.constant 1 : i64
  %rows = arith.constant 256 : i64
  %c32 = arith.constant 32 : i64
  %shift = arith.constant 0 : i64
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %wp = tile.make_block_ptr %w, shape [%c32, %c32], strides [%c32, %o], offsets [%z, %z] : !tile.ptr<bf16> -> !tile.block_ptr<32x32xbf16>
  %wt = tile.load %wp : !tile.block_ptr<32x32xbf16> -> tensor<32x32xbf16>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %i64 = arith.extsi %i : i32 to i64
    %row = arith.muli %i64, %c32 : i64
    %next = arith.addi %row, %shift : i64
    %p = tile.make_block_ptr %a, shape [%rows, %c32], strides [%c32, %o], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<32x32xbf16>
    %x = tile.load %p : !tile.block_ptr<32x32xbf16> -> tensor<32x32xbf16>
    %d = tile.dot %x, %wt, %zero : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
    %y = arith.truncf %d : tensor<32x32xf32> to tensor<32x32xbf16>
    %q = tile.make_block_ptr %b, shape [%rows, %c32], strides [%c32, %o], offsets [%next, %z] : !tile.ptr<bf16> -> !tile.block_ptr<32x32xbf16>
    tile.store %q, %y : !tile.block_ptr<32x32xbf16>, tensor<32x32xbf16>
  }
  return
}
