// SPDX-License-Identifier: Apache-2.0
// The kernels through the interpreter and compiled for the host; and compiled, though not run, for every NVIDIA chip.
#include "compiler/driver/Compile.h"
#include "compiler/gpu/Target.h"
#include "dsl/Internal.h"
#include "tests/kernels/KernelsTest.h"
#include "tests/random/Refusals.h"

namespace fattn::examples {

INSTANTIATE_TEST_SUITE_P(All, Kernels,
                         testing::Combine(testing::Values(Backend::Interpreter, Backend::Host),
                                          testing::Values(DType::F32, DType::F16, DType::BF16)),
                         nameOf);

namespace {

std::vector<NamedKernel> kernels() {
  return {{"gemm", gemm, products()},
          {"fiveDots", fiveDots, chains()},
          {"bandedRows", bandedRows, bands()},
          {"bandedColumns", bandedColumns, bands()},
          {"splitKeys", splitKeys, fewRows()},
          {"joinSplits", joinSplits, fewRows()},
          {"rowSoftmax", rowSoftmax, rowBlocks()},
          {"layerNorm", layerNorm, rowBlocks()},
          {"scaleRows", scaleRows, rowBlocks()},
          {"copy", copy, rowBlocks()},
          {"rowSums", rowSums, rowBlocks()},
          {"columnSums", columnSums, rowBlocks()}};
}

/// The variants are the fixture's.
class Variants : public Kernels {
 public:
  using Kernels::describe;
  using Kernels::variantsOf;
};

/// What the compiler says; "" where it takes the kernel or refuses it for a reason that is known, which is counted.
std::string compileFor(std::string_view target, const NamedKernel& kernel, DType dtype, const Variant& variant, int& refused) try {
  dsl::Program program = dsl::trace(kernel.name, [&](dsl::Params& args) { kernel.kernel(args, dtype, variant.blocks); });
  compiler::CompileOptions options;
  options.target = target;
  options.config = variant.config;
  options.verify = true;
  compiler::compile(dsl::internal::module(program), options);
  return "";
} catch (const Error& error) {
  if (std::string_view(error.what()).find("there is no schedule") != std::string_view::npos) return "";
  if (!random::isKnownRefusal(error.what())) return error.what();
  ++refused;
  return "";
}

/// The chips and the element types take turns.
TEST(KernelsForGpus, EveryFormCompiles) {
  std::vector<std::string_view> chips;
  for (std::string_view name : gpu::targetNames())
    if (name.starts_with("nvidia:")) chips.push_back(name);
  constexpr std::array kTypes = {DType::F32, DType::F16, DType::BF16};
  constexpr std::size_t kStride = 7;  // of the variants, which differ least from those beside them
  std::size_t count = 0;
  int refused = 0;
  for (const NamedKernel& kernel : kernels()) {
    std::vector<Variant> variants = Variants::variantsOf(Backend::Cuda, kernel.blockings);
    for (std::size_t i = count % kStride; i < variants.size(); i += kStride, ++count) {
      std::string_view chip = chips[count % chips.size()];
      DType dtype = kTypes[count % kTypes.size()];
      EXPECT_EQ(compileFor(chip, kernel, dtype, variants[i], refused), "")
          << kernel.name << " " << name(dtype) << " " << chip << " " << Variants::describe(variants[i]);
    }
  }
  fmt::print("{} of {} were refused for reasons that are known\n", refused, count);
  EXPECT_LT(static_cast<std::size_t>(refused), count);
}

}  // namespace
}  // namespace fattn::examples
