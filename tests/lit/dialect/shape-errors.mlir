// Every diagnostic of the operations that move elements, and of the hints.
// RUN: fattn-opt %s --split-input-file --verify-diagnostics

func.func @arange_rank() {
  // expected-error@+1 {{result must have one dimension, but got shape (4, 2)}}
  %0 = tile.arange 0 : tensor<4x2xi32>
  return
}

// -----

func.func @arange_element() {
  // expected-error@+1 {{result elements must be integers of at least 8 bits or index, but got 'f32'}}
  %0 = tile.arange 0 : tensor<4xf32>
  return
}

// -----

func.func @arange_fits() {
  // expected-error@+1 {{values 100 .. 131 must fit 'i8'}}
  %0 = tile.arange 100 : tensor<32xi8>
  return
}

// -----

func.func @splat_shape(%x: tensor<1x1xf32>) {
  // expected-error@+1 {{input must be a scalar or a tile of rank 0, but got shape (1, 1); tile.broadcast repeats dimensions of a tile}}
  %0 = tile.splat %x : tensor<1x1xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @splat_element(%x: f32) {
  // expected-error@+1 {{element types of input and result must match, but got 'f32' and 'f16'}}
  %0 = tile.splat %x : f32 -> tensor<4xf16>
  return
}

// -----

func.func @unsplat_shape(%x: tensor<1x2xf32>) {
  // expected-error@+1 {{input must have one element, but got shape (1, 2); tile.reduce makes one of several}}
  %0 = tile.unsplat %x : tensor<1x2xf32> -> f32
  return
}

// -----

func.func @unsplat_element(%x: tensor<1xf32>) {
  // expected-error@+1 {{element types of input and result must match, but got 'f32' and 'f16'}}
  %0 = tile.unsplat %x : tensor<1xf32> -> f16
  return
}

// -----

func.func @broadcast_element(%x: tensor<4x1xf32>) {
  // expected-error@+1 {{element types of input and result must match, but got 'f32' and 'i32'}}
  %0 = tile.broadcast %x : tensor<4x1xf32> -> tensor<4x4xi32>
  return
}

// -----

func.func @broadcast_rank(%x: tensor<4xf32>) {
  // expected-error@+1 {{ranks of input and result must match, but got input shape (4,) and result shape (4, 4); tile.expand_dims adds dimensions}}
  %0 = tile.broadcast %x : tensor<4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @broadcast_dim(%x: tensor<4x3xf32>) {
  // expected-error@+1 {{dim 1 of input (3) must be 1 or dim 1 of result (6), but got input shape (4, 3) and result shape (4, 6)}}
  %0 = tile.broadcast %x : tensor<4x3xf32> -> tensor<4x6xf32>
  return
}

// -----

func.func @expand_dims_axis(%x: tensor<4x3xf32>) {
  // expected-error@+1 {{axis must be in [0, 2] for an input of rank 2, but got 3}}
  %0 = tile.expand_dims %x, 3 : tensor<4x3xf32> -> tensor<4x3x1xf32>
  return
}

// -----

func.func @expand_dims_element(%x: tensor<4xf32>) {
  // expected-error@+1 {{element types of input and result must match, but got 'f32' and 'f64'}}
  %0 = tile.expand_dims %x, 0 : tensor<4xf32> -> tensor<1x4xf64>
  return
}

// -----

func.func @expand_dims_result(%x: tensor<4x3xf32>) {
  // expected-error@+1 {{result shape must be (4, 1, 3) (input with a dimension of 1 at axis 1), but got (4, 3, 1)}}
  %0 = tile.expand_dims %x, 1 : tensor<4x3xf32> -> tensor<4x3x1xf32>
  return
}

// -----

func.func @trans_permutation(%x: tensor<4x3xf32>) {
  // expected-error@+1 {{permutation must hold each dimension of the input (rank 2) once, but got (1, 1)}}
  %0 = tile.trans %x, [1, 1] : tensor<4x3xf32> -> tensor<3x3xf32>
  return
}

// -----

func.func @trans_rank(%x: tensor<4x3xf32>) {
  // expected-error@+1 {{permutation must hold each dimension of the input (rank 2) once, but got (1, 0, 2)}}
  %0 = tile.trans %x, [1, 0, 2] : tensor<4x3xf32> -> tensor<3x4xf32>
  return
}

// -----

func.func @trans_element(%x: tensor<4x3xf32>) {
  // expected-error@+1 {{element types of input and result must match, but got 'f32' and 'f16'}}
  %0 = tile.trans %x, [1, 0] : tensor<4x3xf32> -> tensor<3x4xf16>
  return
}

// -----

func.func @trans_result(%x: tensor<4x3xf32>) {
  // expected-error@+1 {{result shape must be (3, 4) (input dimensions permuted), but got (4, 3)}}
  %0 = tile.trans %x, [1, 0] : tensor<4x3xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @reshape_element(%x: tensor<4x3xf32>) {
  // expected-error@+1 {{element types of input and result must match, but got 'f32' and 'i32'}}
  %0 = tile.reshape %x : tensor<4x3xf32> -> tensor<12xi32>
  return
}

// -----

func.func @reshape_count(%x: tensor<4x3xf32>) {
  // expected-error@+1 {{input and result must have as many elements, but got input shape (4, 3) (12 elements) and result shape (2, 5) (10 elements)}}
  %0 = tile.reshape %x : tensor<4x3xf32> -> tensor<2x5xf32>
  return
}

// -----

func.func @join_element(%x: tensor<4xf32>) {
  // expected-error@+1 {{element types of input and result must match, but got 'f32' and 'f16'}}
  %0 = tile.join %x, %x : tensor<4xf32> -> tensor<4x2xf16>
  return
}

// -----

func.func @join_result(%x: tensor<4xf32>) {
  // expected-error@+1 {{result shape must be (4, 2) (lhs with a last dimension of 2 appended), but got (2, 4)}}
  %0 = tile.join %x, %x : tensor<4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @join_operands(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error@+1 {{failed to verify that all of {lhs, rhs} have same type}}
  %0 = "tile.join"(%x, %y) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @split_input(%x: tensor<4x3xf32>) {
  // expected-error@+1 {{last dimension of input must be 2, but got input shape (4, 3)}}
  %0, %1 = tile.split %x : tensor<4x3xf32> -> tensor<4xf32>
  return
}

// -----

func.func @split_element(%x: tensor<4x2xf32>) {
  // expected-error@+1 {{element types of input and result must match, but got 'f32' and 'f16'}}
  %0, %1 = tile.split %x : tensor<4x2xf32> -> tensor<4xf16>
  return
}

// -----

func.func @split_result(%x: tensor<4x2xf32>) {
  // expected-error@+1 {{result shape must be (4,) (input without its last dimension), but got (8,)}}
  %0, %1 = tile.split %x : tensor<4x2xf32> -> tensor<8xf32>
  return
}

// -----

func.func @assume_divisible(%n: i32) {
  // expected-error@+1 {{divisor must be positive, but got 0}}
  %0 = tile.assume_divisible %n, 0 : i32
  return
}

// -----

func.func @assume_divisible_type(%x: f32) {
  // expected-error@+1 {{operand #0 must be signless integer or index or pointer to one element in global memory, but got 'f32'}}
  %0 = tile.assume_divisible %x, 2 : f32
  return
}

// -----

func.func @device_print(%p: !tile.ptr<f32>) {
  // expected-error@+1 {{value 0 must be a number or a tile of numbers, but got '!tile.ptr<f32>'}}
  tile.device_print "p", %p : !tile.ptr<f32>
  return
}
