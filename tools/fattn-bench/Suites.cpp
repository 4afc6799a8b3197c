// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-bench/Suites.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

namespace fattn::bench {
namespace {

/// What a GPU is asked: 16384 rows in all and 2048 / D heads, as the field's own tables have it. The host gets a thousandth of that.
Case square(DeviceKind device, DType dtype, std::int64_t dim, std::int64_t length, bool causal) {
  const bool host = device == DeviceKind::Host;
  const std::int64_t heads = host ? 4 : 2048 / dim, batch = host ? 1 : std::max<std::int64_t>(1, 16384 / length);
  return {dtype, {batch, heads, heads, length, length, dim, dim, causal}};
}

std::vector<Case> squares(DeviceKind device, DType dtype, bool causal) {
  const std::vector<std::int64_t> lengths =
      device == DeviceKind::Host ? std::vector<std::int64_t>{512, 1024, 2048} : std::vector<std::int64_t>{1024, 2048, 4096, 8192, 16384};
  std::vector<Case> cases;
  for (std::int64_t dim : {64, 128})
    for (std::int64_t length : lengths) cases.push_back(square(device, dtype, dim, length, causal));
  return cases;
}

std::vector<Case> prefill(DeviceKind device, DType dtype) { return squares(device, dtype, false); }
std::vector<Case> causal(DeviceKind device, DType dtype) { return squares(device, dtype, true); }

std::vector<Case> quick(DeviceKind device, DType dtype) {
  const std::int64_t length = device == DeviceKind::Host ? 1024 : 4096;
  std::vector<Case> cases;
  for (std::int64_t dim : {64, 128})
    for (bool causal : {false, true}) cases.push_back(square(device, dtype, dim, length, causal));
  return cases;
}

std::vector<Case> kernels(DeviceKind device, DType dtype) {
  const bool host = device == DeviceKind::Host;
  std::vector<Case> cases;
  auto add = [&](const char* kernel, std::vector<std::int64_t> extents) {
    cases.push_back({dtype, {}, KernelCase{kernel, std::move(extents)}});
  };
  for (const char* kernel : {"gemm", "gemm-nt", "gemm+gelu"})
    for (const std::int64_t size : host ? std::vector<std::int64_t>{512, 1024} : std::vector<std::int64_t>{2048, 8192})
      add(kernel, {size, size, size});
  for (const char* kernel : {"softmax", "layer-norm", "rms-norm"})
    for (const std::int64_t columns : {1024, 8192}) add(kernel, {host ? 1024 : 16384, columns});
  return cases;
}

/// One query row of 32 heads, 8 of which are keys' and values', against a long cache: in one piece, and in pages of 16.
std::vector<Case> decode(DeviceKind device, DType dtype) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> host = {{1, 8192}, {1, 32768}, {4, 8192}},
                                                           gpu = {{1, 32768}, {16, 8192}, {64, 4096}, {128, 2048}};
  std::vector<Case> cases;
  for (const std::int64_t page : {0, 16})
    for (const auto& [batch, keys] : device == DeviceKind::Host ? host : gpu)
      cases.push_back({dtype, {}, KernelCase{"decode", {batch, 32, 8, keys, 128, page}}});
  return cases;
}

/// Both modes, of which the host has one, where every row sees every key and where it sees those before it.
std::vector<Case> backward(DeviceKind device, DType dtype) {
  const bool host = device == DeviceKind::Host;
  std::vector<Case> cases;
  for (std::int64_t dim : {64, 128})
    for (std::int64_t length : host ? std::vector<std::int64_t>{512, 1024} : std::vector<std::int64_t>{1024, 4096, 16384})
      for (std::int64_t isCausal : {0, 1})
        for (std::int64_t deterministic : host ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{0, 1}) {
          const io::AttentionShape s = square(device, dtype, dim, length, isCausal != 0).shape;
          cases.push_back(
              {dtype, {}, KernelCase{"backward", {s.batch, s.headsQ, s.headsKv, s.lenQ, s.lenKv, dim, isCausal, deterministic}}});
        }
  return cases;
}

constexpr std::array<Suite, 6> kSuites = {{{"quick", "four cases, for a first look", quick},
                                           {"prefill", "every row sees every key, by length", prefill},
                                           {"causal", "the same where a row sees the keys before it", causal},
                                           {"kernels", "matrix products and kernels of rows", kernels},
                                           {"decode", "one query row against a long cache", decode},
                                           {"backward", "the gradients of q, k and v, in both modes", backward}}};

}  // namespace

