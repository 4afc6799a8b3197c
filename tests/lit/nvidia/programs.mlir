// SPDX-License-Identifier: Apache-2.0
// A block that takes several programs loops over them; how many there are comes with the launch, behind the arguments and before the maps.
// RUN: fattn-opt %s -nvidia-lower-tensors | FileCheck %s

// CHECK-LABEL: func.func @each
// CHECK-SAME: (%[[N:.*]]: i32, %[[X:.*]]: i32, %[[Y:.*]]: i32, %[[Z:.*]]: i32, %{{.*}}: !llvm.ptr
// CHECK-DAG: nvvm.read.ptx.sreg.ctaid.x
// CHECK-DAG: nvvm.read.ptx.sreg.nctaid.x
// CHECK: %[[PER_ROW:.*]] = arith.divui %{{.*}}, %{{.*}} : i32
// CHECK: %[[PER_PLANE:.*]] = arith.divui %{{.*}}, %{{.*}} : i32
// CHECK: scf.while ({{.*}}) : (i32, i32, i32) -> (i32, i32, i32) {
// CHECK: arith.cmpi ult
// CHECK-NEXT: scf.condition
// CHECK: ^bb0(%[[NUMBER:.*]]: i32, %{{.*}}: i32, %{{.*}}: i32):
// CHECK: %[[ZERO:.*]] = arith.shrui %[[NUMBER]], %{{.*}} : i32
// CHECK: arith.addi %[[X]], %[[ZERO]] : i32
// CHECK-NOT: arith.divui
// CHECK: arith.mului_extended %[[NUMBER]], %[[PER_ROW]] : i32
// CHECK: %[[ROW:.*]] = arith.select
// CHECK: %[[PX:.*]] = arith.subi %[[NUMBER]], %{{.*}} : i32
// CHECK: arith.mului_extended %[[ROW]], %[[PER_PLANE]] : i32
// CHECK: arith.select
// CHECK: %[[PY:.*]] = arith.subi %[[ROW]], %{{.*}} : i32
// CHECK: %[[MIRRORED:.*]] = arith.subi %{{.*}}, %[[PX]] : i32
// CHECK: %[[ID:.*]] = arith.select %{{.*}}, %[[PX]], %[[MIRRORED]] : i32
// CHECK: arith.addi %[[ID]], %[[PY]] : i32
// CHECK: arith.muli %{{.*}}, %[[Y]] : i32
// CHECK: scf.yield
func.func @each(%n: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.repeats, tilegpu.tensor_maps = [{box = array<i64: 64, 8>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]} {
  tilegpu.each_program {
  ^bb0(%x: i32, %y: i32, %z: i32):
    %all = tile.num_programs y : i32
    %sum = arith.addi %x, %y : i32
    %product = arith.muli %sum, %all : i32
    tile.device_print "product %d", %product : i32
  }
  return
}

// The number of the program among the block's is counted where it is asked for.
// CHECK-LABEL: func.func @counted
// CHECK: scf.while ({{.*}}) : (i32, i32, i32, i32) -> (i32, i32, i32, i32) {
// CHECK: ^bb0(%{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %[[COUNT:.*]]: i32):
// CHECK: arith.muli %[[COUNT]], %[[COUNT]] : i32
// CHECK: %[[NEXT:.*]] = arith.addi %[[COUNT]], %{{.*}} : i32
// CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}}, %[[NEXT]]
func.func @counted() attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.repeats} {
  tilegpu.each_program {
  ^bb0(%x: i32, %y: i32, %z: i32, %number: i32):
    %square = arith.muli %number, %number : i32
    tile.device_print "square %d", %square : i32
  }
  return
}

// Pairs along y are numbered along y first, then along x, and the second of a pair is mirrored along y.
// CHECK-LABEL: func.func @along_y
// CHECK-SAME: (%[[X:.*]]: i32, %[[Y:.*]]: i32, %[[Z:.*]]: i32
// CHECK: scf.while
// CHECK: ^bb0(%[[NUMBER:.*]]: i32, %{{.*}}: i32, %{{.*}}: i32):
// CHECK: arith.mului_extended %[[NUMBER]], %{{.*}} : i32
// CHECK: %[[ROW:.*]] = arith.select
// CHECK: %[[PY:.*]] = arith.subi %[[NUMBER]], %{{.*}} : i32
// CHECK: arith.mului_extended %[[ROW]], %{{.*}} : i32
// CHECK: arith.select
// CHECK: %[[PX:.*]] = arith.subi %[[ROW]], %{{.*}} : i32
// CHECK: %[[LAST:.*]] = arith.subi %[[Y]], %{{.*}} : i32
// CHECK: %[[MIRRORED:.*]] = arith.subi %[[LAST]], %[[PY]] : i32
// CHECK: %[[ID:.*]] = arith.select %{{.*}}, %[[PY]], %[[MIRRORED]] : i32
// CHECK: arith.addi %[[PX]], %[[ID]] : i32
func.func @along_y() attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64, tilegpu.repeats} {
  tilegpu.each_program along y {
  ^bb0(%x: i32, %y: i32, %z: i32):
    %sum = arith.addi %x, %y : i32
    tile.device_print "sum %d", %sum : i32
  }
  return
}

