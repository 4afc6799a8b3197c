// SPDX-License-Identifier: Apache-2.0
// The public face of the kernel layer: any program, compiled and launched.
#include <algorithm>
#include <string>

#include "compiler/driver/Identity.h"
#include "dsl/Internal.h"
#include "fattn/Handles.h"
#include "fattn/Kernel.h"
#include "fattn/Relaunch.h"
#include "kernels/core/ArgumentPack.h"
#include "kernels/core/CompileProgram.h"
#include "kernels/core/Target.h"
#include "runtime/base/Lifecycle.h"
#include "runtime/cache/Hash.h"

namespace fattn {

struct TileKernel::Impl {
  std::shared_ptr<const kernels::LoadedCode> code;
  kernels::ArgumentPack arguments;
};

namespace {

[[noreturn]] void failEmptyKernel() {
  throw Error(ErrorCode::InvalidArgument, "this TileKernel is empty", "assign the result of fattn::compile to it");
}

// Programs whose texts agree compute the same, whoever traced them, and declare the same.
kernels::Source sourceOf(const dsl::Program& program, const CompileFor& how) {
  how.tile.validate();
  const kernels::ResolvedTarget target = how.target;
  const std::string text = compiler::textOf(dsl::internal::module(program));
  kernels::Source source{.key = "program " + cache::hex(cache::hash(text)) + " " + target.name,
                         .text = program.name() + " for " + target.name,
                         .target = target,
                         .safe = how.tile};
  source.compile = [&program, target](const TileConfig& tile) {
    return kernels::compileProgram({.target = target,
                                    .tile = tile,
                                    .folder = program.name() + "-" + target.name + (tile == TileConfig{} ? "" : "-" + tile.toString()),
                                    .trace = [&program] { return dsl::internal::copy(program); }});
  };
  return source;
}

}  // namespace

void TileKernel::launch(Stream stream, Grid grid, std::span<const Argument> arguments) const {
  if (!impl_) [[unlikely]]
    failEmptyKernel();
  impl_->code->requireDevice();  // in front of what is wrong with the arguments
  std::uint64_t slots[kernels::kMostSlots];
  impl_->arguments.pack(arguments, slots);
  impl_->code->launch(stream, grid, std::span(slots, impl_->arguments.slots()));
}

void TileKernel::launchSlots(Stream stream, Grid grid, std::span<const std::uint64_t> slots) const {
  if (!impl_) [[unlikely]]
    failEmptyKernel();
  impl_->code->launch(stream, grid, slots);
}

void TileRelaunch::launch(const TileKernel& kernel, Stream stream, Grid grid, std::span<const std::uint64_t> slots) {
  if (!kernel.impl_) [[unlikely]]
    failEmptyKernel();
  prepared_.module = nullptr;
  kernel_ = kernel.impl_.get();
  kernel.impl_->code->launch(stream, grid, slots, &prepared_);
}

bool TileRelaunch::again(const TileKernel& kernel, std::span<const NewAddress> changed, Stream stream) {
  return prepared_.module != nullptr && kernel_ == kernel.impl_.get() && kernel.impl_->code->device->repeat(prepared_, changed, stream);
}

const KernelCode& TileKernel::info() const {
  if (!impl_) failEmptyKernel();
  return impl_->code->info;
}

std::span<const dsl::Param> TileKernel::args() const {
  if (!impl_) failEmptyKernel();
  return impl_->arguments.declared();
}

TileKernel compile(const dsl::Program& program, const CompileFor& how) {
  TileKernel kernel;
  kernels::asErrors([&] {
    const Busy busy;
    std::shared_ptr<const kernels::LoadedCode> code = kernels::programCache().closed(sourceOf(program, how), how.tile).code;
    kernel = TileKernel(std::make_shared<const TileKernel::Impl>(std::move(code), kernels::ArgumentPack(program.args())));
  });
  return kernel;
}

std::expected<TileKernel, Error> try_compile(const dsl::Program& program, const CompileFor& how) try {
  return compile(program, how);
} catch (const Error& error) {
  return std::unexpected(error);
}

void warmup(std::span<const dsl::Program* const> programs, const CompileFor& how) {
  compileInParallel(programs.size(), [&](std::size_t i) { compile(*programs[i], how); });
}

std::string explain(const dsl::Program& program, const CompileFor& how) try {
  const Busy busy;
  const kernels::Source source = sourceOf(program, how);
  std::string text =
      kernels::describe(source, how.tile) + (kernels::programCache().has(source, how.tile) ? ", compiled" : ", not compiled");
  for (const dsl::Param& param : program.args()) {
    text += "\n  " + kernels::declaration(param);
    if (param.divisibility > 1) text += ", a multiple of " + std::to_string(param.divisibility) + (param.isPointer ? " bytes" : "");
    if (param.isPointer && param.aliasing == dsl::Aliasing::None) text += ", nobody else's memory";
  }
  return text;
} catch (const Error& error) {
  return error.what();
}

}  // namespace fattn
