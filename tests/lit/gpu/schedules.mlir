// Schedules of a loop with two dots and arithmetic between them: what is chosen, what can be forced, and what becomes of it.
// RUN: fattn-opt %s -tilegpu-schedule-loops="stages=2 explain=true" 2>&1 | FileCheck %s --check-prefix=BEST
// RUN: fattn-opt %s -tilegpu-schedule-loops="stages=2 schedule=1 explain=true" 2>&1 | FileCheck %s --check-prefix=SECOND
// RUN: fattn-opt %s -tilegpu-schedule-loops="stages=2 forced='A B1 a'" -canonicalize -cse -canonicalize | FileCheck %s --check-prefix=LATE
// RUN: fattn-opt %s -tilegpu-schedule-loops="stages=1 forced='A B1 a'" -canonicalize -cse -canonicalize | FileCheck %s --check-prefix=LATEONE
// RUN: not fattn-opt %s -tilegpu-schedule-loops="stages=2 schedule=100" 2>&1 | FileCheck %s --check-prefix=BEYOND
// RUN: not fattn-opt %s -tilegpu-schedule-loops="stages=2 forced='B A a'" 2>&1 | FileCheck %s --check-prefix=ILLEGAL
// RUN: not fattn-opt %s -tilegpu-schedule-loops="stages=2 forced='A x B'" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: fattn-opt %s -tilegpu-schedule-loops="stages=3 forced='A a B y1'" | FileCheck %s --check-prefix=NEARER
// RUN: not fattn-opt %s -tilegpu-schedule-loops="stages=3 forced='A a B y3'" 2>&1 | FileCheck %s --check-prefix=FARTHER
// RUN: fattn-opt %s -tilegpu-schedule-loops="stages=2 forced='A x B' advice=true" | FileCheck %s --check-prefix=ADVICE
// RUN: not fattn-opt %s -tilegpu-schedule-loops="stages=2 forced='A a2 B3'" 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: sed 's/sm_80/sm_100/' %s | fattn-opt -tilegpu-schedule-loops="stages=2 explain=true" 2>&1 | FileCheck %s --check-prefix=UNPRICED
// RUN: sed 's/sm_80/sm_100/' %s | fattn-opt -tilegpu-schedule-loops="stages=2 forced='A B1 a'" | FileCheck %s --check-prefix=NAMED
// RUN: sed 's/sm_80/sm_100/' %s | not fattn-opt -tilegpu-schedule-loops="stages=2 forced='B A a'" 2>&1 | FileCheck %s --check-prefix=ILLEGAL

// BEST: remark: schedule A a B of 4 legal, 4 that fit, hardly told apart: warps wait for their dots; A = dot 64 x 32 x 64 (16 registers), a = 2 operations from math.exp2 (8 registers), B = dot 64 x 64 x 32 (0 registers); {{[0-9]+}} more registers
// BEST: tilegpu.schedule = "A a B"

// The second best is another one.
// SECOND: remark: schedule
// SECOND-NOT: tilegpu.schedule = "A a B"
// SECOND: tilegpu.schedule = "{{.*}}"

// BEYOND: error: there is no schedule 100: the loops have 0 to 3
// ILLEGAL: error: schedule `B A a` is illegal: {{.*}} needs {{.*}} of the same iteration
// UNKNOWN: error: schedule `A x B`: there is no node 'x'; the nodes are A, a, B; the copies are z, y
// The second copy runs one trip ahead, and has a slot less than the first.
// NEARER: tilegpu.alloc : !tilegpu.buffer<3 x 32x64xbf16
// NEARER: tilegpu.alloc : !tilegpu.buffer<2 x 32x64xbf16
// NEARER: tilegpu.schedule = "A a B y1"
// FARTHER: error: schedule `A a B y3`: copy y runs 3 trips ahead; legal are y0 to y2; more stages allow more
// Advice that does not fit leaves the order of the text.
// ADVICE: tilegpu.schedule = "A a B"
// DEEP: error: schedule A a2 B3 has more than two stages, 0 and 1
// UNPRICED: remark: keeps the order of the text: the table has no cycles for mma.sync on nvidia:sm_100
// UNPRICED-NOT: tilegpu.schedule
// An order that is named needs no figures.
// NAMED: tilegpu.schedule = "A B1 a"

