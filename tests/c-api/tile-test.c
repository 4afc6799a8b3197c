/* SPDX-License-Identifier: Apache-2.0 */
/* Programs and templates from C99: compiled, launched in every way, queried, tuned, and refused with a sentence. On the host, or on the
 * device that the first argument names. */
#include <stdint.h>

#include "Expect.h"

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

static const char* target = "host";
static float x[LENGTH], out[LENGTH]; /* what the device's memory holds, or is to hold */
static void *device_x, *device_out;

/* The text with the target in the place of its %s; until the next call. */
static const char* with_target(const char* format) {
  static char text[400];
  snprintf(text, sizeof text, format, target);
  return text;
}

static void set_memory(void) {
  int i;
  for (i = 0; i < LENGTH; i++) x[i] = (float)(i % 7), out[i] = -1;
  EXPECT(fattn_memory_copy(target, NULL, device_x, x, sizeof x) == FATTN_OK);
  EXPECT(fattn_memory_copy(target, NULL, device_out, out, sizeof out) == FATTN_OK);
}

static void fetch(void) {
  EXPECT(fattn_memory_copy(target, NULL, out, device_out, sizeof out) == FATTN_OK);
  EXPECT(fattn_synchronize(target, NULL) == FATTN_OK);
}

static int wrong(float factor) {
  int i, count = 0;
  fetch();
  for (i = 0; i < LENGTH; i++) count += out[i] != factor * x[i];
  set_memory();
  return count;
}

static void test_memory(void) {
  void* none = x;
  EXPECT(fattn_memory_allocate(target, sizeof x, &device_x) == FATTN_OK && device_x != NULL && (uintptr_t)device_x % 64 == 0);
  EXPECT(fattn_memory_allocate(target, sizeof out, &device_out) == FATTN_OK);
  set_memory();
  fetch();
  EXPECT(out[LENGTH - 1] == -1);
  EXPECT(fattn_memory_copy(target, NULL, device_out, device_x, sizeof x) == FATTN_OK);
  EXPECT(wrong(1) == 0);
  EXPECT(fattn_memory_allocate(target, 0, &none) == FATTN_OK && none == NULL);
  EXPECT(fattn_memory_free(target, NULL) == FATTN_OK && fattn_memory_copy(target, NULL, NULL, NULL, 0) == FATTN_OK);
  REFUSED(fattn_memory_allocate(target, -1, &none), FATTN_INVALID_ARGUMENT, "fattn_memory_allocate: bytes is -1; it must not be negative");
  REFUSED(fattn_memory_allocate(target, 1, NULL), FATTN_INVALID_ARGUMENT, "fattn_memory_allocate: memory is NULL");
  REFUSED(fattn_memory_copy(target, NULL, NULL, x, 4), FATTN_INVALID_ARGUMENT, "fattn_memory_copy: to is NULL");
  EXPECT(fattn_synchronize("toaster", NULL) == FATTN_NO_DEVICE);
}

