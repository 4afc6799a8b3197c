// SPDX-License-Identifier: Apache-2.0
#include "kernels/template/Instance.h"

#include <algorithm>
#include <deque>

#include "compiler/driver/Identity.h"
#include "dsl/Internal.h"
#include "kernels/core/Bench.h"
#include "kernels/core/CompileProgram.h"
#include "runtime/cache/Hash.h"

namespace fattn::kernels {
namespace {

[[noreturn]] void failTemplate(const KernelTemplate& from, const std::string& constraint, std::string hint = "") {
  throw Error(ErrorCode::InvalidArgument, "template " + from.name + ": " + constraint, std::move(hint));
}

bool isName(std::string_view name) {
  constexpr std::size_t kLongest = 32;
  const auto small = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && name.size() <= kLongest && small(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return small(c) || (c >= '0' && c <= '9') || c == '_'; });
}

void requireTemplate(const KernelTemplate& from) {
  constexpr const char* kRule = "a name is a small letter, then small letters, digits and _, at most 32";
  if (!isName(from.name)) failTemplate(from, "\"" + from.name + "\" is no name", kRule);
  for (const auto& [name, value] : from.parameters.all())
    if (!isName(name)) failTemplate(from, "\"" + name + "\" is no name of a parameter", kRule);
  if (from.extents.empty() || from.extents.size() > kMostExtents || from.typical.size() != from.extents.size())
    failTemplate(from, "it has " + std::to_string(from.extents.size()) + " extents and " + std::to_string(from.typical.size()) +
                           " typical ones; 1 to 4 are needed, and as many typical ones");
  for (const std::string& extent : from.extents)
    if (!isName(extent)) failTemplate(from, "\"" + extent + "\" is no name of an extent", kRule);
  if (!from.program || !from.grid || !from.tile) failTemplate(from, "program, grid and tile have to be there");
}

void requireExtents(const KernelTemplate& from, std::span<const std::int64_t> extents) {
  if (extents.size() > from.extents.size())
    failTemplate(from, std::to_string(extents.size()) + " extents are told; it has " + std::to_string(from.extents.size()));
  for (const std::int64_t extent : extents)
    if (extent < 0 || extent > INT32_MAX)
      failTemplate(from, "an extent is " + std::to_string(extent) + "; legal extents are 0 to 2147483647", "0 says that it is not known");
}

// With those that are not told.
std::vector<std::int64_t> padded(const KernelTemplate& from, std::span<const std::int64_t> extents) {
  std::vector<std::int64_t> all(extents.begin(), extents.end());
  all.resize(from.extents.size(), 0);
  return all;
}

// What the user gives over what the template has.
Parameters complete(const KernelTemplate& from, const Parameters& given) {
  Parameters all = from.parameters;
  for (const auto& [name, value] : given.all()) {
    const auto found = all.all().find(name);
    if (found == all.all().end()) failTemplate(from, "there is no parameter " + name, "its parameters are " + from.parameters.toString());
    if (found->second.index() != value.index())
      failTemplate(from, "parameter " + name + " is of another type", "its parameters are " + from.parameters.toString());
    all.set(name, value);
  }
  return all;
}

// A random operand is the same for all candidates; its memory belongs to the bench.
class TemplateBench : public Bench {
 public:
  TemplateBench(std::shared_ptr<const Instance> instance, std::vector<std::int64_t> extents)
      : Bench(openDevice(instance->target)), instance_(std::move(instance)), extents_(std::move(extents)) {
    operands_ = instance_->from->operands(instance_->parameters, extents_);
    for (const Operand& operand : operands_) add(operand);
    setCompile([this](const TileConfig& tile) -> Launch {
      TemplateKernel kernel = compile(*instance_->from, instance_->parameters, {.target = instance_->target, .tile = tile});
      return [this, kernel](Stream stream) { kernel.launch(stream, extents_, arguments_); };
    });
  }

 private:
  void add(const Operand& operand) {
    if (operand.isScalar && operand.dtype == DType::F32) return arguments_.emplace_back(operand.name, operand.real), void();
    if (operand.isScalar) return arguments_.emplace_back(operand.name, operand.whole), void();
    TensorView view(nullptr, operand.dtype, operand.shape);
    if (view.checkedBytes() < 0) throw Error(ErrorCode::OutOfMemory, "operands of the shape to tune would not fit into any memory");
    const std::int64_t elements = view.elements(), rows = operand.shape.empty() ? 1 : operand.shape.front();
    view.data = operand.written ? result(operand.dtype, elements, rows > 0 ? elements / rows : 1) : this->operand(operand.dtype, elements);
    arguments_.emplace_back(operand.name, views_.emplace_back(view));
  }

