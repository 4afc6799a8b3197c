// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-tune/Display.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tools/fattn-tune/Report.h"

namespace fattn::tuner {
namespace {

constexpr double kRefreshSeconds = 0.1;
constexpr int kBar = 20;

bool isTerminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && (term == nullptr || std::string_view(term) != "dumb");
}

// How much of a problem is done. The sweep is most of it; what comes after it takes about half of its time again.
double share(const tuning::Progress& p) {
  const double part = p.total == 0 ? 0 : static_cast<double>(p.done) / static_cast<double>(p.total);
  switch (p.step) {
    case tuning::Step::Sweep:
      return 0.65 * part;
    case tuning::Step::Halve:
      return 0.65 + 0.15 * part;
    case tuning::Step::Rank:
      break;
  }
  return 0.8 + 0.2 * part;
}

// The steps so far predict the rest, unless the budget ends it before.
std::string eta(std::size_t problem, std::size_t problems, const tuning::Progress& p) {
  const double done = share(p);
  if (done <= 0) return "?";
  const double each = std::min(p.seconds / done, p.budgetSeconds);
  const double left = std::max(each - p.seconds, 0.0) + each * static_cast<double>(problems - problem - 1);
  const auto seconds = std::llround(left);
  return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
}

const char* stepText(tuning::Step step) {
  return step == tuning::Step::Sweep ? "trying" : step == tuning::Step::Halve ? "comparing" : "ranking";
}

}  // namespace

Display::Display(std::size_t problems) : problems_(problems), bar_(isTerminal()) {
  winsize size{};
  if (bar_ && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) columns_ = size.ws_col;
}

std::string Display::line(std::size_t problem, std::size_t problems, const std::string& title, const tuning::Progress& p, int columns) {
  const int full = static_cast<int>(share(p) * kBar);
  std::string text = fmt::format("[{}/{}] {}  [{:#<{}}{:-<{}}] {} {}/{}  ETA {}", problem + 1, problems, title, "", full, "", kBar - full,
                                 stepText(p.step), p.done, p.total, eta(problem, problems, p));
  if (p.best && p.bestUs > 0)
    text += fmt::format("  best {} {} ({:.2f}x the default)", p.best->toString(), timeText(p.bestUs), p.safeUs / p.bestUs);
  if (columns > 1 && text.size() >= static_cast<std::size_t>(columns)) text.resize(static_cast<std::size_t>(columns) - 1);
  return text;
}

void Display::begin(std::size_t problem, const std::string& title) {
  problem_ = problem;
  title_ = title;
  lastShown_ = -1;
  if (!bar_) fmt::print(stderr, "[{}/{}] {}\n", problem + 1, problems_, title);
}

void Display::update(const tuning::Progress& p) {
  if (!bar_) {
    if (p.point == nullptr) return;
    const cache::TunePoint& point = *p.point;
    const bool best = p.best && *p.best == point.tile;
    fmt::print(stderr, "[{}/{}] {}  {}/{}  {}  {}{}\n", problem_ + 1, problems_, title_, p.done, p.total, point.tile.toString(),
               point.status == cache::TunePoint::Status::Measured ? timeText(point.medianUs) : "failed: " + point.reason,
               best ? "  best so far" : "");
    std::fflush(stderr);
    return;
  }
  if (lastShown_ >= 0 && p.seconds - lastShown_ < kRefreshSeconds) return;
  lastShown_ = p.seconds;
  fmt::print(stderr, "\r\x1b[2K{}", line(problem_, problems_, title_, p, columns_));
  std::fflush(stderr);
  shown_ = true;
}

void Display::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[2K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace fattn::tuner
