// SPDX-License-Identifier: Apache-2.0
// How long a chip's units are busy, in clocks: the figures of the model of time.
//
// Rates of the matrix unit are data sheets' (compiler/gpu/targets/Amd.cpp names them). The rest nobody has published: latencies and what
// holds which port are assumptions, the same for all kernels of a chip. The model compares kernels; it predicts no hardware.
#ifndef FATTN_SIMULATOR_PACE_H
#define FATTN_SIMULATOR_PACE_H

#include <cstdint>
#include <string_view>

#include "simulator/Chip.h"

namespace fattn::simulator {

struct Pace {
  int simds;           ///< of a compute unit; RDNA's two compute units of a work group processor count as one, as workgroups use both
  int step;            ///< clocks between two instructions of a wave
  int transcendental;  ///< clocks that one keeps its unit busy
  bool transcendentalShares;  ///< that unit is the vector unit
  bool matrixShares;          ///< matrix products keep the vector unit busy
  int matrixToVector;         ///< clocks between the end of a product and a vector instruction that reads it
  int halfRate;               ///< multiplications and additions of 16-bit floats that a SIMD's matrix unit does in a clock
  int byteRate;               ///< of 8-bit numbers
  int floatRate;              ///< of f32
  int ldsLatency, memoryLatency;
  int ldsPasses;    ///< that local memory does in a clock, of 128 bytes each
  int memoryBytes;  ///< that global loads and stores move in a clock

  int registers, registerGranule;  ///< that a SIMD has for each lane, and in multiples of which waves get them
  int wavesPerSimd;

  // The product that figures of a whole device are for.
  int computeUnits;
  int dies;  ///< that they are on; workgroups are dealt to them in turns
  double gigahertz;
  double gigabytes;  ///< that memory moves in a second
  std::string_view product;
};

const Pace& paceOf(const Chip& chip);

/// Clocks that a matrix instruction keeps its unit busy: "v_mfma_f32_32x32x8_f16".
int matrixClocks(const Pace& pace, std::string_view mnemonic);

}  // namespace fattn::simulator

#endif
