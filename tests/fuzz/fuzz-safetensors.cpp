// SPDX-License-Identifier: Apache-2.0
// Fuzzes the .safetensors reader: any bytes give tensors or a fattn::Error.
#include <cstddef>
#include <cstdint>
#include <span>

#include "fattn/Error.h"
#include "tools/io/Safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fattn::io::MemorySource source("fuzz.safetensors", std::as_bytes(std::span(data, size)));
  try {
    for (const fattn::io::SafetensorsEntry& entry : fattn::io::listSafetensors(source)) {
      try {
        fattn::io::convert(fattn::io::readSafetensors(source, entry.name, "q"), fattn::DType::F32);
      } catch (const fattn::Error&) {  // a type we do not read, beside others
      }
    }
    fattn::io::readSafetensors(source, "", "q");
  } catch (const fattn::Error&) {
  }
  return 0;
}
