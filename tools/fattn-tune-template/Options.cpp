// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-tune-template/Options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "fattn/Version.h"
#include "tools/common/Program.h"

namespace fattn::tuner {
namespace {

constexpr const char* kDescription =
    "Tunes a kernel template: measures the tile configurations of its space for shapes, and keeps what it finds for all processes.\n"
    "Templates are fattn's own, and those that shared objects register when they are loaded.";
constexpr const char* kFooter = R"(
Examples:
  fattn-tune template --list
      the templates that there are, with their parameters and extents
  fattn-tune template gemm --param dtype=bf16 --param out=bf16 --shape m=4096,n=4096,k=4096 --shape m=16,n=4096,k=4096 --budget 60
      two shapes of one of fattn's own
  fattn-tune template --load ./libmykernels.so row_sums --shape rows=1024,columns=8192
      a template of one's own

Exit codes: 0 success, 1 failure, 2 wrong usage, 3 unsupported configuration, 4 no device.)";

[[noreturn]] void fail(std::string message, std::string hint = "") { throw tool::UsageError{std::move(message), std::move(hint)}; }

std::map<std::string, std::int64_t> parseShape(const std::string& text) {
  std::map<std::string, std::int64_t> shape;
  for (const std::string& item : tool::split(text, ',')) {
    const auto [name, number] = tool::parsePair("--shape", item);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size() || value < 1 || value > INT32_MAX)
      fail(fmt::format("--shape '{}': {} must be an integer from 1 to 2147483647", text.substr(0, 80), name));
    if (!shape.emplace(name, value).second) fail(fmt::format("--shape '{}': {} is given twice", text.substr(0, 80), name));
  }
  return shape;
}

struct Text {
  std::vector<std::string> parameters, shapes;
  std::string budget;
};

void declare(CLI::App& app, Text& text, TemplateOptions& options) {
  const auto many = [&](const char* name, std::vector<std::string>& values, const char* what, const char* form) {
    app.add_option(name, values, what)
        ->type_name(form)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
  };
  app.add_option("name", options.name, "the template")->type_name("TEMPLATE");
  many("--load", options.objects, "a shared object that registers templates; may be repeated", "FILE");
  many("--param", text.parameters, "a parameter of the template; may be repeated", "NAME=VALUE");
  many("--shape", text.shapes, "a shape to tune for; may be repeated (what the template calls typical)", "NAME=N,...");
  app.add_option("--budget", text.budget, "seconds for all shapes together (60)")->type_name("S");
  app.add_option("--target", options.target, "device: host, cuda, cuda:1, hip, or amd:gfx942 for a model of that chip (the default device)")
      ->type_name("TARGET");
  app.add_flag("--list", options.list, "list the templates, and tune nothing");
  app.add_flag("--explain", options.explain, "say which configuration each shape gets, and tune nothing");
  app.add_flag("--json", options.json, "print JSON instead of the table");
  app.set_version_flag("--version", std::string(version()));
  app.footer(kFooter);
}

void interpret(const Text& text, TemplateOptions& options) {
  for (const std::string& parameter : text.parameters) options.parameters.push_back(tool::parsePair("--param", parameter));
  for (const std::string& shape : text.shapes) options.shapes.push_back(parseShape(shape));
  if (!text.budget.empty()) {
    std::string number = text.budget;
    if (number.ends_with('s')) number.pop_back();
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), options.seconds);
    if (error != std::errc() || end != number.data() + number.size() || !(options.seconds >= 0.1 && options.seconds <= 1e6))
      fail(fmt::format("--budget '{}': expected seconds from 0.1 to 1000000", text.budget.substr(0, 40)));
  }
  if (options.name.empty() && !options.list) fail("the template's name is missing", "--list shows the templates that there are");
}

}  // namespace

std::expected<TemplateOptions, tool::UsageError> parseTemplateCommandLine(const std::vector<std::string>& arguments) {
  CLI::App app(kDescription, "fattn-tune-template");
  TemplateOptions options;
  Text text;
  declare(app, text, options);
  auto shown = tool::readWords(app, arguments, [&] { interpret(text, options); }, "fattn-tune template --help lists the options");
  if (!shown) return std::unexpected(shown.error());
  options.text = std::move(*shown);
  return options;
}

}  // namespace fattn::tuner
