// Every diagnostic of the operations on pointers and memory.
// RUN: fattn-opt %s --split-input-file --verify-diagnostics

func.func @program_id_type() {
  // expected-error@+1 {{result #0 must be 32-bit signless integer, but got 'i64'}}
  %0 = tile.program_id x : i64
  return
}

// -----

func.func @program_id_axis() {
  // expected-error@+1 {{expected string or keyword containing one of the following enum values for attribute 'axis' [x, y, z]}}
  %0 = tile.program_id w : i32
  return
}

// -----

func.func @num_programs_type() {
  // expected-error@+1 {{invalid kind of type specified: expected builtin.integer, but found 'index'}}
  %0 = tile.num_programs x : index
  return
}

// -----

func.func @make_block_ptr_element(%p: !tile.ptr<f16>, %n: i64) {
  // expected-error@+1 {{element type of the result must be the pointee of base, but got 'f32' and 'f16'}}
  %0 = tile.make_block_ptr %p, shape [%n], strides [%n], offsets [%n] : !tile.ptr<f16> -> !tile.block_ptr<4xf32>
  return
}

// -----

func.func @make_block_ptr_shape(%p: !tile.ptr<f16>, %n: i64) {
  // expected-error@+1 {{shape must have 2 operands for a block pointer of shape (4, 8), but has 1}}
  %0 = tile.make_block_ptr %p, shape [%n], strides [%n, %n], offsets [%n, %n] : !tile.ptr<f16> -> !tile.block_ptr<4x8xf16>
  return
}

// -----

func.func @make_block_ptr_strides(%p: !tile.ptr<f16>, %n: i64) {
  // expected-error@+1 {{strides must have 1 operands for a block pointer of shape (4,), but has 2}}
  %0 = tile.make_block_ptr %p, shape [%n], strides [%n, %n], offsets [%n] : !tile.ptr<f16> -> !tile.block_ptr<4xf16>
  return
}

// -----

func.func @make_block_ptr_offsets(%p: !tile.ptr<f16>, %n: i64) {
  // expected-error@+1 {{offsets must have 1 operands for a block pointer of shape (4,), but has 0}}
  %0 = tile.make_block_ptr %p, shape [%n], strides [%n], offsets [] : !tile.ptr<f16> -> !tile.block_ptr<4xf16>
  return
}

// -----

func.func @advance_rank(%p: !tile.block_ptr<4x8xf32>, %n: i64) {
  // expected-error@+1 {{needs 2 deltas for a block pointer of shape (4, 8), but got 1}}
  %0 = tile.advance %p, [%n] : !tile.block_ptr<4x8xf32>
  return
}

// -----

func.func @addptr_element(%p: !tile.ptr<f32>, %x: f32) {
  // expected-error@+1 {{elements of offset must be integers of at least 8 bits or index, but got 'f32'}}
  %0 = tile.addptr %p, %x : !tile.ptr<f32>, f32
  return
}

// -----

func.func @addptr_scalar(%p: !tile.ptr<f32>, %x: tensor<4xi32>) {
  // expected-error@+1 {{offset must be a scalar as ptr is one, but got 'tensor<4xi32>'}}
  %0 = tile.addptr %p, %x : !tile.ptr<f32>, tensor<4xi32>
  return
}

// -----

func.func @addptr_shape(%p: tensor<8x!tile.ptr<f32>>, %x: tensor<4xi32>) {
  // expected-error@+1 {{offset must be a tile of shape (8,) as ptr is, but got 'tensor<4xi32>'}}
  %0 = tile.addptr %p, %x : tensor<8x!tile.ptr<f32>>, tensor<4xi32>
  return
}

// -----

