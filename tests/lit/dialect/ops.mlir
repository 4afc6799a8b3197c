// Every operation parses, prints, re-parses what it printed, and survives the generic form.
// RUN: fattn-opt %s | fattn-opt | FileCheck %s
// RUN: fattn-opt %s --mlir-print-op-generic | fattn-opt | FileCheck %s

// CHECK-LABEL: func.func @grid
func.func @grid() -> (i32, i32, i32) {
  // CHECK: tile.program_id x : i32
  %0 = tile.program_id x : i32
  // CHECK: tile.program_id y : i32
  %1 = tile.program_id y : i32
  // CHECK: tile.num_programs z : i32
  %2 = tile.num_programs z : i32
  return %0, %1, %2 : i32, i32, i32
}

// CHECK-LABEL: func.func @kernel
// CHECK-SAME: (%{{.*}}: !tile.ptr<f8E4M3FN> {tile.divisibility = 16 : i64, tile.name = "q"}, %{{.*}}: !tile.ptr<i1>) attributes {tile.kernel}
func.func @kernel(%q: !tile.ptr<f8E4M3FN> {tile.name = "q", tile.divisibility = 16 : i64}, %m: !tile.ptr<i1>) attributes {tile.kernel} {
  return
}

// CHECK-LABEL: func.func @pointers
func.func @pointers(%base: !tile.ptr<bf16>, %n: i64, %i: i32, %at: tensor<4x!tile.ptr<f32>>, %by: tensor<4xindex>) {
  // CHECK: tile.make_block_ptr %{{.*}}, shape[%{{.*}}, %{{.*}}], strides[%{{.*}}, %{{.*}}], offsets[%{{.*}}, %{{.*}}] : !tile.ptr<bf16> -> !tile.block_ptr<80x1xbf16>
  %0 = tile.make_block_ptr %base, shape [%n, %n], strides [%n, %n], offsets [%n, %n] : !tile.ptr<bf16> -> !tile.block_ptr<80x1xbf16>
  // CHECK: tile.advance %{{.*}}, [%{{.*}}, %{{.*}}] : !tile.block_ptr<80x1xbf16>
  %1 = tile.advance %0, [%n, %n] : !tile.block_ptr<80x1xbf16>
  // CHECK: tile.addptr %{{.*}}, %{{.*}} : !tile.ptr<bf16>, i32
  %2 = tile.addptr %base, %i : !tile.ptr<bf16>, i32
  // CHECK: tile.addptr %{{.*}}, %{{.*}} : tensor<4x!tile.ptr<f32>>, tensor<4xindex>
  %3 = tile.addptr %at, %by : tensor<4x!tile.ptr<f32>>, tensor<4xindex>
  // CHECK: tile.make_block_ptr {{.*}} -> !tile.block_ptr<7xbf16>
  %4 = tile.make_block_ptr %base, shape [%n], strides [%n], offsets [%n] : !tile.ptr<bf16> -> !tile.block_ptr<7xbf16>
  return
}

