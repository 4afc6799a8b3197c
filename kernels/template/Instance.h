// SPDX-License-Identifier: Apache-2.0
// A template with its parameters, for a target: what is compiled, looked up and tuned.
#ifndef FATTN_KERNELS_TEMPLATE_INSTANCE_H
#define FATTN_KERNELS_TEMPLATE_INSTANCE_H

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "fattn/Template.h"
#include "kernels/core/ArgumentPack.h"
#include "kernels/core/CompileProgram.h"
#include "kernels/core/TuneProblem.h"

namespace fattn::kernels {

/// What a user asked for, resolved: nothing behind it asks for parameters, a target or names again. Immutable.
struct Instance {
  /// `extents` as in TemplateFor. Throws Error where the template, the parameters, the target or the extents are not legal.
  Instance(const KernelTemplate& from, const Parameters& parameters, const std::string& target, std::span<const std::int64_t> extents = {});

  std::shared_ptr<const KernelTemplate> from;
  Parameters parameters;  ///< complete
  ResolvedTarget target;
  Machine machine;
  TileConfig safe;
  TemplateNames names;  ///< none is empty

  dsl::Program trace(const TileConfig& tile) const;
  /// Throws Error{InvalidArgument} for a configuration that no kernel of this template has.
  void requireTile(const TileConfig& tile) const;
  /// The kernel for arguments that break a promise (KernelTemplate::relaxed); none where launches with them are refused.
  std::shared_ptr<const Instance> relaxed() const;
  /// It refers to this instance.
  ProgramJob job(const TileConfig& tile) const;
};

/// What launches of a template need of its code, beside the code.
class TemplateCode {
 public:
  TemplateCode(std::shared_ptr<const Instance> instance, std::vector<dsl::Param> declared);

  std::span<const dsl::Param> declared() const { return declared_; }
  /// Throws as ArgumentPack::pack(), but for broken promises where there is relaxed code.
  void pack(std::span<const Argument> arguments, std::uint64_t* slots) const { arguments_.pack(arguments, slots); }
  /// Whether slots keep every promise; true where there is no relaxed code, as whoever packed them has looked.
  bool keepsPromises(const std::uint64_t* slots) const {
    for (const Promise& promise : promises_)
      if ((slots[promise.slot] & promise.odd) != 0 ||
          (promise.divisor != 1 && static_cast<std::int64_t>(slots[promise.slot]) % promise.divisor != 0)) [[unlikely]]
        return false;
    return true;
  }
  /// The code for what breaks promises, with this configuration of the tile. The first call finds or compiles it.
  const LoadedCode& relaxed(const TileConfig& tile) const;

 private:
  struct Promise {
    std::size_t slot;
    std::uint64_t odd;     // bits that are not set in a multiple of a power of two
    std::int64_t divisor;  // where it is no power of two; else 1
  };
  std::shared_ptr<const Instance> relaxedInstance_;
  std::vector<dsl::Param> declared_;
  ArgumentPack arguments_;
  std::vector<Promise> promises_;

  mutable std::mutex compiling_;
  mutable std::shared_ptr<const LoadedCode> relaxedOwner_;
  mutable std::atomic<const LoadedCode*> relaxedCode_{nullptr};
};
inline const TemplateCode& templateCode(const LoadedCode& code) { return *static_cast<const TemplateCode*>(code.client.get()); }

/// What a handle to a template's kernel points to.
struct TemplateHandle : KernelHandle {
  std::shared_ptr<const Instance> instance;
};
/// Resolves, and compiles or finds the code. Throws Error.
TemplateHandle openTemplate(const KernelTemplate& from, const Parameters& parameters, const TemplateFor& how);

Source sourceOf(const std::shared_ptr<const Instance>& instance);
/// `extents` as in TemplateFor. Throws Error for extents that are not legal.
TuneProblem problemOf(const std::shared_ptr<const Instance>& instance, std::span<const std::int64_t> extents);

}  // namespace fattn::kernels

#endif
