// SPDX-License-Identifier: Apache-2.0
// parse(): a program from the text of its IR.
#include <fmt/format.h>

#include "compiler/dialect/Tile.h"
#include "compiler/text/TextLimits.h"
#include "dsl/ProgramImpl.h"
#include "dsl/Recorder.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

namespace fattn::dsl {
namespace {

[[noreturn]] void failText(const std::string& what, std::string hint = "") {
  throw Error(ErrorCode::CompileError, "the text is not valid tile IR: " + what, std::move(hint));
}

mlir::OwningOpRef<mlir::ModuleOp> parseModule(mlir::MLIRContext& context, std::string_view text) {
  std::string found;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& diagnostic) {
    if (!found.empty()) return;
    if (auto place = mlir::dyn_cast<mlir::FileLineColLoc>(diagnostic.getLocation()))
      found = fmt::format("{}:{}: ", std::string_view(place.getFilename()), place.getLine());
    found += diagnostic.str();
  });
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(llvm::StringRef(text), mlir::ParserConfig(&context), "tile");
  if (!module) failText(found.empty() ? "it cannot be parsed" : found);
  return module;
}

mlir::func::FuncOp kernelOf(mlir::ModuleOp module) {
  mlir::func::FuncOp kernel;
  int kernels = 0;
  for (auto func : module.getOps<mlir::func::FuncOp>()) {
    if (!func->hasAttr("tile.kernel")) continue;
    kernel = func;
    ++kernels;
  }
  if (kernels != 1)
    failText(fmt::format("{} functions have the attribute tile.kernel; one has to", kernels),
             "write for example func.func @scale(%x: !tile.ptr<f32> {tile.name = \"x\"}) attributes {tile.kernel}");
  return kernel;
}

std::vector<Param> paramsOf(mlir::func::FuncOp kernel) {
  std::vector<Param> params;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
    Param& param = params.emplace_back();
    auto name = kernel.getArgAttrOfType<mlir::StringAttr>(i, "tile.name");
    param.name = name ? name.str() : fmt::format("arg{}", i);
    mlir::Type type = kernel.getArgument(i).getType();
    auto pointer = mlir::dyn_cast<tile::PtrType>(type);
    param.isPointer = static_cast<bool>(pointer);
    param.type = internal::fromMlir(pointer ? pointer.getPointee() : type);
    if (auto divisor = kernel.getArgAttrOfType<mlir::IntegerAttr>(i, "tile.divisibility")) param.divisibility = divisor.getInt();
    if (kernel.getArgAttr(i, "tile.noalias")) param.aliasing = Aliasing::None;
    if (kernel.getArgAttr(i, "tile.in_place")) param.aliasing = Aliasing::InPlace;
    param.settled = static_cast<bool>(kernel.getArgAttr(i, "tile.settled"));
    for (std::size_t other = 0; other + 1 < params.size(); ++other)
      if (params[other].name == param.name) failText(fmt::format("two arguments are called {}", param.name));
  }
  return params;
}

}  // namespace

Program parse(std::string_view text) {
  if (const std::string broken = compiler::brokenLimit(text); !broken.empty()) failText(broken);
  auto impl = std::make_unique<Program::Impl>();
  impl->own = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  internal::loadDialects(*impl->own);
  impl->module = parseModule(*impl->own, text);
  mlir::func::FuncOp kernel = kernelOf(*impl->module);
  impl->name = kernel.getName().str();
  impl->params = paramsOf(kernel);
  return Program(std::move(impl));
}

}  // namespace fattn::dsl
