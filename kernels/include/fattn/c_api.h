/* SPDX-License-Identifier: Apache-2.0 */
/* fattn from C, and from every language that can call C: compile a kernel from a JSON text, launch it on a stream. Library: fattn_c.
 *
 * Status  Every function that can fail returns a fattn_status. What went wrong, in words, is fattn_last_error() of the same thread.
 * Output  What a function writes through a pointer is written only if it returns FATTN_OK.
 * Threads Every function may be called from any thread at any time, also on the same kernel.
 * Strings Texts are UTF-8 and end with a zero. A `const char*` that a function returns belongs to the library: do not free it.
 *         A `char*` that a function writes through a `char**` is yours: give it to fattn_string_free().
 * ABI     Functions and values are only ever added. fattn_tensor never changes; structs with a struct_size grow at their end.
 */
#ifndef FATTN_C_API_H
#define FATTN_C_API_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define FATTN_C_API __attribute__((visibility("default")))
#else
#define FATTN_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status and version ---------------------------------------------------------------------------------------------------- */

typedef int32_t fattn_status; /* one of the values below */
enum {
  FATTN_OK = 0,
  FATTN_INVALID_ARGUMENT = 1, /* the caller's values contradict each other or this page; NULL where a pointer is needed */
  FATTN_UNSUPPORTED = 2,      /* legal, but this target or configuration cannot do it; the text names what can */
  FATTN_TRACE_ERROR = 3,      /* a kernel breaks a rule of the tile language */
  FATTN_COMPILE_ERROR = 4,    /* the compiler rejected its input; the text holds the diagnostics */
  FATTN_NO_DEVICE = 5,        /* the target asks for a device or driver that is not there */
  FATTN_DEVICE_ERROR = 6,     /* a driver call failed */
  FATTN_OUT_OF_MEMORY = 7,    /* the device, or the host, has too little memory */
  FATTN_IO_ERROR = 8,         /* a file could not be read or written */
  FATTN_INTERNAL = 9          /* a bug in fattn */
};

/* "ok", "invalid-argument", "unsupported" ...; "unknown-status" for a value that is none. Lives as long as the process. */
FATTN_C_API const char* fattn_status_name(fattn_status status);

/* What the last failed call of this thread said: the rule that failed with the offending and the legal values, and, on a line of
 * its own, a hint. "" where none has failed; successful calls leave it. Valid until this thread's next failing call or its end. */
FATTN_C_API const char* fattn_last_error(void);

/* "major.minor.patch" of the library. Lives as long as the process. */
FATTN_C_API const char* fattn_version(void);

/* The version of this page: one more each time something is added to it. The library's own may be newer than the header's. */
#define FATTN_C_API_VERSION 9
FATTN_C_API int32_t fattn_c_api_version(void);

/* Frees a string the library has written through a char**. Accepts NULL. */
FATTN_C_API void fattn_string_free(char* text);

/* ---- Configurations -------------------------------------------------------------------------------------------------------- */

/* What shapes the code of a kernel is a JSON object; lengths, strides, batch, heads and scale are given at launch.
 *
 *   {"op": "attention_forward", "dtype": "bf16", "head_dim": 128, "causal": true}
 *
 *   op          "attention_forward": O = softmax(scale * Q K^T + mask) V
 *   dtype       of q, k, v and o: "f32", "f16" or "bf16"; arithmetic accumulates in f32
 *   head_dim    of q and k: a multiple of 8 from 8 to 256
 *   head_dim_v  of v and o: same values                                                      (left out: head_dim)
 *   causal      row i of n sees the keys up to i + (m - n) of m: aligned at the bottom right (left out: false)
 *   target      "host", "cuda:1", "cuda@sm_80", "nvidia:sm_90" ...; fattn_devices() lists some   (left out: its default)
 *   tile        {"block_m": 64, "block_n": 64, "stages": 2, "warps": 4, "schedule": "A B1 a"}, any of them (left out: what was
 *              tuned, else fattn's defaults); the schedule is the order of the main loop's work
 *   shape       {"batch": 1, "heads": 32, "seq_q": 1, "seq_k": 4096}, what is known of launches: chooses among tiles that were tuned for
 *              several shapes, where tile is left out, and nothing else                 (left out: nothing is known)
 *   alignment   bytes that pointers and strides are multiples of: 2, 4, 8 or 16             (left out: 16)
 *
 * op, dtype and head_dim have to be there. An unknown, a repeated or an ill-typed key is FATTN_INVALID_ARGUMENT. */

