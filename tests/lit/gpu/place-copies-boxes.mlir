// SPDX-License-Identifier: Apache-2.0
// Which loads become boxes of a tensor map, and which are left to threads because the engine would not do what the load says.
// RUN: fattn-opt %s -split-input-file -tilegpu-assign-layouts='target=nvidia:sm_90a warps=4' -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies | FileCheck %s
// RUN: fattn-opt %s -split-input-file -tilegpu-assign-layouts='target=nvidia:sm_90 warps=4' -tilegpu-remove-conversions -canonicalize -cse -tilegpu-place-copies | FileCheck %s --check-prefix=OLDER

// Machines without the engine know no maps.
// OLDER-NOT: tensor_maps
// OLDER-NOT: map {{[0-9]}}

// Rows of 128 bytes: one column of boxes, all 32 rows in one. Along a dimension that is not checked the array has no end.
// CHECK-LABEL: func.func @constants
// CHECK-SAME: tilegpu.tensor_maps = [{box = array<i64: 64, 32>, element = bf16, pointer = 0 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>], swizzle = 128 : i64}]
// CHECK: tilegpu.copy_async %{{.*}}, %[[B:.*]][%[[ZERO:.*]]] map 0[] :
// CHECK-NEXT: tilegpu.copy_wait %{{.*}} in %[[B]][%[[ZERO]]] :
func.func @constants(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %p = tile.make_block_ptr %k, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %b = tile.load %p : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.device_print "d", %d : tensor<64x32xf32>
  return
}

// -----

