// SPDX-License-Identifier: Apache-2.0
#include "tools/common/OptionTree.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "tools/common/CommandLine.h"

namespace fattn::tool {
namespace {

bool isWord(const std::string& text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == ':'; });
}

OptionInfo describe(const CLI::Option& option) {
  OptionInfo info;
  for (const std::string& name : option.get_snames()) info.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) info.names.push_back("--" + name);
  if (option.get_positional()) info.positional = option.get_name(true, false);
  info.what = option.get_description();
  info.group = info.names.empty() ? "Arguments" : option.get_group();
  info.required = option.get_required();
  if (option.get_items_expected_max() == 0) return info;
  info.value = option.get_type_name();
  info.kind = OptionInfo::Value::Any;
  const std::vector<std::string> words = split(info.value, '|');
  if (words.size() > 1 && std::ranges::all_of(words, isWord)) {
    info.kind = OptionInfo::Value::Choice;
    info.choices = words;
  } else if (info.value.starts_with("FILE")) {
    info.kind = OptionInfo::Value::File;
  } else if (info.value == "DIR") {
    info.kind = OptionInfo::Value::Folder;
  }
  return info;
}

}  // namespace

CommandInfo describe(const CLI::App& app) {
  CommandInfo info{app.get_name(), app.get_description(), app.get_footer(), {}, {}};
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty()) info.options.push_back(describe(*option));  // no group: hidden
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* each) { return !each->get_name().empty(); }))
    info.commands.push_back(describe(*command));
  return info;
}

}  // namespace fattn::tool
