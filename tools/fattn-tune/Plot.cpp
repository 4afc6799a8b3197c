// SPDX-License-Identifier: Apache-2.0
// The darker, the faster; a cell says how much slower than the fastest it is. Colours come as classes, so that light and dark pages both
// work.
#include "tools/fattn-tune/Plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "tools/fattn-tune/AttentionProblem.h"
#include "tools/fattn-tune/Report.h"
#include "tools/io/File.h"

namespace fattn::tuner {
namespace {

using cache::TunePoint;
using cache::TuneRecord;

constexpr int kCellW = 66, kCellH = 40, kAxis = 62, kHead = 92, kPanelTitle = 30, kGap = 34, kMargin = 24, kLegend = 76;
constexpr double kSlowest = 2;  // times the fastest: slower ones look the same

// What distinguishes panels, in the order of their names.
using PanelKey = std::tuple<std::int32_t, std::int32_t, std::string, std::int32_t>;  // warps, stages, schedule, block_k
PanelKey panelOf(const TileConfig& t) { return {t.warps, t.stages, t.schedule, t.block_k}; }

std::string panelTitle(const PanelKey& key) {
  const auto& [warps, stages, schedule, blockK] = key;
  std::string text;
  const auto add = [&](const char* name, const auto& value) { text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value); };
  if (warps != 0) add("warps", warps);
  if (stages != 0) add("stages", stages);
  if (!schedule.empty()) add("schedule", schedule);
  if (blockK != 0) add("BLOCK_K", blockK);
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

// 0 for the fastest, 1 for kSlowest times as slow; the first percents count most.
double shadeOf(double ratio) { return std::sqrt(std::clamp(std::log2(std::max(ratio, 1.0)) / std::log2(kSlowest), 0.0, 1.0)); }

using Rgb = std::array<int, 3>;

// From a dark blue green over a middle tone to a pale yellow: also in grey the darker is the faster.
Rgb colorOf(double shade) {
  constexpr std::array<std::array<double, 3>, 4> stops = {{{8, 64, 92}, {31, 128, 132}, {124, 190, 150}, {247, 243, 208}}};
  const double at = shade * 3;
  const auto low = std::min<std::size_t>(static_cast<std::size_t>(at), 2);
  Rgb rgb{};
  for (std::size_t i = 0; i < 3; ++i)
    rgb[i] = static_cast<int>(std::lround(std::lerp(stops[low][i], stops[low + 1][i], at - static_cast<double>(low))));
  return rgb;
}

std::string hex(const Rgb& rgb) { return fmt::format("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]); }

// As WCAG 2 defines relative luminance and contrast.
double luminance(const Rgb& rgb) {
  constexpr std::array<double, 3> weights = {0.2126, 0.7152, 0.0722};
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const double part = rgb[i] / 255.0;
    sum += weights[i] * (part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4));
  }
  return sum;
}

// The class of the text that is easier to read on a colour: white, or kStyle's near black.
const char* textOn(const Rgb& rgb) {
  constexpr Rgb dark = {0x0a, 0x10, 0x14};
  return 1.05 / (luminance(rgb) + 0.05) > (luminance(rgb) + 0.05) / (luminance(dark) + 0.05) ? "on-dark" : "on-light";
}

// A time in three digits, for which a cell has room.
std::string shortTime(double us) {
  const auto [value, unit] = us < 999.5 ? std::pair(us, "us") : us < 999'500 ? std::pair(us / 1e3, "ms") : std::pair(us / 1e6, "s");
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, unit);
}

struct Landscape {
  std::map<PanelKey, std::map<std::pair<std::int32_t, std::int32_t>, TunePoint>> panels;
  std::set<std::int32_t> blockM, blockN;
  double bestUs = 0;
  TileConfig best, safe;
  std::optional<cache::TuneWinner> winner;
  std::int64_t timeMs = 0;
};

// Of several measurements of one configuration the last counts.
Landscape landscapeOf(const TuneRecord& record, const TileConfig& safe) {
  Landscape land;
  land.safe = safe;
  for (const TunePoint& point : record.points) {
    land.blockM.insert(point.tile.block_m);
    land.blockN.insert(point.tile.block_n);
    TunePoint& cell = land.panels[panelOf(point.tile)][{point.tile.block_m, point.tile.block_n}];
    if (point.timeMs >= cell.timeMs) cell = point;
    land.timeMs = std::max(land.timeMs, point.timeMs);
  }
  for (const auto& [key, cells] : land.panels)
    for (const auto& [block, point] : cells)
      if (point.status == TunePoint::Status::Measured && (land.bestUs == 0 || point.medianUs < land.bestUs)) {
        land.bestUs = point.medianUs;
        land.best = point.tile;
      }
  land.winner = record.winner;
  if (record.winner) land.best = record.winner->tile;
  return land;
}

std::string drawCell(const Landscape& land, const TunePoint& p, int x, int y) {
  const int midX = x + kCellW / 2, midY = y + kCellH / 2;
  std::string out = fmt::format("<g><title>{}: ", escaped(p.tile.toString()));
  if (p.status == TunePoint::Status::Measured) {
    // The best few are measured again, side by side, and the best one's time is of that: beside the others' first times it may look slow.
    const bool isBest = p.tile == land.best, isRanked = isBest && land.winner.has_value();
    const double ratio = isRanked ? 1 : p.medianUs / land.bestUs;
    const Rgb color = colorOf(shadeOf(ratio));
    if (isRanked) out += fmt::format("{} when the best were ranked; at first ", timeText(land.winner->medianUs));
    out += fmt::format("{}, spread {:.1f} us, {} samples</title>", timeText(p.medianUs), p.spreadUs, p.samples);
    out += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" fill="{}"/>)", x + 1, y + 1, kCellW - 2, kCellH - 2, hex(color));
    const std::string text = isBest ? shortTime(isRanked ? land.winner->medianUs : p.medianUs)
                                    : fmt::format("{:+.{}f}%", (ratio - 1) * 100, ratio < 1.0995 ? 1 : 0);
    out += fmt::format(R"(<text x="{}" y="{}" class="cell {}">{}</text>)", midX, midY + 4, textOn(color), text);
  } else {
    const bool failed = p.status == TunePoint::Status::Failed;
    out += fmt::format("{}: {}</title>", failed ? "failed" : "pruned", escaped(p.reason));
    out += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" class="{}"/>)", x + 1, y + 1, kCellW - 2, kCellH - 2,
                       failed ? "failed" : "pruned");
    if (failed)
      out += fmt::format(R"(<path d="M{0} {1}l14 14m0-14l-14 14" class="cross"/>)", midX - 7, midY - 7);
    else
      out += fmt::format(R"(<path d="M{0} {1}h12" class="dash"/>)", midX - 6, midY);
  }
  return out + "</g>\n";
}