  std::shared_ptr<const Instance> instance_;
  std::vector<std::int64_t> extents_;
  std::vector<Operand> operands_;  // their names
  std::deque<TensorView> views_;   // which arguments point to
  std::vector<Argument> arguments_;
};

std::vector<std::int64_t> withTypical(const KernelTemplate& from, std::span<const std::int64_t> told) {
  std::vector<std::int64_t> extents = from.typical;
  for (std::size_t i = 0; i < told.size(); ++i)
    if (told[i] > 0) extents[i] = told[i];
  return extents;
}

cache::Shape namedExtents(const KernelTemplate& from, std::span<const std::int64_t> extents) {
  cache::Shape shape;
  for (std::size_t i = 0; i < extents.size(); ++i)
    if (extents[i] > 0) shape[from.extents[i]] = extents[i];
  return shape;
}

}  // namespace

Instance::Instance(const KernelTemplate& what, const Parameters& given, const std::string& where, std::span<const std::int64_t> extents) {
  requireTemplate(what);
  from = std::make_shared<const KernelTemplate>(what);
  parameters = complete(what, given);
  if (what.check) what.check(parameters);
  requireTarget(where);
  target = resolveTarget(where);
  machine = machineOf(target);
  requireExtents(what, extents);
  const bool isTold = std::ranges::any_of(extents, [](std::int64_t extent) { return extent > 0; });
  safe = what.tileFor && isTold ? what.tileFor(parameters, machine, padded(what, extents)) : what.tile(parameters, machine);
  safe.validate();
}

dsl::Program Instance::trace(const TileConfig& tile) const {
  return dsl::trace(from->name, [&](dsl::Params& params) { from->program(params, parameters, tile); });
}

std::string Instance::name() const {
  std::string text = from->name;
  for (const char c : parameters.toString().empty() ? "" : "-" + parameters.toString()) text += c == ',' ? '-' : c == '=' ? '_' : c;
  return text;
}

Source sourceOf(const std::shared_ptr<const Instance>& instance) {
  // Two templates may have one name: what tells them apart is their text.
  const dsl::Program program = instance->trace(instance->safe);
  const std::string text = compiler::textOf(dsl::internal::module(program));
  Source source{.key = "template " + instance->name() + " " + cache::hex(cache::hash(text)) + " " + instance->target,
                .text = instance->name() + " for " + instance->target,
                .target = instance->target,
                .safe = instance->safe};
  source.compile = [instance](const TileConfig& tile) {
    return compileProgram({.target = instance->target,
                           .tile = tile,
                           .folder = instance->name() + "-" + instance->target + "-" + tile.toString(),
                           .trace = [instance, tile] { return instance->trace(tile); }});
  };
  source.client = [instance](const LoadedCode& code) {
    const dsl::Program traced = instance->trace(code.info.tile);
    return std::make_shared<const TemplateCode>(ArgumentPack(traced.args()));
  };
  return source;
}

TuneProblem problemOf(const std::shared_ptr<const Instance>& instance, std::span<const std::int64_t> extents) {
  const KernelTemplate& from = *instance->from;
  requireExtents(from, extents);
  const std::vector<std::int64_t> shape = withTypical(from, extents);
  TuneProblem problem{.name = instance->name(),
                      .target = instance->target,
                      .safe = instance->safe,
                      .extents = from.extents,
                      .decisive = from.extents.front(),
                      .told = namedExtents(from, extents),
                      .shape = namedExtents(from, shape),
                      .reference = from.tile(instance->parameters, {.chip = "host"}),
                      .trace = [instance](const TileConfig& tile) { return instance->trace(tile); }};
  problem.refusal = [](const TileConfig& tile) -> std::optional<std::string> {
    try {
      tile.validate();
      return std::nullopt;
    } catch (const Error& error) {
      return error.constraint();
    }
  };
  if (!from.space || !from.operands) return problem;
  problem.space = [instance] { return instance->from->space(instance->parameters, instance->machine); };
  if (from.misfit)
    problem.misfit = [instance, shape](const TileConfig& tile) {
      return instance->from->misfit(instance->parameters, tile, instance->machine, shape);
    };
  problem.variants = [instance](const TileConfig& tile) {
    constexpr std::size_t kMost = 3;
    std::vector<TileConfig> variants;
    const std::vector<std::string> offered = offeredSchedules(instance->target, tile, instance->trace(tile));
    for (std::size_t i = tile.schedule.empty() ? 1 : 0; i < std::min(offered.size(), kMost + 1); ++i)
      if (tile.schedule != offered[i]) variants.emplace_back(tile).schedule = offered[i];
    return variants;
  };
  problem.bench = [instance, shape] { return std::make_unique<TemplateBench>(instance, shape); };
  return problem;
}

}  // namespace fattn::kernels
