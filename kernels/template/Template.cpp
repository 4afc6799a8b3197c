// SPDX-License-Identifier: Apache-2.0
// The public face of kernel templates.
#include "fattn/Template.h"

#include <algorithm>
#include <mutex>

#include "fattn/Handles.h"
#include "fattn/Relaunch.h"
#include "kernels/core/CompileProgram.h"
#include "kernels/core/TunedLookup.h"
#include "kernels/core/Tuning.h"
#include "kernels/template/Instance.h"
#include "runtime/base/Lifecycle.h"
#include "runtime/base/TargetName.h"

namespace fattn {

struct TemplateKernel::Impl : kernels::TemplateHandle {
  explicit Impl(kernels::TemplateHandle handle) : kernels::TemplateHandle(std::move(handle)) {}
};

namespace {

[[noreturn]] void failEmptyTemplate() {
  throw Error(ErrorCode::InvalidArgument, "this TemplateKernel is empty", "assign the result of fattn::compile to it");
}

[[noreturn]] void failExtents(const kernels::Instance& instance, std::size_t given) {
  std::string names;
  for (const std::string& name : instance.from->allExtents()) names += (names.empty() ? "" : ", ") + name;
  throw Error(ErrorCode::InvalidArgument,
              "a launch of template " + instance.from->name + " is given " + std::to_string(given) + " extents; it has " + names);
}

/// The code for a shape.
const kernels::LoadedCode& codeFor(const TemplateKernel::Impl& impl, std::span<const std::int64_t> extents) {
  const KernelTemplate& from = *impl.instance->from;
  if (extents.size() != from.extents.size() + from.more.size()) [[unlikely]]
    failExtents(*impl.instance, extents.size());
  const kernels::LoadedCode* code = impl.code.get();
  code->requireDevice();
  if (impl.variants) code = impl.variants->pick(kernels::ShapeBucket::of(extents.first(from.extents.size())), code);
  return *code;
}

void run(const TemplateKernel::Impl& impl, const kernels::LoadedCode& code, Stream stream, std::span<const std::int64_t> extents,
         std::span<const std::uint64_t> slots, PreparedLaunch* keep) {
  const kernels::Instance& instance = *impl.instance;
  code.launch(stream, instance.from->grid(instance.parameters, code.info.tile, extents), slots, keep);
}

void runNamed(const TemplateKernel::Impl& impl, Stream stream, std::span<const std::int64_t> extents, std::span<const Argument> arguments,
              PreparedLaunch* keep) {
  const kernels::LoadedCode* code = &codeFor(impl, extents);
  const kernels::TemplateCode& own = kernels::templateCode(*code);
  std::uint64_t slots[kernels::kMostSlots];
  own.pack(arguments, slots);
  if (!own.keepsPromises(slots)) [[unlikely]] {
    code = &own.relaxed(code->info.tile);
    kernels::templateCode(*code).pack(arguments, slots);  // there are promises still
  }
  run(impl, *code, stream, extents, std::span(slots, own.declared().size()), keep);
}

void runSlots(const TemplateKernel::Impl& impl, Stream stream, std::span<const std::int64_t> extents, std::span<const std::uint64_t> slots,
              PreparedLaunch* keep) {
  const kernels::LoadedCode* code = &codeFor(impl, extents);
  const kernels::TemplateCode& own = kernels::templateCode(*code);
  if (slots.size() != own.declared().size()) [[unlikely]]
    throw Error(ErrorCode::InvalidArgument, "a launch of template " + impl.instance->from->name + " is given " +
                                                std::to_string(slots.size()) + " slots; its program declares " +
                                                std::to_string(own.declared().size()) + " arguments");
  if (!own.keepsPromises(slots.data())) [[unlikely]]
    code = &own.relaxed(code->info.tile);
  run(impl, *code, stream, extents, slots, keep);
}

}  // namespace

void TemplateKernel::launch(Stream stream, std::span<const std::int64_t> extents, std::span<const Argument> arguments) const {
  if (!impl_) [[unlikely]]
    failEmptyTemplate();
  runNamed(*impl_, stream, extents, arguments, nullptr);
}

void TemplateKernel::launchSlots(Stream stream, std::span<const std::int64_t> extents, std::span<const std::uint64_t> slots) const {
  if (!impl_) [[unlikely]]
    failEmptyTemplate();
  runSlots(*impl_, stream, extents, slots, nullptr);
}

void TemplateRelaunch::forget(const TemplateKernel& kernel) {
  if (!kernel.impl_) [[unlikely]]
    failEmptyTemplate();
  prepared_.module = nullptr;
  kernel_ = kernel.impl_.get();
  variants_ = kernel.impl_->variants ? kernel.impl_->variants->table() : nullptr;
}

void TemplateRelaunch::launch(const TemplateKernel& kernel, Stream stream, std::span<const std::int64_t> extents,
                              std::span<const std::uint64_t> slots) {
  forget(kernel);
  runSlots(*kernel.impl_, stream, extents, slots, &prepared_);
}

void TemplateRelaunch::launch(const TemplateKernel& kernel, Stream stream, std::span<const std::int64_t> extents,
                              std::span<const Argument> arguments) {
  forget(kernel);
  runNamed(*kernel.impl_, stream, extents, arguments, &prepared_);
}

bool TemplateRelaunch::again(const TemplateKernel& kernel, std::span<const NewAddress> changed, Stream stream) {
  if (prepared_.module == nullptr || kernel_ != kernel.impl_.get()) return false;
  const TemplateKernel::Impl& impl = *kernel.impl_;
  if (impl.variants && impl.variants->table() != variants_) return false;
  return impl.code->device->repeat(prepared_, changed, stream);
}

Device& TemplateKernel::device() const {
  if (!impl_) failEmptyTemplate();
  return impl_->code->requireDevice();
}

const KernelCode& TemplateKernel::info() const {
  if (!impl_) failEmptyTemplate();
  return impl_->code->info;
}

const Parameters& TemplateKernel::parameters() const {
  if (!impl_) failEmptyTemplate();
  return impl_->instance->parameters;
}

std::span<const dsl::Param> TemplateKernel::args() const {
  if (!impl_) failEmptyTemplate();
  return kernels::templateCode(*impl_->code).declared();
}

TemplateKernel compile(const KernelTemplate& from, const Parameters& parameters, const TemplateFor& how) {
  TemplateKernel kernel;
  kernels::asErrors([&] {
    const Busy busy;
    kernel = TemplateKernel(std::make_shared<const TemplateKernel::Impl>(kernels::openTemplate(from, parameters, how)));
  });
  return kernel;
}

std::expected<TemplateKernel, Error> try_compile(const KernelTemplate& from, const Parameters& parameters, const TemplateFor& how) try {
  return compile(from, parameters, how);
} catch (const Error& error) {
  return std::unexpected(error);
}

void warmup(const KernelTemplate& from, const Parameters& parameters, std::span<const std::vector<std::int64_t>> shapes,
            const TemplateFor& how) {
  compileInParallel(shapes.size(), [&](std::size_t i) {
    TemplateFor one = how;
    one.extents = shapes[i];
    compile(from, parameters, one);
  });
}

namespace {

std::string explained(const std::shared_ptr<const kernels::Instance>& instance, const TemplateFor& how) {
  if (!how.leavesTileOpen()) return how.tile->withDefaults(instance->safe).toString();
  const kernels::TuneProblem problem = kernels::problemOf(instance, how.extents);
  const kernels::TunedLookup lookup = kernels::lookUpTuned(problem);
  const auto variants = kernels::programCache().variants(kernels::sourceOf(instance));
  return lookup.tile.toString() + ": " + lookup.reason + kernels::explainVariants(kernels::tunedShapes(problem, lookup), variants.get());
}

}  // namespace

std::string explainTile(const KernelTemplate& from, const Parameters& parameters, const TemplateFor& how) {
  const Busy busy;
  return explained(std::make_shared<const kernels::Instance>(from, parameters, how.target, how.extents), how);
}

std::string explain(const KernelTemplate& from, const Parameters& parameters, const TemplateFor& how) try {
  const Busy busy;
  auto instance = std::make_shared<const kernels::Instance>(from, parameters, how.target, how.extents);
  return instance->names.text + " for " + instance->target.name + " with " + explained(instance, how);
} catch (const Error& error) {
  return error.what();
}

std::expected<void, Error> supports(const KernelTemplate& from, const Parameters& parameters, const TemplateFor& how) try {
  kernels::asErrors([&] {
    const Busy busy;
    const kernels::Instance instance(from, parameters, how.target, how.extents);
    if (how.tile) instance.requireTile(*how.tile);
    // Whatever the host is asked for fits, and so do the templates' own for NVIDIA's chips. Some of AMD's have no dots of some types.
    if (instance.machine.isHost() || (how.leavesTileOpen() && parseTarget(instance.machine.chip).kind == TargetKind::Nvidia)) return;
    kernels::requireFit(instance.job(how.tile.value_or(TileConfig{}).withDefaults(instance.safe)));
  });
  return {};
} catch (const Error& error) {
  return std::unexpected(error);
}

namespace {

// On a thread of its own: a candidate that hangs is given up, and the caller goes on with an error.
Tuned tuneOne(const kernels::TuneProblem& problem, std::vector<std::int64_t> extents, double seconds) {
  struct Work {
    kernels::TunePlan plan;
    std::stop_source stop{};
    tuning::Outcome outcome{};
  };
  auto work = std::make_shared<Work>(kernels::planTuning(problem));
  const std::optional<tuning::Blame> blame = tuning::watch([work, seconds](tuning::Watched& watched) {
    const kernels::TuneOptions options{.budgetSeconds = seconds, .watched = &watched, .stop = work->stop.get_token()};
    work->outcome = kernels::runTuning(work->plan, options, kernels::tunedStore());
  });
  if (blame) {
    work->stop.request_stop();
    kernels::recordBlame(work->plan, {&*blame, 1}, kernels::tunedStore());
    throw Error(ErrorCode::DeviceError, "while tuning, " + blame->what + " was given up: " + blame->reason,
                "what hangs may keep its device until this process ends; no process tries it again");
  }
  const tuning::Outcome& outcome = work->outcome;
  Tuned tuned{.extents = std::move(extents),
              .tile = std::nullopt,
              .default_us = outcome.safeUs,
              .gain = outcome.gain,
              .gain_noise = outcome.gainNoise,
              .measured = outcome.measured,
              .failed = outcome.failed,
              .pruned = outcome.pruned};
  if (outcome.winner) {
    tuned.tile = outcome.winner->tile;
    tuned.median_us = outcome.winner->medianUs;
  }
  return tuned;
}

}  // namespace

std::vector<Tuned> tune(const KernelTemplate& from, const Parameters& parameters, std::span<const std::vector<std::int64_t>> shapes,
                        const TuneFor& how) {
  std::vector<Tuned> results;
  kernels::asErrors([&] {
    const Busy busy;
    if (!from.space || !from.operands)
      throw Error(ErrorCode::InvalidArgument, "template " + from.name + ": to be tuned it needs a space and operands");
    for (const std::vector<std::int64_t>& extents : shapes) {
      auto instance = std::make_shared<const kernels::Instance>(from, parameters, how.target, extents);
      results.push_back(tuneOne(kernels::problemOf(instance, extents), extents, how.seconds / static_cast<double>(shapes.size())));
    }
  });
  return results;
}

}  // namespace fattn
