/* SPDX-License-Identifier: Apache-2.0 */
/* Decode from C99: compiled, asked for its workspace, launched on a cache of pages, and refused with a sentence. */
#include <math.h>

#include "Expect.h"

enum { D = 8, PAGE = 4, PAGES = 3, KEYS = 9 };

static float q[D], k[PAGES * PAGE * D], v[PAGES * PAGE * D], o[D], lse, workspace[64];
static int32_t lengths[1] = {KEYS}, pages[PAGES] = {2, 0, 1};

static fattn_attention_decode_args make_args(void) {
  fattn_attention_decode_args args;
  const fattn_tensor row = {q, FATTN_F32, 4, {1, 1, 1, D}, {D, D, D, 1}},
                     cache = {k, FATTN_F32, 4, {PAGES, 1, PAGE, D}, {PAGE * D, PAGE * D, D, 1}};
  const fattn_tensor log = {&lse, FATTN_F32, 3, {1, 1, 1}, {1, 1, 1}}, told = {lengths, FATTN_I32, 1, {1}, {1}};
  const fattn_tensor table = {pages, FATTN_I32, 2, {1, PAGES}, {PAGES, 1}};
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.q = row, args.o = row, args.o.data = o, args.k = cache, args.v = cache, args.v.data = v;
  args.lse = log, args.lengths = told, args.pages = table;
  args.splits = 2, args.workspace = workspace, args.workspace_bytes = sizeof workspace;
  return args;
}

static int hasResults(const float* expected) {
  int d = 0;
  while (d < D && o[d] == expected[d]) d++;
  return d == D;
}

/* By the definition, over the last keys. */
static int wrong(int seen) {
  double weights[KEYS], sum = 0, want;
  int t, d, count = 0;
  for (t = KEYS - seen; t < KEYS; t++) {
    const float* key = k + (pages[t / PAGE] * PAGE + t % PAGE) * D;
    double score = 0;
    for (d = 0; d < D; d++) score += (double)q[d] * key[d];
    sum += weights[t] = exp(score / sqrt(D));
  }
  for (d = 0; d < D; d++) {
    for (want = 0, t = KEYS - seen; t < KEYS; t++) want += weights[t] / sum * v[(pages[t / PAGE] * PAGE + t % PAGE) * D + d];
    count += !(fabs(o[d] - want) < 1e-5);
    o[d] = -1;
  }
  return count + !(fabs(lse - log(sum)) < 1e-5);
}

/* The last two of the keys are appended: NaN in the cache before the launch. Of the nine keys the row sees seven. */
static void append_in_a_window(void) {
  fattn_decode_kernel* kernel = NULL;
  fattn_attention_decode_args args = make_args();
  static float expected[D], rows[2][2 * D];
  float *first = k + (pages[1] * PAGE + 3) * D, *second = k + (pages[2] * PAGE) * D;
  const fattn_tensor appended = {rows[0], FATTN_F32, 4, {1, 1, 2, D}, {2 * D, 2 * D, D, 1}};
  int i;
  EXPECT(fattn_compile_decode("{\"dtype\": \"f32\", \"head_dim\": 8, \"rows\": 1, \"page_size\": 4, \"window\": true, \"append\": true, "
                              "\"target\": \"host\"}",
                              &kernel) == FATTN_OK);
  REFUSED_BEGINNING(fattn_attention_decode(kernel, NULL, &args), FATTN_INVALID_ARGUMENT,
                    "fattn_attention_decode: new_k: this kernel was compiled to append rows, and needs them");
  for (i = 0; i < D; i++) {
    rows[0][i] = first[i], rows[0][D + i] = second[i];
    rows[1][i] = v[first - k + i], rows[1][D + i] = v[second - k + i];
    first[i] = second[i] = v[first - k + i] = v[second - k + i] = (float)NAN;
  }
  args.new_k = appended, args.new_v = appended, args.new_v.data = rows[1], args.window = 7;
  EXPECT(fattn_attention_decode(kernel, NULL, &args) == FATTN_OK);
  EXPECT(first[0] == rows[0][0] && second[D - 1] == rows[0][2 * D - 1] && v[second - k] == rows[1][D]);
  memcpy(expected, o, sizeof o);
  args.window = KEYS;
  EXPECT(fattn_attention_decode(kernel, NULL, &args) == FATTN_OK);
  EXPECT(!hasResults(expected) && wrong(KEYS) == 0);
  args.window = 7;
  EXPECT(fattn_attention_decode(kernel, NULL, &args) == FATTN_OK);
  EXPECT(hasResults(expected) && wrong(7) == 0);
  fattn_decode_kernel_release(kernel);
}

