func.func @copy(%src: !tile.ptr<f32> {tile.name = "src"}, %dst: !tile.ptr<f32>, %n: i64) attributes {tile.kernel} {
  %c4 = arith.constant 4 : i64
  %c1 = arith.constant 1 : i64
  %id = tile.program_id x : i32
  %id64 = arith.extsi %id : i32 to i64
  %at = arith.muli %id64, %c4 : i64
  %0 = tile.make_block_ptr %src, shape [%n], strides [%c1], offsets [%at] : !tile.ptr<f32> -> !tile.block_ptr<4xf32>
  %1 = tile.load %0 {boundary_check = array<i64: 0>, padding = 1.0 : f32} : !tile.block_ptr<4xf32> -> tensor<4xf32>
  %2 = tile.make_block_ptr %dst, shape [%n], strides [%c1], offsets [%at] : !tile.ptr<f32> -> !tile.block_ptr<4xf32>
  %3 = math.exp2 %1 : tensor<4xf32>
  tile.store %2, %3 {boundary_check = array<i64: 0>} : !tile.block_ptr<4xf32>, tensor<4xf32>
  return
}