// CHECK-LABEL: func.func @blocks
func.func @blocks(%p: !tile.block_ptr<3x5xf16>, %b: !tile.block_ptr<8xi1>) {
  // CHECK: tile.load %{{.*}} : !tile.block_ptr<3x5xf16> -> tensor<3x5xf16>
  %0 = tile.load %p : !tile.block_ptr<3x5xf16> -> tensor<3x5xf16>
  // CHECK: tile.load %{{.*}} {boundary_check = array<i64: 1, 0>, padding = 0xFC00 : f16} : !tile.block_ptr<3x5xf16> -> tensor<3x5xf16>
  %1 = tile.load %p {boundary_check = array<i64: 1, 0>, padding = 0xFC00 : f16} : !tile.block_ptr<3x5xf16> -> tensor<3x5xf16>
  // CHECK: tile.load %{{.*}} {padding = true} : !tile.block_ptr<8xi1> -> tensor<8xi1>
  %2 = tile.load %b {padding = true} : !tile.block_ptr<8xi1> -> tensor<8xi1>
  // CHECK: tile.store %{{.*}}, %{{.*}} : !tile.block_ptr<3x5xf16>, tensor<3x5xf16>
  tile.store %p, %0 : !tile.block_ptr<3x5xf16>, tensor<3x5xf16>
  // CHECK: tile.store %{{.*}}, %{{.*}} {boundary_check = array<i64: 0>} : !tile.block_ptr<3x5xf16>, tensor<3x5xf16>
  tile.store %p, %1 {boundary_check = array<i64: 0>} : !tile.block_ptr<3x5xf16>, tensor<3x5xf16>
  // CHECK: tile.accumulate %{{.*}}, %{{.*}} : !tile.block_ptr<3x5xf16>, tensor<3x5xf16>
  tile.accumulate %p, %0 : !tile.block_ptr<3x5xf16>, tensor<3x5xf16>
  // CHECK: tile.accumulate %{{.*}}, %{{.*}} {boundary_check = array<i64: 1>} : !tile.block_ptr<3x5xf16>, tensor<3x5xf16>
  tile.accumulate %p, %1 {boundary_check = array<i64: 1>} : !tile.block_ptr<3x5xf16>, tensor<3x5xf16>
  return
}

// CHECK-LABEL: func.func @elements
func.func @elements(%p: tensor<4x!tile.ptr<f32>>, %m: tensor<4xi1>, %v: tensor<4xf32>, %s: !tile.ptr<i32>, %c: i1, %i: i32) {
  // CHECK: tile.gather %{{.*}} : tensor<4x!tile.ptr<f32>> -> tensor<4xf32>
  %0 = tile.gather %p : tensor<4x!tile.ptr<f32>> -> tensor<4xf32>
  // CHECK: tile.gather %{{.*}}, mask %{{.*}} : tensor<4xi1> : tensor<4x!tile.ptr<f32>> -> tensor<4xf32>
  %1 = tile.gather %p, mask %m : tensor<4xi1> : tensor<4x!tile.ptr<f32>> -> tensor<4xf32>
  // CHECK: tile.gather %{{.*}}, mask %{{.*}} : tensor<4xi1>, other %{{.*}} : tensor<4xf32> : tensor<4x!tile.ptr<f32>> -> tensor<4xf32>
  %2 = tile.gather %p, mask %m : tensor<4xi1>, other %v : tensor<4xf32> : tensor<4x!tile.ptr<f32>> -> tensor<4xf32>
  // CHECK: tile.gather %{{.*}}, mask %{{.*}} : i1, other %{{.*}} : i32 : !tile.ptr<i32> -> i32
  %3 = tile.gather %s, mask %c : i1, other %i : i32 : !tile.ptr<i32> -> i32
  // CHECK: tile.scatter %{{.*}}, %{{.*}} : tensor<4x!tile.ptr<f32>>, tensor<4xf32>
  tile.scatter %p, %v : tensor<4x!tile.ptr<f32>>, tensor<4xf32>
  // CHECK: tile.scatter %{{.*}}, %{{.*}}, mask %{{.*}} : i1 : !tile.ptr<i32>, i32
  tile.scatter %s, %i, mask %c : i1 : !tile.ptr<i32>, i32
  // CHECK: tile.atomic_add %{{.*}}, %{{.*}}, mask %{{.*}} : tensor<4xi1> : tensor<4x!tile.ptr<f32>>, tensor<4xf32> -> tensor<4xf32>
  %4 = tile.atomic_add %p, %v, mask %m : tensor<4xi1> : tensor<4x!tile.ptr<f32>>, tensor<4xf32> -> tensor<4xf32>
  // CHECK: tile.atomic_add %{{.*}}, %{{.*}} : !tile.ptr<i32>, i32 -> i32
  %5 = tile.atomic_add %s, %i : !tile.ptr<i32>, i32 -> i32
  // CHECK: tile.atomic_add %{{.*}}, %{{.*}}, mask %{{.*}} : i1 order acq_rel : !tile.ptr<i32>, i32 -> i32
  %6 = tile.atomic_add %s, %i, mask %c : i1 order acq_rel : !tile.ptr<i32>, i32 -> i32
  return
}

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<4x6xf32>, %s: f32, %z: tensor<f32>, %p: !tile.ptr<f32>) {
  // CHECK: tile.arange -3 : tensor<80xi32>
  %0 = tile.arange -3 : tensor<80xi32>
  // CHECK: tile.splat %{{.*}} : f32 -> tensor<1xf32>
  %1 = tile.splat %s : f32 -> tensor<1xf32>
  // CHECK: tile.splat %{{.*}} : tensor<f32> -> tensor<2x2xf32>
  %2 = tile.splat %z : tensor<f32> -> tensor<2x2xf32>
  // CHECK: tile.unsplat %{{.*}} : tensor<f32> -> f32
  %u = tile.unsplat %z : tensor<f32> -> f32
  // CHECK: tile.splat %{{.*}} : !tile.ptr<f32> -> tensor<4x!tile.ptr<f32>>
  %3 = tile.splat %p : !tile.ptr<f32> -> tensor<4x!tile.ptr<f32>>
  // CHECK: tile.expand_dims %{{.*}}, 1 : tensor<4x6xf32> -> tensor<4x1x6xf32>
  %4 = tile.expand_dims %x, 1 : tensor<4x6xf32> -> tensor<4x1x6xf32>
  // CHECK: tile.broadcast %{{.*}} : tensor<4x1x6xf32> -> tensor<4x3x6xf32>
  %5 = tile.broadcast %4 : tensor<4x1x6xf32> -> tensor<4x3x6xf32>
  // CHECK: tile.trans %{{.*}}, [2, 0, 1] : tensor<4x3x6xf32> -> tensor<6x4x3xf32>
  %6 = tile.trans %5, [2, 0, 1] : tensor<4x3x6xf32> -> tensor<6x4x3xf32>
  // CHECK: tile.reshape %{{.*}} : tensor<6x4x3xf32> -> tensor<72xf32>
  %7 = tile.reshape %6 : tensor<6x4x3xf32> -> tensor<72xf32>
  // CHECK: tile.join %{{.*}}, %{{.*}} : tensor<72xf32> -> tensor<72x2xf32>
  %8 = tile.join %7, %7 : tensor<72xf32> -> tensor<72x2xf32>
  // CHECK: tile.split %{{.*}} : tensor<72x2xf32> -> tensor<72xf32>
  %9, %10 = tile.split %8 : tensor<72x2xf32> -> tensor<72xf32>
  return
}