// B of the iteration before behind A: the first A (and its arithmetic) runs before the loop, the last B behind it, and the whole only where
// there is a trip. The copies that B needs run a trip later than those of A; both have two slots.
// LATE: tilegpu.alloc : !tilegpu.buffer<2 x 32x64xbf16
// LATE: tilegpu.alloc : !tilegpu.buffer<2 x 32x64xbf16
// LATE: scf.if
// LATE-COUNT-3: tilegpu.copy_async
// LATE: %[[S0:.*]] = tile.dot
// LATE: %[[P0:.*]] = arith.truncf
// LATE: %[[R:.*]]:7 = scf.for {{.*}} iter_args(%[[ACC:[a-z0-9]+]] = %{{.*}}, %[[P:[a-z0-9]+]] = %[[P0]])
// LATE-COUNT-2: tilegpu.copy_async
// LATE: tile.dot
// LATE: %[[D:.*]] = tile.dot %[[P]], %{{.*}}, %[[ACC]]
// LATE: %[[PN:.*]] = arith.truncf
// LATE: scf.yield %[[D]], {{.*}}, %[[PN]] :
// LATE: } {tilegpu.schedule = "A B1 a"}
// LATE-NOT: tilegpu.copy_async
// LATE: %[[E:.*]] = tile.dot %[[R]]#6, %{{.*}}, %[[R]]#0
// LATE-NOT: tile.dot
// LATE: scf.yield %[[E]]
// LATE: else
// LATE-NEXT: scf.yield %cst

// With one stage of copies, the slot of the first A is filled again behind it, before the loop; in the loop each behind its last reader.
// LATEONE: %[[A:.*]] = tilegpu.alloc : !tilegpu.buffer<1 x 32x64xbf16
// LATEONE: %[[B:.*]] = tilegpu.alloc : !tilegpu.buffer<1 x 32x64xbf16
// LATEONE: tilegpu.copy_async %{{.*}}, %[[A]]
// LATEONE: tile.dot
// LATEONE: tilegpu.copy_async %{{.*}}, %[[A]]
// LATEONE: tilegpu.copy_async %{{.*}}, %[[B]]
// LATEONE: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[TA:.*]] = %{{.*}}, %[[TB:.*]] = %{{.*}}, %{{.*}} = %{{[^,]*}})
// LATEONE: tilegpu.copy_wait %[[TA]]
// LATEONE-NEXT: tilegpu.copy_wait %[[TB]]
// LATEONE: tilegpu.load_buffer %[[A]]
// LATEONE: tile.dot
// LATEONE: tilegpu.copy_async %{{.*}}, %[[A]]
// LATEONE: tilegpu.load_buffer %[[B]]
// LATEONE: tile.dot
// LATEONE: tilegpu.copy_async %{{.*}}, %[[B]]
// LATEONE: } {tilegpu.schedule = "A B1 a"}
// The last B, behind the loop, has its copy by then, and nothing is copied there.
// LATEONE-NOT: tilegpu.copy_async
// LATEONE: %[[L:.*]] = tilegpu.load_buffer %[[B]][
// LATEONE-NEXT: tile.dot %{{.*}}, %[[L]],
// LATEONE-NOT: tilegpu.copy_async
// LATEONE: else

