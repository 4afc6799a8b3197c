// SPDX-License-Identifier: Apache-2.0
#include "tests/random/Checks.h"

#include <fmt/format.h>

#include <vector>

#include "fattn/Error.h"

namespace fattn::random {

std::span<const Check> checks() {
  static const std::vector<Check> all = {};
  return all;
}

std::string checkCompilation(const Compilation& compilation, const generator::Draw& draw, const MakeProgram& make) {
  if (!compilation.kept) return fmt::format("no pass {} has run", kCheckedPass);
  if (checks().empty()) return "";
  auto context = makeContext();
  generator::Program expected = make(*context, draw);
  std::string found;
  try {
    interpret(expected);
    for (const Check& check : checks())
      if (std::string text = check.run(compilation, draw, expected); !text.empty()) found += fmt::format("{}: {}\n", check.name, text);
  } catch (const Error& error) {
    found += error.what();
  }
  return found;
}

}  // namespace fattn::random
