/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel of one's own from C: the text of its tile IR is compiled and launched with named arguments. */
#include <fattn/c_api.h>
#include <stdio.h>

enum { LENGTH = 1000, BLOCK = 256 };
static const char* const scale_ir =
    "func.func @scale(%x: !tile.ptr<f32> {tile.name = \"x\"}, %out: !tile.ptr<f32> {tile.name = \"out\"},\n"
    "                 %n: i64 {tile.name = \"n\"}, %factor: f32 {tile.name = \"factor\"}) attributes {tile.kernel} {\n"
    "  %one = arith.constant 1 : i64\n"
    "  %block = arith.constant 256 : i64\n"
    "  %id = tile.program_id x : i32\n"
    "  %wide = arith.extsi %id : i32 to i64\n"
    "  %start = arith.muli %wide, %block : i64\n"
    "  %from = tile.make_block_ptr %x, shape[%n], strides[%one], offsets[%start] : !tile.ptr<f32> -> !tile.block_ptr<256xf32>\n"
    "  %to = tile.make_block_ptr %out, shape[%n], strides[%one], offsets[%start] : !tile.ptr<f32> -> !tile.block_ptr<256xf32>\n"
    "  %t = tile.load %from {boundary_check = array<i64: 0>, padding = 0.0 : f32} : !tile.block_ptr<256xf32> -> tensor<256xf32>\n"
    "  %f = tile.splat %factor : f32 -> tensor<256xf32>\n"
    "  %scaled = arith.mulf %t, %f : tensor<256xf32>\n"
    "  tile.store %to, %scaled {boundary_check = array<i64: 0>} : !tile.block_ptr<256xf32>, tensor<256xf32>\n"
    "  return\n"
    "}\n";

static float x[LENGTH], out[LENGTH];

int main(void) {
  fattn_tile_kernel* kernel;
  const int64_t grid[3] = {(LENGTH + BLOCK - 1) / BLOCK, 1, 1};
  const fattn_argument arguments[] = {{"x", FATTN_POINTER, {.pointer = x}},
                                      {"out", FATTN_POINTER, {.pointer = out}},
                                      {"n", FATTN_INTEGER, {.integer = LENGTH}},
                                      {"factor", FATTN_NUMBER, {.number = 2.5}}};
  int i, wrong = 0;
  for (i = 0; i < LENGTH; i++) x[i] = (float)i;
  if (fattn_compile_ir(scale_ir, "{\"target\": \"host\"}", &kernel) || fattn_launch(kernel, NULL, grid, arguments, 4)) {
    fprintf(stderr, "%s\n", fattn_last_error());
    return 1;
  }
  fattn_tile_kernel_release(kernel);
  for (i = 0; i < LENGTH; i++) wrong += out[i] != 2.5f * (float)i;
  printf("%d of %d elements are wrong\n", wrong, LENGTH);
  return wrong;
}