// The default's lies within the best one's: one configuration may be both.
std::string outline(int x, int y, int inset, const char* name) {
  return fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" rx="3" class="{}"/>)", x + inset, y + inset, kCellW - 2 * inset,
                     kCellH - 2 * inset, name) +
         "\n";
}

std::string drawPanel(const Landscape& land, const PanelKey& key, int left, int top) {
  std::string out, marks;
  const int columns = static_cast<int>(land.blockN.size()), rows = static_cast<int>(land.blockM.size());
  const int x0 = left + kAxis, y0 = top + kPanelTitle;
  out += fmt::format(R"(<text x="{}" y="{}" class="panel">{}</text>)", x0, y0 - 10, panelTitle(key));
  out += fmt::format(R"(<text x="{}" y="{}" class="axis mid">BLOCK_N</text>)", x0 + columns * kCellW / 2,
                     top + kPanelTitle + rows * kCellH + 32);
  out +=
      fmt::format(R"-(<text transform="translate({},{}) rotate(-90)" class="axis mid">BLOCK_M</text>)-", left + 14, y0 + rows * kCellH / 2);
  out += "\n";
  int row = 0;
  for (auto m = land.blockM.rbegin(); m != land.blockM.rend(); ++m, ++row) {
    const int y = y0 + row * kCellH;
    out += fmt::format(R"(<text x="{}" y="{}" class="axis end">{}</text>)", x0 - 6, y + kCellH / 2 + 4, *m);
    int column = 0;
    for (std::int32_t n : land.blockN) {
      const int x = x0 + column++ * kCellW;
      if (row == rows - 1) out += fmt::format(R"(<text x="{}" y="{}" class="axis mid">{}</text>)", x + kCellW / 2, y + kCellH + 15, n);
      const auto& cells = land.panels.at(key);
      const auto found = cells.find({*m, n});
      if (found == cells.end()) {
        out += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" class="untried"/>)", x + 1, y + 1, kCellW - 2, kCellH - 2);
        continue;
      }
      out += drawCell(land, found->second, x, y);
      if (found->second.tile == land.safe) marks += outline(x, y, 5, "default");
      if (found->second.tile == land.best) marks += outline(x, y, 2, "best");
    }
  }
  return out + marks;
}

