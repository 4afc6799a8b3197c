/* SPDX-License-Identifier: Apache-2.0 */
/* Loads other copies of LLVM into the process, their names in front of everybody's, then a libfattn_c.so with LLVM linked in, and
 * compiles and runs a kernel. With one name of the one LLVM bound to the other this aborts. Arguments: libfattn_c.so, other libraries. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdlib.h>

#include "Attention.h"

static void* library;

/* Copies a function's address; a cast between a function and a void pointer is not ISO C. */
static void find(void* function, const char* name) {
  void* address = dlsym(library, name);
  if (address == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  memcpy(function, &address, sizeof address);
}

/* The other LLVM, in use: a context made and given back through its C interface, where the library has one. */
static void use_llvm(void* other) {
  void* (*create)(void);
  void (*dispose)(void*);
  void *first = dlsym(other, "LLVMContextCreate"), *last = dlsym(other, "LLVMContextDispose");
  EXPECT(first != NULL && last != NULL);
  if (first == NULL || last == NULL) return;
  memcpy(&create, &first, sizeof first);
  memcpy(&dispose, &last, sizeof last);
  dispose(create());
}

int main(int argc, char** argv) {
  static problem p;
  static void* others[8];
  fattn_status (*compile)(const char*, fattn_kernel**);
  fattn_status (*launch)(const fattn_kernel*, void*, const fattn_attention_forward_args*);
  void (*release)(fattn_kernel*);
  const char* (*last_error)(void);
  fattn_kernel* kernel = NULL;
  fattn_attention_forward_args args;
  int i;
  if (argc < 3 || argc > 2 + (int)(sizeof others / sizeof *others)) {
    fprintf(stderr, "usage: beside-llvm libfattn_c.so libLLVM.so...\n");
    return 2;
  }
  for (i = 2; i < argc; i++) {
    others[i - 2] = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
    if (others[i - 2] == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
    use_llvm(others[i - 2]);
  }
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  EXPECT(dlsym(library, "LLVMContextCreate") == NULL); /* neither its own LLVM shows, nor does it lean on a shared one */
  find(&compile, "fattn_compile");
  find(&launch, "fattn_attention_forward");
  find(&release, "fattn_kernel_release");
  find(&last_error, "fattn_last_error");

  fill_problem(&p);
  args = arguments(&p);
  args.lse = lse_tensor(&p);
  EXPECT(compile("{\"op\": \"attention_forward\", \"dtype\": \"f32\", \"head_dim\": 16, \"target\": \"host\"}", &kernel) == FATTN_OK);
  EXPECT(launch(kernel, NULL, &args) == FATTN_OK);
  EXPECT(strcmp(last_error(), "") == 0);
  EXPECT(largest_error(&p, 0.25, 0, 1) < 1e-5);
  EXPECT(compile("{", &kernel) == FATTN_INVALID_ARGUMENT); /* an exception thrown and caught inside */
  release(kernel);
  for (i = 2; i < argc; i++) use_llvm(others[i - 2]);
  if (failures == 0) printf("libfattn_c.so works beside %d other libraries of LLVM\n", argc - 2);
  return failures == 0 ? 0 : 1;
}
