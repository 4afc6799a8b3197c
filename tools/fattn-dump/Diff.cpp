// SPDX-License-Identifier: Apache-2.0
// Patience: lines that both texts have once, in the longest order that both share, are equal; between these the same again, down to
// stretches that are short enough for a table of longest common subsequences. What is longer and shares no such line counts as changed.
#include "tools/fattn-dump/Diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <functional>
#include <map>
#include <span>

namespace fattn::dump {
namespace {

constexpr std::size_t kTable = 1'000'000;  // cells
constexpr int kAround = 3;                 // lines of context

std::vector<std::string_view> splitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

using Aliases = std::map<std::string_view, std::string_view>;

/// "#regs3 = #tilegpu.regs<...>" at the beginning of a module.
Aliases aliasesOf(const std::vector<std::string_view>& lines) {
  Aliases aliases;
  for (std::string_view line : lines)
    if (const std::size_t is = line.find(" = "); line.starts_with("#") && is != std::string_view::npos)
      aliases[line.substr(0, is)] = line.substr(is + 3);
  return aliases;
}

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// "%12", "%arg3" and "^bb4" without the number, "%cst_5" and "%c0_i64_5" without the last one.
std::string_view nameOf(std::string_view word) {
  constexpr std::string_view kDigits = "0123456789";
  const std::string_view front = word.substr(0, word.find_last_not_of(kDigits) + 1);
  if (front == "%" || front == "%arg" || front == "^bb") return front;
  return front.ends_with('_') && front.size() < word.size() ? front.substr(0, front.size() - 1) : word;
}

/// The line without numbers that depend on its place in the text.
std::string keyOf(std::string_view line, const Aliases& aliases) {
  std::string key;
  for (std::size_t at = 0; at < line.size();) {
    const char c = line[at];
    std::size_t end = at + 1;
    if (c != '%' && c != '^' && c != '#') {
      key += line[at++];
      continue;
    }
    while (end < line.size() && isWord(line[end])) ++end;
    const std::string_view word = line.substr(at, end - at);
    const auto alias = c == '#' ? aliases.find(word) : aliases.end();
    if (alias != aliases.end())
      key += alias->second;
    else
      key += c == '#' ? word : nameOf(word);
    at = end;
  }
  return key;
}

using Keys = std::span<const int>;

class Comparison {
 public:
  Comparison(Keys before, Keys after) : before_(before), after_(after) {
    compare(0, static_cast<int>(before.size()), 0, static_cast<int>(after.size()));
    match(static_cast<int>(before.size()), static_cast<int>(after.size()), 0);
  }
  std::vector<DiffRun> runs() {
    if (!runs_.empty() && runs_.back() == DiffRun{}) runs_.pop_back();
    return std::move(runs_);
  }

 private:
  /// `count` equal lines from here on; what lies before them and has not been matched has changed.
  void match(int before, int after, int count) {
    if (before > doneBefore_ || after > doneAfter_) {
      if (runs_.empty()) runs_.emplace_back();
      runs_.back().removed += before - doneBefore_, runs_.back().added += after - doneAfter_;
    }
    if (runs_.empty() || runs_.back().removed + runs_.back().added > 0) runs_.emplace_back();
    runs_.back().kept += count;
    doneBefore_ = before + count, doneAfter_ = after + count;
  }

  void compare(int b0, int b1, int a0, int a1) {
    int same = 0, tail = 0;
    while (b0 + same < b1 && a0 + same < a1 && before_[b0 + same] == after_[a0 + same]) ++same;
    if (same > 0) match(b0, a0, same);
    b0 += same, a0 += same;
    while (b1 - tail > b0 && a1 - tail > a0 && before_[b1 - tail - 1] == after_[a1 - tail - 1]) ++tail;
    b1 -= tail, a1 -= tail;
    if (b0 < b1 && a0 < a1) compareMiddle(b0, b1, a0, a1);
    if (tail > 0) match(b1, a1, tail);
  }

  void compareMiddle(int b0, int b1, int a0, int a1) {
    const std::vector<std::pair<int, int>> anchors = anchorsIn(b0, b1, a0, a1);
    if (anchors.empty()) {
      if (static_cast<std::size_t>(b1 - b0) * static_cast<std::size_t>(a1 - a0) <= kTable) compareShort(b0, b1, a0, a1);
      return;
    }
    for (const auto& [before, after] : anchors) {
      compare(b0, before, a0, after);
      match(before, after, 1);
      b0 = before + 1, a0 = after + 1;
    }
    compare(b0, b1, a0, a1);
  }

