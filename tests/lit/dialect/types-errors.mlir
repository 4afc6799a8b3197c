// The types refuse what memory cannot hold, and operands refuse what is no tile.
// RUN: fattn-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{a pointer points at one of f8E4M3FN, f8E5M2, f16, bf16, f32, f64, i1, i8, i16, i32, i64, but got 'index'}}
func.func @ptr_index(%p: !tile.ptr<index>) { return }

// -----

// expected-error@+1 {{a pointer points at one of f8E4M3FN, f8E5M2, f16, bf16, f32, f64, i1, i8, i16, i32, i64, but got 'tensor<4xf32>'}}
func.func @ptr_tile(%p: !tile.ptr<tensor<4xf32>>) { return }

// -----

// expected-error@+1 {{a block pointer's elements are one of f8E4M3FN, f8E5M2, f16, bf16, f32, f64, i1, i8, i16, i32, i64, but got 'i7'}}
func.func @block_elements(%p: !tile.block_ptr<4xi7>) { return }

// -----

// expected-error@+1 {{a block pointer has at least one dimension, but got none}}
func.func @block_rank(%p: !tile.block_ptr<f32>) { return }

// -----

// expected-error@+1 {{a block pointer's dimensions are at least 1, but dim 1 is 0}}
func.func @block_empty(%p: !tile.block_ptr<4x0xf32>) { return }

// -----

func.func @tile_empty(%x: tensor<0xf32>) {
  // expected-error@+1 {{operand #0 must be tile (ranked tensor of static shape), but got 'tensor<0xf32>'}}
  %0 = tile.cumsum %x axis 0 : tensor<0xf32>
  return
}

// -----

func.func @tile_dynamic(%x: tensor<?xf32>) {
  // expected-error@+1 {{operand #0 must be tile (ranked tensor of static shape), but got 'tensor<?xf32>'}}
  %0 = tile.cumsum %x axis 0 : tensor<?xf32>
  return
}

// -----

// expected-error@+1 {{a block pointer's tile has at most 2147483647 elements}}
func.func @block_huge(%p: !tile.block_ptr<65536x65536xi8>) { return }

// -----

func.func @tile_huge(%x: tensor<9223372036854775807x2xf32>) {
  // expected-error@+1 {{operand #0 must be tile (ranked tensor of static shape), but got}}
  %0 = tile.cumsum %x axis 0 : tensor<9223372036854775807x2xf32>
  return
}
