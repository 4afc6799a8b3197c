// SPDX-License-Identifier: Apache-2.0
// The page's data is one JSON object in the page; page/page.js says what it does with it.
//   files, sources   source lines as [file, line]
//   sets             what lines are tied to: lists of sources
//   lines            all different lines of all stages: passes leave most of them as they are
//   stages           text, a list of lines, and ties, runs of lines with the same set: [set, count, ...]; -1 is none.
//                    `same`: an earlier stage that has the same text and ties
//                    `changes`: of a module behind a pass, [stage before it, lines kept, removed, added, kept, ...]
//   layouts          what modules give aliases to: title, legend, rows, columns and cells of its picture, colours as shares of a circle
//   mix              numbers of instructions by kind, in the inner loop and in all
#include "tools/fattn-dump/Page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_set>

#include "fattn/Version.h"
#include "runtime/base/TargetName.h"
#include "tools/fattn-dump/Diff.h"
#include "tools/fattn-dump/LayoutPictures.h"
#include "tools/fattn-dump/LineTables.h"
#include "tools/fattn-dump/Sources.h"
#include "tools/fattn-dump/Time.h"

namespace fattn::dump {
namespace {

using nlohmann::json;

template <class Key>
class Numbering {
 public:
  int of(const Key& key) { return numbers_.try_emplace(key, static_cast<int>(numbers_.size())).first->second; }
  std::vector<Key> list() const {
    std::vector<Key> keys(numbers_.size());
    for (const auto& [key, number] : numbers_) keys[number] = key;
    return keys;
  }

 private:
  std::map<Key, int> numbers_;
};

class Ties {
 public:
  std::vector<int> numbersOf(const std::vector<SourceLine>& lines) {
    std::vector<int> numbers;
    for (const SourceLine& line : lines) numbers.push_back(sources_.of(line));
    return numbers;
  }
  /// Runs of lines with the same set.
  json runsOf(const std::vector<std::vector<SourceLine>>& lines) {
    json runs = json::array();
    int last = -2, count = 0;
    const auto flush = [&] {
      if (count > 0) runs.push_back(last), runs.push_back(count);
    };
    for (const auto& line : lines) {
      const int set = line.empty() ? -1 : sets_.of(numbersOf(line));
      if (set != last) {
        flush();
        last = set, count = 0;
      }
      ++count;
    }
    flush();
    return runs;
  }
  void write(json& page) const {
    Numbering<std::string> files;
    page["sources"] = json::array();
    for (const SourceLine& source : sources_.list()) page["sources"].push_back({files.of(source.file), source.line});
    page["files"] = files.list();
    page["sets"] = sets_.list();
  }

