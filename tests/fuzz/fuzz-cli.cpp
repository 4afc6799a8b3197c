// SPDX-License-Identifier: Apache-2.0
// Fuzzes the command line of fattn-run: any arguments give options or a usage error. Arguments are separated by newlines.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/fattn-run/Options.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> arguments(1);
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == '\n')
      arguments.emplace_back();
    else if (data[i] != 0)  // no argument of a process holds one
      arguments.back() += static_cast<char>(data[i]);
  }
  const auto options = fattn::run::parseCommandLine(arguments);
  if (!options && options.error().message.empty()) __builtin_trap();  // every refusal says why
  return 0;
}
