// SPDX-License-Identifier: Apache-2.0
// fattn-tune-template: tunes the templates of fattn and of shared objects. It knows the public interface only.
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fattn/fattn.h"
#include "tools/common/Program.h"
#include "tools/fattn-tune-template/Options.h"

namespace fattn::tuner {
namespace {

using Json = nlohmann::ordered_json;

// What is loaded stays until the process ends: templates hold its code.
void load(const std::string& object) {
  if (dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    const char* why = dlerror();
    throw Error(ErrorCode::IoError, fmt::format("cannot load {}: {}", object, why != nullptr ? why : "no reason is given"),
                object.find('/') == std::string::npos ? "a file of this folder is ./" + object : "");
  }
}

std::vector<std::vector<std::int64_t>> shapesOf(const KernelTemplate& from, const TemplateOptions& options) {
  if (options.shapes.empty()) return {from.typical};
  std::vector<std::vector<std::int64_t>> shapes;
  const std::vector<std::string> names = from.allExtents();
  for (const auto& named : options.shapes) {
    std::vector<std::int64_t>& shape = shapes.emplace_back(names.size(), 0);
    for (const auto& [name, value] : named) {
      const auto found = std::ranges::find(names, name);
      if (found == names.end())
        throw Error(ErrorCode::InvalidArgument, fmt::format("template {} has no extent {}", from.name, name),
                    fmt::format("its extents are {}", fmt::join(names, ", ")));
      shape[static_cast<std::size_t>(found - names.begin())] = value;
    }
  }
  return shapes;
}

std::string shapeText(const KernelTemplate& from, const std::vector<std::int64_t>& shape) {
  std::string text;
  const std::vector<std::string> names = from.allExtents();
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] > 0) text += fmt::format("{}{}={}", text.empty() ? "" : ",", names[i], shape[i]);
  return text;
}

std::string listing(bool json) {
  Json list = Json::array();
  std::string text;
  for (const std::string& name : templateNames()) {
    const auto from = findTemplate(name);
    list.push_back({{"template", name},
                    {"parameters", from->parameters.toString()},
                    {"shape", from->allExtents()},
                    {"tunable", from->space != nullptr}});
    text += fmt::format("{}: {}; by {}{}\n", name, from->parameters.toString(), fmt::join(from->allExtents(), ", "),
                        from->space ? "" : "; it has no space to search");
  }
  return json ? list.dump() + "\n" : text;
}

std::string report(const KernelTemplate& from, const std::vector<Tuned>& results, bool json) {
  Json list = Json::array();
  std::string text;
  for (const Tuned& one : results) {
    Json object = {{"shape", shapeText(from, one.extents)}, {"measured", one.measured}, {"failed", one.failed}, {"pruned", one.pruned}};
    std::string verdict = "the budget was too small for a verdict";
    if (one.tile) {
      object.update({{"tile", one.tile->toString()},
                     {"median_us", one.median_us},
                     {"default_us", one.default_us},
                     {"gain", one.gain},
                     {"gain_noise", one.gain_noise}});
      verdict = fmt::format("{}, {:.1f} us, {:.1f}% +- {:.1f}% faster than the default", one.tile->toString(), one.median_us,
                            (one.gain - 1) * 100, one.gain_noise * 100);
    }
    text += fmt::format("{}: {} ({} measured, {} failed, {} pruned)\n", shapeText(from, one.extents), verdict, one.measured, one.failed,
                        one.pruned);
    list.push_back(std::move(object));
  }
  return json ? list.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n" : text;
}

std::string execute(const TemplateOptions& options) {
  for (const std::string& object : options.objects) load(object);
  if (options.list) return listing(options.json);
  const auto from = findTemplate(options.name);
  const Parameters parameters = parseParameters(*from, options.parameters);
  const std::vector<std::vector<std::int64_t>> shapes = shapesOf(*from, options);
  if (!options.explain)
    return report(*from,
                  tune(*from, parameters, shapes,
                       {.target = tool::measuredTarget("fattn-tune template", options.target), .seconds = options.seconds}),
                  options.json);
  std::string text;
  for (const auto& shape : shapes)
    text += fmt::format("{}: {}\n", shapeText(*from, shape),
                        explain(*from, parameters, {.target = options.target, .tile = {}, .extents = shape}));
  return text;
}

int runTemplateTool(const std::vector<std::string>& arguments) {
  constexpr const char* kName = "fattn-tune template";
  return tool::runProgram<TemplateOptions>(
      kName, parseTemplateCommandLine(arguments), "choose a smaller shape",
      [](const TemplateOptions& options, tool::Progress&) { return tool::printText(kName, execute(options)); });
}

}  // namespace
}  // namespace fattn::tuner

int main(int argc, char** argv) { return fattn::tuner::runTemplateTool(fattn::tool::wordsOf(argc, argv)); }
