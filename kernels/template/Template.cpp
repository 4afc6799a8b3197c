// SPDX-License-Identifier: Apache-2.0
// The public face of kernel templates.
#include "fattn/Template.h"

#include <algorithm>
#include <mutex>

#include "kernels/core/CompileProgram.h"
#include "kernels/core/TunedLookup.h"
#include "kernels/core/Tuning.h"
#include "kernels/template/Instance.h"
#include "runtime/base/Lifecycle.h"

namespace fattn {

struct TemplateKernel::Impl : kernels::KernelHandle {
  Impl(kernels::KernelHandle handle, std::shared_ptr<const kernels::Instance> of)
      : kernels::KernelHandle(std::move(handle)), instance(std::move(of)) {}
  std::shared_ptr<const kernels::Instance> instance;
};

namespace {

[[noreturn]] void failEmptyTemplate() {
  throw Error(ErrorCode::InvalidArgument, "this TemplateKernel is empty", "assign the result of fattn::compile to it");
}

[[noreturn]] void failExtents(const kernels::Instance& instance, std::size_t given) {
  std::string names;
  for (const std::string& name : instance.from->extents) names += (names.empty() ? "" : ", ") + name;
  throw Error(ErrorCode::InvalidArgument,
              "a launch of template " + instance.from->name + " is given " + std::to_string(given) + " extents; it has " + names);
}

kernels::KernelHandle handleOf(const std::shared_ptr<const kernels::Instance>& instance, const TemplateFor& how) {
  const kernels::Source source = kernels::sourceOf(instance);
  const kernels::TuneProblem problem = kernels::problemOf(instance, how.extents);
  if (!how.tile || *how.tile == TileConfig{}) return kernels::programCache().open(source, kernels::tunedChoice(problem));
  how.tile->validate();
  return kernels::programCache().closed(source, *how.tile);
}

}  // namespace

void TemplateKernel::launch(Stream stream, std::span<const std::int64_t> extents, std::span<const Argument> arguments) const {
  if (!impl_) [[unlikely]]
    failEmptyTemplate();
  const kernels::Instance& instance = *impl_->instance;
  if (extents.size() != instance.from->extents.size()) [[unlikely]]
    failExtents(instance, extents.size());
  const kernels::LoadedCode* code = impl_->code.get();
  Device& device = code->requireDevice();
  if (impl_->variants) code = impl_->variants->pick(kernels::ShapeBucket::of(extents), code);
  const kernels::ArgumentPack& pack = kernels::templateCode(*code).arguments;
  std::uint64_t slots[kernels::kMostSlots];
  pack.pack(arguments, slots);
  const Grid grid = instance.from->grid(instance.parameters, code->info.tile, extents);
  const std::span<const std::uint64_t> given(slots, pack.slots());
  device.launch(*code->accepting(grid, given).module, grid, given, stream);
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
  return kernels::templateCode(*impl_->code).arguments.declared();
}

TemplateKernel compile(const KernelTemplate& from, const Parameters& parameters, const TemplateFor& how) {
  TemplateKernel kernel;
  kernels::asErrors([&] {
    const Busy busy;
    auto instance = std::make_shared<const kernels::Instance>(from, parameters, how.target, how.extents);
    kernel = TemplateKernel(std::make_shared<const TemplateKernel::Impl>(handleOf(instance, how), instance));
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
  kernels::inParallel(shapes.size(), [&](std::size_t i) {
    TemplateFor one = how;
    one.extents = shapes[i];
    compile(from, parameters, one);
  });
}

std::string explain(const KernelTemplate& from, const Parameters& parameters, const TemplateFor& how) try {
  const Busy busy;
  auto instance = std::make_shared<const kernels::Instance>(from, parameters, how.target, how.extents);
  std::string text = instance->name() + " for " + instance->target + " with ";
  if (how.tile && *how.tile != TileConfig{}) return text + how.tile->withDefaults(instance->safe).toString();
  const kernels::TuneProblem problem = kernels::problemOf(instance, how.extents);
  const kernels::TunedLookup lookup = kernels::lookUpTuned(problem);
  const auto variants = kernels::programCache().variants(kernels::sourceOf(instance));
  return text + lookup.tile.toString() + ": " + lookup.reason +
         kernels::explainVariants(kernels::tunedShapes(problem, lookup), variants.get());
} catch (const Error& error) {
  return error.what();
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