// Blocks that are handed their programs: the counter's address comes before the numbers of programs. Warps that compute read the ids that the
// thread that copies has written; all have read them when each warp has arrived.
// CHECK-LABEL: func.func @handed
// CHECK-SAME: (%[[COUNTER:.*]]: !llvm.ptr<1>, %[[X:.*]]: i32, %[[Y:.*]]: i32, %[[Z:.*]]: i32)
// Barrier objects: full, full, empty, empty behind two slots of 16 bytes.
// CHECK: llvm.inline_asm {{.*}}"mbarrier.init{{.*}} : (i32, i32)
// CHECK-COUNT-3: mbarrier.init
// CHECK: scf.if
// CHECK: scf.while (%[[N:.*]] = %{{.*}}) : (i32) -> (i32, i32, i32, i32) {
// CHECK: %[[AHEAD:.*]] = llvm.load
// CHECK: scf.if
// CHECK: atom.relaxed.gpu.global.inc.u32 $0, [$1], $2;"{{.*}} %[[COUNTER]]
// CHECK: mbarrier.try_wait
// CHECK: st.shared.v4.b32
// CHECK: mbarrier.arrive.shared::cta.b64
// CHECK: scf.condition
// The claim that is made ahead keeps what the counter said; nothing reads it before the program ends.
// CHECK: atom.relaxed.gpu.global.inc.u32
// CHECK-NEXT: llvm.store
// CHECK: llvm.store
// CHECK: scf.yield
// CHECK: } else {
// CHECK: scf.while (%{{.*}} = %{{.*}}) : (i32) -> (i32, i32, i32, i32) {
// CHECK-NOT: atom
// CHECK: mbarrier.try_wait
// CHECK: ld.shared.v4.b32
// CHECK-COUNT-3: nvvm.redux.sync  or
// CHECK: mbarrier.arrive.shared::cta.b64
// CHECK: arith.cmpi sge
// CHECK-NEXT: scf.condition
func.func @handed() attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.repeats, tilegpu.dynamic, tilegpu.claims = 64 : i64} {
  tilegpu.init_barriers
  tilegpu.barrier
  %copier = tilegpu.is_copier
  scf.if %copier {
    %one = tilegpu.is_copier thread 0
    scf.if %one {
      tilegpu.each_program dynamic {
      ^bb0(%x: i32, %y: i32, %z: i32):
        tilegpu.claim_program
        tile.device_print "copies %d", %x : i32
      }
    }
  } else {
    tilegpu.each_program dynamic {
    ^bb0(%x: i32, %y: i32, %z: i32):
      tile.device_print "computes %d", %y : i32
    }
  }
  return
}

// A program that takes the next one before its end: the loop carries the ids, and whether there is such a program.
// CHECK-LABEL: func.func @taken
// CHECK: } else {
// CHECK: mbarrier.try_wait
// CHECK: ld.shared.v4.b32
// CHECK: %[[FIRST:.*]] = arith.cmpi sge
// CHECK: scf.while (%[[IS:.*]] = %[[FIRST]], {{.*}}) : (i1, i32, i32, i32, i32) -> (i32, i32, i32, i32) {
// CHECK-NEXT: scf.condition(%[[IS]])
// CHECK: ^bb0(%{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %[[N:.*]]: i32):
// CHECK: %[[AHEAD:.*]] = arith.addi %[[N]], %{{.*}} : i32
// CHECK: arith.andi %[[AHEAD]], %{{.*}} : i32
// CHECK: mbarrier.try_wait
// CHECK: ld.shared.v4.b32
// CHECK: %[[NEXT:.*]] = arith.cmpi sge
// CHECK: nvvm.barrier
// CHECK: scf.yield %[[NEXT]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
func.func @taken() attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.repeats, tilegpu.dynamic, tilegpu.claims = 64 : i64} {
  tilegpu.init_barriers
  tilegpu.barrier
  %copier = tilegpu.is_copier
  scf.if %copier {
    tilegpu.set_registers 24
  } else {
    tilegpu.each_program dynamic {
    ^bb0(%x: i32, %y: i32, %z: i32):
      tilegpu.take_program
      tilegpu.barrier
    }
  }
  return
}
