// SPDX-License-Identifier: Apache-2.0
#include "kernels/library/Handles.h"

#include <functional>
#include <string>

#include "fattn/Handles.h"

namespace fattn::kernels {
namespace {

struct AskedCall {
  const KernelTemplate* from;
  std::uint32_t kind;
  std::string_view target;
};

struct KnownCall {
  explicit KnownCall(const AskedCall& asked) : from(asked.from), kind(asked.kind), target(asked.target) {}
  operator AskedCall() const { return {from, kind, target}; }
  const KernelTemplate* from;
  std::uint32_t kind;
  std::string target;
};

struct CallHash {
  using is_transparent = void;
  std::size_t operator()(const AskedCall& call) const {
    return std::hash<const void*>()(call.from) ^ (std::hash<std::string_view>()(call.target) + call.kind * 0x9e3779b97f4a7c15ull);
  }
};

struct SameCall {
  using is_transparent = void;
  bool operator()(const AskedCall& a, const AskedCall& b) const { return a.from == b.from && a.kind == b.kind && a.target == b.target; }
};

}  // namespace

const TemplateKernel& handleOf(const KernelTemplate& from, std::uint32_t kind, std::string_view target, Parameters (*make)(std::uint32_t),
                               std::span<const std::int64_t> extents) {
  static constinit Undestroyed<Handles<KnownCall, TemplateKernel, CallHash, SameCall>> handles;
  return handles.value.get(AskedCall{&from, kind, target}, [&] {
    return compile(from, make(kind), {.target = std::string(target), .tile = {}, .extents = {extents.begin(), extents.end()}});
  });
}

}  // namespace fattn::kernels