// A size that a launch knows; the padding is zero.
// CHECK-LABEL: func.func @checked
// CHECK-SAME: sizes = [array<i64: 2147483648>, array<i64: 1, 1>], strides = [array<i64: 2, 2>], swizzle
// CHECK: map 0[] {boundary_check = array<i64: 0>}
func.func @checked(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %rows: i64, %row: i64 {tile.divisibility = 8 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %p = tile.make_block_ptr %k, shape [%rows, %c64], strides [%row, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %b = tile.load %p {boundary_check = array<i64: 0>, padding = 0.0 : bf16} : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.device_print "d", %d : tensor<64x32xf32>
  return
}

// -----

// Each product of the base is a dimension of its own. The numbers of programs are not negative.
// CHECK-LABEL: func.func @batches
// CHECK-SAME: sizes = [array<i64: 2147483648>, array<i64: 2147483648>, array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 128>, array<i64: 2, 2>, array<i64: 2, 1>]
// CHECK-DAG: %[[X:.*]] = tile.program_id x
// CHECK-DAG: %[[Y:.*]] = arith.divsi
// CHECK: map 0[%[[Y]], %[[X]]] :
func.func @batches(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %batch: i64 {tile.divisibility = 8 : i64}, %head: i64 {tile.divisibility = 8 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %x = tile.program_id x : i32
  %y = tile.program_id y : i32
  %three = arith.constant 3 : i32
  %third = arith.divsi %y, %three : i32
  %wx = arith.extsi %x : i32 to i64
  %wy = arith.extsi %third : i32 to i64
  %ox = arith.muli %wx, %batch : i64
  %oy = arith.muli %head, %wy : i64
  %k1 = tile.addptr %k, %ox : !tile.ptr<bf16>, i64
  %k2 = tile.addptr %k1, %oy : !tile.ptr<bf16>, i64
  %p = tile.make_block_ptr %k2, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %b = tile.load %p : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.device_print "d", %d : tensor<64x32xf32>
  return
}

// -----

// An argument may be negative, which the launch finds out.
// CHECK-LABEL: func.func @index_of_an_argument
// CHECK-SAME: tilegpu.non_negative = array<i64: 1>
// CHECK: map 0[%arg1] :
func.func @index_of_an_argument(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %i: i32, %batch: i64 {tile.divisibility = 8 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %w = arith.extsi %i : i32 to i64
  %o = arith.muli %w, %batch : i64
  %k1 = tile.addptr %k, %o : !tile.ptr<bf16>, i64
  %p = tile.make_block_ptr %k1, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %b = tile.load %p : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.device_print "d", %d : tensor<64x32xf32>
  return
}

// -----

// A head of a group, which a loop counts through: the group is a part of a wider quotient of arguments.
// CHECK-LABEL: func.func @index_from_a_wider_quotient
// CHECK-SAME: tilegpu.non_negative = array<i64: 1, 2>
// CHECK: %[[HEAD:.*]] = arith.addi
// CHECK: map 0[%[[HEAD]]] :
func.func @index_from_a_wider_quotient(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %heads: i64, %groups: i64, %batch: i64 {tile.divisibility = 8 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %from = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %x = tile.program_id x : i32
  %quotient = arith.divsi %heads, %groups : i64
  %group = arith.trunci %quotient : i64 to i32
  %first = arith.muli %x, %group : i32
  scf.for %g = %from to %group step %one : i32 {
    %head = arith.addi %first, %g : i32
    %w = arith.extsi %head : i32 to i64
    %o = arith.muli %w, %batch : i64
    %k1 = tile.addptr %k, %o : !tile.ptr<bf16>, i64
    %p = tile.make_block_ptr %k1, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
    %b = tile.load %p : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
    %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
    %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
    tile.device_print "d", %d : tensor<64x32xf32>
  }
  return
}

// -----

// The engine has no place below 0.
// CHECK-LABEL: func.func @index_that_may_be_negative
// CHECK-NOT: tensor_maps
// CHECK: tilegpu.copy_async %{{.*}} {{{.*}}layout = 
// CHECK-NEXT: tilegpu.copy_wait %{{[0-9a-z]+$}}
func.func @index_that_may_be_negative(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %i: i32, %batch: i64 {tile.divisibility = 8 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %x = tile.program_id x : i32
  %y = arith.subi %x, %i : i32
  %w = arith.extsi %y : i32 to i64
  %o = arith.muli %w, %batch : i64
  %k1 = tile.addptr %k, %o : !tile.ptr<bf16>, i64
  %p = tile.make_block_ptr %k1, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %b = tile.load %p : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.device_print "d", %d : tensor<64x32xf32>
  return
}

// -----

// An offset is a sum of products of a stride and an index.
// CHECK-LABEL: func.func @base_that_is_no_sum_of_products
// CHECK-NOT: tensor_maps
// CHECK: tilegpu.copy_async %{{.*}} {{{.*}}layout = 
// CHECK-NEXT: tilegpu.copy_wait %{{[0-9a-z]+$}}
func.func @base_that_is_no_sum_of_products(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %o: i64 {tile.divisibility = 8 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %k1 = tile.addptr %k, %o : !tile.ptr<bf16>, i64
  %p = tile.make_block_ptr %k1, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %b = tile.load %p : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.device_print "d", %d : tensor<64x32xf32>
  return
}

// -----

// A product of 32 bits may wrap around, that of the launch does not.
// CHECK-LABEL: func.func @narrow_product
// CHECK-NOT: tensor_maps
// CHECK: tilegpu.copy_async %{{.*}} {{{.*}}layout = 
// CHECK-NEXT: tilegpu.copy_wait %{{[0-9a-z]+$}}
func.func @narrow_product(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %u: i32 {tile.divisibility = 8 : i64}, %v: i32 {tile.divisibility = 8 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %uv = arith.muli %u, %v : i32
  %row = arith.extsi %uv : i32 to i64
  %p = tile.make_block_ptr %k, shape [%c64, %c64], strides [%row, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %b = tile.load %p : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.device_print "d", %d : tensor<64x32xf32>
  return
}

// -----

// Four products beside the window's own dimensions: no map has six.
// CHECK-LABEL: func.func @five_dimensions_are_too_few
// CHECK-NOT: tensor_maps
// CHECK: tilegpu.copy_async %{{.*}} {{{.*}}layout = 
// CHECK-NEXT: tilegpu.copy_wait %{{[0-9a-z]+$}}
func.func @five_dimensions_are_too_few(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %s: i64 {tile.divisibility = 8 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %x = tile.program_id x : i32
  %w = arith.extsi %x : i32 to i64
  %o = arith.muli %w, %s : i64
  %k1 = tile.addptr %k, %o : !tile.ptr<bf16>, i64
  %y = tile.program_id y : i32
  %wy = arith.extsi %y : i32 to i64
  %oy = arith.muli %wy, %s : i64
  %k2 = tile.addptr %k1, %oy : !tile.ptr<bf16>, i64
  %z = tile.program_id z : i32
  %wz = arith.extsi %z : i32 to i64
  %oz = arith.muli %wz, %s : i64
  %k3 = tile.addptr %k2, %oz : !tile.ptr<bf16>, i64
  %n = tile.num_programs x : i32
  %wn = arith.extsi %n : i32 to i64
  %on = arith.muli %wn, %s : i64
  %k4 = tile.addptr %k3, %on : !tile.ptr<bf16>, i64
  %p = tile.make_block_ptr %k4, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %b = tile.load %p : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.device_print "d", %d : tensor<64x32xf32>
  return
}

// -----

// A stride of which 8 bytes are known: too few for the engine.
// CHECK-LABEL: func.func @rows_of_8_bytes
// CHECK-NOT: tensor_maps
// CHECK: tilegpu.copy_async %{{.*}} {{{.*}}layout = 
// CHECK-NEXT: tilegpu.copy_wait %{{[0-9a-z]+$}}
func.func @rows_of_8_bytes(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %row: i64 {tile.divisibility = 4 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %p = tile.make_block_ptr %k, shape [%c64, %c64], strides [%row, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %b = tile.load %p : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.device_print "d", %d : tensor<64x32xf32>
  return
}

// -----

// The engine fills in zeros.
// CHECK-LABEL: func.func @padding_of_one
// CHECK-NOT: tensor_maps
// CHECK: tilegpu.store_buffer
func.func @padding_of_one(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %rows: i64) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %p = tile.make_block_ptr %k, shape [%rows, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %b = tile.load %p {boundary_check = array<i64: 0>, padding = 1.0 : bf16} : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.device_print "d", %d : tensor<64x32xf32>
  return
}

// -----

// CHECK-LABEL: func.func @padding_of_minus_zero
// CHECK-NOT: tensor_maps
// CHECK: tilegpu.store_buffer
func.func @padding_of_minus_zero(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %rows: i64) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %p = tile.make_block_ptr %k, shape [%rows, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %b = tile.load %p {boundary_check = array<i64: 0>, padding = -0.0 : bf16} : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.device_print "d", %d : tensor<64x32xf32>
  return
}

// -----

// What threads have written the engine sees behind a fence only.
// CHECK-LABEL: func.func @memory_that_was_stored
// CHECK-NOT: tensor_maps
// CHECK: tilegpu.copy_async %{{.*}} {{{.*}}layout = 
// CHECK-NEXT: tilegpu.copy_wait %{{[0-9a-z]+$}}
func.func @memory_that_was_stored(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %v: tensor<32x64xbf16>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %p = tile.make_block_ptr %k, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  tile.store %p, %v : !tile.block_ptr<32x64xbf16>, tensor<32x64xbf16>
  %b = tile.load %p : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.device_print "d", %d : tensor<64x32xf32>
  return
}

// -----

// Behind the load the store does no harm.
// CHECK-LABEL: func.func @memory_that_is_stored_later
// CHECK: tilegpu.copy_async %{{.*}}, %[[B:.*]][%[[ZERO:.*]]] map 0[] :
func.func @memory_that_is_stored_later(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %v: tensor<32x64xbf16>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %p = tile.make_block_ptr %k, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %b = tile.load %p : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.device_print "d", %d : tensor<64x32xf32>
  tile.store %p, %v : !tile.block_ptr<32x64xbf16>, tensor<32x64xbf16>
  return
}

// -----

// The next trip reads what this one has stored.
// CHECK-LABEL: func.func @memory_that_the_loop_stores
// CHECK-NOT: tensor_maps
// CHECK: scf.for
// CHECK: tilegpu.copy_async %{{.*}} {layout = 
func.func @memory_that_the_loop_stores(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %v: tensor<32x64xbf16>, %n: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %p = tile.make_block_ptr %k, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %l0 = arith.constant 0 : i32
  %l1 = arith.constant 1 : i32
  scf.for %i = %l0 to %n step %l1 : i32 {
    %b = tile.load %p : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
    %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
    %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
    tile.device_print "d", %d : tensor<64x32xf32>
    tile.store %p, %v : !tile.block_ptr<32x64xbf16>, tensor<32x64xbf16>
  }
  return
}

// -----

// The buffer is outside of the loop.
// CHECK-LABEL: func.func @in_a_loop
// CHECK: tilegpu.alloc
// CHECK: scf.for
// CHECK: map 0[] :
func.func @in_a_loop(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %n: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %p = tile.make_block_ptr %k, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %l0 = arith.constant 0 : i32
  %l1 = arith.constant 1 : i32
  scf.for %i = %l0 to %n step %l1 : i32 {
    %b = tile.load %p : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
    %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
    %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
    tile.device_print "d", %d : tensor<64x32xf32>
  }
  return
}

// -----

// Not all warps may get there.
// CHECK-LABEL: func.func @select_lazy
// CHECK-NOT: tensor_maps
// CHECK: tile.select_lazy
// CHECK-NOT: map
func.func @select_lazy(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %some: i1) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %p = tile.make_block_ptr %k, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %r = tile.select_lazy %some usual(%none) : i1, tensor<64x32xf32> -> tensor<64x32xf32> {
    %b = tile.load %p : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
    %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
    %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
    tile.yield %d : tensor<64x32xf32>
  }
  tile.device_print "d", %r : tensor<64x32xf32>
  return
}

// -----

// The part beyond the extent is the padding's: the array seems to end there, where the window begins at 0.
// CHECK-LABEL: func.func @extents_of_constants
// CHECK-SAME: sizes = [array<i64: 2147483648>, array<i64: 24>]
// CHECK: map 0[] {tilegpu.extents = array<i64: 24, 64>}
func.func @extents_of_constants(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %p = tile.make_block_ptr %k, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %b = tile.load %p {tilegpu.extents = array<i64: 24, 64>} : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.device_print "d", %d : tensor<64x32xf32>
  return
}

// -----

// CHECK-LABEL: func.func @extents_in_a_longer_array
// CHECK-SAME: sizes = [array<i64: 2147483648>, array<i64: 24>]
// CHECK: map 0[]
func.func @extents_in_a_longer_array(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %p = tile.make_block_ptr %k, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %b = tile.load %p {boundary_check = array<i64: 0>, tilegpu.extents = array<i64: 24, 64>} : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.device_print "d", %d : tensor<64x32xf32>
  return
}

// -----

// The lesser of both is no product.
// CHECK-LABEL: func.func @extents_of_a_size_of_the_launch
// CHECK-NOT: tensor_maps
// CHECK: tilegpu.alloc
func.func @extents_of_a_size_of_the_launch(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %rows: i64) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %p = tile.make_block_ptr %k, shape [%rows, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %b = tile.load %p {boundary_check = array<i64: 0>, tilegpu.extents = array<i64: 24, 64>} : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.device_print "d", %d : tensor<64x32xf32>
  return
}

// -----

// The array does not end where this window's extent does.
// CHECK-LABEL: func.func @extents_of_a_window_elsewhere
// CHECK-NOT: tensor_maps
// CHECK: tilegpu.alloc
func.func @extents_of_a_window_elsewhere(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %p = tile.make_block_ptr %k, shape [%c64, %c64], strides [%c64, %c1], offsets [%c64, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %b = tile.load %p {tilegpu.extents = array<i64: 24, 64>} : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
  %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
  %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.device_print "d", %d : tensor<64x32xf32>
  return
}

// -----

// Threads read it as well.
// CHECK-LABEL: func.func @read_by_threads_as_well
// CHECK-NOT: tensor_maps
// CHECK: tilegpu.load_buffer
func.func @read_by_threads_as_well(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %p = tile.make_block_ptr %k, shape [%c64, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %b = tile.load %p : !tile.block_ptr<64x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %a, %b, %none : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %w = arith.extf %b : tensor<64x64xbf16> to tensor<64x64xf32>
  %r = arith.addf %d, %w : tensor<64x64xf32>
  tile.device_print "r", %r : tensor<64x64xf32>
  return
}

// -----

// Rows of 192 bytes are three columns of 64; 48 rows are three boxes of 16. Two loads of one array with one window share a map.
// CHECK-LABEL: func.func @columns_of_64_bytes
// CHECK-SAME: tilegpu.tensor_maps = [{box = array<i64: 32, 16>
// CHECK: map 0[]
// CHECK: map 0[]
// CHECK-NOT: map 1
func.func @columns_of_64_bytes(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c16 = arith.constant 16 : i64
  %c96 = arith.constant 96 : i64
  %none = arith.constant dense<0.0> : tensor<64x96xf32>
  %a = arith.constant dense<1.0> : tensor<64x48xbf16>
  %p = tile.make_block_ptr %k, shape [%c96, %c96], strides [%c96, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<48x96xbf16>
  %q = tile.advance %p, [%c16, %c0] : !tile.block_ptr<48x96xbf16>
  %b = tile.load %p : !tile.block_ptr<48x96xbf16> -> tensor<48x96xbf16>
  %c = tile.load %q : !tile.block_ptr<48x96xbf16> -> tensor<48x96xbf16>
  %d = tile.dot %a, %b, %none : tensor<64x48xbf16>, tensor<48x96xbf16> -> tensor<64x96xf32>
  %e = tile.dot %a, %c, %d : tensor<64x48xbf16>, tensor<48x96xbf16> -> tensor<64x96xf32>
  tile.device_print "e", %e : tensor<64x96xf32>
  return
}

// -----

// A row that each trip loads and many threads need becomes a box of its own, without a swizzle. One of 64 bytes stays a load: its second slot
// would begin where no box can.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: {box = array<i64: 32, 1>, element = f32, pointer = 1 : i64, sizes = [array<i64: 2147483648>, array<i64: 2147483648>], strides = [array<i64: 4096>], swizzle = 0 : i64}
// CHECK: scf.for
// CHECK: tilegpu.copy_async %{{.*}}, %[[ROW:.*]][%{{.*}}] map 1[] : !tile.block_ptr<1x32xf32>
// CHECK-NEXT: tilegpu.copy_wait %{{.*}} in %[[ROW]]
// CHECK: tile.load %{{.*}} : !tile.block_ptr<1x16xf32>
// CHECK: tilegpu.load_buffer %[[ROW]]
func.func @rows(%k: !tile.ptr<bf16> {tile.divisibility = 16 : i64}, %r: !tile.ptr<f32> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %c1024 = arith.constant 1024 : i64
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  %p = tile.make_block_ptr %k, shape [%c1024, %c64], strides [%c64, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<32x64xbf16>
  %pr = tile.make_block_ptr %r, shape [%c1, %c1024], strides [%c1024, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<1x32xf32>
  %ps = tile.make_block_ptr %r, shape [%c1, %c1024], strides [%c1024, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<1x16xf32>
  %lo = arith.constant 0 : i32
  %hi = arith.constant 1024 : i32
  %step = arith.constant 32 : i32
  scf.for %i = %lo to %hi step %step : i32 {
    %at = arith.extsi %i : i32 to i64
    %q = tile.advance %p, [%at, %c0] : !tile.block_ptr<32x64xbf16>
    %b = tile.load %q : !tile.block_ptr<32x64xbf16> -> tensor<32x64xbf16>
    %t = tile.trans %b, [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
    %d = tile.dot %a, %t, %none : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
    %qr = tile.advance %pr, [%c0, %at] : !tile.block_ptr<1x32xf32>
    %row = tile.load %qr : !tile.block_ptr<1x32xf32> -> tensor<1x32xf32>
    %qs = tile.advance %ps, [%c0, %at] : !tile.block_ptr<1x16xf32>
    %short = tile.load %qs : !tile.block_ptr<1x16xf32> -> tensor<1x16xf32>
    %w = tile.broadcast %row : tensor<1x32xf32> -> tensor<64x32xf32>
    %e = arith.addf %d, %w : tensor<64x32xf32>
    tile.device_print "e", %e, %short : tensor<64x32xf32>, tensor<1x16xf32>
  }
  return
}
