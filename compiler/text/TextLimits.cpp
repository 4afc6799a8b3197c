// SPDX-License-Identifier: Apache-2.0
#include "compiler/text/TextLimits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <system_error>
#include <unordered_map>
#include <vector>

namespace fattn::compiler {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.'; }

/// Goes over the text once, as MLIR's lexer would.
class Scanner {
 public:
  Scanner(std::string_view text, const TextLimits& limits) : text_(text), limits_(limits) {}

  std::string run() {
    while (broken_.empty() && at_ < text_.size()) step();
    return broken_.empty() ? "" : fmt::format("line {}: {}", line_, broken_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void step() {
    const char c = peek();
    if (c == '\n') {
      ++line_;
      if (open_.empty()) defined_ = nullptr;
    }
    if (c == '"') return skipString();
    if (c == '/' && peek(1) == '/') return skipComment();
    if (c == '#' || c == '!') return alias();
    if (isDigit(c)) return number();
    if (isWord(c)) return word();
    if (std::string_view("{([<").contains(c) && !(c == '<' && peek(1) == '='))
      open(c);
    else if (std::string_view("})]>").contains(c))
      close(c);
    if (std::string_view(",=%@:{}[]").contains(c)) operators_ = 0;
    if ((c == '+' || c == '-' || c == '*') && !(c == '-' && peek(1) == '>')) countOperator();
    ++at_;
  }

  void skipString() {
    for (++at_; at_ < text_.size() && peek() != '"' && peek() != '\n'; ++at_) at_ += peek() == '\\';
    ++at_;
  }
  void skipComment() {
    while (at_ < text_.size() && peek() != '\n') ++at_;
  }
  void number() {
    const std::size_t begin = at_;
    while (isWord(peek())) ++at_;
    // Shapes are numbers in a row: 4x4xf32.
    std::size_t digits = 0, longest = 0;
    const bool hexadecimal = text_.substr(begin, 2) == "0x";
    for (char c : text_.substr(begin, at_ - begin)) {
      digits = hexadecimal || c != 'x' ? digits + 1 : 0;
      longest = std::max(longest, digits);
    }
    if (longest > static_cast<std::size_t>(limits_.digits))
      broken_ = fmt::format("a number has {} digits; at most {} are read", longest, limits_.digits);
  }
  void word() {
    const std::size_t begin = at_;
    while (isWord(peek())) ++at_;
    const std::string_view text = text_.substr(begin, at_ - begin);
    if (text == "floordiv" || text == "ceildiv" || text == "mod") countOperator();
    if (text.size() > kLongestWord) broken_ = fmt::format("a name has {} characters; at most {} are read", text.size(), kLongestWord);
  }
  void countOperator() {
    if (++operators_ > limits_.operators) broken_ = fmt::format("an expression has more than {} operators", limits_.operators);
  }

  void open(char c) {
    open_.push_back(c);
    reach(open_.size());
  }
  void reach(std::size_t depth) {
    if (defined_ != nullptr) defined_->depth = std::max(defined_->depth, depth);
    if (depth > static_cast<std::size_t>(limits_.nesting)) broken_ = fmt::format("brackets are nested more than {} deep", limits_.nesting);
  }
  // An arrow or a comparison closes nothing; a bracket of another kind closes what was taken for a bracket in front of it.
  void close(char c) {
    if (c == '>' && (open_.empty() || open_.back() != '<' || text_[at_ - (at_ > 0 ? 1 : 0)] == '-' || peek(1) == '=')) return;
    const char opening = c == '}' ? '{' : c == ')' ? '(' : c == ']' ? '[' : '<';
    while (!open_.empty() && open_.back() != opening) open_.pop_back();
    if (!open_.empty()) open_.pop_back();
  }

  // "%values#3": the parser makes as many places for the values of an operation before it looks whether there are.
  void result(std::string_view number) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (error != std::errc() || index > limits_.results)
      broken_ = fmt::format("result {} of an operation is named; at most {} are read", number.substr(0, 20), limits_.results);
  }

  // Written out, an alias is as long as all that it names, and as deep: definitions of two uses each double it.
  void alias() {
    const std::size_t begin = at_++;
    while (isWord(peek())) ++at_;
    const std::string name(text_.substr(begin, at_ - begin));
    if (name.size() == 1) return;
    if (isDigit(name[1])) return result(std::string_view(name).substr(1));
    std::size_t next = at_;
    while (next < text_.size() && (text_[next] == ' ' || text_[next] == '\t')) ++next;
    if (open_.empty() && next < text_.size() && text_[next] == '=' && !aliases_.contains(name)) {
      defined_ = &aliases_[name];
      return;
    }
    const auto known = aliases_.find(name);
    if (known == aliases_.end()) return;
    reach(open_.size() + known->second.depth);
    std::size_t& sum = defined_ != nullptr ? defined_->weight : uses_;
    sum = std::min(sum + known->second.weight, limits_.expanded + 1);
    if (sum > limits_.expanded)
      broken_ = fmt::format("aliases that name others stand for more than {} attributes or types", limits_.expanded);
  }

  static constexpr std::size_t kLongestWord = 10000;
  /// What an alias stands for, written out.
  struct Alias {
    std::size_t weight = 1, depth = 0;
  };

  std::string_view text_;
  const TextLimits& limits_;
  std::string broken_;
  std::size_t at_ = 0, line_ = 1, uses_ = 0;
  int operators_ = 0;
  std::vector<char> open_;
  std::unordered_map<std::string, Alias> aliases_;  // nodes stay where they are
  Alias* defined_ = nullptr;                        // the one whose definition this is
};

}  // namespace

std::string brokenLimit(std::string_view text, const TextLimits& limits) {
  if (text.size() > limits.bytes) return fmt::format("the text has {} bytes; at most {} are read", text.size(), limits.bytes);
  return Scanner(text, limits).run();
}

}  // namespace fattn::compiler
