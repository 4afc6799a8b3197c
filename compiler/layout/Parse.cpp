// SPDX-License-Identifier: Apache-2.0
#include "compiler/layout/Parse.h"

#include <bit>
#include <charconv>

#include "fattn/Error.h"

namespace fattn::layout {
namespace {

/// A cursor over the text.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  [[noreturn]] void expected(const std::string& what) const {
    throw Error(ErrorCode::InvalidArgument, "layout '" + std::string(text_) + "': expected " + what + " at character " +
                                                std::to_string(at_) +
                                                "; a layout reads 'register: 1 -> (0,1); lane: 1 -> (1,0) | dim0: 2, dim1: 2'");
  }
  void skipBlanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view word) {
    skipBlanks();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void need(std::string_view word) {
    if (!take(word)) expected("'" + std::string(word) + "'");
  }
  std::string name() {
    skipBlanks();
    std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    if (begin == at_) expected("a name");
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::int64_t number() {
    skipBlanks();
    std::int64_t value = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) expected("a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  bool atEnd() {
    skipBlanks();
    return at_ == text_.size();
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

Coords readCoords(Reader& in) {
  Coords out;
  in.need("(");
  if (in.take(")")) return out;
  do out.push_back(in.number());
  while (in.take(","));
  in.need(")");
  return out;
}

/// "lane: 1 -> (1,0), 2 -> (2,0), x5 along dim1", or "lane: 1" where it has no bits.
LinearLayout::Input readInput(Reader& in, std::vector<Repeat>& repeats) {
  LinearLayout::Input input{in.name(), {}};
  in.need(":");
  do {
    if (in.take("x")) {
      std::int64_t count = in.number();
      bool copies = in.take("copies");
      if (!copies) in.need("along");
      repeats.push_back({input.name, copies ? "" : in.name(), count});
      continue;
    }
    std::int64_t value = in.number();
    if (value == 1 && input.bases.empty() && !in.take("->")) break;
    if (value != std::int64_t{1} << input.bases.size())
      in.expected("the basis of " + std::to_string(std::int64_t{1} << input.bases.size()));
    if (value != 1) in.need("->");
    input.bases.push_back(readCoords(in));
  } while (in.take(","));
  return input;
}

}  // namespace

LinearLayout parseLayout(std::string_view text) {
  Reader in(text);
  std::vector<LinearLayout::Input> inputs;
  std::vector<Axis> outputs;
  std::vector<Repeat> repeats;
  if (!in.take("|")) {
    do inputs.push_back(readInput(in, repeats));
    while (in.take(";"));
    in.need("|");
  }
  while (!in.atEnd()) {
    if (!outputs.empty()) in.need(",");
    std::string name = in.name();
    in.need(":");
    std::int64_t size = in.number(), odd = 1;
    for (const Repeat& repeat : repeats)
      if (repeat.out == name) odd *= repeat.count;
    if (size == 0 || size % odd != 0 || !std::has_single_bit(static_cast<std::uint64_t>(size / odd)))
      in.expected("a size of " + name + " that is a power of two times its " + std::to_string(odd) + " copies");
    outputs.push_back({name, std::countr_zero(static_cast<std::uint64_t>(size / odd))});
  }
  return LinearLayout(inputs, outputs, repeats);
}

}  // namespace fattn::layout
