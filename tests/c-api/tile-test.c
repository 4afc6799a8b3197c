/* SPDX-License-Identifier: Apache-2.0 */
/* Programs and templates from C99: compiled, launched in every way, queried, tuned, and refused with a sentence. */
#include <fattn/c_api.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;
#define EXPECT(condition)                                                               \
  do {                                                                                  \
    if (!(condition)) {                                                                 \
      failures++;                                                                       \
      fprintf(stderr, "line %d: %s\n  %s\n", __LINE__, #condition, fattn_last_error()); \
    }                                                                                   \
  } while (0)
#define REFUSED(call, status, text) EXPECT((call) == (status) && strcmp(fattn_last_error(), (text)) == 0)
#define HOST "{\"target\": \"host\"}"

enum { LENGTH = 100 };
static const char* const kScale =
    "func.func @scale(%x: !tile.ptr<f32> {tile.name = \"x\"}, %out: !tile.ptr<f32> {tile.name = \"out\"},\n"
    "                 %n: i64 {tile.name = \"x_size0\"}, %factor: f32 {tile.name = \"factor\"}) attributes {tile.kernel} {\n"
    "  %one = arith.constant 1 : i64\n"
    "  %id = tile.program_id x : i32\n"
    "  %c64 = arith.constant 64 : i64\n"
    "  %wide = arith.extsi %id : i32 to i64\n"
    "  %start = arith.muli %wide, %c64 : i64\n"
    "  %from = tile.make_block_ptr %x, shape[%n], strides[%one], offsets[%start] : !tile.ptr<f32> -> !tile.block_ptr<64xf32>\n"
    "  %to = tile.make_block_ptr %out, shape[%n], strides[%one], offsets[%start] : !tile.ptr<f32> -> !tile.block_ptr<64xf32>\n"
    "  %t = tile.load %from {boundary_check = array<i64: 0>, padding = 0.0 : f32} : !tile.block_ptr<64xf32> -> tensor<64xf32>\n"
    "  %f = tile.splat %factor : f32 -> tensor<64xf32>\n"
    "  %scaled = arith.mulf %t, %f : tensor<64xf32>\n"
    "  tile.store %to, %scaled {boundary_check = array<i64: 0>} : !tile.block_ptr<64xf32>, tensor<64xf32>\n"
    "  return\n"
    "}\n";

static float x[LENGTH], out[LENGTH];

static int wrong(float factor) {
  int i, count = 0;
  for (i = 0; i < LENGTH; i++) {
    count += out[i] != factor * x[i];
    out[i] = -1;
  }
  return count;
}

static void test_a_program(void) {
  fattn_tile_kernel* kernel = NULL;
  const int64_t grid[3] = {2, 1, 1};
  const fattn_tensor view = {x, FATTN_F32, 1, {LENGTH}, {1}};
  fattn_argument arguments[] = {
      {"x", FATTN_TENSOR, {.tensor = &view}}, {"factor", FATTN_NUMBER, {.number = 0.5}}, {"out", FATTN_POINTER, {.pointer = out}}};
  uint64_t slots[4] = {0, 0, LENGTH, 0};
  const float factor = 3;
  char* json = NULL;
  EXPECT(fattn_compile_ir(kScale, HOST, &kernel) == FATTN_OK);
  EXPECT(fattn_launch(kernel, NULL, grid, arguments, 3) == FATTN_OK);
  EXPECT(wrong(0.5f) == 0);
  slots[0] = (uintptr_t)x, slots[1] = (uintptr_t)out;
  memcpy(&slots[3], &factor, sizeof factor);
  EXPECT(fattn_launch_slots(kernel, NULL, grid, slots, 4) == FATTN_OK);
  EXPECT(wrong(3) == 0);
  EXPECT(fattn_tile_kernel_info(kernel, &json) == FATTN_OK);
  EXPECT(strstr(json, "{\"name\":\"x_size0\",\"kind\":\"scalar\",\"dtype\":\"i64\",\"divisibility\":1}") != NULL);
  EXPECT(strstr(json, "\"entry\":\"scale\"") != NULL);
  fattn_string_free(json);

  REFUSED(fattn_launch(kernel, NULL, grid, arguments, 2), FATTN_INVALID_ARGUMENT,
          "fattn_launch: a launch has to give every argument that the program declares; missing: out, a pointer to f32");
  arguments[1].kind = 4;
  REFUSED(fattn_launch(kernel, NULL, grid, arguments, 3), FATTN_INVALID_ARGUMENT,
          "fattn_launch: factor: kind is 4; legal values are FATTN_TENSOR = 0 to FATTN_NUMBER = 3");
  REFUSED(fattn_launch(kernel, NULL, NULL, arguments, 0), FATTN_INVALID_ARGUMENT, "fattn_launch: grid is NULL");
  REFUSED(fattn_launch_template(kernel, NULL, grid, 3, arguments, 0), FATTN_INVALID_ARGUMENT,
          "fattn_launch_template: this kernel is of a program\n  hint: launch it on a grid, with fattn_launch");
  EXPECT(fattn_launch_slots(kernel, NULL, grid, slots, 3) == FATTN_INVALID_ARGUMENT);
  EXPECT(fattn_tile_kernel_retain(kernel) == FATTN_OK);
  fattn_tile_kernel_release(kernel);
  fattn_tile_kernel_release(kernel);
  fattn_tile_kernel_release(NULL);
  EXPECT(fattn_compile_ir("func.func @f() { return }", NULL, &kernel) == FATTN_COMPILE_ERROR);
  REFUSED(fattn_compile_ir(kScale, "{\"taget\": \"host\"}", &kernel), FATTN_INVALID_ARGUMENT,
          "fattn_compile_ir: configuration: unknown key \"taget\"\n  hint: the legal keys are target, tile");
  REFUSED(fattn_compile_ir(NULL, NULL, &kernel), FATTN_INVALID_ARGUMENT, "fattn_compile_ir: ir is NULL");
}

#define SOFTMAX "{\"template\": \"row_softmax\", \"parameters\": {\"alignment\": 4}, \"target\": \"host\""

static void test_a_template(void) {
  fattn_tile_kernel* kernel = NULL;
  const int64_t extents[2] = {4, 25};
  const fattn_tensor from = {x, FATTN_F32, 2, {4, 25}, {25, 1}}, to = {out, FATTN_F32, 2, {4, 25}, {25, 1}};
  const fattn_argument arguments[] = {{"x", FATTN_TENSOR, {.tensor = &from}}, {"out", FATTN_TENSOR, {.tensor = &to}}};
  char* text = NULL;
  double sum = 0;
  int i;
  EXPECT(fattn_compile_template(SOFTMAX "}", &kernel) == FATTN_OK);
  EXPECT(fattn_launch_template(kernel, NULL, extents, 2, arguments, 2) == FATTN_OK);
  for (i = 0; i < 25; i++) sum += (double)out[i];
  EXPECT(sum > 0.99999 && sum < 1.00001);
  EXPECT(fattn_launch_template(kernel, NULL, extents, 1, arguments, 2) == FATTN_INVALID_ARGUMENT);
  EXPECT(fattn_launch(kernel, NULL, extents, arguments, 2) == FATTN_INVALID_ARGUMENT);
  fattn_tile_kernel_release(kernel);

  EXPECT(fattn_compile_template(SOFTMAX ", \"tile\": {\"block_m\": 2, \"block_n\": 32}, \"shape\": {\"rows\": 4}}", &kernel) == FATTN_OK);
  EXPECT(fattn_tile_kernel_info(kernel, &text) == FATTN_OK);
  EXPECT(strstr(text, "\"tile\":{\"block_m\":2,\"block_n\":32}") != NULL);
  fattn_string_free(text);
  fattn_tile_kernel_release(kernel);

  EXPECT(fattn_templates(&text) == FATTN_OK);
  EXPECT(
      strstr(text, "{\"template\":\"row_softmax\",\"parameters\":{\"alignment\":16,\"dtype\":\"f32\"},\"shape\":[\"rows\",\"columns\"]}") !=
      NULL);
  fattn_string_free(text);
  EXPECT(fattn_explain_template(SOFTMAX "}", &text) == FATTN_OK);
  EXPECT(strstr(text, "row_softmax-alignment_4-dtype_f32 for host with BLOCK_M=") == text);
  fattn_string_free(text);
  EXPECT(fattn_tune_template(SOFTMAX ", \"shapes\": [{\"rows\": 64, \"columns\": 64}]}", 1.0, &text) == FATTN_OK);
  EXPECT(strstr(text, "[{\"shape\":{\"rows\":64,\"columns\":64},\"default_us\":") == text);
  fattn_string_free(text);
  REFUSED(fattn_compile_template("{\"template\": \"conv\"}", &kernel), FATTN_INVALID_ARGUMENT,
          "fattn_compile_template: there is no template \"conv\"\n  hint: there are attention_backward_keys, attention_backward_queries, "
          "attention_backward_round, attention_backward_rows, attention_decode, attention_merge, gemm, layer_norm, rms_norm, row_softmax");
  REFUSED(fattn_compile_template(SOFTMAX ", \"shape\": {\"row\": 4}}", &kernel), FATTN_INVALID_ARGUMENT,
          "fattn_compile_template: configuration: shape has no key \"row\"\n  hint: the legal keys of shape are rows, columns");
  REFUSED(fattn_compile_template("{\"template\": \"gemm\", \"parameters\": {\"dtype\": 7}}", &kernel), FATTN_INVALID_ARGUMENT,
          "fattn_compile_template: template gemm: parameter dtype is of another type\n  hint: its parameters are "
          "a_columns=false,activation=none,alignment=16,b_columns=false,bias=false,dtype=f32,out=f32,residual=false");
  EXPECT(fattn_tune_template(SOFTMAX "}", 1.0, &text) == FATTN_INVALID_ARGUMENT);
}

int main(void) {
  int i;
  for (i = 0; i < LENGTH; i++) x[i] = (float)(i % 7), out[i] = -1;
  test_a_program();
  test_a_template();
  if (failures == 0) puts("programs and templates work from C");
  return failures == 0 ? 0 : 1;
}
