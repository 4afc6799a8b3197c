// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Compile.h"

#include <algorithm>

#include "compiler/amd/Passes.h"
#include "compiler/cpu/Passes.h"
#include "compiler/dialect/Tile.h"
#include "compiler/driver/StageDump.h"
#include "compiler/emit/HostCode.h"
#include "compiler/emit/HsacoCode.h"
#include "compiler/emit/LineTables.h"
#include "compiler/emit/PtxCode.h"
#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/nvidia/Passes.h"
#include "fattn/Error.h"
#include "fattn/Version.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "runtime/base/Headroom.h"
#include "runtime/base/TargetName.h"

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

/// What of a compilation's memory does not depend on the program, and what an operation takes in LLVM: above what was measured on all
/// targets, from kernels of 4,000 operations to such of 60,000.
constexpr std::size_t kToLower = std::size_t{40} << 20, kToGenerate = std::size_t{16} << 20, kPerOperation = std::size_t{4} << 10;

/// Asked for before LLVM begins, which ends the process where it gets none.
std::size_t toGenerate(ModuleOp module) {
  std::size_t operations = 0;
  module.walk([&](Operation*) { ++operations; });
  return kToGenerate + operations * kPerOperation;
}

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

std::vector<LaunchProduct> productsOf(DictionaryAttr map, StringRef name) {
  std::vector<LaunchProduct> products;
  for (Attribute each : map.getAs<ArrayAttr>(name)) {
    ArrayRef<int64_t> numbers = cast<DenseI64ArrayAttr>(each).asArrayRef();
    LaunchProduct& product = products.emplace_back();
    product.factor = numbers.front();
    for (int64_t argument : numbers.drop_front()) product.arguments.push_back(static_cast<std::int32_t>(argument));
  }
  return products;
}

/// What the function's attributes say of the arrays that are copied in boxes.
void addTensorMaps(LLVM::LLVMFuncOp function, Binary& binary) {
  auto maps = function->getAttrOfType<ArrayAttr>(tilegpu::kTensorMapsAttr);
  for (Attribute each : maps ? maps.getValue() : ArrayRef<Attribute>()) {
    auto map = cast<DictionaryAttr>(each);
    ArrayRef<int64_t> box = map.getAs<DenseI64ArrayAttr>("box").asArrayRef();
    auto number = [&](StringRef name) { return static_cast<std::int32_t>(map.getAs<IntegerAttr>(name).getInt()); };
    binary.tensorMaps.push_back({.pointer = number("pointer"),
                                 .elementBytes = tilegpu::elementBits(map.getAs<TypeAttr>("element").getValue()) / 8,
                                 .swizzleBytes = number("swizzle"),
                                 .sizes = productsOf(map, "sizes"),
                                 .strides = productsOf(map, "strides"),
                                 .boxColumns = static_cast<std::int32_t>(box[0]),
                                 .boxRows = static_cast<std::int32_t>(box[1]),
                                 .adds = map.contains("adds")});
  }
  if (auto arguments = function->getAttrOfType<DenseI64ArrayAttr>(tilegpu::kNonNegativeAttr))
    for (int64_t argument : arguments.asArrayRef()) binary.nonNegative.push_back(static_cast<std::int32_t>(argument));
}

/// What a tile configuration leaves open for a GPU.
TileConfig gpuDefaults() {
  return {.stages = static_cast<int>(gpu::PipelineOptions().stages), .warps = static_cast<int>(gpu::PipelineOptions().warps)};
}

/// One compilation under way.
struct Job {
  ModuleOp module;
  const CompileOptions& options;
  StageDump& dump;
  Diagnostics& diagnostics;
  bool onlyPasses;  // no code generator
  Binary binary;