/* Whether fattn_compile() would accept a configuration; if not, fattn_last_error() has the rule that failed and the nearest
 * configuration that works. Compiles nothing. */
FATTN_C_API fattn_status fattn_supports(const char* config);

/* The same in words, as *text: "supported on host with BLOCK_M=64,BLOCK_N=64" and who chose that, or why not. FATTN_OK in both cases; it
 * fails only where `config` is no configuration. */
FATTN_C_API fattn_status fattn_explain(const char* config, char** text);

/* The devices of this machine, the default first, as a JSON array of objects with the keys target (for a configuration), kind ("host",
 * "cuda", "hip"), description, memory_bytes, shared_bytes, multiprocessors, asynchronous, max_grid. Never empty. */
FATTN_C_API fattn_status fattn_devices(char** json);

/* ---- Kernels --------------------------------------------------------------------------------------------------------------- */

typedef struct fattn_kernel fattn_kernel; /* a reference-counted handle to compiled code */

/* Compiles a kernel, or finds it in the process's cache or in the one on disk, and writes a handle with one reference. Threads that ask for
 * the same configuration at once compile it once. FATTN_UNSUPPORTED and FATTN_NO_DEVICE as fattn_supports(), FATTN_COMPILE_ERROR. */
FATTN_C_API fattn_status fattn_compile(const char* config, fattn_kernel** kernel);

/* One reference more, one less. The handle is gone with the last one. Releasing needs no wait for launches on the host; elsewhere
 * they must have finished. Release accepts NULL. */
FATTN_C_API fattn_status fattn_kernel_retain(fattn_kernel* kernel);
FATTN_C_API void fattn_kernel_release(fattn_kernel* kernel);

/* What became of the configuration, as a JSON object: config (complete, fattn_compile() accepts it), device, entry, from_cache, compile_ms,
 * binary_bytes, scratch_bytes, shared_bytes, threads, registers, spill_bytes, resident (programs that a multiprocessor holds at once). */
FATTN_C_API fattn_status fattn_kernel_info(const fattn_kernel* kernel, char** json);

/* Compiles `count` configurations in parallel, so that later calls of fattn_compile() find them. The first error, after all
 * ended. `configs` may be NULL if count is 0. */
FATTN_C_API fattn_status fattn_warmup(const char* const* configs, size_t count);

/* ---- Launches -------------------------------------------------------------------------------------------------------------- */

typedef int32_t fattn_dtype; /* one of the values below */
enum {
  FATTN_F32 = 0,
  FATTN_F16 = 1,
  FATTN_BF16 = 2,
  FATTN_F8E4M3 = 3,
  FATTN_F8E5M2 = 4,
  FATTN_I1 = 5,
  FATTN_I8 = 6,
  FATTN_I32 = 7,
  FATTN_I64 = 8
};

#define FATTN_MAX_RANK 6

/* A strided view of memory of yours, on the kernel's device. Element (i, j, ...) lies at data + (i * strides[0] + j * strides[1] +
 * ...) * size of the dtype in bytes: strides count elements, not bytes. Entries from `rank` on are not read. The library keeps no
 * pointer beyond the launch, but the memory has to live until the launch has finished. Inputs are never written. */
typedef struct fattn_tensor {
  void* data;
  fattn_dtype dtype;
  int32_t rank;
  int64_t shape[FATTN_MAX_RANK];
  int64_t strides[FATTN_MAX_RANK];
} fattn_tensor;

/* The operands of attention forward: B batch entries, Hq and Hkv heads (Hq a multiple of Hkv), Sq and Skv rows. Shapes are logical:
 * any layout in memory whose last stride is 1 will do. Fill it with zeros, then set struct_size and the rest. */
