// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-dump/Mix.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>
#include <vector>

#include "tools/fattn-dump/CodeLoops.h"

namespace fattn::dump {
namespace {

constexpr std::string_view kBlank = " \t";

std::string_view strip(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t;,") + 1 - begin);
}

/// A line of code. Inline code of PTX has several instructions on one.
struct Line {
  CodeLine code;
  Counts counts;
  double products = 0;  ///< of its instructions of the matrix unit
  std::optional<compiler::SourceLine> source;
};

/// "wgmma.mma_async.sync.aligned.m64n128k16.f32": 64 * 128 * 16; "v_mfma_f32_32x32x8_f16": 32 * 32 * 8; 1 where the name says no size.
double productsOf(std::string_view opcode) {
  double best = 1, product = 1;
  int sizes = 0;
  for (std::size_t at = 0; at < opcode.size();) {
    int size = 0;
    const auto [end, error] = std::from_chars(opcode.data() + at, opcode.data() + opcode.size(), size);
    if (error != std::errc()) {
      if (std::string_view("mnkx").find(opcode[at]) == std::string_view::npos) sizes = 0, product = 1;
      ++at;
      continue;
    }
    at = end - opcode.data();
    product *= size;
    if (++sizes == 3) best = product;
  }
  return best;
}

/// One instruction: "@%p3 bra $L__BB0_3", "again: mbarrier.try_wait ...". Declarations and lists of operands are none.
void addInstruction(std::string_view text, TargetKind kind, bool isInline, Line& line) {
  if (isInline && text.starts_with("{ ")) text = strip(text.substr(1));
  if (const std::size_t label = text.find(": "); isInline && label < text.find_first_of(kBlank)) text = strip(text.substr(label + 2));
  const bool isGuarded = text.starts_with("@");
  if (isGuarded) text = strip(text.substr(std::min(text.find_first_of(kBlank), text.size())));
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text.front())) == 0) return;
  const std::string_view opcode = text.substr(0, text.find_first_of(kBlank));
  const std::string_view operands = text.substr(opcode.size());
  const Work work = workOf(opcode, operands, kind);
  ++line.counts.of[static_cast<std::size_t>(work)];
  if (work == Work::Matrix) line.products += productsOf(opcode);
  if (work != Work::Branch || isInline) return;
  line.code.target = strip(operands);
  const bool isEnd = opcode.starts_with("ret") || opcode == "exit" || opcode == "s_endpgm";
  line.code.falls = !isEnd && (isGuarded || !(opcode.starts_with("bra") || opcode == "s_branch" || opcode == "jmp"));
}

