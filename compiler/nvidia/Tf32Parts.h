// SPDX-License-Identifier: Apache-2.0
// An f32 number as the sum of two numbers of tf32, for products that are exact to about 2^-22: x y = low(x) high(y) + high(x) low(y) +
// high(x) high(y). What is left out, low(x) low(y), is below 2^-22 of the product.
//
//   x                             high                             low
//   finite                        x, rounded to nearest            x - high, truncated
//   finite, rounds to infinity    x, truncated                     x - high, truncated
//   +infinity, -infinity          1, -1                            x
//   NaN                           any                              NaN
//
// So the three products have IEEE's sum for infinite operands as well. An infinite high would make low NaN, and infinity times the other
// number's low is NaN where that is 0 and has the wrong sign where the other number was rounded up. A large high in place of the 1
// could overflow in its product with the other number's low, with the wrong sign, too.
//
// Truncation of low is as exact as rounding: where its 12 bits do not fit in 11, the number lies in the middle of two others.
//
// What is not IEEE's: parts are multiples of 2^-136, so that numbers below 2^-113 lose bits and infinity times one below 2^-137 is NaN.
// Where |x y| >= 2^135, low high of an instruction's products can overflow with another sign than high high, and the sum is NaN where
// IEEE has an infinity.
#ifndef FATTN_COMPILER_NVIDIA_TF32PARTS_H
#define FATTN_COMPILER_NVIDIA_TF32PARTS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fattn::nvidia {

/// Registers of i32 as a matrix instruction takes them: the 13 low bits are 0.
struct Tf32Parts {
  mlir::Value high, low;
};

/// `number` is an f32 scalar. Folds where it is a constant.
Tf32Parts tf32Parts(mlir::ImplicitLocOpBuilder& b, mlir::Value number);

}  // namespace fattn::nvidia

#endif
