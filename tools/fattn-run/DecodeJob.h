// SPDX-License-Identifier: Apache-2.0
// Decode on random sequences: operands, the kernel on them, and the comparison with float64.
#ifndef FATTN_TOOLS_FATTN_RUN_DECODEJOB_H
#define FATTN_TOOLS_FATTN_RUN_DECODEJOB_H

#include <vector>

#include "fattn/Decode.h"
#include "tools/fattn-run/DeviceMemory.h"
#include "tools/fattn-run/Engine.h"
#include "tools/fattn-run/KernelReference.h"
#include "tools/io/HostTensor.h"

namespace fattn::run {

/// Caches on the device hold NaN where no key of a sequence is.
class DecodeEngine : public Engine {
 public:
  DecodeEngine(const Options& options, const DecodeOptions& decode, DType dtype);

  double launch() override;
  void fetch(Problem&) override {}
  /// Compares what the launches have left, all rows or as many as take about half a second.
  KernelCheck check(std::uint64_t seed);

  std::string parameters;  ///< "causal=false,dtype=bf16,..."
  std::int64_t rows() const { return decode_.batch * decode_.headsQ * decode_.queries; }
  int splits() const { return kernel_.splits(args_); }
  double bytes() const;  ///< of the keys and values that a launch reads, and of q and o

 private:
  io::HostTensor cacheOf(const io::HostTensor& values, const std::vector<std::int32_t>& table) const;
  io::HostTensor newRowsOf(const io::HostTensor& values) const;
  /// Query rows [first, first + count) of a sequence, which see keys [firstKey, endKey), or causally.
  struct Rows {
    std::int64_t sequence, first, count, firstKey, endKey;
    bool causal;
  };
  std::vector<Rows> pieces() const;
  /// Adds the squares of the difference to float64, and of the result, to both sums; returns how many rows were compared.
  std::int64_t compare(const Rows& rows, std::uint64_t seed, double budget, double& error, double& norm) const;

  DecodeOptions decode_;
  DType dtype_;
  DecodeKernel kernel_;
  Device& device_;
  DeviceMemory memory_;
  std::vector<std::int32_t> lengths_;
  io::HostTensor q_, k_, v_, o_;  ///< [B, H, S, D], in one piece
  DecodeArgs args_;
};

}  // namespace fattn::run

#endif