typedef struct fattn_attention_forward_args {
  size_t struct_size; /* sizeof(fattn_attention_forward_args) */
  fattn_tensor q;     /* [B, Hq, Sq, head_dim] */
  fattn_tensor k;     /* [B, Hkv, Skv, head_dim] */
  fattn_tensor v;     /* [B, Hkv, Skv, head_dim_v] */
  fattn_tensor o;     /* [B, Hq, Sq, head_dim_v], written; may be exactly q, else overlaps are refused */
  fattn_tensor lse;   /* f32 [B, Hq, Sq], written: natural logarithm of each row's sum of exponentials; all zeros = not wanted */
  const float* scale; /* factor of Q K^T, in host memory, read before the call returns; NULL = 1 / sqrt(head_dim) */
} fattn_attention_forward_args;

/* Checks the operands and launches a kernel of op "attention_forward". `stream` is a CUstream, a hipStream_t, or NULL for the
 * device's default stream; the host takes only NULL. Allocates no device memory and does not wait for the result, except on the
 * host, where it returns when the result is there. Rows that see no key get o = 0 and lse = -infinity. */
FATTN_C_API fattn_status fattn_attention_forward(const fattn_kernel* kernel, void* stream, const fattn_attention_forward_args* args);

/* ---- Programs and templates (version 2) ------------------------------------------------------------------------------------ */

typedef struct fattn_tile_kernel fattn_tile_kernel; /* a reference-counted handle to a compiled program or template */

/* Compiles a program from the text of its tile IR, as fattn::dsl::Program::mlir() prints it (docs/tile-ir.md): a function with the
 * attribute tile.kernel, whose arguments are called by their attributes tile.name. `options` is a JSON object or NULL:
 *
 *   {"target": "cuda", "tile": {"stages": 2, "warps": 4, "schedule": "A B1 a"}}
 *
 * FATTN_COMPILE_ERROR where the text is not valid, with its line, or beyond the limits of docs/robustness.md. */
FATTN_C_API fattn_status fattn_compile_ir(const char* ir, const char* options, fattn_tile_kernel** kernel);

/* Compiles a template that is known by its name: one of fattn's own (fattn/Library.h), or one that a C++ part of the program has registered
 * (fattn/Template.h).
 *
 *   {"template": "gemm", "parameters": {"dtype": "bf16", "out": "bf16", "bias": true}, "target": "cuda",
 *    "tile": {"block_m": 128, "block_n": 128, "block_k": 64}, "shape": {"m": 4096}}
 *
 * Without tile, what was tuned for the shape, else the template's own configuration. All but template may be missing. */
FATTN_C_API fattn_status fattn_compile_template(const char* config, fattn_tile_kernel** kernel);

/* Which configuration that compilation takes and who chose it; or what is wrong with the parameters. Compiles nothing. */
FATTN_C_API fattn_status fattn_explain_template(const char* config, char** text);

/* Every template that is known, as a JSON array of objects with the keys template, parameters (with what they are where a configuration
 * says nothing) and shape (the names of the extents). */
FATTN_C_API fattn_status fattn_templates(char** json);

/* Tunes a template for the array "shapes" of its configuration, [{"m": 4096, "n": 4096, "k": 4096}, ...], within so many seconds for all of
 * them, and keeps what it finds for all processes. Writes a JSON array of objects with the keys shape, tile (none where the time did not
 * suffice), median_us, default_us, gain, gain_noise, measured, failed, pruned. */
FATTN_C_API fattn_status fattn_tune_template(const char* config, double seconds, char** json);

/* As fattn_kernel_retain(), fattn_kernel_release() and fattn_kernel_info(); its JSON has the keys target, tile, arguments (an array of
 * objects with name, kind "pointer" or "scalar", dtype, divisibility, in the order of slots), device, entry, from_cache, compile_ms,
 * binary_bytes, scratch_bytes, shared_bytes, threads, registers, spill_bytes, resident (programs that a multiprocessor holds at once). */
FATTN_C_API fattn_status fattn_tile_kernel_retain(fattn_tile_kernel* kernel);
FATTN_C_API void fattn_tile_kernel_release(fattn_tile_kernel* kernel);
FATTN_C_API fattn_status fattn_tile_kernel_info(const fattn_tile_kernel* kernel, char** json);