Line lineOf(std::string_view text, TargetKind kind) {
  const std::string_view comment = kind == TargetKind::Nvidia ? "//" : kind == TargetKind::Amd ? ";" : "#";
  text = text.substr(0, text.find(comment));
  std::string_view rest = strip(text);
  Line line;
  if (rest.empty()) return line;
  const bool isLabel = rest.back() == ':' && rest.find_first_of(kBlank) == std::string_view::npos;
  if (isLabel) line.code.label = rest.substr(0, rest.size() - 1);
  if (isLabel || kBlank.find(text.front()) == std::string_view::npos) {
    if (!rest.starts_with("{ ") && !rest.starts_with("@")) return line;  // inline code is not indented everywhere
  }
  const bool isInline = rest.starts_with("{ ");
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    addInstruction(strip(rest.substr(0, end)), kind, isInline, line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return line;
}

std::vector<Line> codeOf(const compiler::Stage& stage, TargetKind kind) {
  std::vector<Line> result;
  std::size_t at = 0;
  for (std::size_t i = 0; at < stage.text.size(); ++i) {
    const std::size_t end = std::min(stage.text.find('\n', at), stage.text.size());
    const std::string_view line = std::string_view(stage.text).substr(at, end - at);
    at = end + 1;
    if (line.find(".amdgpu_metadata") != std::string_view::npos) break;  // no code until the end
    result.push_back(lineOf(line, kind));
    if (i < stage.lines.size() && !stage.lines[i].empty()) result.back().source = stage.lines[i].front();
  }
  return result;
}

/// What lines have together.
struct Sum {
  Counts counts;
  double products = 0;
};

Sum sumOf(const std::vector<Line>& code, const std::vector<int>& lines) {
  Sum sum;
  for (int line : lines) {
    for (std::size_t i = 0; i < kWorks; ++i) sum.counts.of[i] += code[line].counts.of[i];
    sum.products += code[line].products;
  }
  return sum;
}

/// A loop, what its lines have together, and how much of the kernel's work that is.
struct WeighedLoop {
  CodeLoop loop;
  Sum sum;
  double weight = 0;  ///< products of the matrix unit; instructions of arithmetic where no loop has products
};

std::vector<WeighedLoop> weighedLoops(const std::vector<Line>& code) {
  std::vector<CodeLine> lines;
  for (const Line& each : code) lines.push_back(each.code);
  std::vector<WeighedLoop> loops;
  for (CodeLoop& loop : loopsOf(lines)) {
    const Sum sum = sumOf(code, loop.lines);
    loops.push_back({std::move(loop), sum});
  }
  const bool hasProducts = std::ranges::any_of(loops, [](const WeighedLoop& each) { return each.sum.products > 0; });
  for (WeighedLoop& each : loops)
    each.weight = hasProducts ? each.sum.products : static_cast<double>(each.sum.counts.of[static_cast<std::size_t>(Work::Float)]);
  return loops;
}

/// Whether a smaller loop within this one has more than a quarter of its work.
bool worksInSmallerLoop(const WeighedLoop& loop, const std::vector<WeighedLoop>& all) {
  return std::ranges::any_of(all, [&](const WeighedLoop& other) {
    return other.loop.lines.size() < loop.loop.lines.size() && other.weight * 4 > loop.weight &&
           std::ranges::includes(loop.loop.lines, other.loop.lines);
  });
}

/// More work, or the same in fewer instructions.
bool isBusier(const WeighedLoop& a, const WeighedLoop& b) {
  return a.weight > b.weight || (a.weight == b.weight && a.sum.counts.total() < b.sum.counts.total());
}

/// The line of the source that the first dot comes from, or else the first instruction.
std::optional<compiler::SourceLine> sourceOf(const std::vector<int>& lines, const std::vector<Line>& code) {
  for (int line : lines)
    if (code[line].source && code[line].products > 0) return code[line].source;
  for (int line : lines)
    if (code[line].source && code[line].counts.total() > 0) return code[line].source;
  return std::nullopt;
}

void addInnerLoop(const std::vector<Line>& code, Mix& mix) {
  const std::vector<WeighedLoop> loops = weighedLoops(code);
  const WeighedLoop* inner = nullptr;
  for (const WeighedLoop& each : loops) {
    if (each.weight == 0 || worksInSmallerLoop(each, loops)) continue;
    if (inner == nullptr || isBusier(each, *inner)) inner = &each;
  }
  if (inner == nullptr) return;
  mix.loop = inner->loop.label;
  mix.inLoop = inner->sum.counts;
  mix.line = sourceOf(inner->loop.lines, code);
}

int percent(int part, int whole) { return whole == 0 ? 0 : static_cast<int>(std::lround(100.0 * part / whole)); }

}  // namespace

int Counts::total() const { return std::accumulate(of.begin(), of.end(), 0); }

std::optional<Mix> mixOf(const compiler::Stage& stage, const std::string& target) {
  if (stage.extension != "ptx" && stage.extension != "s") return std::nullopt;
  const TargetKind kind = parseTarget(target).kind;
  const std::vector<Line> code = codeOf(stage, kind);
  Mix mix;
  mix.code = kind == TargetKind::Nvidia ? "PTX" : kind == TargetKind::Amd ? "GCN" : "x86-64 assembly";
  std::vector<int> all(code.size());
  std::iota(all.begin(), all.end(), 0);
  mix.kernel = sumOf(code, all).counts;
  addInnerLoop(code, mix);
  return mix;
}

std::string mixText(const Mix& mix) {
  std::string text = fmt::format("instructions in {}, each counted once\n", mix.code);
  const std::string where = mix.line ? fmt::format(", with line {}:{}", mix.line->file, mix.line->line) : "";
  text += mix.loop.empty() ? "no loop has dots or arithmetic\n" : fmt::format("inner loop: the one at {}{}\n", mix.loop, where);
  text += fmt::format("{:<24}{:>12}{:>6}{:>14}{:>6}\n", "", "inner loop", "%", "whole kernel", "%");
  const auto row = [&](std::string_view what, int inLoop, int inKernel) {
    text += fmt::format("{:<24}{:>12}{:>6}{:>14}{:>6}\n", what, inLoop, percent(inLoop, mix.inLoop.total()), inKernel,
                        percent(inKernel, mix.kernel.total()));
  };
  for (std::size_t i = 0; i < kWorks; ++i)
    if (mix.kernel.of[i] > 0) row(name(static_cast<Work>(i)), mix.inLoop.of[i], mix.kernel.of[i]);
  row("all", mix.inLoop.total(), mix.kernel.total());
  return text;
}

std::string mixLine(const Counts& counts) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < kWorks; ++i)
    if (counts.of[i] > 0) parts.push_back(fmt::format("{} {}", counts.of[i], name(static_cast<Work>(i))));
  return fmt::format("{} instructions: {}", counts.total(), fmt::join(parts, "; "));
}

}  // namespace fattn::dump
