/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface from C99: a kernel against the definition of attention, and the status and text of every way to fail. */
#include <pthread.h>
#include <stdlib.h>

#include "Attention.h"

#define CONFIG "{\"op\": \"attention_forward\", \"dtype\": \"f32\", \"head_dim\": 16, \"target\": \"host\"}"
#define CAUSAL                                                                                                                             \
  "{\"op\": \"attention_forward\", \"dtype\": \"f32\", \"head_dim\": 16, \"causal\": true, \"target\": \"host\", \"tile\": {\"block_m\": " \
  "8}}"

/* The call has to fail with this status and exactly this text. */
static void refused(fattn_status got, fattn_status wanted, const char* text, int line) {
  if (got == wanted && strcmp(fattn_last_error(), text) == 0) return;
  failures++;
  fprintf(stderr, "line %d: got %s\n%s\nwanted %s\n%s\n", line, fattn_status_name(got), fattn_last_error(), fattn_status_name(wanted),
          text);
}
#define REFUSED(call, status, text) refused(call, status, text, __LINE__)

static void test_versions_and_names(void) {
  static const char* names[] = {"ok",        "invalid-argument", "unsupported",   "trace-error", "compile-error",
                                "no-device", "device-error",     "out-of-memory", "io-error",    "internal"};
  fattn_status status;
  EXPECT(strcmp(fattn_version(), FATTN_VERSION) == 0);
  EXPECT(fattn_c_api_version() == FATTN_C_API_VERSION);
  for (status = FATTN_OK; status <= FATTN_INTERNAL; status++) EXPECT(strcmp(fattn_status_name(status), names[status]) == 0);
  EXPECT(strcmp(fattn_status_name(-1), "unknown-status") == 0);
  EXPECT(strcmp(fattn_status_name(10), "unknown-status") == 0);
  EXPECT(sizeof(fattn_tensor) == sizeof(void*) + 8 + 16 * FATTN_MAX_RANK);
  EXPECT(strcmp(fattn_last_error(), "") == 0); /* nothing has failed yet */
  fattn_string_free(NULL);
}

static void test_launch_agrees_with_the_definition(void) {
  static problem p;
  fattn_kernel* kernel = NULL;
  fattn_attention_forward_args args;
  const float scale = 0.5f;
  fill_problem(&p);
  args = arguments(&p);
  EXPECT(fattn_compile(CONFIG, &kernel) == FATTN_OK);
  EXPECT(fattn_attention_forward(kernel, NULL, &args) == FATTN_OK);
  EXPECT(largest_error(&p, 0.25, 0, 0) < 1e-5);
  EXPECT(p.lse[0] != p.lse[0]); /* not wanted, not written */

  fill_problem(&p);
  args.lse = lse_tensor(&p);
  args.scale = &scale;
  EXPECT(fattn_kernel_retain(kernel) == FATTN_OK);
  fattn_kernel_release(kernel);
  EXPECT(fattn_attention_forward(kernel, NULL, &args) == FATTN_OK);
  EXPECT(largest_error(&p, 0.5, 0, 1) < 1e-5);
  fattn_kernel_release(kernel);

  fill_problem(&p);
  args.scale = NULL;
  EXPECT(fattn_compile(CAUSAL, &kernel) == FATTN_OK);
  EXPECT(fattn_attention_forward(kernel, NULL, &args) == FATTN_OK);
  EXPECT(largest_error(&p, 0.25, 1, 1) < 1e-5);
  fattn_kernel_release(kernel);
  fattn_kernel_release(NULL);
}

