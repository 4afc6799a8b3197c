// SPDX-License-Identifier: Apache-2.0
// A page in the man macros (man-pages(7), groff_man(7)).
#include "tools/common/Manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "fattn/Version.h"
#include "tools/common/CommandLine.h"
#include "tools/common/OptionTree.h"

namespace fattn::tool {
namespace {

struct Variable {
  const char *name, *what;
};

/// What every tool that compiles reads.
constexpr std::array<Variable, 7> kEnvironment = {{
    {"FATTN_TARGET", "the default device: host, cuda, cuda:1 and the like"},
    {"FATTN_CACHE_DIR", "folder of the caches, else $XDG_CACHE_HOME/fattn, else ~/.cache/fattn"},
    {"FATTN_CACHE_SHARED_DIR", "folder of a machine's cache, which is read and never written"},
    {"FATTN_DUMP_DIR", "folder that every compilation writes its stages into"},
    {"FATTN_ALWAYS_COMPILE", "where it is set, the cache of binaries is not read"},
    {"FATTN_LOG_LEVEL", "off, error, warning, info or debug: what is logged to standard error"},
    {"NO_COLOR", "where it is set, output is not coloured on a terminal either (no-color.org)"},
}};

/// Text as troff prints it: no escape, and no request at the beginning of a line.
std::string escaped(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool lineBegin = i == 0 || text[i - 1] == '\n';
    if (lineBegin && (c == '.' || c == '\'')) result += "\\&";
    result += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return result;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

/// The first clause of a description: "Runs X, as Y does. And Z." has "runs X".
std::string summaryOf(const std::string& what) {
  std::string text = what.substr(0, what.find_first_of(",.:"));
  std::ranges::replace(text, '\n', ' ');
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::string optionEntry(const OptionInfo& option) {
  std::string head;
  for (const std::string& name : option.names) head += fmt::format("{}\\fB{}\\fR", head.empty() ? "" : ", ", escaped(name));
  if (option.names.empty()) head = fmt::format("\\fI{}\\fR", escaped(option.value.empty() ? option.positional : option.value));
  if (!option.names.empty() && !option.value.empty()) head += fmt::format(" \\fI{}\\fR", escaped(option.value));
  return fmt::format(".TP\n{}\n{}\n", head, escaped(option.what));
}

std::string optionSections(const CommandInfo& command) {
  std::vector<std::string> groups;
  for (const OptionInfo& option : command.options)
    if (std::ranges::find(groups, option.group) == groups.end()) groups.push_back(option.group);
  // What has no dash comes first, --help and --version last.
  const auto rank = [](const std::string& group) { return group == "Arguments" ? 0 : group == "Options" ? 2 : 1; };
  std::vector<std::string> ordered;
  for (int wanted : {0, 1, 2})
    for (const std::string& group : groups)
      if (rank(group) == wanted) ordered.push_back(group);
  std::string text;
  for (const std::string& group : ordered) {
    if (groups.size() > 1) text += fmt::format(".SS {}\n", escaped(group == "Options" ? "General" : group));
    for (const OptionInfo& option : command.options)
      if (option.group == group) text += optionEntry(option);
  }
  return text;
}

std::string synopsis(const CommandInfo& command, const std::string& prefix) {
  std::string text = fmt::format(".B {}\n", escaped(prefix + command.name));
  if (!command.commands.empty()) text += ".I COMMAND\n";
  text += "[\\fIOPTIONS\\fR]\n";
  for (const OptionInfo& option : command.options)
    if (option.names.empty()) {
      const std::string name = escaped(option.value.empty() ? option.positional : option.value);
      text += option.required ? fmt::format("\\fI{}\\fR\n", name) : fmt::format("[\\fI{}\\fR]\n", name);
    }
  return text;
}

/// "Word: text" begins a section, "Word:" one whose indented lines stay as they are.
std::string footerSections(const std::string& footer) {
  std::istringstream lines(footer);
  std::string text, line;
  bool verbatim = false;
  const auto endVerbatim = [&] {
    if (verbatim) text += ".fi\n";
    verbatim = false;
  };
  while (std::getline(lines, line)) {
    const std::size_t colon = line.find(':');
    const bool heading =
        !line.empty() && std::isupper(static_cast<unsigned char>(line[0])) != 0 && colon != std::string::npos && colon < 20;
    if (heading) {
      endVerbatim();
      std::string title = upper(line.substr(0, colon));
      text += fmt::format(".SH {}\n", title == "EXIT CODES" ? "EXIT STATUS" : title);
      line = colon + 2 < line.size() ? line.substr(colon + 2) : "";
    }
    if (line.starts_with("  ") && !verbatim) {
      text += ".nf\n";
      verbatim = true;
    }
    if (!line.empty()) text += escaped(line) + "\n";
  }
  endVerbatim();
  return text;
}

void addCommands(const CommandInfo& command, const std::string& prefix, std::string& text) {
  for (const CommandInfo& each : command.commands) {
    text += fmt::format(".SH {}\n{}\n.PP\n{}\n{}", upper(escaped(prefix + each.name)), synopsis(each, prefix), escaped(each.what),
                        optionSections(each));
    text += each.footer.empty() ? "" : ".PP\n.nf\n" + escaped(each.footer) + "\n.fi\n";
    addCommands(each, prefix + each.name + " ", text);
  }
}

}  // namespace

std::string manPage(const CLI::App& app) {
  const CommandInfo command = describe(app);
  std::string text = fmt::format(".TH {} 1 \"\" \"fattn {}\" \"User Commands\"\n", upper(escaped(command.name)), version());
  text += fmt::format(".SH NAME\n{} \\- {}\n", escaped(command.name), escaped(summaryOf(command.what)));
  text += fmt::format(".SH SYNOPSIS\n{}.SH DESCRIPTION\n{}\n.SH OPTIONS\n{}", synopsis(command, ""), escaped(command.what),
                      optionSections(command));
  addCommands(command, command.name + " ", text);
  text += footerSections(command.footer) + ".SH ENVIRONMENT\n";
  for (const Variable& variable : kEnvironment) text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", variable.name, escaped(variable.what));
  return text;
}

std::optional<std::string> generate(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.size() != 2 || arguments[0] != "--generate") return std::nullopt;
  if (arguments[1] == "man") return manPage(app);
  if (arguments[1] == "bash") return bashCompletion(app);
  if (arguments[1] == "zsh") return zshCompletion(app);
  if (arguments[1] == "fish") return fishCompletion(app);
  return std::nullopt;
}

}  // namespace fattn::tool
