// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/KernelsTest.h"

#include "tests/random/Refusals.h"

namespace fattn::examples {
namespace {

constexpr std::array kForms = {Form::Aligned, Form::Rows, Form::Strided};
constexpr int kStages = 4, kSchedules = 8;
constexpr std::array kWarps = {1, 2, 4, 8};

struct Choices {
  TileConfig config;
  int schedule = 0;
};

/// All depths and numbers of warps, then all schedules of one of them.
std::vector<Choices> manyConfigs() {
  std::vector<Choices> configs;
  for (int stages = 1; stages <= kStages; ++stages)
    for (int warps : kWarps) configs.push_back({.config = {.stages = stages, .warps = warps}});
  for (int schedule = 1; schedule < kSchedules; ++schedule) configs.push_back({.config = {.stages = 3, .warps = 4}, .schedule = schedule});
  return configs;
}

/// Each depth and each number of warps once.
std::vector<Choices> fewConfigs() {
  std::vector<Choices> configs;
  for (int i = 0; i < kStages; ++i)
    configs.push_back({.config = {.stages = i + 1, .warps = kWarps[static_cast<std::size_t>((i + 2) % 4)]}});
  return configs;
}

}  // namespace

std::vector<Variant> Kernels::variantsOf(Backend backend, const std::vector<Blocks>& blockings) {
  std::vector<Variant> variants;
  for (std::size_t i = 0; i < blockings.size(); ++i)
    for (Form form : kForms) {
      Blocks blocks = blockings[i];
      blocks.form = form;
      if (backend == Backend::Interpreter || backend == Backend::Host) {  // they take no configuration
        if ((backend == Backend::Host && i == 0) || form == kForms[i % kForms.size()]) variants.push_back({blocks, {}});
        continue;
      }
      bool many = backend == Backend::Cuda && i == 0 && form != Form::Strided;
      std::vector<Choices> configs = many ? manyConfigs() : fewConfigs();
      if (backend == Backend::Adversary) {  // thousands of times slower than a GPU: forms and blocks take turns on the configurations
        if (i > 0 && form != kForms[i % kForms.size()]) continue;
        if (i > 0 || form != Form::Rows) configs = {configs[(i + static_cast<std::size_t>(form)) % configs.size()]};
      }
      for (const Choices& choices : configs)
        variants.push_back({blocks, choices.config, choices.config.stages == 2 && choices.schedule == 0, choices.schedule});
    }
  return variants;
}

std::vector<Size> Kernels::sizesFor(const Variant& variant) const {
  std::vector<Size> sizes;
  if (variant.main) sizes = {{1, 1, 1}, {16, 16, 16}};
  sizes.push_back({19, 37, 23});
  if (backend() == Backend::Host || backend() == Backend::Cuda) sizes.push_back({129, 200, 100});
  return sizes;
}

std::vector<Layout> Kernels::layoutsFor(const Variant& variant) {
  if (variant.blocks.form == Form::Aligned) return {Layout::Aligned};
  std::vector<Layout> layouts = variant.blocks.form == Form::Rows
                                    ? std::vector<Layout>{Layout::Shifted, Layout::Dense, Layout::Padded}
                                    : std::vector<Layout>{Layout::Transposed, Layout::Spread, Layout::Dense, Layout::Padded};
  if (!variant.main) layouts.resize(1);
  return layouts;
}

std::string Kernels::describe(const Variant& variant) {
  return fmt::format("blocks {},{},{} form {} {} schedule {}", variant.blocks.m, variant.blocks.n, variant.blocks.k,
                     static_cast<int>(variant.blocks.form), variant.config.toString(), variant.schedule);
}

std::unique_ptr<Executable> Kernels::compile(Kernel kernel, const Variant& variant) const try {
  dsl::Program program = dsl::trace("kernel", [&](dsl::Params& args) { kernel(args, dtype(), variant.blocks); });
  return load(std::move(program), backend(), variant.config, variant.schedule);
} catch (const Error& error) {
  if (std::string_view(error.what()).find("there is no schedule") != std::string_view::npos) return nullptr;
  bool forGpu = backend() == Backend::Cuda || backend() == Backend::Adversary;
  if (!forGpu || !random::isKnownRefusal(error.what())) throw;
  fmt::print("refused: {}: {}\n", describe(variant), random::kindOf(error.what()));
  return nullptr;
}

}  // namespace fattn::examples
