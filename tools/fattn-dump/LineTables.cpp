// SPDX-License-Identifier: Apache-2.0
// LLVM IR:   instruction, !dbg !7      with !7 = !DILocation(line: 3, ..., scope: !5), !5 = ...(..., file: !1, ...),
//            !1 = !DIFile(filename: "a.cpp", directory: "kernels")                                  (LLVM Language Reference, "Metadata")
// Assembly:  .file 1 "kernels" "a.cpp" and .loc 1 3 7 before the instructions of that line         (GNU as, "Pseudo Ops"; PTX ISA)
// SASS:      //## File "kernels/a.cpp", line 3 before the instructions of that line                (nvdisasm -g)
#include "tools/fattn-dump/LineTables.h"

#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace fattn::dump {
namespace {

using compiler::SourceLine;
using compiler::Stage;

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::optional<unsigned> numberAt(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

/// The text behind `key`; nothing where the line does not have it.
std::optional<std::string_view> after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  return at == std::string_view::npos ? std::nullopt : std::optional(line.substr(at + key.size()));
}

std::optional<unsigned> numberAfter(std::string_view line, std::string_view key) {
  const auto rest = after(line, key);
  return rest ? numberAt(*rest) : std::nullopt;
}

std::string quotedAfter(std::string_view line, std::string_view key) {
  const auto rest = after(line, key);
  if (!rest || !rest->starts_with('"')) return "";
  return std::string(rest->substr(1, rest->find('"', 1) - 1));
}

std::string joined(const std::string& directory, const std::string& file) {
  return directory.empty() || file.starts_with('/') ? file : directory + "/" + file;
}

std::string_view trimmed(std::string_view line) {
  const std::size_t at = line.find_first_not_of(" \t");
  return at == std::string_view::npos ? std::string_view() : line.substr(at);
}

/// Collects the lines that stay.
class Rewriter {
 public:
  explicit Rewriter(Stage& stage) : stage_(stage) {}
  void keep(std::string_view line, const std::optional<SourceLine>& source) {
    text_.append(line).push_back('\n');
    lines_.emplace_back();
    if (source && source->line > 0) lines_.back().push_back(*source);
  }
  void finish() {
    stage_.text = std::move(text_);
    stage_.lines = std::move(lines_);
  }

 private:
  Stage& stage_;
  std::string text_;
  std::vector<std::vector<SourceLine>> lines_;
};

/// The metadata of a module that locations are made of.
struct Metadata {
  struct Location {
    unsigned line, scope;
  };
  std::map<unsigned, std::string> files;
  std::map<unsigned, unsigned> fileOfScope;
  std::map<unsigned, Location> locations;

