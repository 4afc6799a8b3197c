// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/Executable.h"

#include <bit>

#include "compiler/driver/Compile.h"
#include "compiler/interpreter/Interpreter.h"
#include "dsl/Internal.h"
#include "fattn/Device.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fattn::examples {
namespace {

class Interpreted : public Executable {
 public:
  explicit Interpreted(dsl::Program program) : program_(std::move(program)) {}

  void run(Extents grid, const std::vector<Argument>& arguments) override {
    std::vector<interpreter::Argument> list;
    for (const Argument& argument : arguments) {
      if (const auto* matrix = std::get_if<Matrix*>(&argument))
        list.emplace_back(interpreter::Buffer{(*matrix)->data(), (*matrix)->size()});
      else if (const auto* integer = std::get_if<std::int64_t>(&argument))
        list.emplace_back(*integer);
      else
        list.emplace_back(std::get<double>(argument));
    }
    interpreter::run(*dsl::internal::module(program_).getOps<mlir::func::FuncOp>().begin(), list, grid);
  }

 private:
  dsl::Program program_;
};

class Compiled : public Executable {
 public:
  explicit Compiled(const dsl::Program& program)
      : module_(device_.load(compiler::compile(dsl::internal::module(program), {}))), slots_(program.args().size()) {}

  void run(Extents grid, const std::vector<Argument>& arguments) override {
    if (arguments.size() != slots_.size()) throw Error(ErrorCode::InvalidArgument, "one argument is needed for each parameter");
    for (std::size_t i = 0; i < arguments.size(); ++i) slots_[i] = slot(arguments[i]);
    device_.launch(*module_, {grid[0], grid[1], grid[2]}, slots_);
  }

 private:
  static std::uint64_t slot(const Argument& argument) {
    if (const auto* matrix = std::get_if<Matrix*>(&argument)) return reinterpret_cast<std::uint64_t>((*matrix)->data());
    if (const auto* integer = std::get_if<std::int64_t>(&argument)) return static_cast<std::uint64_t>(*integer);
    return std::bit_cast<std::uint32_t>(static_cast<float>(std::get<double>(argument)));
  }

  Device& device_ = openDevice("host");
  std::unique_ptr<Module> module_;
  std::vector<std::uint64_t> slots_;
};

}  // namespace

std::unique_ptr<Executable> load(dsl::Program program, Backend backend) {
  if (backend == Backend::Interpreter) return std::make_unique<Interpreted>(std::move(program));
  return std::make_unique<Compiled>(program);
}

}  // namespace fattn::examples
