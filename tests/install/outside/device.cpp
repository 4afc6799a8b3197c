// SPDX-License-Identifier: Apache-2.0
// A kernel of one's own on any device, through the installed library: compiled, launched, tuned. `device [TARGET]`, twice: what the first
// process has compiled and tuned, the second one finds on disk, and says so.
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fattn/dsl/Dsl.h"
#include "fattn/fattn.h"

using namespace fattn::dsl;
using fattn::Device, fattn::DType, fattn::Operand, fattn::Parameters, fattn::TensorView, fattn::TileConfig;

namespace {

/// out = weight x + y, row by row: `tile` says how much of a row a program takes.
void blend(Params& args, const TileConfig& tile) {
  const TensorForm aligned{.alignment = 4};
  TensorArg x = args.tensor("x", DType::F32, 2, aligned), y = args.tensor("y", DType::F32, 2, aligned),
            out = args.tensor("out", DType::F32, 2, aligned);
  Scalar weight = args.scalar("weight", DType::F32);
  auto window = [&](const TensorArg& tensor) {
    return tensor.block({program_id(1) * tile.block_m, program_id(0) * tile.block_n}, {tile.block_m, tile.block_n});
  };
  store(window(out), load(window(x), {0, 1}) * weight + load(window(y), {0, 1}), {0, 1});
}

fattn::Grid gridFor(const TileConfig& tile, std::int64_t rows, std::int64_t columns) {
  return {(columns + tile.block_n - 1) / tile.block_n, (rows + tile.block_m - 1) / tile.block_m};
}

fattn::KernelTemplate blendTemplate() {
  fattn::KernelTemplate what{.name = "blend", .extents = {"rows", "columns"}, .typical = {1024, 1024}};
  what.program = [](Params& args, const Parameters&, const TileConfig& tile) { blend(args, tile); };
  what.grid = [](const Parameters&, const TileConfig& tile, auto extents) { return gridFor(tile, extents[0], extents[1]); };
  what.tile = [](const Parameters&, const auto&) { return TileConfig{.block_m = 1, .block_n = 64}; };
  what.space = [](const Parameters&, const auto&) {
    return std::vector<TileConfig>{{.block_m = 1, .block_n = 64}, {.block_m = 4, .block_n = 256}, {.block_m = 1, .block_n = 1024}};
  };
  what.operands = [](const Parameters&, auto extents) {
    const std::vector<std::int64_t> shape(extents.begin(), extents.end());
    return std::vector{Operand::input("x", DType::F32, shape), Operand::input("y", DType::F32, shape),
                       Operand::output("out", DType::F32, shape), Operand::number("weight", 0.5)};
  };
  return what;
}

/// An array of odd sizes, whose rows have gaps, in the device's memory.
struct Array {
  static constexpr std::int64_t kRows = 37, kColumns = 1003, kStride = 1030, kSize = kRows * kStride;
  Array(Device& on, double step) : values(kSize), memory(on.allocate(kSize * sizeof(float)), [&on](void* p) { on.free(p); }), device(on) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::sin(step * static_cast<double>(i)));
    device.copy(memory.get(), values.data(), kSize * sizeof(float));
    device.synchronize();
  }
  TensorView view() const { return {memory.get(), DType::F32, {kRows, kColumns}, {kStride, 1}}; }
  void fetch() {
    device.copy(values.data(), memory.get(), kSize * sizeof(float));
    device.synchronize();
  }
  std::vector<float> values;
  std::shared_ptr<void> memory;
  Device& device;
};

/// Elements of `out` that are not weight x + y, or, in the gaps, no longer what they were.
int wrong(const Array& x, const Array& y, Array& out, float weight) {
  const std::vector<float> before = out.values;
  out.fetch();
  int count = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double want = static_cast<std::int64_t>(i) % Array::kStride < Array::kColumns
                            ? static_cast<double>(weight) * static_cast<double>(x.values[i]) + static_cast<double>(y.values[i])
                            : static_cast<double>(before[i]);
    count += !(std::abs(static_cast<double>(out.values[i]) - want) < 1e-6);
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) try {
  Device& device = fattn::openDevice(argc > 1 ? argv[1] : "host");
  Array x(device, 0.37), y(device, 0.11), out(device, 0);

  const TileConfig block{.block_m = 2, .block_n = 128};
  fattn::TileKernel kernel = fattn::compile(trace("blend_blocks", [&](Params& args) { blend(args, block); }), {.target = device.name()});
  kernel.launch({}, gridFor(block, Array::kRows, Array::kColumns),
                {{"x", x.view()}, {"y", y.view()}, {"out", out.view()}, {"weight", 2.0f}});
  int errors = wrong(x, y, out, 2);
  std::printf("%s: %s in %.1f ms, %d wrong\n", device.description().c_str(), kernel.info().from_cache ? "found on disk" : "compiled",
              kernel.info().compile_ms, errors);

  const fattn::KernelTemplate blended = blendTemplate();
  const std::vector<std::vector<std::int64_t>> shapes = {{Array::kRows, Array::kColumns}};
  const std::string chosen = fattn::explain(blended, {}, {.target = device.name(), .extents = shapes[0]});
  std::printf("%s\n", chosen.c_str());
  if (chosen.find("the winner of the tuning") == std::string::npos)
    for (const fattn::Tuned& tuned : fattn::tune(blended, {}, shapes, {.target = device.name(), .seconds = 30}))
      std::printf("tuned: %s, %.2f times the default's speed\n", tuned.tile ? tuned.tile->toString().c_str() : "no verdict", tuned.gain);
  // Kept by the device's name, as a function does that is called without a handle.
  static constinit fattn::Undestroyed<fattn::Handles<std::string, fattn::TemplateKernel, std::hash<std::string>>> handles;
  auto handle = [&]() -> const fattn::TemplateKernel& {
    return handles.value.get(device.name(), [&] { return fattn::compile(blended, {}, {.target = device.name(), .extents = shapes[0]}); });
  };
  const fattn::TemplateKernel& best = handle();
  best.launch({}, {Array::kRows, Array::kColumns}, {{"x", x.view()}, {"y", y.view()}, {"out", out.view()}, {"weight", -1.0f}});
  errors += wrong(x, y, out, -1);
  errors += &handle() == &best ? 0 : 1;
  std::printf("a kernel of one's own: %d wrong\n", errors);
  return errors == 0 ? 0 : 1;
} catch (const fattn::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.code() == fattn::ErrorCode::NoDevice ? 4 : 1;
}