/* A balanced kernel counts the programs of a key head, and leaves the counter as it was. */
static void one_launch_with_counters(void) {
  fattn_decode_kernel* kernel = NULL;
  fattn_attention_decode_args args = make_args();
  int64_t bytes = 0;
  int32_t counter = 0;
  float room[128];
  EXPECT(fattn_compile_decode(
             "{\"dtype\": \"f32\", \"head_dim\": 8, \"rows\": 1, \"page_size\": 4, \"balanced\": true, \"target\": \"host\"}", &kernel) ==
         FATTN_OK);
  EXPECT(fattn_decode_workspace(kernel, &args, &bytes) == FATTN_OK && bytes == 2 * 2 * (D + 1) * 4);
  args.workspace = room, args.workspace_bytes = sizeof room;
  REFUSED_BEGINNING(fattn_attention_decode(kernel, NULL, &args), FATTN_INVALID_ARGUMENT,
                    "fattn_attention_decode: counters: they have 0 bytes; a launch of 1 sequences with 1 key heads needs 4");
  args.counters = &counter, args.counter_bytes = sizeof counter;
  EXPECT(fattn_attention_decode(kernel, NULL, &args) == FATTN_OK);
  EXPECT(wrong(KEYS) == 0 && counter == 0);
  EXPECT(fattn_attention_decode(kernel, NULL, &args) == FATTN_OK);
  EXPECT(wrong(KEYS) == 0 && counter == 0);
  fattn_decode_kernel_release(kernel);
}

int main(void) {
  fattn_decode_kernel* kernel = NULL;
  fattn_attention_decode_args args = make_args();
  int64_t bytes = 0;
  char* json = NULL;
  int i;
  for (i = 0; i < D; i++) q[i] = (float)sin(i);
  for (i = 0; i < PAGES * PAGE * D; i++) k[i] = (float)cos(3 * i), v[i] = (float)sin(0.1 * i);
  for (i = 0; i < D; i++) k[(1 * PAGE + 2) * D + i] = v[(1 * PAGE + 2) * D + i] = (float)NAN; /* beyond the length */

  EXPECT(fattn_compile_decode("{\"dtype\": \"f32\", \"head_dim\": 8, \"rows\": 1, \"page_size\": 4, \"target\": \"host\"}", &kernel) ==
         FATTN_OK);
  EXPECT(fattn_decode_workspace(kernel, &args, &bytes) == FATTN_OK && bytes == 2 * (D + 1) * 4);
  EXPECT(fattn_decode_workspace(kernel, NULL, &bytes) == FATTN_OK && bytes > 0);
  EXPECT(fattn_attention_decode(kernel, NULL, &args) == FATTN_OK);
  EXPECT(wrong(KEYS) == 0);
  args.splits = 1, args.workspace = NULL, args.workspace_bytes = 0;
  EXPECT(fattn_attention_decode(kernel, NULL, &args) == FATTN_OK);
  EXPECT(wrong(KEYS) == 0);
  args.splits = 2;
  REFUSED_BEGINNING(fattn_attention_decode(kernel, NULL, &args), FATTN_INVALID_ARGUMENT,
                    "fattn_attention_decode: workspace: it has 0 bytes; a launch of 2 splits needs 72");
  EXPECT(fattn_decode_kernel_info(kernel, &json) == FATTN_OK && strstr(json, "\"name\":\"pages\"") != NULL);
  fattn_string_free(json);
  EXPECT(fattn_decode_kernel_retain(kernel) == FATTN_OK);
  fattn_decode_kernel_release(kernel);
  fattn_decode_kernel_release(kernel);
  REFUSED_BEGINNING(fattn_compile_decode("{\"dtype\": \"f32\", \"head_dim\": 8, \"pages\": 4}", &kernel), FATTN_INVALID_ARGUMENT,
                    "fattn_compile_decode: configuration: unknown key \"pages\"");
  REFUSED_BEGINNING(fattn_compile_decode("{\"dtype\": \"f32\"}", &kernel), FATTN_INVALID_ARGUMENT,
                    "fattn_compile_decode: configuration: the key \"head_dim\" is missing");
  REFUSED_BEGINNING(fattn_compile_decode("{\"dtype\": \"f32\", \"head_dim\": 8, \"rows\": 17, \"target\": \"host\"}", &kernel),
                    FATTN_UNSUPPORTED, "fattn_compile_decode: rows is 17; it must be 1 to 16");
  append_in_a_window();
  one_launch_with_counters();
  printf("%d failures\n", failures);
  return failures != 0;
}