static void test_texts(void) {
  fattn_kernel* kernel = NULL;
  char* text = NULL;
  EXPECT(fattn_compile(CAUSAL, &kernel) == FATTN_OK);
  EXPECT(fattn_kernel_info(kernel, &text) == FATTN_OK);
  EXPECT(strstr(text,
                "{\"config\":{\"op\":\"attention_forward\",\"dtype\":\"f32\",\"head_dim\":16,\"head_dim_v\":16,\"causal\":true,"
                "\"target\":\"host\",\"tile\":{\"block_m\":8,\"block_n\":") == text);
  EXPECT(strstr(text, "\"compile_ms\":") != NULL);
  fattn_string_free(text);
  fattn_kernel_release(kernel);

  EXPECT(fattn_supports(CONFIG) == FATTN_OK);
  EXPECT(fattn_explain(CAUSAL, &text) == FATTN_OK);
  EXPECT(strstr(text, "supported on host with BLOCK_M=8,BLOCK_N=") == text);
  fattn_string_free(text);
  EXPECT(fattn_explain("{\"op\": \"attention_forward\", \"dtype\": \"i8\", \"head_dim\": 16}", &text) == FATTN_OK);
  EXPECT(strcmp(text, "dtype is i8; it must be f32, f16 or bf16") == 0);
  fattn_string_free(text);

  EXPECT(fattn_devices(&text) == FATTN_OK);
  EXPECT(text[0] == '[' && strstr(text, "\"target\":\"host\",\"kind\":\"host\",\"description\":\"") != NULL);
  fattn_string_free(text);
}

static void test_refused_pointers(void) {
  const char* configs[] = {CONFIG, NULL};
  fattn_kernel *kernel = NULL, *untouched = NULL;
  fattn_attention_forward_args args;
  char* text = NULL;
  memset(&args, 0, sizeof args);
  EXPECT(fattn_compile(CONFIG, &kernel) == FATTN_OK);
  REFUSED(fattn_supports(NULL), FATTN_INVALID_ARGUMENT, "fattn_supports: config is NULL");
  REFUSED(fattn_explain(NULL, &text), FATTN_INVALID_ARGUMENT, "fattn_explain: config is NULL");
  REFUSED(fattn_explain(CONFIG, NULL), FATTN_INVALID_ARGUMENT, "fattn_explain: text is NULL");
  REFUSED(fattn_devices(NULL), FATTN_INVALID_ARGUMENT, "fattn_devices: json is NULL");
  REFUSED(fattn_compile(NULL, &untouched), FATTN_INVALID_ARGUMENT, "fattn_compile: config is NULL");
  REFUSED(fattn_compile(CONFIG, NULL), FATTN_INVALID_ARGUMENT, "fattn_compile: kernel is NULL");
  REFUSED(fattn_kernel_retain(NULL), FATTN_INVALID_ARGUMENT, "fattn_kernel_retain: kernel is NULL");
  REFUSED(fattn_kernel_info(NULL, &text), FATTN_INVALID_ARGUMENT, "fattn_kernel_info: kernel is NULL");
  REFUSED(fattn_kernel_info(kernel, NULL), FATTN_INVALID_ARGUMENT, "fattn_kernel_info: json is NULL");
  REFUSED(fattn_warmup(NULL, 1), FATTN_INVALID_ARGUMENT, "fattn_warmup: configs is NULL");
  REFUSED(fattn_warmup(configs, 2), FATTN_INVALID_ARGUMENT, "fattn_warmup: configs[1] is NULL");
  REFUSED(fattn_attention_forward(NULL, NULL, &args), FATTN_INVALID_ARGUMENT, "fattn_attention_forward: kernel is NULL");
  REFUSED(fattn_attention_forward(kernel, NULL, NULL), FATTN_INVALID_ARGUMENT, "fattn_attention_forward: args is NULL");
  REFUSED(fattn_host_num_threads(NULL), FATTN_INVALID_ARGUMENT, "fattn_host_num_threads: threads is NULL");
  EXPECT(text == NULL && untouched == NULL);
  EXPECT(fattn_warmup(NULL, 0) == FATTN_OK);
  EXPECT(fattn_warmup(configs, 1) == FATTN_OK);
  fattn_kernel_release(kernel);
}

