// SPDX-License-Identifier: Apache-2.0
#include "kernels/template/Instance.h"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>

#include "compiler/driver/Identity.h"
#include "compiler/gpu/Occupancy.h"
#include "dsl/Internal.h"
#include "kernels/core/Bench.h"
#include "kernels/core/CompileProgram.h"
#include "kernels/core/TunedLookup.h"
#include "runtime/base/Lifecycle.h"
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

std::size_t allExtents(const KernelTemplate& from) { return from.extents.size() + from.more.size(); }

void requireTemplate(const KernelTemplate& from) {
  constexpr const char* kRule = "a name is a small letter, then small letters, digits and _, at most 32";
  if (!isName(from.name)) failTemplate(from, "\"" + from.name + "\" is no name", kRule);
  for (const auto& [name, value] : from.parameters.all())
    if (!isName(name)) failTemplate(from, "\"" + name + "\" is no name of a parameter", kRule);
  if (from.extents.empty() || from.extents.size() > kMostExtents || from.typical.size() != allExtents(from))
    failTemplate(from, "it has " + std::to_string(allExtents(from)) + " extents and " + std::to_string(from.typical.size()) +
                           " typical ones; 1 to 4 are needed, and as many typical ones");
  for (const std::string& extent : from.allExtents())
    if (!isName(extent)) failTemplate(from, "\"" + extent + "\" is no name of an extent", kRule);
  if (!from.program || !from.grid || !from.tile) failTemplate(from, "program, grid and tile have to be there");
}

void requireExtents(const KernelTemplate& from, std::span<const std::int64_t> extents) {
  if (extents.size() > allExtents(from))
    failTemplate(from, std::to_string(extents.size()) + " extents are told; it has " + std::to_string(allExtents(from)));
  for (const std::int64_t extent : extents)
    if (extent < 0 || extent > INT32_MAX)
      failTemplate(from, "an extent is " + std::to_string(extent) + "; legal extents are 0 to 2147483647", "0 says that it is not known");
}

// A word behind an order.
std::string with(const std::string& order, const std::string& word) { return order + (order.empty() ? "" : " ") + word; }

// The order in the other ways of handing programs to blocks: one a block, several in turns, several while the kernel runs.
std::vector<std::string> withOtherPrograms(const std::string& schedule) {
  constexpr std::array<std::string_view, 2> kWords = {"persistent", "dynamic"};
  std::string order = schedule;
  for (const std::string_view word : kWords)
    if (order.ends_with(word)) order.resize(order.size() - word.size());
  while (order.ends_with(' ')) order.pop_back();
  std::vector<std::string> all = {order};
  for (const std::string_view word : kWords) all.push_back(with(order, std::string(word)));
  std::erase(all, schedule);
  return all;
}

// Where registers alone keep one more program out, and a program has few more than would let it in: how many waves a SIMD would have then.
// The code was compiled before, to be measured.
std::optional<int> wavesToTry(const Instance& instance, const gpu::Target& target, const TileConfig& tile) {
  constexpr int kFew = 8;  // an eighth of what it has: more are stored in each trip
  if (target.simds == 0 || tile.schedule.contains("waves")) return std::nullopt;
  const compiler::Binary binary = compileProgram(instance.job(tile)).binary;
  const auto bound = gpu::boundForOneMore(
      target, {.warps = binary.threads / target.warpSize, .registers = binary.registers, .sharedBytes = binary.sharedBytes});
  if (!bound || binary.registers - bound->registers > binary.registers / kFew) return std::nullopt;
  return bound->warps;
}

// What is said behind the order on chips of some kinds.
std::vector<std::string> wordsToTry(const Instance& instance, const TileConfig& tile) {
  if (instance.target.isHost()) return {};
  const gpu::Target& target = gpu::findTarget(instance.target.code);
  std::vector<std::string> words;
  if (const std::optional<int> waves = wavesToTry(instance, target, tile)) words.push_back("waves" + std::to_string(*waves));
  if (target.dies > 1 && !tile.schedule.contains("dies")) words.emplace_back("dies");
  return words;
}

