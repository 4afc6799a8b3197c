// Each trip stores a window that overlaps the one before: where two trips store, the later one counts, whichever threads they are.
func.func @slide(%x: !tile.ptr<f32> {tile.size = 4096 : i64}, %y: !tile.ptr<f32> {tile.size = 1216 : i64}, %n: i32 {tile.value = 6 : i32}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %o = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %rows = arith.constant 38 : i64
  %many = arith.constant 128 : i64
  scf.for %i = %c0 to %n step %c1 : i32 {
    %i64 = arith.extsi %i : i32 to i64
    %row = arith.muli %i64, %c32 : i64
    %back = arith.remsi %row, %many : i64
    %p = tile.make_block_ptr %x, shape [%many, %c32], strides [%c32, %o], offsets [%back, %z] : !tile.ptr<f32> -> !tile.block_ptr<32x32xf32>
    %t = tile.load %p : !tile.block_ptr<32x32xf32> -> tensor<32x32xf32>
    %q = tile.make_block_ptr %y, shape [%rows, %c32], strides [%c32, %o], offsets [%i64, %z] : !tile.ptr<f32> -> !tile.block_ptr<32x32xf32>
    tile.store %q, %t : !tile.block_ptr<32x32xf32>, tensor<32x32xf32>
  }
  return
}
