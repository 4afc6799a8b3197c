// A product of bf16, with operands copied asynchronously.
func.func @product(%a: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i64},
    %m: i64, %n: i64 {tile.divisibility = 16 : i64}, %k: i64 {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %bm = arith.constant 64 : i64
  %bn = arith.constant 64 : i64
  %bk = arith.constant 32 : i64
  %x = tile.program_id x : i32
  %y = tile.program_id y : i32
  %x64 = arith.extsi %x : i32 to i64
  %y64 = arith.extsi %y : i32 to i64
  %row = arith.muli %x64, %bm : i64
  %col = arith.muli %y64, %bn : i64
  %pa = tile.make_block_ptr %a, shape [%m, %k], strides [%k, %c1], offsets [%row, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x32xbf16>
  %pb = tile.make_block_ptr %b, shape [%k, %n], strides [%n, %c1], offsets [%c0, %col] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %pc = tile.make_block_ptr %c, shape [%m, %n], strides [%n, %c1], offsets [%row, %col] : !tile.ptr<f32> -> !tile.block_ptr<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %acc = scf.for %i = %c0 to %k step %bk iter_args(%s = %zero) -> (tensor<64x64xf32>) : i64 {
    %qa = tile.advance %pa, [%c0, %i] : !tile.block_ptr<64x32xbf16>
    %qb = tile.advance %pb, [%i, %c0] : !tile.block_ptr<32x64xbf16>
    %ta = tile.load %qa {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<64x32xbf16> -> tensor<64x32xbf16>
    %tb = tile.load %qb {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %ta, %tb, %s : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %pc, %acc {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<64x64xf32>, tensor<64x64xf32>
  return
}
