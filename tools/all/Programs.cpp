// SPDX-License-Identifier: Apache-2.0
// Every program of the package in one library. `fattn run ...`, or a link to fattn that is called fattn-run.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "fattn/Version.h"
#include "tools/common/CommandLine.h"

#define FATTN_PART(entry, name) int entry(int argc, char** argv);
#include "Parts.def"
#undef FATTN_PART

namespace {

struct Part {
  std::string_view name;
  int (*run)(int argc, char** argv);
};
constexpr Part kParts[] = {
#define FATTN_PART(entry, name) {name, entry},
#include "Parts.def"
#undef FATTN_PART
};

const Part* find(std::string_view name) {
  const auto* part = std::ranges::find(kParts, name, &Part::name);
  return part == std::end(kParts) ? nullptr : part;
}

std::string list() {
  std::string names;
  for (const Part& part : kParts) {
    constexpr std::string_view kPrefix = "fattn-";
    names.append(names.empty() ? "" : ", ").append(part.name.starts_with(kPrefix) ? part.name.substr(kPrefix.size()) : part.name);
  }
  return names;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int fattn_programs_main(int argc, char** argv) {
  const std::string_view path = argc > 0 ? argv[0] : "";
  if (const Part* part = find(path.substr(path.rfind('/') + 1))) return part->run(argc, argv);
  const std::string word = argc > 1 ? argv[1] : "";
  for (const std::string& name : {"fattn-" + word, word})
    if (const Part* part = find(name)) return part->run(argc - 1, argv + 1);
  if (word == "--version") return fattn::tool::printText("fattn", std::string("fattn ") + std::string(fattn::version()) + "\n");
  const std::string usage = "fattn TOOL ARGUMENTS...; the tools are " + list();
  if (word == "--help") return fattn::tool::printText("fattn", usage + "\nfattn TOOL --help says more of each.\n");
  return fattn::tool::complain("fattn", word.empty() ? "no tool is named" : "there is no tool '" + word.substr(0, 40) + "'", usage,
                               fattn::tool::kUsage);
}