#regs = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 64">
#regs1 = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (16,0), 2 -> (32,0) | dim0: 64, dim1: 32">
#regs2 = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (16,0), 16 -> (32,0); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (0,32), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 64, dim1: 64">
#regs3 = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (16,0); lane: 1 -> (0,8), 2 -> (0,16), 4 -> (0,32), 8 -> (1,0), 16 -> (2,0); warp: 1 -> (4,0), 2 -> (8,0) | dim0: 32, dim1: 64">
#regs4 = #tilegpu.regs<"register: 1 -> (0,1), 2 -> (0,8), 4 -> (8,0), 8 -> (16,0), 16 -> (0,16), 32 -> (0,32); lane: 1 -> (0,2), 2 -> (0,4), 4 -> (1,0), 8 -> (2,0), 16 -> (4,0); warp: 1 -> (0,0), 2 -> (0,0) | dim0: 32, dim1: 64">
#regs5 = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (16,0), 32 -> (32,0); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 -> (0,0), 2 -> (0,0) | dim0: 64, dim1: 32">
#regs6 = #tilegpu.regs<"register: 1 -> (1,0), 2 -> (8,0), 4 -> (0,8), 8 -> (0,16), 16 -> (0,32), 32 -> (16,0); lane: 1 -> (2,0), 2 -> (4,0), 4 -> (0,1), 8 -> (0,2), 16 -> (0,4); warp: 1 -> (0,0), 2 -> (0,0) | dim0: 32, dim1: 64">
#shared = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0), 2048 -> (32,0) | dim0: 64, dim1: 64">
#shared1 = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0), 16 -> (2,0), 32 -> (4,0), 64 -> (1,8), 128 -> (2,16), 256 -> (4,32), 512 -> (8,0), 1024 -> (16,0) | dim0: 32, dim1: 64">
func.func @chain(%arg0: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %arg1: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %arg2: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %arg3: i64 {tile.divisibility = 8 : i64}, %arg4: i32, %arg5: i64) -> tensor<64x64xf32, #regs> attributes {tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  %c0_i32 = arith.constant 0 : i32
  %c32_i32 = arith.constant 32 : i32
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c64_i64 = arith.constant 64 : i64
  %cst = arith.constant dense<0.000000e+00> : tensor<64x32xf32, #regs1>
  %cst_0 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #regs>
  %0 = tile.make_block_ptr %arg0, shape[%arg5, %c64_i64], strides[%arg3, %c1_i64], offsets[%c0_i64, %c0_i64] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %1 = tilegpu.alloc : !tilegpu.buffer<1 x 64x64xbf16, #shared>
  %2 = tilegpu.copy_async %0, %1[%c0_i32] {boundary_check = array<i64: 0>, layout = #regs2} : !tile.block_ptr<64x64xbf16>, !tilegpu.buffer<1 x 64x64xbf16, #shared>
  tilegpu.copy_wait %2
  %3 = tile.make_block_ptr %arg1, shape[%arg5, %c64_i64], strides[%arg3, %c1_i64], offsets[%c0_i64, %c0_i64] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %4 = tile.make_block_ptr %arg2, shape[%arg5, %c64_i64], strides[%arg3, %c1_i64], offsets[%c0_i64, %c0_i64] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %5 = tilegpu.load_buffer %1[%c0_i32] : !tilegpu.buffer<1 x 64x64xbf16, #shared> -> tensor<64x64xbf16, #regs>
  %6 = tilegpu.alloc : !tilegpu.buffer<1 x 32x64xbf16, #shared1>
  %7 = tilegpu.alloc : !tilegpu.buffer<1 x 32x64xbf16, #shared1>
  %8 = scf.for %arg6 = %c0_i32 to %arg4 step %c32_i32 iter_args(%arg7 = %cst_0) -> (tensor<64x64xf32, #regs>)  : i32 {
    %9 = arith.extsi %arg6 : i32 to i64
    %10 = tile.advance %3, [%9, %c0_i64] : !tile.block_ptr<32x64xbf16>
    %11 = tilegpu.copy_async %10, %6[%c0_i32] {boundary_check = array<i64: 0>, layout = #regs3} : !tile.block_ptr<32x64xbf16>, !tilegpu.buffer<1 x 32x64xbf16, #shared1>
    tilegpu.copy_wait %11
    %12 = tilegpu.load_buffer %6[%c0_i32] : !tilegpu.buffer<1 x 32x64xbf16, #shared1> -> tensor<32x64xbf16, #regs4>
    %13 = tile.trans %12, [1, 0] : tensor<32x64xbf16, #regs4> -> tensor<64x32xbf16, #regs5>
    %14 = tile.dot %5, %13, %cst : tensor<64x64xbf16, #regs>, tensor<64x32xbf16, #regs5> -> tensor<64x32xf32, #regs1>
    %15 = math.exp2 %14 : tensor<64x32xf32, #regs1>
    %16 = arith.truncf %15 : tensor<64x32xf32, #regs1> to tensor<64x32xbf16, #regs1>
    %17 = tile.advance %4, [%9, %c0_i64] : !tile.block_ptr<32x64xbf16>
    %18 = tilegpu.copy_async %17, %7[%c0_i32] {boundary_check = array<i64: 0>, layout = #regs3} : !tile.block_ptr<32x64xbf16>, !tilegpu.buffer<1 x 32x64xbf16, #shared1>
    tilegpu.copy_wait %18
    %19 = tilegpu.load_buffer %7[%c0_i32] : !tilegpu.buffer<1 x 32x64xbf16, #shared1> -> tensor<32x64xbf16, #regs6>
    %20 = tile.dot %16, %19, %arg7 : tensor<64x32xbf16, #regs1>, tensor<32x64xbf16, #regs6> -> tensor<64x64xf32, #regs>
    scf.yield %20 : tensor<64x64xf32, #regs>
  }
  return %8 : tensor<64x64xf32, #regs>
}
