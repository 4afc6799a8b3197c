// SPDX-License-Identifier: Apache-2.0
#include "tests/support/TemplatePrograms.h"

#include <algorithm>
#include <bit>

#include "compiler/driver/Compile.h"
#include "dsl/Internal.h"
#include "kernels/core/ArgumentPack.h"

namespace fattn::test {

Parameters completed(const KernelTemplate& from, const Parameters& given) {
  Parameters all = from.parameters;
  for (const auto& [name, value] : given.all()) all.set(name, value);
  return all;
}

dsl::Program traced(const KernelTemplate& from, const Parameters& given, const TileConfig& tile) {
  const Parameters parameters = completed(from, given);
  return dsl::trace(from.name, [&](dsl::Params& params) { from.program(params, parameters, tile); });
}

std::vector<interpreter::Argument> bySlot(const dsl::Program& program, const std::vector<Argument>& arguments) {
  const kernels::ArgumentPack pack(program.args());
  std::vector<std::uint64_t> slots(pack.slots());
  pack.pack(arguments, slots.data());
  std::vector<interpreter::Argument> list;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const dsl::Param& param = program.args()[i];
    if (param.isPointer) {
      const auto given = std::ranges::find(arguments, std::string_view(param.name), &Argument::name);
      list.emplace_back(interpreter::Buffer{given->view().data, given->view().checkedBytes()});
    } else if (param.type == DType::F32) {
      list.emplace_back(double{std::bit_cast<float>(static_cast<std::uint32_t>(slots[i]))});
    } else {
      list.emplace_back(static_cast<std::int64_t>(slots[i]));
    }
  }
  return list;
}

mlir::func::FuncOp functionOf(const dsl::Program& program) { return *dsl::internal::module(program).getOps<mlir::func::FuncOp>().begin(); }

std::string ptxOf(const KernelTemplate& from, const Parameters& given, const std::string& target, bool boxes) {
  const Machine machine = machineOf(target);
  const TileConfig tile = from.tile(completed(from, given), machine);
  const dsl::Program program = traced(from, given, tile);
  compiler::CompileOptions options;
  options.target = target, options.config = tile, options.verify = true, options.boxes = boxes;
  return compiler::compile(dsl::internal::module(program), options).bytes;
}

}  // namespace fattn::test