std::string drawLegend(int y) {
  std::string out = R"(<defs><linearGradient id="scale">)";
  for (int i = 0; i <= 12; ++i) out += fmt::format(R"(<stop offset="{:.3f}" stop-color="{}"/>)", i / 12.0, hex(colorOf(i / 12.0)));
  out += "</linearGradient></defs>\n";
  const int width = 250, x = kMargin;
  out += fmt::format(R"-(<rect x="{}" y="{}" width="{}" height="14" fill="url(#scale)"/>)-", x, y, width);
  for (double ratio : {1.0, 1.05, 1.25, 1.5, 2.0})
    out += fmt::format(R"(<text x="{:.0f}" y="{}" class="axis{}">{}</text>)", x + shadeOf(ratio) * width, y + 28, ratio == 1 ? "" : " mid",
                       ratio == 1 ? "fastest" : fmt::format("+{:.0f}%", (ratio - 1) * 100));
  int at = x;
  const auto entry = [&](const std::string& shape, const char* text, int space) {
    out += fmt::format(R"-(<g transform="translate({},{})">{}<text x="28" y="11" class="axis">{}</text></g>)-", at, y + 42, shape, text);
    at += space;
  };
  entry(R"(<rect width="22" height="14" rx="3" class="best"/>)", "best", 74);
  entry(R"(<rect width="22" height="14" rx="3" class="default"/>)", "default", 92);
  entry(R"(<rect width="22" height="14" class="failed"/><path d="M7 3l8 8m0-8l-8 8" class="cross"/>)", "failed", 84);
  entry(R"(<rect width="22" height="14" class="pruned"/><path d="M6 7h10" class="dash"/>)", "pruned", 90);
  entry(R"(<rect width="22" height="14" class="untried"/>)", "not tried", 90);
  return out + "\n";
}

constexpr const char* kStyle = R"(<style>
svg.landscape { max-width: 100%; height: auto; background: #ffffff; }
text { font: 12px system-ui, sans-serif; fill: #20303a; }
text.title { font-size: 18px; font-weight: 600; } text.sub { fill: #5b6b76; } text.panel { font-size: 13px; font-weight: 600; }
text.cell { text-anchor: middle; } text.on-dark { fill: #ffffff; } text.on-light { fill: #0a1014; } text.mid { text-anchor: middle; } text.end { text-anchor: end; }
.paper { fill: #ffffff; } .untried { fill: none; stroke: #d5dbe0; stroke-dasharray: 2 3; } .pruned { fill: #e9edf0; } .failed { fill: #f7d4cf; }
.cross { stroke: #b3261e; stroke-width: 2.4; fill: none; } .dash { stroke: #93a1ab; stroke-width: 2; }
.best { fill: none; stroke: #ff7a00; stroke-width: 4; } .default { fill: none; stroke: #a03cd8; stroke-width: 2.5; stroke-dasharray: 5 3; }
@media (prefers-color-scheme: dark) {
  svg.landscape { background: #14191d; } text { fill: #e4eaee; } text.sub { fill: #9fb0bb; } .paper { fill: #14191d; } .untried { stroke: #3a4650; } .pruned { fill: #242c33; } .failed { fill: #4a2320; }
  .cross { stroke: #ff8a80; } .dash { stroke: #62717c; }
}
</style>
)";

std::string dateOf(std::int64_t ms) {
  const std::time_t seconds = ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

}  // namespace

std::string drawLandscape(const TuneRecord& record, const std::string& title, const TileConfig& safe) {
  const Landscape land = landscapeOf(record, safe);
  const int panels = static_cast<int>(land.panels.size());
  std::set<std::int32_t> warps;
  for (const auto& [key, cells] : land.panels) warps.insert(std::get<0>(key));
  // One row of panels for each number of warps, where there are several panels.
  const int across = std::max(1, (panels + static_cast<int>(warps.size()) - 1) / static_cast<int>(std::max<std::size_t>(warps.size(), 1)));
  const int down = (panels + across - 1) / across;
  const int panelW = kAxis + static_cast<int>(land.blockN.size()) * kCellW,
            panelH = kPanelTitle + static_cast<int>(land.blockM.size()) * kCellH + 40;
  const int width = std::max(2 * kMargin + across * panelW + (across - 1) * kGap, 640), height = kHead + down * panelH + kLegend + kMargin;
  std::string out =
      fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" class="landscape" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img">)",
                  width, height);
  out += "\n" + std::string(kStyle);
  out += fmt::format(R"(<rect width="{}" height="{}" class="paper"/>)", width, height);
  out += fmt::format(R"(<text x="{}" y="34" class="title">{}</text>)", kMargin, escaped(title));
  const auto line = [&](int y, const std::string& text) {
    out += fmt::format(R"(<text x="{}" y="{}" class="sub">{}</text>)", kMargin, y, escaped(text)) + "\n";
  };
  line(56, fmt::format("bucket {}; {}: {}", cache::bucketName(record.key.shape), record.winner ? "winner" : "not finished, so far",
                       land.best.toString()));
  line(75, fmt::format("{}; driver {}, fattn {}, {}", record.key.device, record.key.driver,
                       record.key.compiler.substr(0, record.key.compiler.find(' ')), dateOf(land.timeMs)));
  int index = 0;
  for (const auto& [key, cells] : land.panels) {
    out += drawPanel(land, key, kMargin - 8 + index % across * (panelW + kGap), kHead + index / across * panelH);
    ++index;
  }
  return out + drawLegend(kHead + down * panelH + 8) + "</svg>\n";
}

namespace {

// What is known of the problem; where that is nothing, what was found with other compilers or on other devices, the latest of it.
TuneRecord recordOf(const AttentionConfig& config) {
  const kernels::TuneProblem problem = kernels::problemOf(config);
  if (!problem.target.isChip())
    if (TuneRecord own = kernels::tunedStore().read(kernels::tuneKey(problem)); !own.points.empty()) return own;
  TuneRecord latest;
  const auto timeOf = [](const TuneRecord& record) {
    return record.points.empty() ? -1 : std::ranges::max(record.points, {}, &TunePoint::timeMs).timeMs;
  };
  for (TuneRecord& record : kernels::tunedStore().all())
    if (record.key.kernel.starts_with(problem.name + " ") && record.key.shape == cache::bucketOf(problem.shape) &&
        timeOf(record) > timeOf(latest))
      latest = std::move(record);
  return latest;
}

}  // namespace

int plot(const Options& options) {
  const AttentionConfig& config = options.problems.front();
  kernels::requireSupported(config);
  const TuneRecord record = recordOf(config);
  if (record.points.empty())
    throw Error(ErrorCode::IoError, fmt::format("nothing was measured for {} {}", kernelText(config), shapeText(config)),
                "fattn-tune run measures, fattn-tune cache ls lists what there is");
  const std::string svg = drawLandscape(record, kernelText(config) + ", " + shapeText(config), kernels::resolve(config).tile);
  if (options.file.empty() || options.file == "-") {
    fmt::print("{}", svg);
    return tool::kOk;
  }
  io::writeFile(options.file, svg);
  return tool::kOk;
}

}  // namespace fattn::tuner
