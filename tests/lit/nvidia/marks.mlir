// What marks become: predicated stores, without a branch, of the launch's first block and of each group's first thread.
// RUN: fattn-opt %s -nvidia-lower-tensors | FileCheck %s

// CHECK-DAG: llvm.mlir.global external @fattn_trace() {addr_space = 1 : i32, alignment = 8 : i64} : !llvm.array<131072 x i8>
// CHECK-DAG: llvm.mlir.global external constant @fattn_trace_names("2 3\0Abegin turn\0Aend turn\0A") {addr_space = 1 : i32
// CHECK-LABEL: func.func @marks
// CHECK: %[[FIRST:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i64
// CHECK: llvm.store %[[FIRST]], %[[PLACE:.*]] : i64
// CHECK-NOT: scf.if
// CHECK: %[[AT:.*]] = llvm.load %[[PLACE]]
// CHECK: %[[NEXT:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "{ .reg .pred on; .reg .b32 now, low; setp.ne.b64 on, $0, 0; mov.u32 now, %clock; @on st.global.v2.b32 [$0], {$2, now}; cvt.u32.u64 low, $0; and.b32 low, low, 32767; setp.ne.and.b32 on, low, 32760, on; @on st.global.b32 [$0+8], -1; @on add.s64 $0, $0, 8; }", "=l,0,n,~{memory}" %[[AT]],
// CHECK: llvm.store %[[NEXT]], %[[PLACE]]
// CHECK-NOT: scf.if
// CHECK: llvm.inline_asm
func.func @marks() attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64, tilegpu.copier_warps = 4 : i64, tilegpu.marks = ["begin turn", "end turn"]} {
  tilegpu.mark 0
  tilegpu.mark 1
  return
}
