// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/Executable.h"

#include <algorithm>
#include <bit>

#include "compiler/driver/Compile.h"
#include "compiler/gpu/Target.h"
#include "compiler/interpreter/Interpreter.h"
#include "dsl/Internal.h"
#include "fattn/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tests/adversary/CheckProgram.h"

namespace fattn::examples {
namespace {

std::vector<interpreter::Argument> inHostMemory(const std::vector<Argument>& arguments) {
  std::vector<interpreter::Argument> list;
  for (const Argument& argument : arguments) {
    if (const auto* matrix = std::get_if<Matrix*>(&argument)) {
      list.emplace_back(interpreter::Buffer{(*matrix)->data(), (*matrix)->size()});
      list.emplace_back((*matrix)->rowStride());
      list.emplace_back((*matrix)->columnStride());
    } else if (const auto* integer = std::get_if<std::int64_t>(&argument)) {
      list.emplace_back(*integer);
    } else {
      list.emplace_back(std::get<double>(argument));
    }
  }
  return list;
}

class Interpreted : public Executable {
 public:
  explicit Interpreted(dsl::Program program) : program_(std::move(program)) {}

  void run(Extents grid, const std::vector<Argument>& arguments) override {
    interpreter::run(*dsl::internal::module(program_).getOps<mlir::func::FuncOp>().begin(), inHostMemory(arguments), grid);
  }

 private:
  dsl::Program program_;
};

/// Configurations take turns on the chips; the next one has it where a chip has too little shared memory.
adversary::BlockProgram compileForSomeChip(mlir::ModuleOp module, const TileConfig& config, int schedule) {
  std::vector<std::string> chips;
  for (std::string_view target : gpu::targetNames())
    if (target.starts_with("nvidia:")) chips.emplace_back(target);
  adversary::BlockProgram block;
  for (std::size_t i = 0; i < chips.size(); ++i) {
    const std::string& chip = chips[(static_cast<std::size_t>(config.stages + config.warps + schedule) + i) % chips.size()];
    block = adversary::compileForBlock(
        module, {.target = chip, .warps = config.warps, .stages = config.stages, .schedule = schedule, .forced = {}, .order = {}});
    if (block.module || block.refused.find("bytes of shared memory") == std::string::npos) break;
  }
  if (!block.module) throw Error(ErrorCode::CompileError, block.refused);
  return block;
}

class UnderAdversary : public Executable {
 public:
  UnderAdversary(dsl::Program program, const TileConfig& config, int schedule)
      : program_(std::move(program)), block_(compileForSomeChip(dsl::internal::module(program_), config, schedule)) {}

  /// The matrices end with what the last order makes; each run has another one last.
  void run(Extents grid, const std::vector<Argument>& arguments) override {
    adversary::Options options;
    std::ranges::rotate(options.orders, options.orders.begin() + static_cast<std::ptrdiff_t>(runs_++ % options.orders.size()));
    std::string faults = adversary::textOf(adversary::check(*block_.module, inHostMemory(arguments), grid, options));
    if (!faults.empty()) throw Error(ErrorCode::CompileError, faults);
  }

 private:
  dsl::Program program_;
  adversary::BlockProgram block_;
  std::size_t runs_ = 0;
};

/// A matrix in the memory of a device while it lives, gaps included; on the host where it was all along.
class OnDevice {
 public:
  OnDevice(Device& device, Matrix& matrix) : device_(device), matrix_(matrix), memory_(matrix.data()) {
    if (device.kind() == DeviceKind::Host) return;
    std::size_t before = static_cast<std::size_t>(matrix.misalignment()), bytes = static_cast<std::size_t>(matrix.sizeWithGuard());
    owned_ = {device.allocate(before + bytes), [&device](void* memory) { device.free(memory); }};
    memory_ = static_cast<std::byte*>(owned_.get()) + before;
    device.copy(memory_, matrix.data(), bytes);
  }
  std::uint64_t slot() const { return std::bit_cast<std::uint64_t>(memory_); }
  void fetch() {
    if (owned_) device_.copy(matrix_.data(), memory_, static_cast<std::size_t>(matrix_.sizeWithGuard()));
  }

 private:
  Device& device_;
  Matrix& matrix_;
  std::shared_ptr<void> owned_;
  void* memory_;
};

// Not by fattn::compile: each pass is verified, and an order of the loop is taken by its number.
class Compiled : public Executable {
 public:
  Compiled(const dsl::Program& program, Device& device, const TileConfig& config, int schedule) : device_(device) {
    compiler::CompileOptions options;
    options.target = device.chip();
    options.config = config;
    options.schedule = schedule;
    options.verify = true;
    module_ = device_.load(compiler::compile(dsl::internal::module(program), options));
  }

  void run(Extents grid, const std::vector<Argument>& arguments) override {
    std::vector<OnDevice> matrices;
    std::vector<std::uint64_t> slots;
    for (const Argument& argument : arguments) {
      if (const auto* matrix = std::get_if<Matrix*>(&argument)) {
        slots.push_back(matrices.emplace_back(device_, **matrix).slot());
        slots.push_back(static_cast<std::uint64_t>((*matrix)->rowStride()));
        slots.push_back(static_cast<std::uint64_t>((*matrix)->columnStride()));
      } else if (const auto* integer = std::get_if<std::int64_t>(&argument)) {
        slots.push_back(static_cast<std::uint64_t>(*integer));
      } else {
        slots.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(std::get<double>(argument))));
      }
    }
    device_.launch(*module_, {grid[0], grid[1], grid[2]}, slots);
    for (OnDevice& matrix : matrices) matrix.fetch();
    device_.synchronize();
  }

 private:
  Device& device_;
  std::unique_ptr<Module> module_;
};

}  // namespace

std::string_view name(Backend backend) {
  constexpr std::array<std::string_view, 4> kNames = {"interpreter", "host", "cuda", "adversary"};
  return kNames[static_cast<std::size_t>(backend)];
}

std::string missing(Backend backend) try {
  if (backend == Backend::Host || backend == Backend::Cuda) openDevice(name(backend));
  return "";
} catch (const Error& error) {
  if (error.code() != ErrorCode::NoDevice) throw;
  return error.what();
}

std::unique_ptr<Executable> load(dsl::Program program, Backend backend, const TileConfig& config, int schedule) {
  if (backend == Backend::Interpreter) return std::make_unique<Interpreted>(std::move(program));
  if (backend == Backend::Adversary) return std::make_unique<UnderAdversary>(std::move(program), config, schedule);
  return load(program, openDevice(name(backend)), config, schedule);
}

std::unique_ptr<Executable> load(const dsl::Program& program, Device& device, const TileConfig& config, int schedule) {
  return std::make_unique<Compiled>(program, device, config, schedule);
}

}  // namespace fattn::examples