  void run(llvm::function_ref<void(OpPassManager&)> build) {
    PassManager pm(module.getContext());
    pm.enableVerifier(options.verify || dump.on());
    if (dump.on()) pm.addInstrumentation(dump.instrumentation());
    if (options.onModule)
      pm.addInstrumentation(afterEveryPass([&](Pass* pass, ModuleOp after, bool worked) {
        if (worked) options.onModule(std::string_view(pass->getArgument()), after);
      }));
    build(pm);
    LogicalResult lowered = pm.run(module);
    dump.rethrow();
    if (failed(lowered))
      throw Error(ErrorCode::CompileError, "the kernel could not be compiled for " + options.target + ": " + diagnostics.text);
  }
  void attachLineTables(emit::LineTables kind) {
    if (options.lineTables) emit::attachLineTables(module, kind, "fattn " + std::string(fattn::version()));
  }
};

void compileForHost(Job& job) {
  cpu::HostTarget target = emit::hostTarget(job.options.target);
  job.binary.threads = 1;
  job.run([&](OpPassManager& pm) { cpu::buildPipeline(pm, target); });
  if (job.onlyPasses) return;
  for (auto f : job.module.getOps<LLVM::LLVMFuncOp>())
    if (auto scratch = f->getAttrOfType<IntegerAttr>("fattn.scratch_bytes")) job.binary.scratchBytes = scratch.getInt();
  job.attachLineTables(emit::LineTables::Sections);
  const Headroom headroom(toGenerate(job.module));
  emit::HostCode code = emit::emitHostCode(job.module, target, job.dump.on());
  job.dump.write("optimized.ll", code.llvmIR);
  job.dump.write("host.s", code.assembly);
  job.dump.write("host.o", code.object);
  job.binary.bytes = std::move(code.object);
}

void compileForNvidia(Job& job) {
  const gpu::Target& target = gpu::findTarget(job.options.target);
  TileConfig config = job.options.config.withDefaults(gpuDefaults());
  nvidia::PipelineOptions options{.target = std::string(target.name),
                                  .warps = config.warps,
                                  .stages = config.stages,
                                  .schedule = job.options.schedule,
                                  .forced = config.schedule,
                                  .onLoop = job.options.onLoop,
                                  .verify = job.options.verify,
                                  .checkOrder = job.options.verify,
                                  .boxes = job.options.boxes,
                                  .marks = job.options.marks,
                                  .watchdog = job.options.watchdog};
  job.run([&](OpPassManager& pm) { nvidia::buildPipeline(pm, options); });
  job.binary.threads = config.warps * target.warpSize;
  for (auto f : job.module.getOps<LLVM::LLVMFuncOp>())
    if (auto shared = f->getAttrOfType<IntegerAttr>(tilegpu::kSharedBytesAttr)) {
      job.binary.sharedBytes = shared.getInt();
      job.binary.threads += static_cast<int>(tilegpu::copierWarpsOf(f)) * target.warpSize;
      job.binary.repeats = f->hasAttr(tilegpu::kRepeatsAttr);
      job.binary.counts = f->hasAttr(tilegpu::kClaimsAttr);
      job.binary.cluster = static_cast<int>(tilegpu::clusterOf(f));
      job.binary.overlaps = f->hasAttr(tile::kOverlapsAttr);
      addTensorMaps(f, job.binary);
    }
  if (job.onlyPasses) return;
  job.attachLineTables(emit::LineTables::Directives);
  const Headroom headroom(toGenerate(job.module));
  std::string llvmIR;
  std::string chip(parseTarget(target.name).part);
  job.binary.bytes = emit::emitPtx(job.module, chip, job.dump.on() ? &llvmIR : nullptr);
  job.dump.write("optimized.ll", llvmIR);
  job.dump.write("kernel.ptx", job.binary.bytes);
}