static void test_refused_configurations(void) {
  const char* configs[] = {CONFIG, "{\"op\": \"attention_forward\", \"dtype\": \"f32\", \"head_dim\": 16, \"target\": \"tpu\"}"};
  fattn_kernel* kernel = NULL;
  REFUSED(fattn_compile("{\"op\": \"attention_forward\", \"dtype\": \"f32\", \"headdim\": 16}", &kernel), FATTN_INVALID_ARGUMENT,
          "fattn_compile: configuration: unknown key \"headdim\"\n  hint: the legal keys are op, dtype, head_dim, head_dim_v, causal, "
          "target, tile, shape, alignment");
  REFUSED(
      fattn_supports("{\"op\": \"attention_forward\", \"dtype\": \"f32\", \"head_dim\": 16, \"shape\": {\"seqlen\": 8}}"),
      FATTN_INVALID_ARGUMENT,
      "fattn_supports: configuration: shape has no key \"seqlen\"\n  hint: write for example {\"seq_q\": 1, \"seq_k\": 4096}; the legal "
      "keys of shape are batch, heads, seq_q, seq_k");
  EXPECT(fattn_supports("{\"op\": \"attention_forward\", \"dtype\": \"f32\", \"head_dim\": 16, \"shape\": {\"seq_q\": 8}}") == FATTN_OK);
  REFUSED(fattn_supports("{\"op\": \"attention_forward\", \"dtype\": \"f32\", \"head_dim\": 512}"), FATTN_UNSUPPORTED,
          "fattn_supports: head_dim is 512; it must be a multiple of 8 from 8 to 256\n  hint: the nearest supported head_dim is 256");
  EXPECT(fattn_compile("{\"op\": \"attention_forward\", \"dtype\": \"f32\", \"head_dim\": 512}", &kernel) == FATTN_UNSUPPORTED);
  EXPECT(fattn_compile(configs[1], &kernel) == FATTN_NO_DEVICE);
  EXPECT(strstr(fattn_last_error(), "fattn_compile: there is no device for target 'tpu'\n  hint: devices of this machine: ") ==
         fattn_last_error());
  EXPECT(fattn_warmup(configs, 2) == FATTN_NO_DEVICE);
  EXPECT(strstr(fattn_last_error(), "fattn_warmup: there is no device for target 'tpu'") == fattn_last_error());
  EXPECT(kernel == NULL);
}

static void test_refused_launches(void) {
  static problem p;
  struct {
    fattn_attention_forward_args args;
    unsigned char later[16];
  } grown;
  fattn_kernel* kernel = NULL;
  fattn_attention_forward_args good, args;
  char wanted[300];
  fill_problem(&p);
  good = arguments(&p);
  EXPECT(fattn_compile(CONFIG, &kernel) == FATTN_OK);
#define LAUNCH_REFUSED(text) REFUSED(fattn_attention_forward(kernel, NULL, &args), FATTN_INVALID_ARGUMENT, "fattn_attention_forward: " text)
  args = good, args.q.dtype = 9;
  LAUNCH_REFUSED("q: dtype is 9; legal values are FATTN_F32 = 0 to FATTN_I64 = 8");
  args = good, args.k.dtype = -1;
  LAUNCH_REFUSED("k: dtype is -1; legal values are FATTN_F32 = 0 to FATTN_I64 = 8");
  args = good, args.v.dtype = FATTN_BF16;
  LAUNCH_REFUSED("v: dtype is bf16; it must be f32\n  hint: compile a kernel for the dtype of the tensors");
  args = good, args.o.rank = 7;
  LAUNCH_REFUSED("o: rank is 7; legal values are 0 to 6");
  args = good, args.o.rank = -1;
  LAUNCH_REFUSED("o: rank is -1; legal values are 0 to 6");
  args = good, args.q.rank = 3;
  LAUNCH_REFUSED("q: rank is 3; it must be 4: batch, heads, length, head_dim");
  args = good, args.lse = lse_tensor(&p), args.lse.rank = 0;
  LAUNCH_REFUSED("lse: rank is 0; it must be 3: batch, heads, length");
  args = good, args.q.data = NULL;
  LAUNCH_REFUSED("q: the data pointer is null, but the shape holds 2432 elements");
  args = good, args.k.strides[3] = 2;
  LAUNCH_REFUSED(
      "k: the stride of head_dim (dimension 3) is 2; it must be 1\n  hint: the other strides are free; copy the tensor so that the "
      "elements of a row lie side by side");
  args = good, args.v.shape[2] = KEYS - 1;
  LAUNCH_REFUSED("v: length (dimension 2) is 26; it must be 27 as in k");
  REFUSED(fattn_attention_forward(kernel, &p, &good), FATTN_INVALID_ARGUMENT,
          "fattn_attention_forward: the host has no streams, but a launch names one\n  hint: pass fattn::Stream{}");

  args = good, args.struct_size = 0;
  sprintf(wanted, "fattn_attention_forward: args: struct_size is 0; it must be at least %d\n  hint: set it to the sizeof of the struct",
          (int)sizeof args);
  REFUSED(fattn_attention_forward(kernel, NULL, &args), FATTN_INVALID_ARGUMENT, wanted);
  memset(&grown, 0, sizeof grown);
  grown.args = good, grown.args.struct_size = sizeof grown;
  EXPECT(fattn_attention_forward(kernel, NULL, &grown.args) == FATTN_OK); /* a later header's struct that uses nothing new */
  EXPECT(largest_error(&p, 0.25, 0, 0) < 1e-5);
  grown.later[15] = 1;
  sprintf(wanted,
          "fattn_attention_forward: args: struct_size is %d, of which this version of fattn knows %d bytes; the others must be 0\n"
          "  hint: the program uses what only a later version of fattn has",
          (int)sizeof grown, (int)sizeof args);
  REFUSED(fattn_attention_forward(kernel, NULL, &grown.args), FATTN_INVALID_ARGUMENT, wanted);
  args = good, args.struct_size = SIZE_MAX; /* must not be read to its end */
  EXPECT(fattn_attention_forward(kernel, NULL, &args) == FATTN_INVALID_ARGUMENT);
  fattn_kernel_release(kernel);
}