typedef int32_t fattn_argument_kind; /* one of the values below */
enum {
  FATTN_TENSOR = 0,  /* a pointer, and the scalars NAME_sizeD and NAME_strideD where the program declares such */
  FATTN_POINTER = 1, /* a pointer */
  FATTN_INTEGER = 2, /* a scalar of any type that holds it */
  FATTN_NUMBER = 3   /* a scalar of f32, to which it is rounded */
};

/* An argument of a launch by the name that the program declared. The struct never changes. */
typedef struct fattn_argument {
  const char* name;
  fattn_argument_kind kind; /* which of the values is meant */
  union {
    const fattn_tensor* tensor;
    void* pointer;
    int64_t integer;
    double number;
  } value;
} fattn_argument;

/* Launches a program (fattn_compile_ir) on a grid of grid[0] x grid[1] x grid[2] programs. Every argument is given, in any order; names,
 * types and promised divisibilities are checked. `stream` as in fattn_attention_forward(). Allocates nothing. */
FATTN_C_API fattn_status fattn_launch(const fattn_tile_kernel* kernel, void* stream, const int64_t* grid, const fattn_argument* arguments,
                                      size_t count);

/* The same with slots: one value of 8 bytes for each argument in the order that fattn_tile_kernel_info() tells, at the beginning of its
 * slot. Only their number is checked. */
FATTN_C_API fattn_status fattn_launch_slots(const fattn_tile_kernel* kernel, void* stream, const int64_t* grid, const uint64_t* slots,
                                            size_t count);

/* Launches a template for a shape: as many extents as it has, in their order. */
FATTN_C_API fattn_status fattn_launch_template(const fattn_tile_kernel* kernel, void* stream, const int64_t* extents, size_t extent_count,
                                               const fattn_argument* arguments, size_t count);

/* ---- Decode (version 3) ---------------------------------------------------------------------------------------------------- */

/* A few query rows against a long cache, whose keys are divided among programs (docs/decode.md). What fattn/Decode.h says holds here. */
typedef struct fattn_decode_kernel fattn_decode_kernel; /* a reference-counted handle to compiled code */

/* Compiles a decode kernel, or finds it. `config` is a JSON object:
 *
 *   {"dtype": "bf16", "head_dim": 128, "rows": 4, "page_size": 16}
 *
 *   dtype, head_dim, head_dim_v, causal, target, alignment   as for fattn_compile()
 *   rows        the most query heads of a key head times query rows: 1 to 16         (left out: 16)
 *   page_size   keys of a page of the cache, from 1                                    (left out: no pages)
 *   window      true: rows see so many keys only as `window` of a launch says (version 5) (left out: false)
 *   append      true: new_k and new_v of a launch become the last keys (version 5)        (left out: false)
 *   settled_cache  true: the launch in front writes no keys, values, lengths or page numbers (version 8) (left out: false)
 *   balanced    true: equal shares of all keys, and one launch, which needs counters (version 7) (left out: false)
 *   tile        {"block_n": 64, "stages": 2, "warps": 4}, any of them                  (left out: what was tuned, else fattn's defaults)
 *
 * dtype and head_dim have to be there. */
FATTN_C_API fattn_status fattn_compile_decode(const char* config, fattn_decode_kernel** kernel);

/* As fattn_kernel_retain(), fattn_kernel_release(), and fattn_tile_kernel_info(). */
FATTN_C_API fattn_status fattn_decode_kernel_retain(fattn_decode_kernel* kernel);
FATTN_C_API void fattn_decode_kernel_release(fattn_decode_kernel* kernel);
FATTN_C_API fattn_status fattn_decode_kernel_info(const fattn_decode_kernel* kernel, char** json);

