// SPDX-License-Identifier: Apache-2.0
// Fuzzes the .npy reader: any bytes give a tensor or a fattn::Error.
#include <cstddef>
#include <cstdint>
#include <span>

#include "fattn/Error.h"
#include "tools/io/Npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const fattn::io::HostTensor tensor = fattn::io::readNpy(fattn::io::MemorySource("fuzz.npy", std::as_bytes(std::span(data, size))));
    // A tensor that was accepted must be usable: reads every element through its strides.
    fattn::io::convert(tensor, fattn::DType::F32);
  } catch (const fattn::Error&) {
  }
  return 0;
}
