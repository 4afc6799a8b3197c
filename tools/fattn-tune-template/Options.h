// SPDX-License-Identifier: Apache-2.0
// The command line of fattn-tune-template: text in, checked options or a usage error out.
#ifndef FATTN_TOOLS_FATTN_TUNE_TEMPLATE_OPTIONS_H
#define FATTN_TOOLS_FATTN_TUNE_TEMPLATE_OPTIONS_H

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/common/CommandLine.h"

namespace fattn::tuner {

struct TemplateOptions {
  std::vector<std::string> objects;  ///< shared objects to load
  std::string name;                  ///< of the template; may be empty with `list`
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<std::map<std::string, std::int64_t>> shapes;  ///< extents by name
  std::string target;
  double seconds = 60;
  bool list = false, explain = false, json = false;

  std::string text;  ///< not empty for --help and the like: print this and do nothing else
};

std::expected<TemplateOptions, tool::UsageError> parseTemplateCommandLine(const std::vector<std::string>& arguments);

}  // namespace fattn::tuner

#endif