// CHECK-LABEL: func.func @dots
func.func @dots(%f: tensor<4x4xf32>, %h: tensor<4x4xf16>, %b: tensor<4x4xbf16>, %e4: tensor<4x4xf8E4M3FN>, %e5: tensor<4x4xf8E5M2>,
                %i8: tensor<4x4xi8>, %i32: tensor<4x4xi32>) {
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %0 = tile.dot %f, %f, %f : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} precision tf32 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = tile.dot %f, %f, %f precision tf32 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  // CHECK: tile.dot {{.*}} : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf32>
  %2 = tile.dot %h, %h, %f : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf32>
  // CHECK: tile.dot {{.*}} : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf16>
  %3 = tile.dot %h, %h, %h : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf16>
  // CHECK: tile.dot {{.*}} : tensor<4x4xbf16>, tensor<4x4xbf16> -> tensor<4x4xf32>
  %4 = tile.dot %b, %b, %f : tensor<4x4xbf16>, tensor<4x4xbf16> -> tensor<4x4xf32>
  // CHECK: tile.dot {{.*}} : tensor<4x4xf8E4M3FN>, tensor<4x4xf8E5M2> -> tensor<4x4xf32>
  %5 = tile.dot %e4, %e5, %f : tensor<4x4xf8E4M3FN>, tensor<4x4xf8E5M2> -> tensor<4x4xf32>
  // CHECK: tile.dot {{.*}} : tensor<4x4xi8>, tensor<4x4xi8> -> tensor<4x4xi32>
  %6 = tile.dot %i8, %i8, %i32 : tensor<4x4xi8>, tensor<4x4xi8> -> tensor<4x4xi32>
  return
}

