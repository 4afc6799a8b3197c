// SPDX-License-Identifier: Apache-2.0
// fattn::compile: the traced program through the compiler, behind the process's cache of kernels.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "compiler/driver/Compile.h"
#include "compiler/driver/Identity.h"
#include "dsl/Internal.h"
#include "fattn/Attention.h"
#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/AttentionSupport.h"
#include "kernels/attention/KernelCache.h"
#include "kernels/attention/TunedAttention.h"
#include "runtime/base/Lifecycle.h"
#include "runtime/base/Threads.h"
#include "runtime/cache/BinaryStore.h"
#include "runtime/cache/Settings.h"

namespace fattn {
namespace {

// A folder for each configuration, so that several compilations do not overwrite each other's stages.
std::string folderOf(const AttentionConfig& config) {
  std::string folder = "attention-" + std::string(name(config.dtype)) + "-d" + std::to_string(config.head_dim);
  if (config.head_dim_v != config.head_dim) folder += "-v" + std::to_string(config.head_dim_v);
  folder += (config.causal ? "-causal-" : "-") + config.target + "-" + config.tile->toString();
  std::ranges::replace_if(folder, [](char c) { return c == ':' || c == ',' || c == '=' || c == ' '; }, '-');
  return folder;
}

// From the cache on disk if it may be read, else compiled and kept there.
kernels::Compiled compileForward(const AttentionConfig& resolved, bool read) {
  dsl::Program program = traceAttentionForward(resolved, *resolved.tile);
  compiler::CompileOptions options;
  options.target = kernels::codeTarget(resolved.target);
  options.config = *resolved.tile;
  const char* directory = std::getenv("FATTN_DUMP_DIR");
  if (directory != nullptr && *directory != '\0') options.dumpDir = std::string(directory) + "/" + folderOf(resolved);
  mlir::ModuleOp module = dsl::internal::module(program);
  static auto* store = new cache::BinaryStore(cache::Directory::process(), cache::binaryBytes(), &cache::Directory::shared());
  // Of a GPU's kernel the machine code is kept, which is for one architecture, whatever chip the text was written for.
  std::string architecture = kernels::namesChip(resolved.target) ? "any" : openDevice(resolved.target).chip();
  cache::Digest key = cache::BinaryStore::keyOf("runs on " + architecture + "\n" + compiler::identity(module, options));
  auto keep = [key](const compiler::Binary& binary) { store->save(key, binary); };
  if (read && options.dumpDir.empty() && !cache::alwaysCompile())
    if (std::optional<compiler::Binary> found = store->load(key))
      return {std::move(*found), [resolved] { return compileForward(resolved, false).binary; }, keep};
  return {compiler::compile(module, options), {}, keep};
}

}  // namespace

kernels::KernelCache& kernels::kernelCache() {
  static constinit Immortal<kernels::KernelCache> kernels;  // objects that outlive main may launch
  return kernels.get([] {
    auto made = std::make_unique<kernels::KernelCache>([](const AttentionConfig& resolved) { return compileForward(resolved, true); },
                                                       [](const AttentionConfig& config) { return kernels::tunedChoice(config); });
    made->lockAcrossForks();
    return made.release();
  });
}

namespace {

// What leaves the library is a fattn::Error.
Kernel compiled(const AttentionConfig& config) try { return kernels::kernelCache().get(config); } catch (const Error&) {
  throw;
} catch (const std::bad_alloc&) {
  throw Error(ErrorCode::OutOfMemory, "the host has no memory left to compile in");
} catch (const std::exception& error) {
  throw Error(ErrorCode::Internal, std::string("while compiling: ") + error.what());
}

}  // namespace

Kernel compile(const AttentionConfig& config) { return compiled(config); }

std::expected<Kernel, Error> try_compile(const AttentionConfig& config) try { return compiled(config); } catch (const Error& error) {
  return std::unexpected(error);
}

void warmup(std::span<const AttentionConfig> configs) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failures(configs.size());
  auto work = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < configs.size();) try {
        compiled(configs[i]);
      } catch (...) {
        failures[i] = std::current_exception();
      }
  };
  {
    std::size_t threads = std::min<std::size_t>(configs.size(), std::max(std::thread::hardware_concurrency(), 1u));
    std::vector<std::jthread> helpers;
    helpers.reserve(threads);
    for (std::size_t i = 1; i < threads; ++i)
      if (std::optional<std::jthread> helper = tryThread(work)) helpers.push_back(std::move(*helper));
    work();
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

void warmup(const AttentionConfig& config, std::span<const ShapeHint> shapes) {
  std::vector<AttentionConfig> configs = {config};
  for (const ShapeHint& shape : shapes) {
    configs.push_back(config);
    configs.back().shape = shape;
  }
  warmup(configs);
}

}  // namespace fattn
