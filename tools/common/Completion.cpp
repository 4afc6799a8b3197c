// SPDX-License-Identifier: Apache-2.0
// Completions for three shells. Each command of a tool is a case of its own; a tool without commands is its only case.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tools/common/Manual.h"
#include "tools/common/OptionTree.h"

namespace fattn::tool {
namespace {

using Value = OptionInfo::Value;

/// Within single quotes of a shell.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

std::string identifier(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

std::vector<std::string> namesOf(const CommandInfo& command) {
  std::vector<std::string> names;
  for (const CommandInfo& each : command.commands) names.push_back(each.name);
  for (const OptionInfo& option : command.options) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

/// The values of an option as bash completes them; empty where they are anything.
std::string bashValues(const OptionInfo& option) {
  switch (option.kind) {
    case Value::Choice:
      return fmt::format("COMPREPLY=($(compgen -W {} -- \"$word\"))", quoted(fmt::format("{}", fmt::join(option.choices, " "))));
    case Value::File:
      return "COMPREPLY=($(compgen -f -- \"$word\"))";
    case Value::Folder:
      return "COMPREPLY=($(compgen -d -- \"$word\"))";
    default:
      return "COMPREPLY=()";
  }
}

std::string bashCase(const CommandInfo& command) {
  std::string text = "      case $before in\n";
  for (const OptionInfo& option : command.options)
    if (!option.names.empty() && option.kind != Value::None)
      text += fmt::format("        {}) {}; return ;;\n", fmt::join(option.names, "|"), bashValues(option));
  text += "      esac\n";
  const bool files = std::ranges::any_of(command.options, [](const OptionInfo& o) { return o.names.empty() && o.kind == Value::File; });
  text += fmt::format("      COMPREPLY=($(compgen {}-W {} -- \"$word\"))\n", files ? "-f " : "",
                      quoted(fmt::format("{}", fmt::join(namesOf(command), " "))));
  return text;
}

std::string zshAction(const OptionInfo& option) {
  switch (option.kind) {
    case Value::Choice:
      return fmt::format("({})", fmt::join(option.choices, " "));
    case Value::File:
      return "_files";
    case Value::Folder:
      return "_files -/";
    default:
      return " ";
  }
}

/// In a specification of _arguments colons and brackets mean something.
std::string zshText(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string zshArguments(const CommandInfo& command, const std::string& indent) {
  std::string text;
  for (const OptionInfo& option : command.options) {
    const std::string value = option.kind == Value::None ? "" : fmt::format(":{}:{}", zshText(option.value), zshAction(option));
    if (option.names.empty())
      text += fmt::format(" \\\n{}{}", indent, quoted(fmt::format("*:{}:{}", zshText(option.positional), zshAction(option))));
    for (const std::string& name : option.names)
      text += fmt::format(" \\\n{}{}", indent, quoted(fmt::format("{}[{}]{}", name, zshText(option.what), value)));
  }
  return text;
}

std::string fishOption(const std::string& tool, const std::string& condition, const OptionInfo& option) {
  std::string text = fmt::format("complete -c {}", tool);
  if (!condition.empty()) text += " -n " + quoted(condition);
  for (const std::string& name : option.names) text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (option.kind == Value::Choice) text += fmt::format(" -x -a {}", quoted(fmt::format("{}", fmt::join(option.choices, " "))));
  if (option.kind == Value::File) text += " -r -F";
  if (option.kind == Value::Folder) text += " -x -a '(__fish_complete_directories)'";
  if (option.kind == Value::Any) text += " -x";
  return text + " -d " + quoted(option.what) + "\n";
}

/// A command and the words that lead to it.
struct Place {
  std::vector<std::string> path;
  const CommandInfo* command;
};

void collect(const CommandInfo& command, const std::vector<std::string>& path, std::vector<Place>& places) {
  places.push_back({path, &command});
  for (const CommandInfo& each : command.commands) {
    std::vector<std::string> deeper = path;
    deeper.push_back(each.name);
    collect(each, deeper, places);
  }
}

std::vector<Place> placesOf(const CommandInfo& command) {
  std::vector<Place> places;
  collect(command, {}, places);
  return places;
}

/// One function a command; those with commands of their own hand on to theirs.
void zshFunctions(const CommandInfo& command, const std::string& function, std::string& text) {
  for (const CommandInfo& each : command.commands) zshFunctions(each, function + "_" + identifier(each.name), text);
  text += fmt::format("{}() {{\n", function);
  if (command.commands.empty()) {
    text += fmt::format("  _arguments -s{}\n}}\n", zshArguments(command, "    "));
    return;
  }
  text += fmt::format("  local line state\n  _arguments -C{} \\\n    '1: :->command' '*:: :->arguments'\n", zshArguments(command, "    "));
  text += "  case $state in\n    command)\n      local -a commands=(";
  for (const CommandInfo& each : command.commands) text += fmt::format("\n        {}", quoted(each.name + ":" + zshText(each.what)));
  text += ")\n      _describe command commands ;;\n    arguments)\n      case $line[1] in\n";
  for (const CommandInfo& each : command.commands)
    text += fmt::format("        {0}) {1}_{2} ;;\n", each.name, function, identifier(each.name));
  text += "      esac ;;\n  esac\n}\n";
}

/// Holds where the words before lead to the command and to none of its own commands.
std::string fishCondition(const Place& place) {
  std::vector<std::string> parts, deeper;
  for (const std::string& word : place.path) parts.push_back("__fish_seen_subcommand_from " + word);
  for (const CommandInfo& each : place.command->commands) deeper.push_back(each.name);
  if (!deeper.empty()) parts.push_back(fmt::format("not __fish_seen_subcommand_from {}", fmt::join(deeper, " ")));
  return fmt::format("{}", fmt::join(parts, "; and "));
}

/// The words before the one to complete that lead to a command, in `path`.
std::string bashPath(const std::vector<Place>& places) {
  std::vector<std::string> paths;
  for (const Place& place : places)
    if (!place.path.empty()) paths.push_back(fmt::format("' {}'", fmt::join(place.path, " ")));
  if (paths.empty()) return "";
  return fmt::format(
      "  for each in \"${{COMP_WORDS[@]:1:COMP_CWORD - 1}}\"; do\n    case \"$path $each\" in\n      {}) path+=\" $each\" ;;\n    esac\n  "
      "done\n",
      fmt::join(paths, "|"));
}

}  // namespace

std::string bashCompletion(const CLI::App& app) {
  const CommandInfo command = describe(app);
  const std::vector<Place> places = placesOf(command);
  std::string text =
      fmt::format("# Completion of {0} for bash; written by `{0} --generate bash`.\n_{1}() {{\n", command.name, identifier(command.name));
  text += "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} path= each\n" + bashPath(places);
  text += "  case $path in\n";
  for (const Place& place : places)
    text += fmt::format("    '{}{}')\n{}      ;;\n", place.path.empty() ? "" : " ", fmt::join(place.path, " "), bashCase(*place.command));
  return text + fmt::format("  esac\n}}\ncomplete -o filenames -F _{} {}\n", identifier(command.name), command.name);
}

std::string zshCompletion(const CLI::App& app) {
  const CommandInfo command = describe(app);
  const std::string function = "_" + identifier(command.name);
  std::string text = fmt::format("#compdef {0}\n# Completion of {0} for zsh; written by `{0} --generate zsh`.\n", command.name);
  zshFunctions(command, function, text);
  return text + function + " \"$@\"\n";
}

std::string fishCompletion(const CLI::App& app) {
  const CommandInfo command = describe(app);
  std::string text = fmt::format("# Completion of {0} for fish; written by `{0} --generate fish`.\n", command.name);
  const bool files = std::ranges::any_of(command.options, [](const OptionInfo& o) { return o.names.empty() && o.kind == Value::File; });
  if (!files) text += fmt::format("complete -c {} -f\n", command.name);
  for (const Place& place : placesOf(command)) {
    const std::string condition = fishCondition(place);
    const std::string when = condition.empty() ? "" : " -n " + quoted(condition);
    for (const CommandInfo& each : place.command->commands)
      text += fmt::format("complete -c {}{} -a {} -d {}\n", command.name, when, each.name, quoted(each.what));
    for (const OptionInfo& option : place.command->options)
      if (!option.names.empty()) text += fishOption(command.name, condition, option);
  }
  return text;
}

}  // namespace fattn::tool