  void add(unsigned id, std::string_view line) {
    if (line.find("!DIFile(") != std::string_view::npos) {
      files[id] = joined(quotedAfter(line, "directory: "), quotedAfter(line, "filename: "));
    } else if (line.find("!DILocation(") != std::string_view::npos) {
      locations[id] = {numberAfter(line, "line: ").value_or(0), numberAfter(line, "scope: !").value_or(0)};
    } else if (const auto file = numberAfter(line, "file: !")) {
      fileOfScope[id] = *file;
    }
  }
  std::optional<SourceLine> at(unsigned id) const {
    const auto location = locations.find(id);
    if (location == locations.end()) return std::nullopt;
    const auto scope = fileOfScope.find(location->second.scope);
    if (scope == fileOfScope.end() || !files.contains(scope->second)) return std::nullopt;
    return SourceLine{files.at(scope->second), location->second.line};
  }
};

bool isDebugMetadata(std::string_view line) {
  return line.find(" !DI") != std::string_view::npos || line.find("\"Debug Info Version\"") != std::string_view::npos ||
         line.starts_with("!llvm.dbg.cu") || line.find("distinct !DI") != std::string_view::npos;
}

void readIR(Stage& stage) {
  const std::vector<std::string_view> lines = linesOf(stage.text);
  Metadata metadata;
  for (std::string_view line : lines)
    if (line.starts_with('!'))
      if (const auto id = numberAt(line.substr(1))) metadata.add(*id, line);
  Rewriter out(stage);
  for (std::string_view line : lines) {
    if (line.starts_with('!') && isDebugMetadata(line)) continue;
    std::size_t at = line.find(", !dbg !"), length = 8;
    if (at == std::string_view::npos) at = line.find(" !dbg !"), length = 7;  // of a function
    if (at == std::string_view::npos) {
      out.keep(line, std::nullopt);
      continue;
    }
    const std::size_t rest = std::min(line.find_first_not_of("0123456789", at + length), line.size());
    const auto id = numberAt(line.substr(at + length));
    out.keep(std::string(line.substr(0, at)) + std::string(line.substr(rest)), id ? metadata.at(*id) : std::nullopt);
  }
  out.finish();
}

/// `.file 1 "directory" "name"` or `.file 1 "name"`.
void addFile(std::map<unsigned, std::string>& files, std::string_view line) {
  const auto id = numberAfter(line, ".file\t") ? numberAfter(line, ".file\t") : numberAfter(line, ".file ");
  if (!id) return;
  const std::size_t first = line.find('"');
  const std::size_t firstEnd = line.find('"', first + 1), second = line.find('"', firstEnd + 1);
  std::string name(line.substr(first + 1, firstEnd - first - 1));
  if (second != std::string_view::npos) name = joined(name, std::string(line.substr(second + 1, line.find('"', second + 1) - second - 1)));
  files[*id] = name;
}

bool isTemporaryLabel(std::string_view line) { return line.starts_with(".Ltmp") || line.starts_with("$L__tmp"); }

/// Whether a `.section` directive opens debug information, which is data from there to the next section.
bool isDebugSection(std::string_view line) { return line.starts_with(".section") && line.find(".debug_") != std::string_view::npos; }

/// PTX names its files below their first use, so all of them are read before any line.
std::map<unsigned, std::string> filesOf(const std::vector<std::string_view>& lines) {
  std::map<unsigned, std::string> files;
  for (std::string_view line : lines)
    if (trimmed(line).starts_with(".file")) addFile(files, trimmed(line));
  return files;
}

bool namesNumberedFile(std::string_view word) { return word.starts_with(".file") && numberAt(trimmed(word.substr(5))); }

bool isLocation(std::string_view word) { return word.starts_with(".loc\t") || word.starts_with(".loc "); }

/// `.loc FILE LINE ...`; nothing where the file has no name.
std::optional<SourceLine> locationAt(std::string_view word, const std::map<unsigned, std::string>& files) {
  const std::string_view numbers = trimmed(word.substr(4));
  const auto file = numberAt(numbers);
  const auto line = numberAt(trimmed(numbers.substr(std::min(numbers.find_first_of(" \t"), numbers.size()))));
  if (!file || !line || !files.contains(*file)) return std::nullopt;
  return SourceLine{files.at(*file), *line};
}

bool endsFunction(std::string_view word) { return word.starts_with(".cfi_endproc") || word == "}"; }

/// Neither a directive nor a comment nor a label.
bool isInstruction(std::string_view word) {
  return !word.empty() && std::string_view(".#/").find(word.front()) == std::string_view::npos && word.back() != ':';
}

void readAssembly(Stage& stage) {
  const std::vector<std::string_view> lines = linesOf(stage.text);
  const std::map<unsigned, std::string> files = filesOf(lines);
  std::optional<SourceLine> current;
  bool skipping = false;
  Rewriter out(stage);
  for (std::string_view line : lines) {
    const std::string_view word = trimmed(line);
    if (word.starts_with(".section") || word.starts_with(".text")) skipping = isDebugSection(word);
    if (skipping || namesNumberedFile(word) || isTemporaryLabel(word)) continue;
    if (isLocation(word)) {
      current = locationAt(word, files);
      continue;
    }
    if (endsFunction(word)) current.reset();
    out.keep(line, isInstruction(word) ? current : std::nullopt);
  }
  out.finish();
}

void readSass(Stage& stage) {
  std::optional<SourceLine> current;
  Rewriter out(stage);
  for (std::string_view line : linesOf(stage.text)) {
    const std::string_view word = trimmed(line);
    if (word.starts_with("//## File ")) {
      current = SourceLine{quotedAfter(word, "File "), numberAfter(word, "\", line ").value_or(0)};
      continue;
    }
    out.keep(line, word.starts_with("/*") ? current : std::nullopt);
  }
  out.finish();
}

}  // namespace

void readLineTables(Stage& stage) {
  if (!stage.lines.empty()) return;
  if (stage.extension == "ll") readIR(stage);
  if (stage.extension == "s" || stage.extension == "ptx") readAssembly(stage);
  if (stage.extension == "sass") readSass(stage);
}

}  // namespace fattn::dump