/* B sequences, Hq and Hkv heads (Hq a multiple of Hkv), Sq query rows. Fill it with zeros, then set struct_size and the rest. */
typedef struct fattn_attention_decode_args {
  size_t struct_size;      /* sizeof(fattn_attention_decode_args) */
  fattn_tensor q;          /* [B, Hq, Sq, head_dim] */
  fattn_tensor k;          /* [B, Hkv, T, head_dim]; with pages [pages, Hkv, page_size, head_dim] */
  fattn_tensor v;          /* the same of head_dim_v */
  fattn_tensor o;          /* [B, Hq, Sq, head_dim_v], written */
  fattn_tensor lse;        /* f32 [B, Hq, Sq], written; all zeros = not wanted */
  fattn_tensor lengths;    /* i32 [B], device data: the keys of each sequence; all zeros = T */
  fattn_tensor pages;      /* i32 [B, P], device data: the pages of each sequence; all zeros for a cache without pages */
  const float* scale;      /* factor of Q K^T, in host memory; NULL = 1 / sqrt(head_dim) */
  int64_t keys;            /* about how long the longest sequence is, to choose the splits by; 0 = T */
  int64_t splits;          /* programs that share a sequence; 0 = as many as fill the device, more where lengths are given */
  void* workspace;         /* device memory, 16-byte aligned */
  int64_t workspace_bytes; /* what fattn_decode_workspace() says, or more */
  /* Version 5: */
  fattn_tensor new_k; /* [B, Hkv, Sn, head_dim], of kernels that append: the last keys of each sequence, written to k */
  fattn_tensor new_v; /* the same of head_dim_v, written to v */
  int64_t window;     /* of kernels with a window: how many keys a row sees, its own among them; else 0 */
  /* Version 7: */
  void* counters;        /* of balanced kernels: device memory, zero before its first launch; every launch leaves it zero. Else NULL */
  int64_t counter_bytes; /* 4 for each sequence and key head, or more */
} fattn_attention_decode_args;

/* The bytes of workspace that such a launch needs, of which only shapes, keys, splits and whether there are lengths are looked at; of NULL
 * those that are enough for every launch whose splits are 0. */
FATTN_C_API fattn_status fattn_decode_workspace(const fattn_decode_kernel* kernel, const fattn_attention_decode_args* args, int64_t* bytes);

/* Checks the operands and launches. `stream` as in fattn_attention_forward(). Allocates nothing. */
FATTN_C_API fattn_status fattn_attention_decode(const fattn_decode_kernel* kernel, void* stream, const fattn_attention_decode_args* args);

/* ---- Packed sequences (version 6) ------------------------------------------------------------------------------------------ */

/* Attention of sequences of different lengths that lie behind each other (docs/decode.md). What fattn/Varlen.h says holds here. */
typedef struct fattn_varlen_kernel fattn_varlen_kernel; /* a reference-counted handle to compiled code */

/* Compiles a kernel for packed sequences, or finds it. `config` is a JSON object:
 *
 *   {"dtype": "bf16", "head_dim": 128, "causal": true}
 *
 *   dtype, head_dim, head_dim_v, causal, target, alignment   as for fattn_compile()
 *   tile   {"block_m": 128, "block_n": 64, "stages": 2, "warps": 4}, any of them   (left out: fattn's defaults)
 *
 * dtype and head_dim have to be there. */
FATTN_C_API fattn_status fattn_compile_varlen(const char* config, fattn_varlen_kernel** kernel);

/* As fattn_kernel_retain(), fattn_kernel_release(), and fattn_tile_kernel_info(). */
FATTN_C_API fattn_status fattn_varlen_kernel_retain(fattn_varlen_kernel* kernel);
FATTN_C_API void fattn_varlen_kernel_release(fattn_varlen_kernel* kernel);
FATTN_C_API fattn_status fattn_varlen_kernel_info(const fattn_varlen_kernel* kernel, char** json);

/* B sequences of Tq query rows and Tk keys in all, Hq and Hkv heads (Hq a multiple of Hkv). Fill it with zeros, then set struct_size and
 * the rest. */
typedef struct fattn_attention_varlen_args {
  size_t struct_size; /* sizeof(fattn_attention_varlen_args) */
  fattn_tensor q;     /* [Tq, Hq, head_dim] */
  fattn_tensor k;     /* [Tk, Hkv, head_dim] */
  fattn_tensor v;     /* [Tk, Hkv, head_dim_v] */
  fattn_tensor o;     /* [Tq, Hq, head_dim_v], written; may be exactly q */
  fattn_tensor lse;   /* f32 [Tq, Hq], written; all zeros = not wanted */
  fattn_tensor cu_q;  /* i32 [B + 1], device data: where each sequence's query rows begin, and the last one's end */
  fattn_tensor cu_k;  /* i32 [B + 1], device data: the same of the keys */
  int64_t max_q;      /* the most query rows of a sequence, beyond which none are computed; 0 = Tq */
  const float* scale; /* factor of Q K^T, in host memory; NULL = 1 / sqrt(head_dim) */
} fattn_attention_varlen_args;

