// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/CompileProgram.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <optional>

#include "compiler/driver/Compile.h"
#include "compiler/driver/Identity.h"
#include "dsl/Internal.h"
#include "fattn/Error.h"
#include "kernels/core/Target.h"
#include "runtime/base/Headroom.h"
#include "runtime/base/Lifecycle.h"
#include "runtime/base/TargetName.h"
#include "runtime/cache/BinaryStore.h"
#include "runtime/cache/Settings.h"

namespace fattn::kernels {
namespace {

compiler::CompileOptions optionsOf(const ProgramJob& job) {
  compiler::CompileOptions options;
  options.target = job.target.code;
  options.config = job.tile;
  options.boxes = job.boxes;
  options.watchdog = cache::watchdogMilliseconds();
  options.marks = !cache::traceFolder().empty();
  const char* directory = std::getenv("FATTN_DUMP_DIR");
  if (directory == nullptr || *directory == '\0') return options;
  // A folder for each kernel, so that several compilations do not overwrite each other's stages.
  std::string folder = job.folder;
  std::ranges::replace_if(folder, [](char c) { return c == ':' || c == ',' || c == '=' || c == ' ' || c == '/'; }, '-');
  options.dumpDir = std::string(directory) + "/" + folder;
  return options;
}

cache::BinaryStore& binaryStore() {
  static auto* store = new cache::BinaryStore(cache::Directory::process(), cache::binaryBytes(), &cache::Directory::shared());
  return *store;
}

/// What recording a program and naming it takes at most; the compiler asks for itself.
constexpr std::size_t kToRecord = std::size_t{16} << 20;

compiler::Binary compiled(const ProgramJob& job) {
  const Headroom headroom(kToRecord);
  dsl::Program program = job.trace();
  return compiler::compile(dsl::internal::module(program), optionsOf(job));
}

}  // namespace

Compiled compileProgram(const ProgramJob& job) {
  const Headroom headroom(kToRecord);
  dsl::Program program = job.trace();
  const compiler::CompileOptions options = optionsOf(job);
  mlir::ModuleOp module = dsl::internal::module(program);
  std::string text = compiler::textOf(module);
  // Of a GPU's kernel the machine code is kept, which is for one architecture, whatever chip the text was written for.
  const std::string architecture = job.target.isChip() ? "any" : std::string(job.target.device->chip());
  const cache::Digest key = cache::BinaryStore::keyOf("runs on " + architecture + "\n" + compiler::identity(text, options));
  auto keep = [key](const compiler::Binary& binary) { binaryStore().save(key, binary); };
  // The text stays where the program may be gone.
  auto plainOf = [&](const compiler::Binary& binary, std::string text) -> std::function<Compiled()> {
    if (binary.tensorMaps.empty()) return {};
    ProgramJob plain{.target = job.target, .tile = job.tile, .folder = job.folder + "-plain", .trace = {}, .boxes = false};
    plain.trace = [text = std::move(text)] { return dsl::parse(text); };
    return [plain] { return compileProgram(plain); };
  };
  if (options.dumpDir.empty() && !cache::alwaysCompile())
    if (std::optional<compiler::Binary> found = binaryStore().load(key)) {
      Compiled result(std::move(*found), [job] { return compiled(job); }, keep);
      result.plain = plainOf(result.binary, std::move(text));
      return result;
    }
  Compiled result(compiler::compile(module, options), {}, keep);
  result.plain = plainOf(result.binary, std::move(text));
  return result;
}

void requireFit(const ProgramJob& job) {
  const Headroom headroom(kToRecord);
  dsl::Program program = job.trace();
  compiler::CompileOptions options = optionsOf(job);
  options.dumpDir.clear();
  compiler::requireFit(dsl::internal::module(program), options);
}

std::vector<std::string> offeredSchedules(const ResolvedTarget& target, const TileConfig& tile, const dsl::Program& program) try {
  compiler::CompileOptions options;
  options.target = target.code;
  options.config = tile;
  options.config.schedule.clear();
  return compiler::offeredSchedules(dsl::internal::module(program), options);
} catch (const Error&) {
  return {};
}

void asErrors(const std::function<void()>& work) try { work(); } catch (const Error&) {
  throw;
} catch (const std::bad_alloc&) {
  throw Error(ErrorCode::OutOfMemory, "the host has no memory left to compile in");
} catch (const std::exception& error) {
  throw Error(ErrorCode::Internal, std::string("while compiling: ") + error.what());
}

CodeCache& programCache() {
  static constinit Immortal<CodeCache> cache;  // objects that outlive main may launch
  return cache.get([] {
    auto made = std::make_unique<CodeCache>();
    made->lockAcrossForks();
    return made.release();
  });
}

}  // namespace fattn::kernels
