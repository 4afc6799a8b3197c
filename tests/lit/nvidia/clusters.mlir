// Blocks that share copies: each brings a part of the boxes to all of them, and a release tells all of them.
// RUN: fattn-opt %s -tilegpu-allocate-shared -tilegpu-place-barriers -tilegpu-split-roles '-tilegpu-share-copies=cluster=2' -nvidia-lower-tensors | FileCheck %s

#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (0,16), 32 -> (0,32), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (0,64) | dim0: 8, dim1: 128">

// The numbers of programs come with the launch. A slot is free when 8 warps of both blocks have arrived.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: (%{{.*}}: !llvm.ptr<1>, %{{.*}}: i32, %[[X:.*]]: i32, %{{.*}}: i32, %{{.*}}: i32, %[[MAP:.*]]: !llvm.ptr
// CHECK: %[[SIXTEEN:.*]] = arith.constant 16 : i32
// CHECK: "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}" %{{.*}}, %[[SIXTEEN]]
// CHECK: barrier.cluster.arrive.release; barrier.cluster.wait.acquire;
// One box of two is this block's, for both (3).
// CHECK: mbarrier.arrive.expect_tx
// CHECK: %[[RANK:.*]] = arith.remui
// CHECK: %[[BOTH:.*]] = arith.constant 3 : i16
// CHECK: arith.select
// CHECK: arith.select
// CHECK: arith.select
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [$0], [$1, {$3, $4}], [$2], $5;
// CHECK-SAME: %[[MAP]], %{{.*}}, %[[BOTH]] :
// CHECK-NOT: cp.async.bulk
// CHECK: } else {
// CHECK: mapa.shared::cluster.u32 there, $0, $1; @$2 mbarrier.arrive.shared::cluster.b64 _, [there];
// CHECK: barrier.cluster.arrive.release; barrier.cluster.wait.acquire;
// CHECK-NEXT: return
func.func @shared(%k: !tile.ptr<bf16>, %n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 128 : i64
  %b = tilegpu.alloc : !tilegpu.buffer<2 x 8x128xbf16, #shared>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> (i32) : i32 {
    %row = arith.extsi %i : i32 to i64
    %p = tile.make_block_ptr %k, shape [%w, %w], strides [%w, %u], offsets [%row, %z] : !tile.ptr<bf16> -> !tile.block_ptr<8x128xbf16>
    %t = tilegpu.copy_async %p, %b[%slot] map 0[] : !tile.block_ptr<8x128xbf16>, !tilegpu.buffer<2 x 8x128xbf16, #shared>
    tilegpu.copy_wait %t in %b[%slot] : !tilegpu.buffer<2 x 8x128xbf16, #shared>
    tilegpu.release %b[%slot] : !tilegpu.buffer<2 x 8x128xbf16, #shared>
    %next = arith.xori %slot, %c1 : i32
    scf.yield %next : i32
  }
  return
}
