// What the reference calls undefined is reported with the place of the operation, and a pointer argument needs contents.
// RUN: split-file %s %t
// RUN: not fattn-opt --interpret %t/load.mlir 2>&1 | FileCheck %s --check-prefix=LOAD
// LOAD: load.mlir:6:8: 'tile.load' accesses 4 bytes at byte 8 of a buffer of 8 bytes (pointer argument 0)
// RUN: not fattn-opt --interpret %t/unchecked.mlir 2>&1 | FileCheck %s --check-prefix=UNCHECKED
// UNCHECKED: unchecked.mlir:6:8: 'tile.load' accesses index 2 of dimension 0 of an array of shape (2), and boundary_check does not name that dimension
// RUN: not fattn-opt --interpret %t/store.mlir 2>&1 | FileCheck %s --check-prefix=STORE
// STORE: store.mlir:6:3: 'tile.store' accesses index -1 of dimension 0 of an array of shape (2), and boundary_check does not name that dimension
// RUN: not fattn-opt --interpret %t/gather.mlir 2>&1 | FileCheck %s --check-prefix=GATHER
// GATHER: gather.mlir:4:8: 'tile.gather' accesses 2 bytes at byte -2 of a buffer of 4 bytes (pointer argument 0)
// RUN: not fattn-opt --interpret %t/divisible.mlir 2>&1 | FileCheck %s --check-prefix=DIVISIBLE
// DIVISIBLE: divisible.mlir:2:8: 'tile.assume_divisible' promises a multiple of 8, but got 12
// RUN: not fattn-opt --interpret %t/zero.mlir 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: zero.mlir:3:8: 'arith.divsi' divides by zero
// RUN: not fattn-opt --interpret="max-steps=1000" %t/endless.mlir 2>&1 | FileCheck %s --check-prefix=ENDLESS
// ENDLESS: endless.mlir:4:{{[0-9]+}}: 'scf.{{.*}}' exceeds the limit of 1000 computed elements
// RUN: not fattn-opt --interpret %t/step.mlir 2>&1 | FileCheck %s --check-prefix=STEP
// STEP: step.mlir:3:3: 'scf.for' needs a positive step, but got 0
// RUN: not fattn-opt --interpret %t/unknown.mlir 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: unknown.mlir:2:8: 'math.ctpop' is not known to the interpreter, which executes tile, arith, math, scf.for, scf.if, scf.while and ub.poison
// RUN: not fattn-opt --interpret %t/type.mlir 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: type.mlir:2:8: 'arith.constant' gives a type the interpreter does not know: elements are pointers, index or what memory can hold
// RUN: not fattn-opt --interpret %t/init.mlir 2>&1 | FileCheck %s --check-prefix=INIT
// INIT: argument 0 of @f needs the attribute tile.init, a dense tensor of f32
// RUN: not fattn-opt --interpret %t/scalar.mlir 2>&1 | FileCheck %s --check-prefix=SCALAR
// SCALAR: argument 0 of @f needs the attribute tile.init, a number of its type
// RUN: not fattn-opt --interpret %t/grid.mlir 2>&1 | FileCheck %s --check-prefix=GRID
// GRID: extents of the grid must be at least 1, but got 0

//--- load.mlir
func.func @f(%p: !tile.ptr<f32> {tile.init = dense<0.0> : tensor<2xf32>}) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c3 = arith.constant 3 : i64
  %0 = tile.make_block_ptr %p, shape [%c3], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<3xf32>
  %1 = tile.load %0 : !tile.block_ptr<3xf32> -> tensor<3xf32>
  return
}
//--- unchecked.mlir
func.func @f(%p: !tile.ptr<f32> {tile.init = dense<0.0> : tensor<8xf32>}) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %0 = tile.make_block_ptr %p, shape [%c2], strides [%c1], offsets [%c0] : !tile.ptr<f32> -> !tile.block_ptr<3xf32>
  %1 = tile.load %0 : !tile.block_ptr<3xf32> -> tensor<3xf32>
  return
}
//--- store.mlir
func.func @f(%p: !tile.ptr<f32> {tile.init = dense<0.0> : tensor<8xf32>}, %x: f32 {tile.init = 1.0 : f32}, %m1: i64 {tile.init = -1 : i64}) {
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %0 = tile.make_block_ptr %p, shape [%c2], strides [%c1], offsets [%m1] : !tile.ptr<f32> -> !tile.block_ptr<2xf32>
  %1 = tile.splat %x : f32 -> tensor<2xf32>
  tile.store %0, %1 : !tile.block_ptr<2xf32>, tensor<2xf32>
  return
}
//--- gather.mlir
func.func @f(%p: !tile.ptr<bf16> {tile.init = dense<0.0> : tensor<2xbf16>}) {
  %m1 = arith.constant -1 : i32
  %0 = tile.addptr %p, %m1 : !tile.ptr<bf16>, i32
  %1 = tile.gather %0 : !tile.ptr<bf16> -> bf16
  return
}
//--- divisible.mlir
func.func @f(%n: i32 {tile.init = 12 : i32}) {
  %0 = tile.assume_divisible %n, 8 : i32
  return
}
//--- zero.mlir
func.func @f(%n: i32 {tile.init = 12 : i32}) {
  %c0 = arith.constant 0 : i32
  %0 = arith.divsi %n, %c0 : i32
  return
}
//--- endless.mlir
func.func @f() {
  %true = arith.constant true
  scf.while : () -> () {
    scf.condition(%true)
  } do {
    scf.yield
  }
  return
}
//--- step.mlir
func.func @f(%s: i32 {tile.init = 0 : i32}) {
  %c0 = arith.constant 0 : i32
  scf.for %i = %c0 to %c0 step %s : i32 {
  }
  return
}
//--- unknown.mlir
func.func @f(%n: i32 {tile.init = 12 : i32}) {
  %0 = math.ctpop %n : i32
  return
}
//--- type.mlir
func.func @f() {
  %0 = arith.constant 1 : i128
  return
}
//--- init.mlir
func.func @f(%p: !tile.ptr<f32>) { return }
//--- scalar.mlir
func.func @f(%n: i32 {tile.init = 1 : i64}) { return }
//--- grid.mlir
func.func @f() attributes {tile.grid = array<i32: 0>} { return }
