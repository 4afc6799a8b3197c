// SPDX-License-Identifier: Apache-2.0
// The calls on a GPU; skipped, saying why, where there is none.
#include <cstdio>
#include <vector>

#include "fattn/dsl/Dsl.h"
#include "tests/library/LibraryTest.h"

namespace fattn {

INSTANTIATE_TEST_SUITE_P(Cuda, LibraryTest, testing::Combine(testing::Values("cuda"), testing::Values(DType::F32, DType::F16, DType::BF16)),
                         libraryCaseName);

namespace {

using namespace dsl;

bool haveGpu() {
  try {
    openDevice("cuda");
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NoDevice) throw;
    std::printf("skipped: %s\n", error.what());
    return false;
  }
}

Program scaleOf(std::int64_t block) {
  return trace("scale", [=](Params& args) {
    TensorArg x = args.tensor("x", DType::F32, 1, {.alignment = 16}), out = args.tensor("out", DType::F32, 1, {.alignment = 16});
    Scalar factor = args.scalar("factor", DType::F32), at = program_id(0) * block;
    store(out.block({at}, {block}), load(x.block({at}, {block}), {0}) * factor, {0});
  });
}

// A program of anybody's: compiled, launched on a stream, refused with a sentence.
TEST(TileKernelOnAGpu, LaunchesWithNamedArguments) {
  if (!haveGpu()) GTEST_SKIP();
  Device& device = openDevice("cuda");
  const std::int64_t length = 10001;
  std::vector<float> x(length), out(length);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const std::size_t bytes = sizeof(float) * x.size();
  std::shared_ptr<void> from(device.allocate(bytes), [&](void* memory) { device.free(memory); }),
      to(device.allocate(bytes), [&](void* memory) { device.free(memory); });
  const Stream stream = device.createStream();
  device.copy(from.get(), x.data(), bytes, stream);
  const TileKernel kernel = compile(scaleOf(1024), {.target = "cuda", .tile = {.warps = 4}});
  const TensorView input(from.get(), DType::F32, {length}), result(to.get(), DType::F32, {length});
  kernel.launch(stream, {10}, {{"x", input}, {"out", result}, {"factor", 3.0f}});
  device.copy(out.data(), to.get(), bytes, stream);
  device.synchronize(stream);
  device.destroyStream(stream);
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 3 * x[i]) << i;
  EXPECT_EQ(kernel.info().threads, 128);
  EXPECT_THROW(kernel.launch({}, {10}, {{"x", input.narrowed(0, 1, 100)}, {"out", result}, {"factor", 3.0f}}), Error);
}

TEST(TemplateOnAGpu, IsTunedAndFoundAgain) {
  if (!haveGpu()) GTEST_SKIP();
  const auto from = findTemplate("rms_norm");
  const Parameters parameters{{"dtype", std::string("bf16")}, {"weight", false}};
  const std::vector<std::vector<std::int64_t>> shapes = {{512, 2048}};
  const std::vector<Tuned> tuned = tune(*from, parameters, shapes, {.target = "cuda", .seconds = 20});
  ASSERT_TRUE(tuned.at(0).tile);
  EXPECT_EQ(tuned[0].failed, 0u);
  EXPECT_EQ(compile(*from, parameters, {.target = "cuda", .extents = shapes[0]}).info().tile, *tuned[0].tile);
}

}  // namespace
}  // namespace fattn
