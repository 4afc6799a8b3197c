// SPDX-License-Identifier: Apache-2.0
// Drawing configurations, and their text.
#include "tests/generator/Draw.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "fattn/Error.h"
#include "tests/generator/Choices.h"

namespace fattn::generator {
namespace {

constexpr std::array<std::string_view, 3> kAlignments = {"mixed", "aligned", "unaligned"};

template <typename Number>
void readNumber(std::string_view item, std::string_view text, Number low, Number high, Number& out) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high)
    throw Error(ErrorCode::InvalidArgument, fmt::format("bad item '{}' in a draw: it is a number from {} to {}", item, low, high));
  out = value;
}

void readItem(Draw& draw, std::string_view item) {
  size_t equals = item.find('=');
  std::string_view name = item.substr(0, equals), value = equals == std::string_view::npos ? "" : item.substr(equals + 1);
  if (name == "program") return readNumber<uint64_t>(item, value, 0, UINT64_MAX, draw.program);
  if (name == "stages") return readNumber(item, value, 1, 8, draw.stages);
  if (name == "warps") return readNumber(item, value, 1, 32, draw.warps);
  if (name == "schedule") return readNumber(item, value, 0, 63, draw.schedule);
  if (name == "target" && !value.empty()) {
    draw.target = value;
    return;
  }
  if (name == "alignment")
    for (size_t i = 0; i < kAlignments.size(); ++i)
      if (value == kAlignments[i]) {
        draw.alignment = static_cast<Alignment>(i);
        return;
      }
  throw Error(ErrorCode::InvalidArgument, fmt::format("bad item '{}' in a draw", item),
              "program=N target=NAME stages=1..8 warps=1..32 schedule=0..63 alignment=mixed|aligned|unaligned");
}

}  // namespace

TileConfig Draw::config() const { return {.stages = stages, .warps = warps}; }

bool Draw::fitSchedule(std::string_view message) {
  constexpr std::string_view kBefore = "there is no schedule ", kBetween = ": the loops have 0 to ";
  size_t at = message.find(kBefore), last = message.find(kBetween, at == std::string_view::npos ? at : at + kBefore.size());
  if (at == std::string_view::npos || last == std::string_view::npos) return false;
  int most = 0;
  std::string_view number = message.substr(last + kBetween.size());
  if (std::from_chars(number.data(), number.data() + number.size(), most).ec != std::errc() || schedule <= most) return false;
  schedule %= most + 1;
  return true;
}

std::string Draw::toString() const {
  return fmt::format("program={} target={} stages={} warps={} schedule={} alignment={}", program, target, stages, warps, schedule,
                     kAlignments[static_cast<size_t>(alignment)]);
}

Draw Draw::parse(std::string_view text) {
  Draw draw;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    if (end > 0) readItem(draw, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return draw;
}

Draw draw(uint64_t seed, std::span<const std::string> targets) {
  Random random(~seed);  // other numbers than the program's
  Draw draw{.program = seed, .target = targets[random.between(0, static_cast<int64_t>(targets.size()) - 1)]};
  draw.stages = static_cast<int>(random.between(1, 4));
  // Powers of two suit layouts best, so they are the more frequent ones.
  draw.warps = static_cast<int>(random.between(1, 100) <= 70 ? int64_t{1} << random.between(0, 3) : random.between(1, 8));
  // The best is what users get; the first eight are what the tuner measures; 64 are more than most loops have.
  int64_t kind = random.between(1, 100);
  draw.schedule = static_cast<int>(kind <= 35 ? 0 : kind <= 85 ? random.between(1, 7) : random.between(8, 63));
  int64_t where = random.between(1, 100);
  draw.alignment = where <= 50 ? Alignment::Mixed : where <= 75 ? Alignment::Aligned : Alignment::Unaligned;
  return draw;
}

Program generate(mlir::MLIRContext& context, const Draw& draw) { return generate(context, draw.program, draw.options()); }

}  // namespace fattn::generator