// CHECK-LABEL: func.func @reductions
func.func @reductions(%x: tensor<4x6xf32>, %i: tensor<4x6xi32>, %v: tensor<6xf32>) {
  // CHECK: tile.reduce %{{.*}}, %{{.*}} axis 1 : tensor<4x6xf32>, tensor<4x6xi32> -> tensor<4xf32>, tensor<4xi32> {
  // CHECK: ^bb0(%{{.*}}: f32, %{{.*}}: i32, %{{.*}}: f32, %{{.*}}: i32):
  // CHECK: tile.yield %{{.*}}, %{{.*}} : f32, i32
  %0, %1 = tile.reduce %x, %i axis 1 : tensor<4x6xf32>, tensor<4x6xi32> -> tensor<4xf32>, tensor<4xi32> {
  ^bb0(%a: f32, %ai: i32, %b: f32, %bi: i32):
    %less = arith.cmpf olt, %a, %b : f32
    %m = arith.select %less, %b, %a : f32
    %mi = arith.select %less, %bi, %ai : i32
    tile.yield %m, %mi : f32, i32
  }
  // CHECK: tile.reduce %{{.*}} axis 0 : tensor<6xf32> -> tensor<f32> {
  %2 = tile.reduce %v axis 0 : tensor<6xf32> -> tensor<f32> {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    tile.yield %sum : f32
  }
  // CHECK: tile.cumsum %{{.*}} axis 0 : tensor<4x6xf32>
  %3 = tile.cumsum %x axis 0 : tensor<4x6xf32>
  // CHECK: tile.cumsum %{{.*}} axis 1 reverse : tensor<4x6xi32>
  %4 = tile.cumsum %i axis 1 reverse : tensor<4x6xi32>
  return
}

// CHECK-LABEL: func.func @lazy
func.func @lazy(%c: i1, %rows: tensor<4xi1>, %x: tensor<4x6xf32>, %v: tensor<4xf32>, %s: f32, %p: !tile.ptr<f32>) {
  // CHECK: tile.select_lazy %{{.*}} usual(%{{.*}}, %{{.*}}) : i1, f32, tensor<4x6xf32> -> f32, tensor<4x6xf32> {
  // CHECK: tile.yield %{{.*}}, %{{.*}} : f32, tensor<4x6xf32>
  %0, %1 = tile.select_lazy %c usual(%s, %x) : i1, f32, tensor<4x6xf32> -> f32, tensor<4x6xf32> {
    %y = tile.gather %p : !tile.ptr<f32> -> f32
    tile.device_print "slow"
    tile.yield %y, %x : f32, tensor<4x6xf32>
  }
  // CHECK: tile.select_lazy %{{.*}} usual(%{{.*}}, %{{.*}}) : tensor<4xi1>, tensor<4x6xf32>, tensor<4xf32> -> tensor<4x6xf32>, tensor<4xf32> {
  %2, %3 = tile.select_lazy %rows usual(%x, %v) : tensor<4xi1>, tensor<4x6xf32>, tensor<4xf32> -> tensor<4x6xf32>, tensor<4xf32> {
    tile.yield %x, %v : tensor<4x6xf32>, tensor<4xf32>
  }
  return
}

// CHECK-LABEL: func.func @hints
func.func @hints(%i: i32, %p: !tile.ptr<f16>, %x: tensor<2xf32>) {
  // CHECK: tile.assume_divisible %{{.*}}, 8 : i32
  %0 = tile.assume_divisible %i, 8 : i32
  // CHECK: tile.assume_divisible %{{.*}}, 16 : !tile.ptr<f16>
  %1 = tile.assume_divisible %p, 16 : !tile.ptr<f16>
  // CHECK: tile.device_print "here"
  tile.device_print "here"
  // CHECK: tile.device_print "x and i:", %{{.*}}, %{{.*}} : tensor<2xf32>, i32
  tile.device_print "x and i:", %x, %i : tensor<2xf32>, i32
  return
}