  /// The longest rising sequence of lines that each side has once.
  std::vector<std::pair<int, int>> anchorsIn(int b0, int b1, int a0, int a1) const {
    struct Places {
      int inBefore = 0, inAfter = 0, before = 0, after = 0;
    };
    std::map<int, Places> places;
    for (int b = b0; b < b1; ++b) ++places[before_[b]].inBefore, places[before_[b]].before = b;
    for (int a = a0; a < a1; ++a) ++places[after_[a]].inAfter, places[after_[a]].after = a;
    std::vector<std::pair<int, int>> once;
    for (const auto& [key, at] : places)
      if (at.inBefore == 1 && at.inAfter == 1) once.emplace_back(at.before, at.after);
    std::ranges::sort(once);
    std::vector<int> piles, under(once.size(), -1);  // indices into `once`: the last of the best sequence of each length
    for (int i = 0; i < static_cast<int>(once.size()); ++i) {
      const auto pile = std::ranges::lower_bound(piles, once[i].second, {}, [&](int top) { return once[top].second; });
      if (pile != piles.begin()) under[i] = *std::prev(pile);
      if (pile == piles.end())
        piles.push_back(i);
      else
        *pile = i;
    }
    std::vector<std::pair<int, int>> longest;
    for (int i = piles.empty() ? -1 : piles.back(); i >= 0; i = under[i]) longest.push_back(once[i]);
    std::ranges::reverse(longest);
    return longest;
  }

  void compareShort(int b0, int b1, int a0, int a1) {
    const int rows = b1 - b0, columns = a1 - a0;
    std::vector<std::uint16_t> best((rows + 1) * (columns + 1));  // of the rest from here on; a table has below 65536 rows and columns
    const auto at = [&](int row, int column) -> std::uint16_t& { return best[row * (columns + 1) + column]; };
    for (int row = rows - 1; row >= 0; --row)
      for (int column = columns - 1; column >= 0; --column)
        at(row, column) = before_[b0 + row] == after_[a0 + column] ? static_cast<std::uint16_t>(at(row + 1, column + 1) + 1)
                                                                   : std::max(at(row + 1, column), at(row, column + 1));
    for (int row = 0, column = 0; row < rows && column < columns;) {
      if (before_[b0 + row] == after_[a0 + column])
        match(b0 + row++, a0 + column++, 1);
      else
        ++(at(row + 1, column) >= at(row, column + 1) ? row : column);
    }
  }

  Keys before_, after_;
  int doneBefore_ = 0, doneAfter_ = 0;
  std::vector<DiffRun> runs_;
};

}  // namespace

std::vector<DiffRun> diffOf(std::string_view before, std::string_view after) {
  std::map<std::string, int> numbers;
  const auto keys = [&](std::string_view text) {
    const std::vector<std::string_view> lines = splitLines(text);
    const Aliases aliases = aliasesOf(lines);
    std::vector<int> result;
    for (std::string_view line : lines)
      result.push_back(numbers.try_emplace(keyOf(line, aliases), static_cast<int>(numbers.size())).first->second);
    return result;
  };
  const std::vector<int> first = keys(before), second = keys(after);
  return Comparison(first, second).runs();
}

std::string diffText(std::string_view before, std::string_view after) {
  const std::vector<std::string_view> old = splitLines(before), now = splitLines(after);
  const std::vector<DiffRun> runs = diffOf(before, after);
  std::string text;
  int b = 0, a = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const DiffRun& run = runs[i];
    const bool isFirst = i == 0, changes = run.removed + run.added > 0;
    // Lines between two changes are shown all where few, else the ends of them.
    const int tail = isFirst ? 0 : std::min(run.kept, kAround), head = changes ? std::min(run.kept - tail, kAround) : 0;
    for (int line = 0; line < tail; ++line) text += fmt::format(" {}\n", now[a + line]);
    if (changes && (isFirst || run.kept > tail + head))
      text += fmt::format("@@ -{} +{} @@\n", b + run.kept - head + 1, a + run.kept - head + 1);
    for (int line = run.kept - head; line < run.kept; ++line) text += fmt::format(" {}\n", now[a + line]);
    b += run.kept, a += run.kept;
    for (int line = 0; line < run.removed; ++line) text += fmt::format("-{}\n", old[b++]);
    for (int line = 0; line < run.added; ++line) text += fmt::format("+{}\n", now[a++]);
  }
  return text.find("@@ -") == std::string::npos ? "no change\n" : text;
}

}  // namespace fattn::dump
