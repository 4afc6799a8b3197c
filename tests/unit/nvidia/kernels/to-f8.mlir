// f32 and f16 as both 8-bit floating-point types.
func.func @to_f8(%x: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %h: !tile.ptr<f16> {tile.divisibility = 16 : i64},
    %e4m3: !tile.ptr<f8E4M3FN> {tile.divisibility = 16 : i64}, %e5m2: !tile.ptr<f8E5M2> {tile.divisibility = 16 : i64}, %n: i64) attributes {tile.kernel} {
  %c1 = arith.constant 1 : i64
  %block = arith.constant 1024 : i64
  %program = tile.program_id x : i32
  %wide = arith.extsi %program : i32 to i64
  %at = arith.muli %wide, %block : i64
  %px = tile.make_block_ptr %x, shape [%n], strides [%c1], offsets [%at] : !tile.ptr<f32> -> !tile.block_ptr<1024xf32>
  %ph = tile.make_block_ptr %h, shape [%n], strides [%c1], offsets [%at] : !tile.ptr<f16> -> !tile.block_ptr<1024xf16>
  %p4 = tile.make_block_ptr %e4m3, shape [%n], strides [%c1], offsets [%at] : !tile.ptr<f8E4M3FN> -> !tile.block_ptr<1024xf8E4M3FN>
  %p5 = tile.make_block_ptr %e5m2, shape [%n], strides [%c1], offsets [%at] : !tile.ptr<f8E5M2> -> !tile.block_ptr<1024xf8E5M2>
  %a = tile.load %px {boundary_check = array<i64: 0>} : !tile.block_ptr<1024xf32> -> tensor<1024xf32>
  %b = tile.load %ph {boundary_check = array<i64: 0>} : !tile.block_ptr<1024xf16> -> tensor<1024xf16>
  %a4 = arith.truncf %a : tensor<1024xf32> to tensor<1024xf8E4M3FN>
  %b5 = arith.truncf %b : tensor<1024xf16> to tensor<1024xf8E5M2>
  tile.store %p4, %a4 {boundary_check = array<i64: 0>} : !tile.block_ptr<1024xf8E4M3FN>, tensor<1024xf8E4M3FN>
  tile.store %p5, %b5 {boundary_check = array<i64: 0>} : !tile.block_ptr<1024xf8E5M2>, tensor<1024xf8E5M2>
  return
}
