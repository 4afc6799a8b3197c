// Every diagnostic of dot, reduce, cumsum, select_lazy and yield.
// RUN: fattn-opt %s --split-input-file --verify-diagnostics

func.func @dot_rank(%a: tensor<4xf32>, %b: tensor<4x4xf32>) {
  // expected-error@+1 {{a must have two dimensions, but got shape (4,)}}
  %0 = tile.dot %a, %b, %b : tensor<4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @dot_k(%a: tensor<4x16xf32>, %b: tensor<8x16xf32>, %c: tensor<4x16xf32>) {
  // expected-error@+1 {{dim 1 of a (16) and dim 0 of b (8) must match, but got a shape (4, 16) and b shape (8, 16)}}
  %0 = tile.dot %a, %b, %c : tensor<4x16xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @dot_m(%a: tensor<4x16xf32>, %b: tensor<16x16xf32>, %c: tensor<5x16xf32>) {
  // expected-error@+1 {{dim 0 of a (4) and dim 0 of acc (5) must match, but got a shape (4, 16) and acc shape (5, 16)}}
  %0 = tile.dot %a, %b, %c : tensor<4x16xf32>, tensor<16x16xf32> -> tensor<5x16xf32>
  return
}

// -----

func.func @dot_n(%a: tensor<4x16xf32>, %b: tensor<16x16xf32>, %c: tensor<4x8xf32>) {
  // expected-error@+1 {{dim 1 of b (16) and dim 1 of acc (8) must match, but got b shape (16, 16) and acc shape (4, 8)}}
  %0 = tile.dot %a, %b, %c : tensor<4x16xf32>, tensor<16x16xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @dot_mixed(%a: tensor<4x4xf16>, %b: tensor<4x4xbf16>, %c: tensor<4x4xf32>) {
  // expected-error@+1 {{element types of a, b and acc must be f32, f32, f32; f16, f16, f32 or f16; bf16, bf16, f32; any of f8E4M3FN and f8E5M2, f32; or i8, i8, i32; but got 'f16', 'bf16', 'f32'}}
  %0 = tile.dot %a, %b, %c : tensor<4x4xf16>, tensor<4x4xbf16> -> tensor<4x4xf32>
  return
}

// -----

func.func @dot_acc(%a: tensor<4x4xbf16>) {
  // expected-error@+1 {{but got 'bf16', 'bf16', 'bf16'}}
  %0 = tile.dot %a, %a, %a : tensor<4x4xbf16>, tensor<4x4xbf16> -> tensor<4x4xbf16>
  return
}

// -----

func.func @dot_f64(%a: tensor<4x4xf64>) {
  // expected-error@+1 {{but got 'f64', 'f64', 'f64'}}
  %0 = tile.dot %a, %a, %a : tensor<4x4xf64>, tensor<4x4xf64> -> tensor<4x4xf64>
  return
}

// -----

func.func @dot_precision(%a: tensor<4x4xf16>) {
  // expected-error@+1 {{precision tf32 needs f32 operands, but got 'f16'}}
  %0 = tile.dot %a, %a, %a precision tf32 : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf16>
  return
}

// -----

func.func @reduce_none() {
  // expected-error@+1 {{needs at least one input}}
  "tile.reduce"() <{axis = 0 : i64}> ({
    "tile.yield"() : () -> ()
  }) : () -> ()
  return
}

// -----

func.func @reduce_axis(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{axis must be in [0, 1] for an input of rank 2, but got 2}}
  %0 = tile.reduce %x axis 2 : tensor<4x6xf32> -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @reduce_rank(%x: tensor<f32>) {
  // expected-error@+1 {{axis must name a dimension of the input, but the input has rank 0}}
  %0 = tile.reduce %x axis 0 : tensor<f32> -> tensor<f32> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @reduce_shapes(%x: tensor<4x6xf32>, %y: tensor<4x7xf32>) {
  // expected-error@+1 {{inputs must have the same shape, but input 0 has shape (4, 6) and input 1 has shape (4, 7)}}
  %0, %1 = tile.reduce %x, %y axis 1 : tensor<4x6xf32>, tensor<4x7xf32> -> tensor<4xf32>, tensor<4xf32> {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    tile.yield %a, %b : f32, f32
  }
  return
}

// -----

func.func @reduce_result_element(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{element types of input and result must match, but got 'f32' and 'f16'}}
  %0 = tile.reduce %x axis 1 : tensor<4x6xf32> -> tensor<4xf16> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @reduce_result_shape(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{result shape must be (6,) (input without dimension 0), but got (4,)}}
  %0 = tile.reduce %x axis 0 : tensor<4x6xf32> -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @reduce_arguments(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{region must take 2 scalars of types ('f32', 'f32'), but takes ('f32')}}
  %0 = tile.reduce %x axis 1 : tensor<4x6xf32> -> tensor<4xf32> {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @reduce_terminator(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{region must end in tile.yield}}
  %0 = tile.reduce %x axis 1 : tensor<4x6xf32> -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b : f32
    ub.unreachable
  }
  return
}

// -----

func.func @reduce_yield(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{region must yield 1 values of types ('f32'), but yields ('f32', 'f32')}}
  %0 = tile.reduce %x axis 1 : tensor<4x6xf32> -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a, %b : f32, f32
  }
  return
}

// -----

func.func @reduce_effects(%x: tensor<4x6xf32>, %p: !tile.ptr<f32>) {
  // expected-error@+1 {{region must have no side effects and read no memory, but holds 'tile.gather'}}
  %0 = tile.reduce %x axis 1 : tensor<4x6xf32> -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    %1 = tile.gather %p : !tile.ptr<f32> -> f32
    tile.yield %1 : f32
  }
  return
}

