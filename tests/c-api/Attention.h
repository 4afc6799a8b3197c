/* SPDX-License-Identifier: Apache-2.0 */
/* A small attention problem, its result from the definition, and checks that print what they expected. */
#ifndef FATTN_TESTS_C_API_ATTENTION_H
#define FATTN_TESTS_C_API_ATTENTION_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fattn/c_api.h"

enum { BATCH = 2, HEADS = 4, KV_HEADS = 2, ROWS = 19, KEYS = 27, DIM = 16 };

typedef struct problem {
  float q[BATCH * HEADS * ROWS * DIM], k[BATCH * KV_HEADS * KEYS * DIM], v[BATCH * KV_HEADS * KEYS * DIM];
  float o[BATCH * HEADS * ROWS * DIM], lse[BATCH * HEADS * ROWS];
} problem;

static int failures = 0;

static void expect(int holds, const char* what, int line) {
  if (holds) return;
  failures++;
  fprintf(stderr, "line %d: NOT so: %s\n", line, what);
}
#define EXPECT(condition) expect((condition) != 0, #condition, __LINE__)

static void fill_problem(problem* p) {
  size_t i;
  for (i = 0; i < sizeof p->q / sizeof *p->q; i++) p->q[i] = (float)sin(0.37 * (double)i);
  for (i = 0; i < sizeof p->k / sizeof *p->k; i++) p->k[i] = (float)cos(0.53 * (double)i);
  for (i = 0; i < sizeof p->v / sizeof *p->v; i++) p->v[i] = (float)sin(0.11 * (double)i + 1);
  memset(p->o, 0xff, sizeof p->o); /* NaN: what is not written cannot pass */
  memset(p->lse, 0xff, sizeof p->lse);
}

static fattn_tensor tensor(void* data, int64_t heads, int64_t rows) {
  fattn_tensor t;
  memset(&t, 0, sizeof t);
  t.data = data;
  t.dtype = FATTN_F32;
  t.rank = 4;
  t.shape[0] = BATCH, t.shape[1] = heads, t.shape[2] = rows, t.shape[3] = DIM;
  t.strides[0] = heads * rows * DIM, t.strides[1] = rows * DIM, t.strides[2] = DIM, t.strides[3] = 1;
  return t;
}

static fattn_attention_forward_args arguments(problem* p) {
  fattn_attention_forward_args a;
  memset(&a, 0, sizeof a);
  a.struct_size = sizeof a;
  a.q = tensor(p->q, HEADS, ROWS);
  a.k = tensor(p->k, KV_HEADS, KEYS);
  a.v = tensor(p->v, KV_HEADS, KEYS);
  a.o = tensor(p->o, HEADS, ROWS);
  return a;
}

static fattn_tensor lse_tensor(problem* p) {
  fattn_tensor t = tensor(p->lse, HEADS, ROWS);
  t.rank = 3;
  t.strides[0] = HEADS * ROWS, t.strides[1] = ROWS, t.strides[2] = 1;
  return t;
}

/* The largest difference of o, and of lse where wanted, from a double loop over queries and keys; NaN counts as infinite. */
static double largest_error(const problem* p, double scale, int causal, int with_lse) {
  double worst = 0;
  int bh, i, j, d;
  for (bh = 0; bh < BATCH * HEADS; bh++) {
    int kv = bh / HEADS * KV_HEADS + bh % HEADS / (HEADS / KV_HEADS);
    for (i = 0; i < ROWS; i++) {
      double out[DIM] = {0}, sum = 0, error;
      const float* q = p->q + (bh * ROWS + i) * DIM;
      for (j = 0; j < KEYS && (!causal || j <= i + KEYS - ROWS); j++) {
        const float *k = p->k + (kv * KEYS + j) * DIM, *v = p->v + (kv * KEYS + j) * DIM;
        double score = 0;
        for (d = 0; d < DIM; d++) score += (double)q[d] * (double)k[d];
        score = exp(score * scale);
        sum += score;
        for (d = 0; d < DIM; d++) out[d] += score * (double)v[d];
      }
      for (d = 0; d < DIM; d++) {
        error = fabs((double)p->o[(bh * ROWS + i) * DIM + d] - out[d] / sum);
        if (!(error <= worst)) worst = error == error ? error : HUGE_VAL;
      }
      error = with_lse ? fabs((double)p->lse[bh * ROWS + i] - log(sum)) : 0;
      if (!(error <= worst)) worst = error == error ? error : HUGE_VAL;
    }
  }
  return worst;
}

#endif
