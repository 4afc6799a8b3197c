// SPDX-License-Identifier: Apache-2.0
// A template with its parameters, for a target: what is compiled, looked up and tuned.
#ifndef FATTN_KERNELS_TEMPLATE_INSTANCE_H
#define FATTN_KERNELS_TEMPLATE_INSTANCE_H

#include <memory>
#include <span>

#include "fattn/Template.h"
#include "kernels/core/ArgumentPack.h"
#include "kernels/core/CodeCache.h"
#include "kernels/core/TuneProblem.h"

namespace fattn::kernels {

/// Immutable.
struct Instance {
  /// `extents` as in TemplateFor. Throws Error where the template, the parameters, the target or the extents are not legal.
  Instance(const KernelTemplate& from, const Parameters& parameters, const std::string& target, std::span<const std::int64_t> extents = {});

  std::shared_ptr<const KernelTemplate> from;
  Parameters parameters;  ///< complete
  std::string target;     ///< resolved
  Machine machine;
  TileConfig safe;

  dsl::Program trace(const TileConfig& tile) const;
  /// "gemm-activation_none-dtype_f16": as people and folders call it.
  std::string name() const;
};

/// What launches of a template need of its code, beside the code.
struct TemplateCode {
  ArgumentPack arguments;
};
inline const TemplateCode& templateCode(const LoadedCode& code) { return *static_cast<const TemplateCode*>(code.client.get()); }

Source sourceOf(const std::shared_ptr<const Instance>& instance);
/// `extents` as in TemplateFor. Throws Error for extents that are not legal.
TuneProblem problemOf(const std::shared_ptr<const Instance>& instance, std::span<const std::int64_t> extents);

}  // namespace fattn::kernels

#endif
