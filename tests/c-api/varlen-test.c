/* SPDX-License-Identifier: Apache-2.0 */
/* Packed sequences from C99: compiled, launched on three of them, one without keys, and refused with a sentence. */
#include <math.h>

#include "Expect.h"

enum { D = 8, SEQUENCES = 3, ROWS = 9, KEYS = 11 };

static float q[ROWS * D], k[KEYS * D], v[KEYS * D], o[ROWS * D], lse[ROWS];
static int32_t cu_q[SEQUENCES + 1] = {0, 4, 6, ROWS}, cu_k[SEQUENCES + 1] = {0, 7, 7, KEYS};

/* Of row i of sequence b, by the definition. */
static int wrong(int b, int i) {
  const int row = cu_q[b] + i;
  double sum = 0, weight, want[D] = {0};
  int t, d, count = 0;
  for (t = cu_k[b]; t < cu_k[b + 1]; t++) {
    double score = 0;
    for (d = 0; d < D; d++) score += (double)q[row * D + d] * k[t * D + d];
    sum += weight = exp(score / sqrt(D));
    for (d = 0; d < D; d++) want[d] += weight * v[t * D + d];
  }
  for (d = 0; d < D; d++) count += !(fabs(o[row * D + d] - (sum > 0 ? want[d] / sum : 0)) < 1e-5);
  return count + (sum > 0 ? !(fabs(lse[row] - log(sum)) < 1e-5) : lse[row] != -INFINITY);
}

int main(void) {
  const fattn_tensor rows = {q, FATTN_F32, 3, {ROWS, 1, D}, {D, D, 1}}, keys = {k, FATTN_F32, 3, {KEYS, 1, D}, {D, D, 1}};
  const fattn_tensor logs = {lse, FATTN_F32, 2, {ROWS, 1}, {1, 1}}, numbers = {cu_q, FATTN_I32, 1, {SEQUENCES + 1}, {1}};
  fattn_varlen_kernel* kernel = NULL;
  fattn_attention_varlen_args args;
  char* json = NULL;
  int i, b;
  for (i = 0; i < ROWS * D; i++) q[i] = (float)sin(i);
  for (i = 0; i < KEYS * D; i++) k[i] = (float)cos(3 * i), v[i] = (float)sin(0.1 * i);
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.q = rows, args.k = keys, args.v = keys, args.v.data = v, args.o = rows, args.o.data = o, args.lse = logs;
  args.cu_q = numbers, args.cu_k = numbers, args.cu_k.data = cu_k, args.max_q = 4;

  EXPECT(fattn_compile_varlen("{\"dtype\": \"f32\", \"head_dim\": 8, \"target\": \"host\"}", &kernel) == FATTN_OK);
  EXPECT(fattn_attention_varlen(kernel, NULL, &args) == FATTN_OK);
  for (b = 0; b < SEQUENCES; b++)
    for (i = 0; i < cu_q[b + 1] - cu_q[b]; i++) EXPECT(wrong(b, i) == 0);
  EXPECT(fattn_varlen_kernel_info(kernel, &json) == FATTN_OK && strstr(json, "\"name\":\"cu_q\"") != NULL);
  fattn_string_free(json);
  args.cu_k.shape[0] = 2;
  REFUSED_BEGINNING(fattn_attention_varlen(kernel, NULL, &args), FATTN_INVALID_ARGUMENT,
                    "fattn_attention_varlen: cu_k: batch + 1 (dimension 0) is 2; it must be 4 as in cu_q");
  args.struct_size = 8;
  REFUSED_BEGINNING(fattn_attention_varlen(kernel, NULL, &args), FATTN_INVALID_ARGUMENT, "fattn_attention_varlen: args: struct_size is 8");
  EXPECT(fattn_varlen_kernel_retain(kernel) == FATTN_OK);
  fattn_varlen_kernel_release(kernel);
  fattn_varlen_kernel_release(kernel);
  REFUSED_BEGINNING(fattn_compile_varlen("{\"dtype\": \"f32\", \"head_dim\": 8, \"rows\": 4}", &kernel), FATTN_INVALID_ARGUMENT,
                    "fattn_compile_varlen: configuration: unknown key \"rows\"");
  printf("%d failures\n", failures);
  return failures != 0;
}