/* Checks the operands and launches. `stream` as in fattn_attention_forward(). Allocates nothing. */
FATTN_C_API fattn_status fattn_attention_varlen(const fattn_varlen_kernel* kernel, void* stream, const fattn_attention_varlen_args* args);

/* ---- Backward (version 4) -------------------------------------------------------------------------------------------------- */

/* The gradients of q, k and v (docs/backward.md). What fattn/Backward.h says holds here. */
typedef struct fattn_backward_kernel fattn_backward_kernel; /* a reference-counted handle to compiled code */

/* Compiles backward kernels, or finds them. `config` is a JSON object:
 *
 *   {"dtype": "bf16", "head_dim": 128, "causal": true}
 *
 *   dtype, head_dim, head_dim_v, causal, target, alignment   as for fattn_compile()
 *   deterministic  the same inputs give the same bits of dq, too, as they always do of dk and dv (left out: false, which allows
 *                  other bits where that is faster)
 *   packed         true: for packed sequences, fattn_packed_backward() (version 9)           (left out: false)
 *   tile           {"block_m": 32, "block_n": 128, "stages": 2, "warps": 8}, any of them, of the kernel for dk and dv
 *   tile_dq        the same of the deterministic mode's kernel for dq              (left out: what was tuned, else fattn's defaults)
 *
 * dtype and head_dim have to be there. */
FATTN_C_API fattn_status fattn_compile_backward(const char* config, fattn_backward_kernel** kernel);

/* As fattn_kernel_retain() and fattn_kernel_release(). */
FATTN_C_API fattn_status fattn_backward_kernel_retain(fattn_backward_kernel* kernel);
FATTN_C_API void fattn_backward_kernel_release(fattn_backward_kernel* kernel);

/* A JSON object with the keys dkdv and dq, one for each of the two kernels that take the time: objects as fattn_tile_kernel_info() writes
 * them, without arguments. */
FATTN_C_API fattn_status fattn_backward_kernel_info(const fattn_backward_kernel* kernel, char** json);

/* B batch entries, Hq and Hkv heads (Hq a multiple of Hkv), Sq query rows, Skv keys. Fill it with zeros, then set struct_size and the rest.
 * What is written shares memory with nothing else. */
typedef struct fattn_attention_backward_args {
  size_t struct_size;      /* sizeof(fattn_attention_backward_args) */
  fattn_tensor q;          /* [B, Hq, Sq, head_dim] */
  fattn_tensor k;          /* [B, Hkv, Skv, head_dim] */
  fattn_tensor v;          /* [B, Hkv, Skv, head_dim_v] */
  fattn_tensor o;          /* [B, Hq, Sq, head_dim_v], as the forward wrote it */
  fattn_tensor lse;        /* f32 [B, Hq, Sq], as the forward wrote it */
  fattn_tensor dout;       /* [B, Hq, Sq, head_dim_v] */
  fattn_tensor dlse;       /* f32 [B, Hq, Sq]; all zeros = none */
  fattn_tensor dq;         /* as q, written */
  fattn_tensor dk;         /* as k, written */
  fattn_tensor dv;         /* as v, written */
  const float* scale;      /* the forward's, in host memory; NULL = 1 / sqrt(head_dim) */
  void* workspace;         /* device memory, 16-byte aligned */
  int64_t workspace_bytes; /* what fattn_backward_workspace() says, or more */
} fattn_attention_backward_args;

/* The bytes of workspace that such a launch needs, of which only the shape of q is looked at. */
FATTN_C_API fattn_status fattn_backward_workspace(const fattn_backward_kernel* kernel, const fattn_attention_backward_args* args,
                                                  int64_t* bytes);

