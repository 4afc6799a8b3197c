// SPDX-License-Identifier: Apache-2.0
// fattn-opt --interpret: runs the functions of a module and prints what they print and what is in their buffers afterwards.
//
//   func.func @f(%p: !tile.ptr<f32> {tile.init = dense<[1.0, 2.0]> : tensor<2xf32>}, %n: i32 {tile.init = 2 : i32}) attributes {tile.grid =
//   array<i32: 2>}
//
// Each argument has its value in tile.init: a tensor, copied into a buffer of that size, for a pointer; a number for a scalar. tile.grid
// holds up to three extents, 1 each where it is absent. The output is a line with the function's name, the lines of tile.device_print,
// and a line for each buffer. The pass fails, with the interpreter's message, where a program is undefined.
#ifndef FATTN_TOOLS_FATTN_OPT_INTERPRET_H
#define FATTN_TOOLS_FATTN_OPT_INTERPRET_H

namespace fattn {

void registerInterpretPass();

}  // namespace fattn

#endif
