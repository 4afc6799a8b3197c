/* SPDX-License-Identifier: Apache-2.0 */
/* The backward pass from C99: compiled, asked for its workspace, launched in both modes, and refused with a sentence. */
#include <math.h>

#include "Expect.h"

enum { D = 8, KEYS = 3, WORKSPACE = 128 * 2 };

static float q[D], k[KEYS * D], v[KEYS * D], o[D], lse[1], dout[D], dlse[1] = {0.5f}, dq[D], dk[KEYS * D], dv[KEYS * D];
static double workspace[WORKSPACE / 2 + 1]; /* of two floats each, so that 16 divides an address in it */

static fattn_attention_backward_args make_args(void) {
  fattn_attention_backward_args args;
  const fattn_tensor row = {q, FATTN_F32, 4, {1, 1, 1, D}, {D, D, D, 1}},
                     keys = {k, FATTN_F32, 4, {1, 1, KEYS, D}, {KEYS * D, KEYS * D, D, 1}};
  const fattn_tensor log = {lse, FATTN_F32, 3, {1, 1, 1}, {1, 1, 1}};
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.q = args.o = args.dout = args.dq = row, args.o.data = o, args.dout.data = dout, args.dq.data = dq;
  args.k = args.v = args.dk = args.dv = keys, args.v.data = v, args.dk.data = dk, args.dv.data = dv;
  args.lse = args.dlse = log, args.dlse.data = dlse;
  args.workspace = (uintptr_t)workspace % 16 == 0 ? workspace : workspace + 1;
  args.workspace_bytes = WORKSPACE * (int64_t)sizeof(float);
  return args;
}

/* By the definition: o and lse, and how many numbers of the gradients are wrong. */
static int forward_and_wrong(int check) {
  double p[KEYS], dp[KEYS], sum = 0, delta = 0, want;
  int t, d, count = 0;
  for (t = 0; t < KEYS; t++) {
    double score = 0;
    for (dp[t] = 0, d = 0; d < D; d++) score += (double)q[d] * k[t * D + d], dp[t] += (double)dout[d] * v[t * D + d];
    sum += p[t] = exp(score / sqrt(D));
  }
  lse[0] = (float)log(sum);
  for (t = 0; t < KEYS; t++) delta += (p[t] /= sum) * dp[t];
  for (d = 0; d < D; d++) {
    for (want = 0, t = 0; t < KEYS; t++) want += p[t] * v[t * D + d];
    o[d] = (float)want;
    for (want = 0, t = 0; t < KEYS; t++) want += p[t] * (dp[t] - delta + dlse[0]) / sqrt(D) * k[t * D + d];
    count += check && !(fabs(dq[d] - want) < 1e-5);
    for (t = 0; t < KEYS; t++) {
      count += check && !(fabs(dk[t * D + d] - p[t] * (dp[t] - delta + dlse[0]) / sqrt(D) * q[d]) < 1e-5);
      count += check && !(fabs(dv[t * D + d] - p[t] * dout[d]) < 1e-5);
      dk[t * D + d] = dv[t * D + d] = -1;
    }
    dq[d] = -1;
  }
  return count;
}

/* Two sequences of the same numbers, with one of no rows between them, have the gradients that they have by themselves. */
static void packed(void) {
  static float two_q[2 * D], two_k[2 * KEYS * D], two_v[2 * KEYS * D], two_o[2 * D], two_lse[2], two_dout[2 * D], two_dq[2 * D],
      two_dk[2 * KEYS * D], two_dv[2 * KEYS * D], two_dlse[2];
  static int32_t cu_q[4] = {0, 1, 1, 2}, cu_k[4] = {0, KEYS, KEYS, 2 * KEYS};
  static double memory[2 * WORKSPACE + 1];
  const fattn_tensor rows = {two_q, FATTN_F32, 3, {2, 1, D}, {D, D, 1}}, keys = {two_k, FATTN_F32, 3, {2 * KEYS, 1, D}, {D, D, 1}},
                     numbers = {two_lse, FATTN_F32, 2, {2, 1}, {1, 1}}, begins = {cu_q, FATTN_I32, 1, {4}, {1}};
  fattn_backward_kernel* kernel = NULL;
  fattn_packed_backward_args args;
  int i;
  for (i = 0; i < 2; i++) {
    memcpy(two_q + i * D, q, sizeof q), memcpy(two_o + i * D, o, sizeof o), memcpy(two_dout + i * D, dout, sizeof dout);
    memcpy(two_k + i * KEYS * D, k, sizeof k), memcpy(two_v + i * KEYS * D, v, sizeof v);
    two_lse[i] = lse[0], two_dlse[i] = dlse[0];
  }
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.q = args.o = args.dout = args.dq = rows, args.o.data = two_o, args.dout.data = two_dout, args.dq.data = two_dq;
  args.k = args.v = args.dk = args.dv = keys, args.v.data = two_v, args.dk.data = two_dk, args.dv.data = two_dv;
  args.lse = args.dlse = numbers, args.dlse.data = two_dlse;
  args.cu_q = args.cu_k = begins, args.cu_k.data = cu_k;
  args.max_q = 1, args.max_k = KEYS;
  args.workspace = (uintptr_t)memory % 16 == 0 ? memory : memory + 1;
  EXPECT(fattn_compile_backward("{\"dtype\": \"f32\", \"head_dim\": 8, \"packed\": true, \"target\": \"host\"}", &kernel) == FATTN_OK);
  EXPECT(fattn_packed_backward_workspace(kernel, &args, &args.workspace_bytes) == FATTN_OK);
  EXPECT(args.workspace_bytes == 3 * 128 * 8);
  EXPECT(fattn_packed_backward(kernel, NULL, &args) == FATTN_OK);
  for (i = 0; i < 2; i++) {
    memcpy(dq, two_dq + i * D, sizeof dq), memcpy(dk, two_dk + i * KEYS * D, sizeof dk), memcpy(dv, two_dv + i * KEYS * D, sizeof dv);
    EXPECT(forward_and_wrong(1) == 0);
  }
  args.cu_k.shape[0] = 3;
  REFUSED_BEGINNING(fattn_packed_backward(kernel, NULL, &args), FATTN_INVALID_ARGUMENT,
                    "fattn_packed_backward: cu_k: batch + 1 (dimension 0) is 3; it must be 4 as in cu_q");
  args.struct_size = 8;
  REFUSED_BEGINNING(fattn_packed_backward(kernel, NULL, &args), FATTN_INVALID_ARGUMENT, "fattn_packed_backward: args: struct_size is 8");
  fattn_backward_kernel_release(kernel);
}