std::string Case::name() const {
  if (isDecode()) {
    const std::vector<std::int64_t>& e = kernel.extents;
    return fmt::format("{} decode B{} H{}:{} S1:{} D{}{}", fattn::name(dtype), e[0], e[1], e[2], e[3], e[4],
                       e[5] > 0 ? fmt::format(" pages of {}", e[5]) : "");
  }
  if (isBackward()) {
    const Case ofShape{dtype, backwardShape()};
    return ofShape.name() + " backward" + (kernel.extents[7] != 0 ? " deterministic" : "");
  }
  if (!isAttention()) return fmt::format("{} {} {}", fattn::name(dtype), kernel.kernel, fmt::join(kernel.extents, " x "));
  const io::AttentionShape& s = shape;
  std::string text = fmt::format("{} B{} H{}", fattn::name(dtype), s.batch, s.headsQ);
  if (s.headsKv != s.headsQ) text += fmt::format(":{}", s.headsKv);
  text += fmt::format(" S{}", s.lenQ);
  if (s.lenKv != s.lenQ) text += fmt::format(":{}", s.lenKv);
  text += fmt::format(" D{}", s.dim);
  if (s.dimV != s.dim) text += fmt::format(":{}", s.dimV);
  return s.causal ? text + " causal" : text;
}

io::AttentionShape Case::backwardShape() const {
  const std::vector<std::int64_t>& e = kernel.extents;
  return {e[0], e[1], e[2], e[3], e[4], e[5], e[5], e[6] != 0};
}

double Case::flops() const {
  constexpr double kOfForward = 2.5;  // five products for two
  if (isBackward()) return kOfForward * backwardShape().flops();
  if (isAttention()) return shape.flops();
  if (isDecode()) {
    const std::vector<double> e(kernel.extents.begin(), kernel.extents.end());
    return 4 * e[0] * e[1] * e[3] * e[4];
  }
  double product = kernel.extents.size() == 3 ? 2 : 5;
  for (const std::int64_t extent : kernel.extents) product *= static_cast<double>(extent);
  return product;
}

double Case::bytes() const {
  if (isBackward()) return 2 * Case{dtype, backwardShape()}.bytes();  // q, k, v, o and as many gradients
  if (isDecode()) {
    const std::vector<double> e(kernel.extents.begin(), kernel.extents.end());
    return 2 * e[0] * (e[2] * e[3] + e[1]) * e[4] * static_cast<double>(sizeInBytes(dtype));
  }
  if (!isAttention()) {
    const std::vector<std::int64_t>& e = kernel.extents;
    const std::int64_t elements = e.size() == 3 ? e[0] * e[2] + e[2] * e[1] + e[0] * e[1] : 2 * e[0] * e[1];
    return static_cast<double>(elements * sizeInBytes(dtype));
  }
  const io::AttentionShape& s = shape;
  const auto rows = static_cast<double>(s.rows()), keys = static_cast<double>(s.batch * s.headsKv * s.lenKv);
  return static_cast<double>(sizeInBytes(dtype)) * static_cast<double>(s.dim + s.dimV) * (rows + keys);
}

std::span<const Suite> suites() { return kSuites; }

std::vector<Case> casesOf(const std::vector<std::string>& names, const std::vector<DType>& types, DeviceKind device) {
  std::vector<Case> cases;
  std::set<std::string> seen;
  for (const std::string& name : names)
    for (DType type : types)
      for (const Case& one : std::ranges::find(kSuites, name, &Suite::name)->cases(device, type))
        if (seen.insert(one.name()).second) cases.push_back(one);
  return cases;
}

}  // namespace fattn::bench