void compileForAmd(Job& job) {
  const gpu::Target& target = gpu::findTarget(job.options.target);
  TileConfig config = job.options.config.withDefaults(gpuDefaults());
  gpu::PipelineOptions options{.target = std::string(target.name),
                               .warps = config.warps,
                               .stages = config.stages,
                               .schedule = job.options.schedule,
                               .forced = config.schedule,
                               .onLoop = job.options.onLoop,
                               .verify = job.options.verify,
                               .checkOrder = job.options.verify};
  job.run([&](OpPassManager& pm) { amd::buildPipeline(pm, options); });
  for (auto f : job.module.getOps<LLVM::LLVMFuncOp>())
    if (auto order = f->getAttrOfType<DenseI64ArrayAttr>(tilegpu::kDieOrderAttr))
      job.binary.dieOrder = {.dies = static_cast<std::uint8_t>(order[0]), .first = static_cast<std::uint8_t>(order[1])};
  if (job.onlyPasses) return;
  job.attachLineTables(emit::LineTables::Sections);
  const Headroom headroom(toGenerate(job.module));
  std::string chip(parseTarget(target.name).part);
  emit::HsacoCode code = emit::emitHsaco(job.module, chip, job.binary.entry, job.dump.on());
  job.dump.write("optimized.ll", code.llvmIR);
  job.dump.write("kernel.s", code.assembly);
  job.dump.write("kernel.hsaco", code.codeObject);
  job.binary.threads = config.warps * target.warpSize;
  job.binary.registers = code.vectorRegisters;
  job.binary.scalarRegisters = code.scalarRegisters;
  job.binary.sharedBytes = code.sharedBytes;
  job.binary.spillBytes = static_cast<int>(code.spillBytes);
  job.binary.bytes = std::move(code.codeObject);
}

/// What compiles for a target.
void (*backEndOf(const std::string& target))(Job&) {
  switch (parseTarget(target).kind) {
    case TargetKind::Nvidia:
      return compileForNvidia;
    case TargetKind::Amd:
      return compileForAmd;
    default:
      return compileForHost;  // says what is wrong with a target that is none
  }
}

}  // namespace

void registerCompilerDialects(DialectRegistry& registry) {
  tilegpu::registerTileGpuDialects(registry);
  registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, ROCDL::ROCDLDialect, vector::VectorDialect>();
}

static Binary compileOr(ModuleOp module, const CompileOptions& options, bool onlyPasses) {
  auto compileForTarget = backEndOf(options.target);
  const Headroom headroom(kToLower);
  MLIRContext* context = module.getContext();
  DialectRegistry registry;
  registerCompilerDialects(registry);
  context->appendDialectRegistry(registry);
  Diagnostics diagnostics(context);
  if (failed(verify(module))) throw Error(ErrorCode::CompileError, "the kernel is not valid tile IR: " + diagnostics.text);
  func::FuncOp kernel = findKernel(module);
  StageDump dump(options.dumpDir, options.onStage);
  Job job{module, options, dump, diagnostics, onlyPasses, {}};
  job.binary.target = options.target;
  job.binary.entry = kernel.getName().str();
  job.binary.args = argumentsOf(kernel);
  dump.write("tile.mlir", module);
  compileForTarget(job);
  dump.rethrow();
  return std::move(job.binary);
}

Binary compile(ModuleOp module, const CompileOptions& options) { return compileOr(module, options, /*onlyPasses=*/false); }

std::vector<std::string> offeredSchedules(ModuleOp module, const CompileOptions& options) {
  std::vector<std::string> schedules;
  if (parseTarget(options.target).isHost()) return schedules;
  CompileOptions asking = options;
  asking.onLoop = [&](const gpu::ScheduledLoop& loop) {
    for (const gpu::Candidate& candidate : loop.found.best)
      if (std::string text = gpu::print(*loop.costed, candidate.schedule); !llvm::is_contained(schedules, text))
        schedules.push_back(std::move(text));
  };
  compileOr(module, asking, /*onlyPasses=*/true);
  return schedules;
}

void requireFit(ModuleOp module, const CompileOptions& options) { compileOr(module, options, /*onlyPasses=*/true); }

}  // namespace fattn::compiler
