// gather, scatter and atomic additions of every type, of tiles and scalars, also in a branch.
func.func @scattered(%p: !tile.ptr<f16>, %q: !tile.ptr<bf16>, %r: !tile.ptr<f64>, %s: !tile.ptr<i64>, %u: !tile.ptr<i32>, %n: i32) attributes {tile.kernel} {
  %i = tile.arange 0 : tensor<256xi32>
  %ns = tile.splat %n : i32 -> tensor<256xi32>
  %mask = arith.cmpi slt, %i, %ns : tensor<256xi32>
  %p0 = tile.splat %p : !tile.ptr<f16> -> tensor<256x!tile.ptr<f16>>
  %p1 = tile.addptr %p0, %i : tensor<256x!tile.ptr<f16>>, tensor<256xi32>
  %other = arith.constant dense<-1.0> : tensor<256xf16>
  %x = tile.gather %p1, mask %mask : tensor<256xi1>, other %other : tensor<256xf16> : tensor<256x!tile.ptr<f16>> -> tensor<256xf16>
  %o = tile.atomic_add %p1, %x, mask %mask : tensor<256xi1> : tensor<256x!tile.ptr<f16>>, tensor<256xf16> -> tensor<256xf16>
  tile.scatter %p1, %o, mask %mask : tensor<256xi1> : tensor<256x!tile.ptr<f16>>, tensor<256xf16>
  %q0 = tile.splat %q : !tile.ptr<bf16> -> tensor<256x!tile.ptr<bf16>>
  %q1 = tile.addptr %q0, %i : tensor<256x!tile.ptr<bf16>>, tensor<256xi32>
  %y = tile.gather %q1 : tensor<256x!tile.ptr<bf16>> -> tensor<256xbf16>
  %oy = tile.atomic_add %q1, %y, mask %mask : tensor<256xi1> : tensor<256x!tile.ptr<bf16>>, tensor<256xbf16> -> tensor<256xbf16>
  %r0 = tile.splat %r : !tile.ptr<f64> -> tensor<256x!tile.ptr<f64>>
  %r1 = tile.addptr %r0, %i : tensor<256x!tile.ptr<f64>>, tensor<256xi32>
  %yr = tile.gather %r1 : tensor<256x!tile.ptr<f64>> -> tensor<256xf64>
  %or = tile.atomic_add %r1, %yr : tensor<256x!tile.ptr<f64>>, tensor<256xf64> -> tensor<256xf64>
  tile.scatter %r1, %or : tensor<256x!tile.ptr<f64>>, tensor<256xf64>
  %one = arith.constant 1 : i64
  %os = tile.atomic_add %s, %one : !tile.ptr<i64>, i64 -> i64
  %s1 = tile.addptr %s, %os : !tile.ptr<i64>, i64
  tile.scatter %s1, %os : !tile.ptr<i64>, i64
  %v = tile.gather %u : !tile.ptr<i32> -> i32
  %c0 = arith.constant 0 : i32
  %flag = arith.cmpi sgt, %v, %c0 : i32
  scf.if %flag {
    %ou = tile.atomic_add %u, %v : !tile.ptr<i32>, i32 -> i32
    %u1 = tile.addptr %u, %ou : !tile.ptr<i32>, i32
    tile.scatter %u1, %v, mask %flag : i1 : !tile.ptr<i32>, i32
  }
  return
}
