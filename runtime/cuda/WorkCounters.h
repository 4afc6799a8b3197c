// SPDX-License-Identifier: Apache-2.0
// Counters in a GPU's memory of the programs that the blocks of a launch have taken (Binary::counts). A launch begins and ends with a
// counter of 0, as its kernel leaves it. So launches that cannot run at the same time may have the same one: those of a stream have the
// stream's; a launch that is captured into a graph has its own, as two graphs may run at once, which goes back when the driver says that
// the graph and all that was made of it are gone. (Launches of one executable graph follow one another. Two that were instantiated from the
// same captured graph share counters, as they share all other memory: they must not run at once.)
//
// There is a fixed number of counters, as no memory can be had while a stream is captured. A launch for which none is left, or which a
// driver of before CUDA 12.0 makes, is given none: its blocks then take every so many-th program.
#ifndef FATTN_RUNTIME_CUDA_WORKCOUNTERS_H
#define FATTN_RUNTIME_CUDA_WORKCOUNTERS_H

#include <atomic>
#include <cstdint>
#include <memory>

#include "runtime/cuda/Driver.h"

namespace fattn::cuda {

/// All calls need the context current. Thread-safe; of() neither locks nor allocates.
class WorkCounters {
 public:
  static constexpr std::uint32_t kStreams = 8192, kCaptured = 8192;  ///< streams that launch in a process, and captured launches at once

  explicit WorkCounters(const Driver& driver);
  /// Makes the counters, if there are none yet; without success launches are given none.
  void make();
  /// Gives their memory back: before the context goes.
  void free();
  /// The counter of a launch into this stream; 0: none.
  Address of(StreamHandle stream);

 private:
  struct Places;
  Address ofStream(StreamHandle stream);
  Address ofCapture(Graph graph);

  const Driver& driver_;
  std::atomic<Address> memory_ = 0;  ///< those of streams, then those of captured launches
  std::shared_ptr<Places> places_;   ///< graphs that outlive the device have it, too
};

}  // namespace fattn::cuda

#endif