static void test_a_program(void) {
  fattn_tile_kernel* kernel = NULL;
  const int64_t grid[3] = {2, 1, 1};
  const fattn_tensor view = {device_x, FATTN_F32, 1, {LENGTH}, {1}};
  fattn_argument arguments[] = {
      {"x", FATTN_TENSOR, {.tensor = &view}}, {"factor", FATTN_NUMBER, {.number = 0.5}}, {"out", FATTN_POINTER, {.pointer = device_out}}};
  uint64_t slots[4] = {0, 0, LENGTH, 0};
  const float factor = 3;
  char* json = NULL;
  EXPECT(fattn_compile_ir(kScale, with_target("{\"target\": \"%s\"}"), &kernel) == FATTN_OK);
  EXPECT(fattn_launch(kernel, NULL, grid, arguments, 3) == FATTN_OK);
  EXPECT(wrong(0.5f) == 0);
  slots[0] = (uintptr_t)device_x, slots[1] = (uintptr_t)device_out;
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

#define SOFTMAX "{\"template\": \"row_softmax\", \"parameters\": {\"alignment\": 4}, \"target\": \"%s\""

static void test_a_template(void) {
  fattn_tile_kernel* kernel = NULL;
  const int64_t extents[2] = {4, 25};
  const fattn_tensor from = {device_x, FATTN_F32, 2, {4, 25}, {25, 1}}, to = {device_out, FATTN_F32, 2, {4, 25}, {25, 1}};
  const fattn_argument arguments[] = {{"x", FATTN_TENSOR, {.tensor = &from}}, {"out", FATTN_TENSOR, {.tensor = &to}}};
  char* text = NULL;
  double sum = 0;
  int i;
  EXPECT(fattn_compile_template(with_target(SOFTMAX "}"), &kernel) == FATTN_OK);
  EXPECT(fattn_launch_template(kernel, NULL, extents, 2, arguments, 2) == FATTN_OK);
  fetch();
  for (i = 0; i < 25; i++) sum += (double)out[i];
  EXPECT(sum > 0.99999 && sum < 1.00001);
  EXPECT(fattn_launch_template(kernel, NULL, extents, 1, arguments, 2) == FATTN_INVALID_ARGUMENT);
  EXPECT(fattn_launch(kernel, NULL, extents, arguments, 2) == FATTN_INVALID_ARGUMENT);
  fattn_tile_kernel_release(kernel);

  EXPECT(fattn_compile_template(with_target(SOFTMAX ", \"tile\": {\"block_m\": 2, \"block_n\": 32}, \"shape\": {\"rows\": 4}}"), &kernel) ==
         FATTN_OK);
  EXPECT(fattn_tile_kernel_info(kernel, &text) == FATTN_OK);
  EXPECT(strstr(text, "\"tile\":{\"block_m\":2,\"block_n\":32") != NULL);
  fattn_string_free(text);
  fattn_tile_kernel_release(kernel);

  EXPECT(fattn_templates(&text) == FATTN_OK);
  EXPECT(
      strstr(text, "{\"template\":\"row_softmax\",\"parameters\":{\"alignment\":16,\"dtype\":\"f32\"},\"shape\":[\"rows\",\"columns\"]}") !=
      NULL);
  fattn_string_free(text);
  EXPECT(fattn_explain_template(with_target(SOFTMAX "}"), &text) == FATTN_OK);
  EXPECT(strstr(text, with_target("row_softmax-alignment_4-dtype_f32 for %s")) == text && strstr(text, " with BLOCK_M=") != NULL);
  fattn_string_free(text);
  EXPECT(fattn_tune_template(with_target(SOFTMAX ", \"shapes\": [{\"rows\": 64, \"columns\": 64}]}"), 1.0, &text) == FATTN_OK);
  EXPECT(strstr(text, "[{\"shape\":{\"rows\":64,\"columns\":64},\"default_us\":") == text);
  fattn_string_free(text);
  REFUSED(fattn_compile_template("{\"template\": \"conv\"}", &kernel), FATTN_INVALID_ARGUMENT,
          "fattn_compile_template: there is no template \"conv\"\n  hint: there are attention_backward_keys, attention_backward_queries, "
          "attention_backward_round, attention_backward_rows, attention_decode, attention_decode_balanced, attention_forward, "
          "attention_merge, attention_varlen, gemm, layer_norm, packed_backward_keys, packed_backward_queries, packed_backward_round, "
          "packed_backward_rows, rms_norm, row_softmax");
  REFUSED(fattn_compile_template(with_target(SOFTMAX ", \"shape\": {\"row\": 4}}"), &kernel), FATTN_INVALID_ARGUMENT,
          "fattn_compile_template: configuration: shape has no key \"row\"\n  hint: the legal keys of shape are rows, columns");
  REFUSED(fattn_compile_template("{\"template\": \"gemm\", \"parameters\": {\"dtype\": 7}}", &kernel), FATTN_INVALID_ARGUMENT,
          "fattn_compile_template: template gemm: parameter dtype is of another type\n  hint: its parameters are "
          "a_columns=false,activation=none,alignment=16,b_columns=false,bias=false,dtype=f32,out=f32,residual=false");
  EXPECT(fattn_tune_template(with_target(SOFTMAX "}"), 1.0, &text) == FATTN_INVALID_ARGUMENT);
}

int main(int argc, char** argv) {
  if (argc > 1) target = argv[1];
  test_memory();
  if (failures == 0) {
    test_a_program();
    test_a_template();
  }
  EXPECT(fattn_memory_free(target, device_x) == FATTN_OK);
  EXPECT(fattn_memory_free(target, device_out) == FATTN_OK);
  if (failures == 0) printf("programs and templates work from C on %s\n", target);
  return failures == 0 ? 0 : 1;
}
