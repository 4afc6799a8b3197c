// SPDX-License-Identifier: Apache-2.0
// What the code blocks of docs/language.md are compiled with.
#ifndef FATTN_TESTS_UNIT_DSL_SNIPPETS_H
#define FATTN_TESTS_UNIT_DSL_SNIPPETS_H

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "fattn/dsl/Dsl.h"

struct Snippet {
  std::function<void(fattn::dsl::Params&)> kernel;
  int line;
  std::string error;  ///< what it throws, as the page shows it; empty where it throws nothing
};
extern const std::vector<Snippet> kSnippets;

#define FATTN_SNIPPET_VALUES                                                                                          \
  [[maybe_unused]] Ptr p = args.ptr("p", DType::F32);                                                                 \
  [[maybe_unused]] Scalar n = args.scalar("n", DType::I32), stride = args.scalar("stride", DType::I64);               \
  [[maybe_unused]] Scalar s = args.scalar("s", DType::F32);                                                           \
  [[maybe_unused]] Tile x = zeros({16, 64}), y = zeros({16, 64}), row = zeros({16}), h = zeros({16, 64}, DType::F16); \
  [[maybe_unused]] Tile i = zeros({16, 64}, DType::I32);                                                              \
  [[maybe_unused]] BlockPtr window = make_block_ptr(p, {n, 64}, {64, 1}, {0, 0}, {16, 64});

#endif