// -----

func.func @cumsum_axis(%x: tensor<4x6xf32>) {
  // expected-error@+1 {{axis must be in [0, 1] for an input of rank 2, but got -1}}
  %0 = tile.cumsum %x axis -1 : tensor<4x6xf32>
  return
}

// -----

func.func @cumsum_element(%x: tensor<4xi1>) {
  // expected-error@+1 {{elements must be floating-point numbers or integers of at least 8 bits, but got 'i1'}}
  %0 = tile.cumsum %x axis 0 : tensor<4xi1>
  return
}

// -----

func.func @select_lazy_condition(%c: i32, %x: f32) {
  // expected-error@+1 {{condition must be i1 or a tile of i1 with one dimension, but got 'i32'}}
  %0 = tile.select_lazy %c usual(%x) : i32, f32 -> f32 {
    tile.yield %x : f32
  }
  return
}

// -----

func.func @select_lazy_condition_rank(%c: tensor<4x1xi1>, %x: tensor<4x1xf32>) {
  // expected-error@+1 {{condition must be i1 or a tile of i1 with one dimension, but got 'tensor<4x1xi1>'}}
  %0 = tile.select_lazy %c usual(%x) : tensor<4x1xi1>, tensor<4x1xf32> -> tensor<4x1xf32> {
    tile.yield %x : tensor<4x1xf32>
  }
  return
}

// -----

func.func @select_lazy_types(%c: i1, %x: f32) {
  // expected-error@+1 {{usual values and results must have the same types, but got ('f32') and ('f32', 'f32')}}
  %0, %1 = tile.select_lazy %c usual(%x) : i1, f32 -> f32, f32 {
    tile.yield %x, %x : f32, f32
  }
  return
}

// -----

func.func @select_lazy_rows(%c: tensor<4xi1>, %x: tensor<8x4xf32>) {
  // expected-error@+1 {{with a condition of 4 rows, result 0 must be a tile whose dim 0 is 4, but got 'tensor<8x4xf32>'}}
  %0 = tile.select_lazy %c usual(%x) : tensor<4xi1>, tensor<8x4xf32> -> tensor<8x4xf32> {
    tile.yield %x : tensor<8x4xf32>
  }
  return
}

// -----

func.func @select_lazy_scalar(%c: tensor<4xi1>, %x: f32) {
  // expected-error@+1 {{with a condition of 4 rows, result 0 must be a tile whose dim 0 is 4, but got 'f32'}}
  %0 = tile.select_lazy %c usual(%x) : tensor<4xi1>, f32 -> f32 {
    tile.yield %x : f32
  }
  return
}

// -----

func.func @select_lazy_arguments(%c: i1, %x: f32) {
  // expected-error@+1 {{region must have no arguments, but has 1}}
  %0 = tile.select_lazy %c usual(%x) : i1, f32 -> f32 {
  ^bb0(%y: f32):
    tile.yield %y : f32
  }
  return
}

// -----

func.func @select_lazy_terminator(%c: i1, %x: f32) {
  // expected-error@+1 {{region must end in tile.yield}}
  %0 = tile.select_lazy %c usual(%x) : i1, f32 -> f32 {
    ub.unreachable
  }
  return
}

// -----

func.func @select_lazy_yield(%c: i1, %x: f32, %y: f16) {
  // expected-error@+1 {{region must yield values of types ('f32'), but yields ('f16')}}
  %0 = tile.select_lazy %c usual(%x) : i1, f32 -> f32 {
    tile.yield %y : f16
  }
  return
}

// -----

func.func @select_lazy_write(%c: i1, %x: f32, %p: !tile.ptr<f32>) {
  // expected-error@+1 {{region must not write memory, because it may run where no row needs it, but holds 'tile.scatter'}}
  %0 = tile.select_lazy %c usual(%x) : i1, f32 -> f32 {
    scf.if %c {
      tile.scatter %p, %x : !tile.ptr<f32>, f32
    }
    tile.yield %x : f32
  }
  return
}

// -----

func.func @yield_parent(%x: f32) {
  // expected-error@+1 {{expects parent op to be one of 'tile.reduce, tile.select_lazy'}}
  tile.yield %x : f32
}