 private:
  Numbering<SourceLine> sources_;
  Numbering<std::vector<int>> sets_;
};

std::string titleOf(const Stage& stage, const std::string& target) {
  if (stage.name == "dsl") return "C++ source";
  if (stage.extension == "ll") return "LLVM IR";
  if (stage.extension == "ptx") return "PTX";
  if (stage.extension == "sass") return "SASS";
  if (stage.extension == "s") return parseTarget(target).kind == TargetKind::Amd ? "GCN" : "x86-64 assembly";
  if (stage.extension == "txt") return "schedules of the loops";
  return stage.name == "tile" ? "tile IR" : "after " + stage.name;
}

/// Without lines that are nothing but a comment: LLVM lists the loops around each block in them.
void dropCommentLines(Stage& stage) {
  std::string text;
  std::vector<std::vector<SourceLine>> lines;
  std::size_t at = 0;
  for (std::size_t i = 0; i < stage.lines.size(); ++i) {
    const std::size_t end = stage.text.find('\n', at) + 1;
    const std::string_view line(stage.text.data() + at, end - at);
    const std::size_t first = line.find_first_not_of(" \t");
    at = end;
    if (first > 0 && line[first] == '#') continue;
    text += line;
    lines.push_back(std::move(stage.lines[i]));
  }
  stage.text = std::move(text);
  stage.lines = std::move(lines);
}

/// Text stages with their line tables read, `dsl` tied only where another stage comes from its lines.
std::vector<Stage> textStages(const Compilation& compilation) {
  std::vector<Stage> stages;
  std::set<SourceLine> used;
  for (const Stage& stage : compilation.stages) {
    if (stage.extension == "o" || stage.extension == "cubin" || stage.extension == "hsaco" || stage.name == kMixStage ||
        stage.name == kTimeStage)
      continue;
    stages.push_back(stage);
    readLineTables(stages.back());
    if (stage.extension == "s") dropCommentLines(stages.back());
    if (stage.name != "dsl")
      for (const auto& line : stages.back().lines) used.insert(line.begin(), line.end());
  }
  for (Stage& stage : stages)
    if (stage.name == "dsl")
      for (auto& line : stage.lines)
        if (!line.empty() && !used.contains(line.front())) line.clear();
  return stages;
}

bool isPass(const Stage& stage) { return stage.extension == "mlir" && stage.name != "tile" && stage.name != "dsl"; }

/// What the stages take in the page, about: each line once, and its number wherever it is.
std::size_t sizeOf(const std::vector<Stage>& stages) {
  std::unordered_set<std::string_view> lines;
  std::size_t bytes = 0;
  for (const Stage& stage : stages)
    for (std::string_view text = stage.text; !text.empty();) {
      const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
      bytes += 6 + (lines.insert(line).second ? line.size() + 6 : 0);
      text.remove_prefix(line.size());
    }
  return bytes;
}

/// Leaves out the longest passes until the rest fits; returns how many.
int leaveOut(std::vector<Stage>& stages, std::size_t limit) {
  int count = 0;
  while (sizeOf(stages) > limit) {
    const auto longest = std::ranges::max_element(stages, {}, [](const Stage& s) { return isPass(s) ? s.text.size() + 1 : 0; });
    if (!isPass(*longest)) break;
    stages.erase(longest);
    ++count;
  }
  return count;
}

/// The stages to begin with, in order: source, the IR before code generation, LLVM IR or PTX, machine code.
std::vector<int> firstPanes(const Compilation& compilation, const std::vector<Stage>& stages) {
  std::set<int> panes;
  const auto add = [&](auto&& matches) {
    const auto found = std::find_if(stages.rbegin(), stages.rend(), matches);
    if (found != stages.rend()) panes.insert(static_cast<int>(stages.rend() - found) - 1);
  };
  add([](const Stage& s) { return s.name == "dsl"; });
  const Stage* gpu = compilation.find(Kind::TileGpu);
  add([&](const Stage& s) { return gpu != nullptr ? s.name == gpu->name && s.text == gpu->text : s.name == "tile"; });
  const bool sass = std::ranges::any_of(stages, [](const Stage& s) { return s.extension == "sass"; });
  add([&](const Stage& s) { return s.extension == (sass ? "ptx" : "ll"); });
  add([&](const Stage& s) { return sass ? s.extension == "sass" : s.extension == "s" || s.extension == "ptx"; });
  return {panes.begin(), panes.end()};
}

json chartOf(const Chart& chart, Ties& ties) {
  json result = {{"title", chart.title}, {"schedule", chart.schedule}, {"note", chart.note},
                 {"rows", chart.rows},   {"begin", chart.begin},       {"end", chart.end}};
  result["nodes"] = json::array();
  for (const Chart::Node& node : chart.nodes)
    result["nodes"].push_back({{"name", node.name}, {"what", node.what}, {"sources", ties.numbersOf(node.sources)}});
  result["spans"] = json::array();
  for (const Chart::Span& span : chart.spans)
    result["spans"].push_back(
        {{"row", span.row}, {"node", span.node}, {"wait", span.waits}, {"begin", span.begin}, {"end", span.end}, {"part", span.part}});
  return result;
}

json linesOf(const std::string& text, Numbering<std::string>& lines) {
  json list = json::array();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    list.push_back(lines.of(text.substr(at, end - at)));
    at = end + 1;
  }
  return list;
}

json stagesOf(const std::vector<Stage>& stages, const std::string& target, Ties& ties, Numbering<std::string>& lines) {
  json list = json::array();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const Stage& stage = stages[i];
    json entry = {{"name", stage.name}, {"title", titleOf(stage, target)}, {"kind", stage.extension}};
    if (i > 0 && stage.text == stages[i - 1].text) {
      entry["same"] = list[i - 1].value("same", static_cast<int>(i) - 1);
    } else {
      entry["text"] = linesOf(stage.text, lines);
      entry["ties"] = ties.runsOf(stage.lines);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

bool isModule(const Stage& stage) { return stage.extension == "mlir" && stage.name != "dsl"; }

/// To each module the one before it, and what changed between the two.
void addChanges(const std::vector<Stage>& stages, json& list) {
  int before = -1;
  for (int i = 0; i < static_cast<int>(stages.size()); ++i) {
    if (!isModule(stages[i])) continue;
    if (before >= 0 && !list[i].contains("same")) {
      json changes = json::array({before});
      for (const DiffRun& run : diffOf(stages[before].text, stages[i].text))
        for (int count : {run.kept, run.removed, run.added}) changes.push_back(count);
      list[i]["changes"] = std::move(changes);
    }
    before = i;
  }
}

json layoutsOf(const std::vector<Stage>& stages) {
  std::map<std::string, layout::Drawing> pictures;
  for (const Stage& stage : stages)
    if (isModule(stage)) addLayouts(stage.text, pictures);
  json object = json::object();
  for (const auto& [definition, drawing] : pictures)
    object[definition] = {{"title", drawing.title}, {"legend", drawing.legend},   {"columns", drawing.columns}, {"rows", drawing.rows},
                          {"cells", drawing.cells}, {"colours", drawing.colours}, {"shades", drawing.shades}};
  return object;
}

json mixJson(const Mix& mix) {
  json rows = json::array();
  for (std::size_t i = 0; i < kWorks; ++i)
    if (mix.kernel.of[i] > 0) rows.push_back({name(static_cast<Work>(i)), mix.inLoop.of[i], mix.kernel.of[i]});
  return {{"code", mix.code},
          {"loop", mix.loop},
          {"line", mix.line ? fmt::format("{}:{}", mix.line->file, mix.line->line) : ""},
          {"total", {mix.inLoop.total(), mix.kernel.total()}},
          {"rows", rows}};
}

void replace(std::string& text, std::string_view mark, const std::string& by) { text.replace(text.find(mark), mark.size(), by); }

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) result += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return result;
}

}  // namespace

