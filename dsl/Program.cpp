// SPDX-License-Identifier: Apache-2.0
// trace(): a context, a module and a function, the kernel run once inside of it, and the verified result.
#include <fmt/format.h>

#include <array>
#include <cctype>

#include "compiler/dialect/Tile.h"
#include "dsl/Internal.h"
#include "dsl/ProgramImpl.h"
#include "dsl/Recorder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

namespace fattn::dsl {

using namespace internal;

struct ParamsAccess {
  static Params make() { return Params(); }
};

namespace {

void checkName(std::string_view what, std::string_view name, Loc loc) {
  const bool starts = !name.empty() && (std::isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_');
  const bool rest = std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  if (!starts || !rest)
    failAt(loc, what, fmt::format("\"{}\" is no name; letters, digits and _ make one, and it does not begin with a digit", name));
}

mlir::Value addArgument(Step& step, std::string_view name, mlir::Type type, const Param& param) {
  Recorder& recorder = step.recorder();
  if (param.divisibility < 1) step.fail(fmt::format("the divisibility of {} must be at least 1; got {}", name, param.divisibility));
  for (const Param& other : recorder.params)
    if (other.name == name) step.fail(fmt::format("there already is an argument called {}", name));
  mlir::Builder& builder = recorder.builder;
  llvm::SmallVector<mlir::NamedAttribute, 3> attrs = {builder.getNamedAttr("tile.name", builder.getStringAttr(llvm::StringRef(name)))};
  if (param.divisibility > 1) attrs.push_back(builder.getNamedAttr("tile.divisibility", builder.getI64IntegerAttr(param.divisibility)));
  if (param.aliasing == Aliasing::None) attrs.push_back(builder.getNamedAttr("tile.noalias", builder.getUnitAttr()));
  if (param.aliasing == Aliasing::InPlace) attrs.push_back(builder.getNamedAttr("tile.in_place", builder.getUnitAttr()));
  const unsigned index = recorder.func.getNumArguments();
  if (mlir::failed(recorder.func.insertArgument(index, type, builder.getDictionaryAttr(attrs), step.location())))
    step.fail("the function cannot take another argument");
  recorder.params.push_back(param);
  return recorder.func.getArgument(index);
}

/// Checks the finished module. The language's own checks should leave nothing to find; what is found still names the line.
void verify(mlir::ModuleOp module, std::string_view name) {
  std::string found;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic& diagnostic) {
    if (!found.empty()) return;
    if (auto place = mlir::dyn_cast<mlir::FileLineColLoc>(diagnostic.getLocation()))
      found = fmt::format("{}:{}: ", std::string_view(place.getFilename()), place.getLine());
    found += diagnostic.str();
  });
  if (mlir::failed(mlir::verify(module)))
    throw Error(ErrorCode::TraceError, found.empty() ? fmt::format("the traced program {} is not valid", name) : found);
}

Program record(std::unique_ptr<Program::Impl> impl, mlir::MLIRContext& context, const std::function<void(Params&)>& kernel, Loc loc) {
  checkName("trace", impl->name, loc);
  const mlir::Location place = mlir::FileLineColLoc::get(&context, loc.file_name(), loc.line(), loc.column());
  impl->module = mlir::ModuleOp::create(place);
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(impl->module->getBody());
  auto func = mlir::func::FuncOp::create(builder, place, impl->name, builder.getFunctionType({}, {}));
  func->setAttr("tile.kernel", builder.getUnitAttr());
  func.addEntryBlock();
  {
    Recorder recorder(func, impl->params);
    Params params = ParamsAccess::make();
    kernel(params);
    if (recorder.failed)
      failAt(loc, "trace", "an error inside of a body was caught by the kernel function", "let fattn::Error pass through");
    mlir::func::ReturnOp::create(recorder.builder, place);
  }
  verify(*impl->module, impl->name);
  return Program(std::move(impl));
}

}  // namespace

void internal::loadDialects(mlir::MLIRContext& context) {
  context
      .loadDialect<tile::TileDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::scf::SCFDialect>();
}

Ptr Params::ptr(std::string_view name, DType element, std::int64_t divisibility, Aliasing aliasing, Loc loc) {
  Step step("ptr", loc);
  checkName("ptr", name, loc);
  const Param param{std::string(name), true, element, divisibility, aliasing};
  return Ptr(step.wrap(addArgument(step, name, tile::PtrType::get(step.type(element)), param)));
}

Scalar Params::scalar(std::string_view name, DType type, std::int64_t divisibility, Loc loc) {
  Step step("scalar", loc);
  checkName("scalar", name, loc);
  constexpr std::array legal = {DType::I1, DType::I8, DType::I32, DType::I64, DType::F32};
  if (std::find(legal.begin(), legal.end(), type) == legal.end())
    step.fail(fmt::format("a scalar argument is i1, i8, i32, i64 or f32; {} is {}", name, fattn::name(type)),
              "pass f32 and cast it in the kernel");
  if (isFloat(type) && divisibility != 1) step.fail(fmt::format("only integers have a divisibility; {} is {}", name, fattn::name(type)));
  return Scalar(step.wrap(addArgument(step, name, step.type(type), {std::string(name), false, type, divisibility})));
}

Program::Program(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

const std::string& Program::name() const { return impl_->name; }
std::span<const Param> Program::args() const { return impl_->params; }

std::string Program::mlir(bool locations) const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  if (locations) flags.enableDebugInfo().useLocalScope();  // loc("file":line:column) behind each operation, which a parser reads
  impl_->module->print(stream, flags);
  return text;
}

Program trace(std::string_view name, const std::function<void(Params&)>& kernel, Loc loc) {
  auto impl = std::make_unique<Program::Impl>();
  impl->name = std::string(name);
  impl->own = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  mlir::MLIRContext& context = *impl->own;
  loadDialects(context);
  return record(std::move(impl), context, kernel, loc);
}

mlir::ModuleOp internal::module(const Program& program) { return *program.impl().module; }

Program internal::copy(const Program& program) {
  auto impl = std::make_unique<Program::Impl>();
  impl->module = program.impl().module->clone();
  impl->name = program.impl().name;
  impl->params = program.impl().params;
  return Program(std::move(impl));
}

Program internal::traceInto(mlir::MLIRContext& context, std::string_view name, const std::function<void(Params&)>& kernel, Loc loc) {
  auto impl = std::make_unique<Program::Impl>();
  impl->name = std::string(name);
  loadDialects(context);
  return record(std::move(impl), context, kernel, loc);
}

}  // namespace fattn::dsl
