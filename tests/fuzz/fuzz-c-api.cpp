// SPDX-License-Identifier: Apache-2.0
// Fuzzes the JSON configuration of the C interface, without compiling it: any text gives a configuration, which written and read again
// is the same, or an invalid-argument error whose text is UTF-8 (else the JSON library throws here).
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "kernels/attention/AttentionSupport.h"
#include "kernels/c/ConfigJson.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const fattn::AttentionConfig config = fattn::kernels::parseConfig(text);
    if (fattn::kernels::parseConfig(fattn::kernels::toJson(config)) != config) __builtin_trap();
    try {
      fattn::kernels::requireSupported(config);
    } catch (const fattn::Error& error) {
      if (error.constraint().empty()) __builtin_trap();
    }
  } catch (const fattn::Error& error) {
    if (error.code() != fattn::ErrorCode::InvalidArgument || nlohmann::json(error.what()).dump().empty()) __builtin_trap();
  }
  return 0;
}