int main(void) {
  fattn_backward_kernel* kernel = NULL;
  fattn_attention_backward_args args = make_args();
  int64_t bytes = 0;
  char* json = NULL;
  int i;
  for (i = 0; i < D; i++) q[i] = (float)sin(i), dout[i] = (float)cos(i);
  for (i = 0; i < KEYS * D; i++) k[i] = (float)cos(3 * i), v[i] = (float)sin(0.1 * i);
  forward_and_wrong(0);

  EXPECT(fattn_compile_backward("{\"dtype\": \"f32\", \"head_dim\": 8, \"target\": \"host\"}", &kernel) == FATTN_OK);
  EXPECT(fattn_backward_workspace(kernel, &args, &bytes) == FATTN_OK && bytes == args.workspace_bytes);
  EXPECT(fattn_attention_backward(kernel, NULL, &args) == FATTN_OK);
  EXPECT(forward_and_wrong(1) == 0);
  args.workspace_bytes = 100;
  REFUSED_BEGINNING(fattn_attention_backward(kernel, NULL, &args), FATTN_INVALID_ARGUMENT,
                    "fattn_attention_backward: workspace: it has 100 bytes; this launch needs 1024");
  EXPECT(fattn_backward_kernel_info(kernel, &json) == FATTN_OK && strstr(json, "\"dkdv\":{") != NULL &&
         strstr(json, "\"entry\":\"attention_backward_queries\"") != NULL);
  fattn_string_free(json);
  EXPECT(fattn_backward_kernel_retain(kernel) == FATTN_OK);
  fattn_backward_kernel_release(kernel);
  fattn_backward_kernel_release(kernel);

  EXPECT(fattn_compile_backward(
             "{\"dtype\": \"f32\", \"head_dim\": 8, \"deterministic\": true, \"tile_dq\": {\"block_m\": 16}, \"target\": \"host\"}",
             &kernel) == FATTN_OK);
  EXPECT(fattn_backward_workspace(kernel, &args, &bytes) == FATTN_OK && bytes == WORKSPACE * 4);
  args.workspace_bytes = bytes;
  EXPECT(fattn_attention_backward(kernel, NULL, &args) == FATTN_OK);
  EXPECT(forward_and_wrong(1) == 0);
  memset(&args.lse, 0, sizeof args.lse);
  REFUSED_BEGINNING(fattn_attention_backward(kernel, NULL, &args), FATTN_INVALID_ARGUMENT, "fattn_attention_backward: lse: ");
  fattn_backward_kernel_release(kernel);

  REFUSED_BEGINNING(fattn_compile_backward("{\"dtype\": \"f32\", \"head_dim\": 8, \"rows\": 4}", &kernel), FATTN_INVALID_ARGUMENT,
                    "fattn_compile_backward: configuration: unknown key \"rows\"");
  REFUSED_BEGINNING(fattn_compile_backward("{\"dtype\": \"f32\", \"head_dim\": 8, \"deterministic\": 1}", &kernel), FATTN_INVALID_ARGUMENT,
                    "fattn_compile_backward: configuration: deterministic is 1; it must be true or false");
  REFUSED_BEGINNING(fattn_compile_backward("{\"dtype\": \"f32\", \"head_dim\": 12, \"target\": \"host\"}", &kernel), FATTN_UNSUPPORTED,
                    "fattn_compile_backward: head_dim is 12; it must be a multiple of 8 from 8 to 256");
  packed();
  printf("%d failures\n", failures);
  return failures != 0;
}