std::string makePage(const Options& options, const Compilation& compilation, const std::vector<Fact>& facts,
                     const std::vector<Chart>& charts, std::size_t limit) {
  std::vector<Stage> stages = textStages(compilation);
  const int leftOut = leaveOut(stages, limit);
  Ties ties;
  json data = {{"title", compilation.title}, {"panes", firstPanes(compilation, stages)}};
  data["subtitle"] = fmt::format("compiled for {}{}{} by fattn {}", options.target, compilation.config == TileConfig{} ? "" : " with ",
                                 compilation.config.toString(), version());
  data["note"] = "Point at a line to see the lines it came from and became.";
  if (leftOut > 0)
    data["note"] = fmt::format("{} passes are left out, as the page would become too large; --all-passes shows them.", leftOut);
  Numbering<std::string> lines;
  data["stages"] = stagesOf(stages, options.target, ties, lines);
  addChanges(stages, data["stages"]);
  data["lines"] = lines.list();
  data["layouts"] = layoutsOf(stages);
  if (compilation.mix) data["mix"] = mixJson(*compilation.mix);
  if (compilation.mix && compilation.mix->line) data["mix"]["source"] = ties.numbersOf({*compilation.mix->line}).front();
  std::set<int> used;
  for (const Stage& stage : stages)
    if (stage.name == "tile")
      for (const auto& line : stage.lines)
        for (int source : ties.numbersOf(line)) used.insert(source);
  data["used"] = used;
  data["facts"] = json::array();
  for (const Fact& fact : facts)
    data["facts"].push_back({{"label", fact.label},
                             {"value", fact.value},
                             {"note", fact.note},
                             {"tone", fact.tone == Tone::Good  ? "good"
                                      : fact.tone == Tone::Bad ? "bad"
                                                               : ""}});
  data["charts"] = json::array();
  for (const Chart& chart : charts) data["charts"].push_back(chartOf(chart, ties));
  ties.write(data);
  // `<` would end the script element in `</script`; in JSON it can be written as \u003c.
  std::string text = data.dump(-1, ' ', false, json::error_handler_t::replace), safe;
  for (char c : text) c == '<' ? safe += "\\u003c" : safe += c;
  std::string page(*embedded("tools/fattn-dump/page/page.html"));
  replace(page, "@TITLE@", escaped(compilation.title));
  replace(page, "@STYLE@", std::string(*embedded("tools/fattn-dump/page/page.css")));
  replace(page, "@SCRIPT@", std::string(*embedded("tools/fattn-dump/page/page.js")));
  replace(page, "@DATA@", safe);
  return page;
}

}  // namespace fattn::dump
