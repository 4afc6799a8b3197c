// SPDX-License-Identifier: Apache-2.0
// Operands to measure kernels with, and the measuring.
#ifndef FATTN_KERNELS_CORE_BENCH_H
#define FATTN_KERNELS_CORE_BENCH_H

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fattn/DType.h"
#include "fattn/Device.h"
#include "fattn/TileConfig.h"
#include "runtime/tune/Search.h"

namespace fattn::kernels {

/// Operands of one problem in a device's memory. Its trials must not outlive it.
class Bench {
 public:
  /// Launches a kernel on the operands once.
  using Launch = std::function<void(Stream)>;
  /// Compiles the kernel for a tile configuration. May be called from several threads at once.
  using Compile = std::function<Launch(const TileConfig&)>;

  explicit Bench(Device& device);
  virtual ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// So many random elements, the same for the same order of calls. Throws Error{OutOfMemory}.
  void* operand(DType dtype, std::int64_t elements);
  /// Elements that every launch writes, all of them. Of many, whole pieces are compared, spread over all.
  void* result(DType dtype, std::int64_t elements, std::int64_t piece);
  void setCompile(Compile compile) { compile_ = std::move(compile); }

  /// The kernel of a tile configuration with these operands.
  std::unique_ptr<tuning::Trial> trial(const TileConfig& tile) { return trial(compile_(tile)); }
  std::unique_ptr<tuning::Trial> trial(Launch launch);

  /// How the results of a trial differ from those of the safe one, beyond what rounding explains; nothing where they agree. Both are
  /// trials of this bench; the safe one's results are computed once.
  std::optional<std::string> check(tuning::Trial& candidate, tuning::Trial& safe);

 private:
  class BenchTrial;
  class Buffer;
  struct Result {
    Buffer* buffer;
    DType dtype;
    std::int64_t elements, piece;
  };

  Buffer& allocate(DType dtype, std::int64_t elements);
  void flush();
  void measure(const Launch& launch, std::span<double> us);
  std::vector<std::vector<double>> resultsOf(const Launch& launch);
  std::vector<double> valuesOf(const Result& result);

  Device& device_;
  Stream stream_;
  Compile compile_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<Result> results_;
  std::unique_ptr<Buffer> flush_;
  std::vector<std::vector<double>> expected_;
};

/// The largest relative difference (Frobenius) that two correct kernels may have in an element type: twice what each may be off.
double tuneTolerance(DType dtype);

}  // namespace fattn::kernels

#endif
