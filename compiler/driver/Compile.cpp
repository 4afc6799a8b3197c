// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Compile.h"

#include "compiler/cpu/Passes.h"
#include "compiler/dialect/Tile.h"
#include "compiler/driver/StageDump.h"
#include "compiler/emit/HostCode.h"
#include "compiler/emit/LineTables.h"
#include "fattn/Error.h"
#include "fattn/Version.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace fattn::compiler {
namespace {

/// Collects the context's diagnostics while it lives, so that they end in an Error instead of on stderr.
class Diagnostics {
 public:
  explicit Diagnostics(MLIRContext* context) : handler(context, [this](Diagnostic& d) { return add(d), success(); }) {}
  std::string text;

 private:
  void add(Diagnostic& d) {
    llvm::raw_string_ostream out(text);
    if (!text.empty()) out << "\n";
    if (auto at = d.getLocation()->findInstanceOf<FileLineColLoc>()) out << at.getFilename().str() << ":" << at.getLine() << ": ";
    out << d.str();
  }
  ScopedDiagnosticHandler handler;
};

std::vector<ArgInfo> argumentsOf(func::FuncOp kernel) {
  std::vector<ArgInfo> out;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
    auto name = kernel.getArgAttrOfType<StringAttr>(i, "tile.name");
    Type type = kernel.getArgument(i).getType();
    auto ptr = dyn_cast<tile::PtrType>(type);
    out.push_back({name ? name.str() : "arg" + std::to_string(i), static_cast<bool>(ptr), tile::dtypeOf(ptr ? ptr.getPointee() : type)});
  }
  return out;
}

func::FuncOp findKernel(ModuleOp module) {
  func::FuncOp kernel;
  for (auto f : module.getOps<func::FuncOp>()) {
    if (!f->hasAttr("tile.kernel")) continue;
    if (kernel) throw Error(ErrorCode::InvalidArgument, "the module has more than one function with the attribute tile.kernel");
    kernel = f;
  }
  if (!kernel) throw Error(ErrorCode::InvalidArgument, "the module has no function with the attribute tile.kernel");
  return kernel;
}

/// Throws for a chip that the machine table knows and no pipeline leads to.
void requireBackEnd(const std::string& target) {
  if (target.starts_with("nvidia:") || target.starts_with("amd:"))
    throw Error(ErrorCode::Unsupported, "there is no back end for '" + target + "'", "host has one");
}

}  // namespace

void registerCompilerDialects(DialectRegistry& registry) {
  tile::registerTileDialects(registry);
  registry.insert<LLVM::LLVMDialect, vector::VectorDialect>();
}

Binary compile(ModuleOp module, const CompileOptions& options) {
  requireBackEnd(options.target);
  cpu::HostTarget target = emit::hostTarget(options.target);
  MLIRContext* context = module.getContext();
  DialectRegistry registry;
  registerCompilerDialects(registry);
  context->appendDialectRegistry(registry);
  Diagnostics diagnostics(context);
  if (failed(verify(module))) throw Error(ErrorCode::CompileError, "the kernel is not valid tile IR: " + diagnostics.text);
  func::FuncOp kernel = findKernel(module);
  Binary binary;
  binary.target = options.target;
  binary.entry = kernel.getName().str();
  binary.args = argumentsOf(kernel);
  binary.threads = 1;

  StageDump dump(options.dumpDir, options.onStage);
  dump.write("tile.mlir", module);
  PassManager pm(context);
  pm.enableVerifier(dump.on());
  if (dump.on()) pm.addInstrumentation(dump.instrumentation());
  cpu::buildPipeline(pm, target);
  if (failed(pm.run(module)))
    throw Error(ErrorCode::CompileError, "the kernel could not be compiled for " + options.target + ": " + diagnostics.text);
  for (auto f : module.getOps<LLVM::LLVMFuncOp>())
    if (auto scratch = f->getAttrOfType<IntegerAttr>("fattn.scratch_bytes")) binary.scratchBytes = scratch.getInt();
  if (options.lineTables) emit::attachLineTables(module, emit::LineTables::Sections, "fattn " + std::string(fattn::version()));
  emit::HostCode code = emit::emitHostCode(module, target, dump.on());
  dump.write("optimized.ll", code.llvmIR);
  dump.write("host.s", code.assembly);
  dump.write("host.o", code.object);
  binary.bytes = std::move(code.object);
  return binary;
}

}  // namespace fattn::compiler