func.func @load_tile(%p: !tile.block_ptr<4x8xf32>) {
  // expected-error@+1 {{result must be the block pointer's tile 'tensor<4x8xf32>', but got 'tensor<8x4xf32>'}}
  %0 = tile.load %p : !tile.block_ptr<4x8xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @load_check_range(%p: !tile.block_ptr<4x8xf32>) {
  // expected-error@+1 {{boundary_check must name dimensions in [0, 1], but got 2}}
  %0 = tile.load %p {boundary_check = array<i64: 0, 2>} : !tile.block_ptr<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @load_check_twice(%p: !tile.block_ptr<4x8xf32>) {
  // expected-error@+1 {{boundary_check names dimension 1 twice}}
  %0 = tile.load %p {boundary_check = array<i64: 1, 1>} : !tile.block_ptr<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @load_padding(%p: !tile.block_ptr<4x8xf32>) {
  // expected-error@+1 {{padding must be a number of the element type 'f32', but got 0 : i32}}
  %0 = tile.load %p {padding = 0 : i32} : !tile.block_ptr<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @load_padding_kind(%p: !tile.block_ptr<4xf32>) {
  // expected-error@+1 {{padding must be a number of the element type 'f32', but got "zero"}}
  %0 = tile.load %p {padding = "zero"} : !tile.block_ptr<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @store_value(%p: !tile.block_ptr<4xf16>, %v: tensor<4xf32>) {
  // expected-error@+1 {{value must be the block pointer's tile 'tensor<4xf16>', but got 'tensor<4xf32>'}}
  tile.store %p, %v : !tile.block_ptr<4xf16>, tensor<4xf32>
  return
}

// -----

func.func @store_check(%p: !tile.block_ptr<4xf16>, %v: tensor<4xf16>) {
  // expected-error@+1 {{boundary_check must name dimensions in [0, 0], but got -1}}
  tile.store %p, %v {boundary_check = array<i64: -1>} : !tile.block_ptr<4xf16>, tensor<4xf16>
  return
}

// -----

func.func @gather_ptr(%p: tensor<4xi64>) {
  // expected-error@+1 {{operand #0 must be pointer or tile of pointers, but got 'tensor<4xi64>'}}
  %0 = tile.gather %p : tensor<4xi64> -> tensor<4xf32>
  return
}

// -----

func.func @gather_scalar(%p: !tile.ptr<f32>) {
  // expected-error@+1 {{result must be a scalar as ptr is one, but got 'tensor<4xf32>'}}
  %0 = tile.gather %p : !tile.ptr<f32> -> tensor<4xf32>
  return
}

// -----

func.func @gather_element(%p: tensor<4x!tile.ptr<f32>>) {
  // expected-error@+1 {{element type of result must be the pointee 'f32', but got 'f16'}}
  %0 = tile.gather %p : tensor<4x!tile.ptr<f32>> -> tensor<4xf16>
  return
}

// -----

func.func @gather_mask_shape(%p: tensor<4x!tile.ptr<f32>>, %m: tensor<4x1xi1>) {
  // expected-error@+1 {{mask must be a tile of shape (4,) as ptr is, but got 'tensor<4x1xi1>'}}
  %0 = tile.gather %p, mask %m : tensor<4x1xi1> : tensor<4x!tile.ptr<f32>> -> tensor<4xf32>
  return
}

// -----

func.func @gather_mask_element(%p: tensor<4x!tile.ptr<f32>>, %m: tensor<4xi8>) {
  // expected-error@+1 {{elements of mask must be i1, but got 'i8'}}
  %0 = tile.gather %p, mask %m : tensor<4xi8> : tensor<4x!tile.ptr<f32>> -> tensor<4xf32>
  return
}

// -----

func.func @gather_other_type(%p: tensor<4x!tile.ptr<f32>>, %m: tensor<4xi1>, %o: f32) {
  // expected-error@+1 {{other must have the type of the result 'tensor<4xf32>', but got 'f32'}}
  %0 = tile.gather %p, mask %m : tensor<4xi1>, other %o : f32 : tensor<4x!tile.ptr<f32>> -> tensor<4xf32>
  return
}

// -----

func.func @gather_other_alone(%p: !tile.ptr<f32>, %o: f32) {
  // expected-error@+1 {{other needs a mask}}
  %0 = "tile.gather"(%p, %o) {operandSegmentSizes = array<i32: 1, 0, 1>} : (!tile.ptr<f32>, f32) -> f32
  return
}

// -----

func.func @scatter_value(%p: tensor<4x!tile.ptr<f32>>, %v: tensor<5xf32>) {
  // expected-error@+1 {{value must be a tile of shape (4,) as ptr is, but got 'tensor<5xf32>'}}
  tile.scatter %p, %v : tensor<4x!tile.ptr<f32>>, tensor<5xf32>
  return
}

// -----

func.func @scatter_mask(%p: !tile.ptr<f32>, %v: f32, %m: tensor<1xi1>) {
  // expected-error@+1 {{mask must be a scalar as ptr is one, but got 'tensor<1xi1>'}}
  tile.scatter %p, %v, mask %m : tensor<1xi1> : !tile.ptr<f32>, f32
  return
}

// -----

func.func @accumulate_element(%p: !tile.block_ptr<4xi8>, %v: tensor<4xi8>) {
  // expected-error@+1 {{element type must be one of i32, i64, f16, bf16, f32, f64, but got 'i8'}}
  tile.accumulate %p, %v : !tile.block_ptr<4xi8>, tensor<4xi8>
  return
}

// -----

func.func @accumulate_value(%p: !tile.block_ptr<4xf32>, %v: tensor<4xf16>) {
  // expected-error@+1 {{value must be the block pointer's tile 'tensor<4xf32>', but got 'tensor<4xf16>'}}
  tile.accumulate %p, %v : !tile.block_ptr<4xf32>, tensor<4xf16>
  return
}

// -----

func.func @accumulate_check(%p: !tile.block_ptr<4xf32>, %v: tensor<4xf32>) {
  // expected-error@+1 {{boundary_check must name dimensions in [0, 0], but got 1}}
  tile.accumulate %p, %v {boundary_check = array<i64: 1>} : !tile.block_ptr<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @atomic_add_element(%p: !tile.ptr<i8>, %v: i8) {
  // expected-error@+1 {{element type must be one of i32, i64, f16, bf16, f32, f64, but got 'i8'}}
  %0 = tile.atomic_add %p, %v : !tile.ptr<i8>, i8 -> i8
  return
}

// -----

func.func @atomic_add_value(%p: !tile.ptr<f32>, %v: f16) {
  // expected-error@+1 {{element type of value must be the pointee 'f32', but got 'f16'}}
  %0 = tile.atomic_add %p, %v : !tile.ptr<f32>, f16 -> f32
  return
}

// -----

func.func @atomic_add_result(%p: !tile.ptr<f32>, %v: f32) {
  // expected-error@+1 {{result must be a scalar as ptr is one, but got 'tensor<f32>'}}
  %0 = tile.atomic_add %p, %v : !tile.ptr<f32>, f32 -> tensor<f32>
  return
}

// -----

func.func @atomic_add_mask(%p: !tile.ptr<f32>, %v: f32) {
  // expected-error@+1 {{elements of mask must be i1, but got 'f32'}}
  %0 = tile.atomic_add %p, %v, mask %v : f32 : !tile.ptr<f32>, f32 -> f32
  return
}
