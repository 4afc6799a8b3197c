// SPDX-License-Identifier: Apache-2.0
// out = x + y: a program of the tile language, compiled and launched.
#include <cstdio>
#include <vector>

#include "fattn/dsl/Dsl.h"
#include "fattn/fattn.h"

using namespace fattn::dsl;
using fattn::DType;

void add(Params& args) {
  Ptr x = args.ptr("x", DType::F32), y = args.ptr("y", DType::F32), out = args.ptr("out", DType::F32);
  Scalar n = args.scalar("n", DType::I32), start = program_id(0) * 1024;
  auto window = [&](Ptr p) { return make_block_ptr(p, {n}, {1}, {start}, {1024}); };
  store(window(out), load(window(x), {0}) + load(window(y), {0}), {0});
}

int main() try {
  const int n = 5000;
  std::vector<float> x(n), y(n), out(n);
  for (int i = 0; i < n; ++i) x[i] = i, y[i] = 2 * i;

  fattn::TileKernel kernel = fattn::compile(trace("add", add), {.target = "host"});
  kernel.launch(fattn::Stream{}, {(n + 1023) / 1024}, {{"x", x.data()}, {"y", y.data()}, {"out", out.data()}, {"n", n}});

  std::printf("%s: %g + %g = %g\n", kernel.info().device.c_str(), x[n - 1], y[n - 1], out[n - 1]);
  return out[n - 1] == 3 * (n - 1) ? 0 : 1;
} catch (const fattn::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