/* Checks the operands and launches. `stream` as in fattn_attention_forward(). Allocates nothing. */
FATTN_C_API fattn_status fattn_attention_backward(const fattn_backward_kernel* kernel, void* stream,
                                                  const fattn_attention_backward_args* args);

/* Packed sequences (version 9), as fattn_attention_varlen_args has them. What fattn/Backward.h says of PackedBackwardArgs holds here: of
 * what may stand in rows behind a sequence, too. Fill it with zeros, then set struct_size and the rest. */
typedef struct fattn_packed_backward_args {
  size_t struct_size;      /* sizeof(fattn_packed_backward_args) */
  fattn_tensor q;          /* [Tq, Hq, head_dim] */
  fattn_tensor k;          /* [Tk, Hkv, head_dim] */
  fattn_tensor v;          /* [Tk, Hkv, head_dim_v] */
  fattn_tensor o;          /* [Tq, Hq, head_dim_v], as the forward wrote it */
  fattn_tensor lse;        /* f32 [Tq, Hq], as the forward wrote it */
  fattn_tensor dout;       /* [Tq, Hq, head_dim_v] */
  fattn_tensor dlse;       /* f32 [Tq, Hq]; all zeros = none */
  fattn_tensor dq;         /* as q, written */
  fattn_tensor dk;         /* as k, written */
  fattn_tensor dv;         /* as v, written */
  fattn_tensor cu_q;       /* i32 [B + 1], device data: where each sequence's query rows begin, and the last one's end */
  fattn_tensor cu_k;       /* i32 [B + 1], device data: the same of the keys */
  int64_t max_q;           /* the most query rows of a sequence; a longer one counts as one of so many; 0 = Tq */
  int64_t max_k;           /* the same of the keys; 0 = Tk */
  const float* scale;      /* the forward's, in host memory; NULL = 1 / sqrt(head_dim) */
  void* workspace;         /* device memory, 16-byte aligned */
  int64_t workspace_bytes; /* what fattn_packed_backward_workspace() says, or more */
} fattn_packed_backward_args;

/* The bytes of workspace that such a launch needs, of which only the shapes of q and cu_q are looked at. */
FATTN_C_API fattn_status fattn_packed_backward_workspace(const fattn_backward_kernel* kernel, const fattn_packed_backward_args* args,
                                                         int64_t* bytes);

/* Checks the operands and launches. `stream` as in fattn_attention_forward(). Allocates nothing. */
FATTN_C_API fattn_status fattn_packed_backward(const fattn_backward_kernel* kernel, void* stream, const fattn_packed_backward_args* args);

/* ---- Memory (version 5) ---------------------------------------------------------------------------------------------------- */

/* For programs that have no other way to a GPU's memory. `target` as in configurations: "cuda:1", "host" ...; NULL is the default. */

/* Memory of a device, 64-byte aligned at least, with undefined contents; NULL for 0 bytes. It is yours until fattn_memory_free(), which
 * accepts NULL, and before which the work that uses it must have finished. FATTN_OUT_OF_MEMORY, FATTN_NO_DEVICE. */
FATTN_C_API fattn_status fattn_memory_allocate(const char* target, int64_t bytes, void** memory);
FATTN_C_API fattn_status fattn_memory_free(const char* target, void* memory);

/* Copies between any two of this device's memory and the host's, in the stream's order: `stream` as in fattn_attention_forward(). Host
 * memory has to stay as it is until then; ranges must not overlap. */
FATTN_C_API fattn_status fattn_memory_copy(const char* target, void* stream, void* to, const void* from, int64_t bytes);

/* Waits until all work of the stream has finished, and reports what went wrong in it. */
FATTN_C_API fattn_status fattn_synchronize(const char* target, void* stream);

/* ---- Host device ----------------------------------------------------------------------------------------------------------- */

/* Threads a launch on the host uses, the calling one among them: 1 to 1024. At first the environment's FATTN_NUM_THREADS, or the
 * number of cores this process may run on. A change holds for launches that begin later. */
FATTN_C_API fattn_status fattn_host_set_num_threads(int32_t threads);
FATTN_C_API fattn_status fattn_host_num_threads(int32_t* threads);

#ifdef __cplusplus
}
#endif

#endif
