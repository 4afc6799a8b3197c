// SPDX-License-Identifier: Apache-2.0
// One process of an engine: compiles a kernel, runs it, says where the code came from. `cache-probe [nobody] [HEAD_DIM]`
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "fattn/fattn.h"

int main(int count, char** arguments) try {
  if (count > 1 && std::strcmp(arguments[1], "nobody") == 0) {
    // Permissions do not bind root.
    if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) return 3;
    --count;
    ++arguments;
  }
  const std::int64_t dim = count > 1 ? std::strtol(arguments[1], nullptr, 10) : 16, keys = 70;
  fattn::AttentionConfig config{.dtype = fattn::DType::F32, .head_dim = dim, .target = "host"};
  fattn::Kernel kernel = fattn::compile(config);
  // With all scores equal the result is the mean of the values.
  auto size = [&](std::int64_t rows) { return static_cast<std::size_t>(rows * dim); };
  std::vector<float> q(size(3), 1), k(size(keys), 0.5f), v(size(keys)), o(size(3), NAN);
  for (std::size_t i = 0; i < v.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / dim;
    v[i] = static_cast<float>(row);
  }
  kernel.launch({}, {.q = {q.data(), fattn::DType::F32, {1, 1, 3, dim}},
                     .k = {k.data(), fattn::DType::F32, {1, 1, keys, dim}},
                     .v = {v.data(), fattn::DType::F32, {1, 1, keys, dim}},
                     .o = {o.data(), fattn::DType::F32, {1, 1, 3, dim}}});
  bool right = true;
  for (float value : o) right = right && std::abs(value - 34.5f) < 1e-3f;
  std::printf("%s %s %s %.2f\n", right ? "right" : "wrong", kernel.info().from_cache ? "found" : "compiled",
              kernel.info().tile.toString().c_str(), kernel.info().compile_ms);
  std::printf("%s\n", fattn::explain(config).c_str());
  return right ? 0 : 1;
} catch (const fattn::Error& error) {
  std::printf("%s\n", error.what());
  return 2;
}