static void test_host_threads(void) {
  int32_t before = 0, now = 0;
  EXPECT(fattn_host_num_threads(&before) == FATTN_OK && before >= 1);
  EXPECT(fattn_host_set_num_threads(3) == FATTN_OK);
  EXPECT(fattn_host_num_threads(&now) == FATTN_OK && now == 3);
  EXPECT(fattn_host_set_num_threads(0) == FATTN_INVALID_ARGUMENT);
  EXPECT(strstr(fattn_last_error(), "fattn_host_set_num_threads: ") == fattn_last_error());
  EXPECT(strstr(fattn_last_error(), "1 to 1024") != NULL);
  EXPECT(fattn_host_set_num_threads(before) == FATTN_OK);
}

typedef struct work {
  fattn_kernel* kernel;
  int number, wrong;
} work;

/* One thread of several: launches a kernel they all share, and fails in its own way in between. */
static void* work_alone(void* argument) {
  work* w = (work*)argument;
  problem* p = malloc(sizeof *p);
  char config[120], wanted[120];
  fattn_attention_forward_args args;
  int i;
  fill_problem(p);
  args = arguments(p);
  if (strcmp(fattn_last_error(), "") != 0) w->wrong++; /* errors of other threads are not ours */
  sprintf(config, "{\"op\": \"attention_forward\", \"dtype\": \"f32\", \"head_dim\": %d}", -8 * w->number);
  sprintf(wanted, "fattn_supports: head_dim is %d; it must be", -8 * w->number);
  for (i = 0; i < 50; i++) {
    fattn_kernel* again = NULL;
    if (fattn_supports(config) != FATTN_UNSUPPORTED) w->wrong++;
    if (fattn_compile(CONFIG, &again) != FATTN_OK || fattn_kernel_retain(w->kernel) != FATTN_OK) w->wrong++;
    if (fattn_attention_forward(again, NULL, &args) != FATTN_OK) w->wrong++;
    fattn_kernel_release(again);
    fattn_kernel_release(w->kernel);
    if (strstr(fattn_last_error(), wanted) != fattn_last_error()) w->wrong++;
  }
  if (!(largest_error(p, 0.25, 0, 0) < 1e-5)) w->wrong++;
  free(p);
  return NULL;
}

static void test_threads(void) {
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  work works[THREADS];
  fattn_kernel* kernel = NULL;
  int i;
  EXPECT(fattn_compile(CONFIG, &kernel) == FATTN_OK);
  for (i = 0; i < THREADS; i++) {
    works[i].kernel = kernel, works[i].number = i + 1, works[i].wrong = 0;
    EXPECT(pthread_create(&threads[i], NULL, work_alone, &works[i]) == 0);
  }
  for (i = 0; i < THREADS; i++) {
    EXPECT(pthread_join(threads[i], NULL) == 0);
    EXPECT(works[i].wrong == 0);
  }
  fattn_kernel_release(kernel);
}

int main(void) {
  test_versions_and_names();
  test_launch_agrees_with_the_definition();
  test_texts();
  test_refused_pointers();
  test_refused_configurations();
  test_refused_launches();
  test_host_threads();
  test_threads();
  if (failures == 0) puts("the C interface works");
  return failures == 0 ? 0 : 1;
}