// With those that are not told.
std::vector<std::int64_t> padded(const KernelTemplate& from, std::span<const std::int64_t> extents) {
  std::vector<std::int64_t> all(extents.begin(), extents.end());
  all.resize(allExtents(from), 0);
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
      : Bench(*instance->target.device), instance_(std::move(instance)), extents_(std::move(extents)) {
    operands_ = instance_->from->operands(instance_->parameters, extents_);
    for (const Operand& operand : operands_) add(operand);
    setCompile([this](const TileConfig& tile) -> Launch {
      TemplateKernel kernel = compile(*instance_->from, instance_->parameters, {.target = instance_->target.name, .tile = tile});
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
  for (std::size_t i = 0; i < std::min(extents.size(), from.extents.size()); ++i)
    if (extents[i] > 0) shape[from.extents[i]] = extents[i];
  return shape;
}

// The extents of a bucket in the order of the template; 0 where a bucket of another version lacks one.
std::vector<std::int64_t> extentsOf(const KernelTemplate& from, const cache::Shape& shape) {
  std::vector<std::int64_t> extents;
  for (const std::string& name : from.extents) {
    const auto found = shape.find(name);
    extents.push_back(found == shape.end() ? 0 : found->second);
  }
  return extents;
}

// "gemm-activation_none-dtype_f16".
std::string plainName(const KernelTemplate& from, const Parameters& parameters) {
  std::string text = from.name;
  for (const char c : parameters.toString().empty() ? "" : "-" + parameters.toString()) text += c == ',' ? '-' : c == '=' ? '_' : c;
  return text;
}

TemplateNames namesOf(const KernelTemplate& from, const Parameters& parameters) {
  TemplateNames names = from.names ? from.names(parameters) : TemplateNames();
  for (std::string* name : {&names.text, &names.tuned, &names.folder})
    if (name->empty()) *name = plainName(from, parameters);
  return names;
}

}  // namespace

Instance::Instance(const KernelTemplate& what, const Parameters& given, const std::string& where, std::span<const std::int64_t> extents) {
  requireTemplate(what);
  from = std::make_shared<const KernelTemplate>(what);
  parameters = complete(what, given);
  target = where;
  machine = machineOf(target);
  requireExtents(what, extents);
  if (what.check) what.check(parameters);
  if (what.complete) parameters = what.complete(parameters, machine);
  names = namesOf(what, parameters);
  const bool isTold = std::ranges::any_of(extents, [](std::int64_t extent) { return extent > 0; });
  safe = what.tileFor && isTold ? what.tileFor(parameters, machine, padded(what, extents)) : what.tile(parameters, machine);
  safe.validate();
}

dsl::Program Instance::trace(const TileConfig& tile) const {
  return dsl::trace(from->name, [&](dsl::Params& params) { from->program(params, parameters, tile); });
}

void Instance::requireTile(const TileConfig& tile) const {
  tile.validate();
  if (from->checkTile) from->checkTile(parameters, tile);
}

std::shared_ptr<const Instance> Instance::relaxed() const {
  const std::optional<Parameters> less = from->relaxed ? from->relaxed(parameters) : std::nullopt;
  return less && *less != parameters ? std::make_shared<const Instance>(*from, *less, target.name) : nullptr;
}

ProgramJob Instance::job(const TileConfig& tile) const {
  return {.target = target, .tile = tile, .folder = names.folder + "-" + target.name + "-" + tile.toString(), .trace = [=, this] {
            return trace(tile);
          }};
}

namespace {

// Where broken promises lead to other code, packing does not look at them.
std::vector<dsl::Param> withoutPromises(std::vector<dsl::Param> declared) {
  for (dsl::Param& param : declared) param.divisibility = 1;
  return declared;
}

}  // namespace

TemplateCode::TemplateCode(std::shared_ptr<const Instance> instance, std::vector<dsl::Param> declared)
    : relaxedInstance_(instance->relaxed()),
      declared_(std::move(declared)),
      arguments_(relaxedInstance_ ? withoutPromises(declared_) : declared_) {
  for (std::size_t slot = 0; relaxedInstance_ && slot < declared_.size(); ++slot) {
    const auto divisor = static_cast<std::uint64_t>(declared_[slot].divisibility);
    if (divisor <= 1) continue;
    const bool isPower = std::has_single_bit(divisor);
    promises_.push_back({slot, isPower ? divisor - 1 : 0, isPower ? 1 : static_cast<std::int64_t>(divisor)});
  }
}

const LoadedCode& TemplateCode::relaxed(const TileConfig& tile) const {
  if (const LoadedCode* found = relaxedCode_.load(std::memory_order_acquire)) return *found;
  asErrors([&] {
    const Busy busy;
    Source source = sourceOf(relaxedInstance_);
    source.safe = tile;
    std::shared_ptr<const LoadedCode> made = programCache().closed(source, {}).code;
    std::lock_guard lock(compiling_);
    if (!relaxedOwner_) relaxedOwner_ = std::move(made);
    relaxedCode_.store(relaxedOwner_.get(), std::memory_order_release);
  });
  return *relaxedCode_.load(std::memory_order_acquire);
}

namespace {

// A binary that was found may be anybody's.
void requireDeclared(std::span<const dsl::Param> declared, std::span<const compiler::ArgInfo> found) {
  const auto same = [](const dsl::Param& param, const compiler::ArgInfo& arg) {
    return param.name == arg.name && param.isPointer == arg.isPointer && param.type == arg.type;
  };
  if (!std::ranges::equal(declared, found, same))
    throw Error(ErrorCode::Internal, "the code takes other arguments than the program declares");
}

// Two templates may have one name: what tells them apart is their text.
std::string identityOf(const Instance& instance) {
  const std::string name =
      "template " + plainName(*instance.from, instance.parameters) + (instance.from->relaxed ? " relaxed for others " : " ");
  if (instance.from->unique) return name + instance.target.name;
  const dsl::Program program = instance.trace(instance.safe);
  return name + cache::hex(cache::hash(compiler::textOf(dsl::internal::module(program)))) + " " + instance.target.name;
}

}  // namespace

Source sourceOf(const std::shared_ptr<const Instance>& instance) {
  Source source{.key = identityOf(*instance),
                .text = instance->names.text + " for " + instance->target.name,
                .target = instance->target,
                .safe = instance->safe};
  // What the program declared when it was compiled; a source compiles and loads one configuration after the other.
  auto declared = std::make_shared<std::vector<dsl::Param>>();
  source.compile = [instance, declared](const TileConfig& tile) {
    ProgramJob job = instance->job(tile);
    job.trace = [instance, declared, tile] {
      dsl::Program program = instance->trace(tile);
      declared->assign(program.args().begin(), program.args().end());
      return program;
    };
    return compileProgram(job);
  };
  source.accept = [declared](const compiler::Binary& binary) { requireDeclared(*declared, binary.args); };
  source.client = [instance, declared](const LoadedCode&) { return std::make_shared<const TemplateCode>(instance, *declared); };
  if (instance->from->progress)
    source.progress = [instance](const TileConfig& tile, bool done, double ms) {
      instance->from->progress({.parameters = instance->parameters, .target = instance->target.name, .tile = tile, .done = done, .ms = ms});
    };
  return source;
}

TuneProblem problemOf(const std::shared_ptr<const Instance>& instance, std::span<const std::int64_t> extents) {
  const KernelTemplate& from = *instance->from;
  requireExtents(from, extents);
  const std::vector<std::int64_t> shape = withTypical(from, extents);
  TuneProblem problem{.name = instance->names.tuned,
                      .target = instance->target,
                      .safe = instance->safe,
                      .extents = from.extents,
                      .decisive = from.extents.front(),
                      .told = namedExtents(from, extents),
                      .shape = namedExtents(from, shape),
                      .reference = from.tile(instance->parameters, {.chip = "host"}),
                      .trace = [instance](const TileConfig& tile) { return instance->trace(tile); }};
  if (from.hasSay)
    problem.hasSay = [instance, told = padded(from, extents)](const cache::TunedBucket& bucket) {
      return instance->from->hasSay(told, extentsOf(*instance->from, bucket.shape));
    };
  problem.refusal = [instance](const TileConfig& tile) -> std::optional<std::string> {
    try {
      instance->requireTile(tile);
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
    const auto add = [&](const std::string& schedule) {
      const auto same = [&](const TileConfig& variant) { return variant.schedule == schedule; };
      if (tile.schedule != schedule && std::ranges::none_of(variants, same)) variants.emplace_back(tile).schedule = schedule;
    };
    const std::vector<std::string> offered = offeredSchedules(instance->target, tile, instance->trace(tile));
    for (std::size_t i = tile.schedule.empty() ? 1 : 0; i < std::min(offered.size(), kMost + 1); ++i) add(offered[i]);
    if (instance->machine.warp_groups)
      for (const std::string& schedule : withOtherPrograms(tile.schedule)) add(schedule);
    for (const std::string& word : wordsToTry(*instance, tile)) add(with(tile.schedule, word));
    return variants;
  };
  problem.bench = [instance, shape] { return std::make_unique<TemplateBench>(instance, shape); };
  return problem;
}

TemplateHandle openTemplate(const KernelTemplate& from, const Parameters& parameters, const TemplateFor& how) {
  auto instance = std::make_shared<const Instance>(from, parameters, how.target, how.extents);
  const Source source = sourceOf(instance);
  if (how.leavesTileOpen()) return {programCache().open(source, tunedChoice(problemOf(instance, how.extents))), std::move(instance)};
  instance->requireTile(*how.tile);
  return {programCache().closed(source, *how.tile), std::move(instance)};
}

}  // namespace fattn::kernels
