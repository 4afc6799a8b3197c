// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-bench/Kernels.h"

#include <memory>
#include <vector>

#include "fattn/Template.h"
#include "tools/io/Random.h"

namespace fattn::bench {
namespace {

/// The template of a case's name, and its parameters.
std::pair<std::string, Parameters> templateOf(const KernelCase& kernel, DType dtype) {
  const std::string type(fattn::name(dtype));
  if (kernel.kernel == "softmax") return {"row_softmax", {{"dtype", type}}};
  if (kernel.kernel == "layer-norm") return {"layer_norm", {{"dtype", type}}};
  if (kernel.kernel == "rms-norm") return {"rms_norm", {{"dtype", type}}};
  Parameters parameters{{"dtype", type}, {"out", type}};
  if (kernel.kernel == "gemm-nt") parameters.set("b_columns", true);
  if (kernel.kernel == "gemm+gelu") {
    parameters.set("bias", true);
    parameters.set("activation", std::string("gelu"));
  }
  return {"gemm", parameters};
}

/// A kernel with operands in the device's memory.
struct Bound {
  Bound(TemplateKernel compiled, std::vector<std::int64_t> shape, std::vector<Operand> with)
      : kernel(std::move(compiled)), extents(std::move(shape)), operands(std::move(with)), device(openDevice(kernel.info().target)) {
    views.reserve(operands.size());
    for (const Operand& operand : operands) {
      if (operand.isScalar) {
        arguments.emplace_back(operand.name, operand.real);
        continue;
      }
      io::HostTensor values = io::HostTensor::allocate(operand.dtype, operand.shape);
      if (isFloat(operand.dtype)) io::fillNormal(values, 0, views.size(), 0);
      void* memory = device.allocate(static_cast<std::size_t>(values.bytes()));
      device.copy(memory, values.data(), static_cast<std::size_t>(values.bytes()));
      device.synchronize();
      arguments.emplace_back(operand.name, views.emplace_back(memory, operand.dtype, operand.shape));
    }
  }
  ~Bound() {
    for (const TensorView& view : views) device.free(view.data);
  }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

  TemplateKernel kernel;
  std::vector<std::int64_t> extents;
  std::vector<Operand> operands;  // their names
  Device& device;
  std::vector<TensorView> views;  // which arguments point to
  std::vector<Argument> arguments;
};

}  // namespace

std::pair<std::function<void()>, std::string> prepareKernel(const Case& problem, const std::string& target, const TileConfig& config) {
  const auto [name, parameters] = templateOf(problem.kernel, problem.dtype);
  const auto from = findTemplate(name);
  TemplateFor how{.target = target, .tile = {}, .extents = problem.kernel.extents};
  if (config != TileConfig{}) how.tile = config;
  TemplateKernel kernel = compile(*from, parameters, how);
  auto bound = std::make_shared<Bound>(kernel, problem.kernel.extents, from->operands(kernel.parameters(), problem.kernel.extents));
  return {[bound] { bound->kernel.launch({}, bound->extents, bound->arguments); }, kernel.info().tile.toString()};
}

}  // namespace fattn::bench
