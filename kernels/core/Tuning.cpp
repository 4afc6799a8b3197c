// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/Tuning.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <set>

#include "fattn/Device.h"
#include "kernels/core/Bench.h"
#include "kernels/core/Target.h"
#include "kernels/core/TunedLookup.h"
#include "runtime/base/Log.h"
#include "runtime/cache/Settings.h"

namespace fattn::kernels {
namespace {

constexpr double kCompileSeconds = 300;  // of one candidate, while others are compiled on the other cores

std::optional<std::string> misfitOf(const TuneProblem& problem, const TileConfig& tile) {
  if (problem.misfit)
    if (std::optional<std::string> reason = problem.misfit(tile)) return reason;
  return problem.refusal ? problem.refusal(tile) : std::nullopt;
}

}  // namespace

TunePlan planTuning(TuneProblem problem) {
  if (problem.target.isChip())
    throw Error(ErrorCode::Unsupported, "target '" + problem.target.name + "' names a chip to compile for; only a device can be tuned for",
                "devices are 'host', 'cuda[:N]' and 'hip[:N]'; 'modelled:gfx942' ranks by a model of time for a chip of AMD's");
  TunePlan plan;
  plan.key = tuneKey(problem);
  plan.candidates = problem.space();
  for (const TileConfig& tile : plan.candidates)
    if (std::optional<std::string> reason = misfitOf(problem, tile)) plan.pruned.emplace_back(tile, std::move(*reason));
  plan.problem = std::move(problem);
  return plan;
}

std::string blameText(const TunePlan& plan, const TileConfig& tile) {
  return cache::TunedStore::folderOf(plan.key).string() + " " + tile.toString();
}

tuning::Outcome runTuning(const TunePlan& plan, const TuneOptions& options, cache::TunedStore& store) {
  tuning::Watched nobody;
  tuning::Watched& watched = options.watched != nullptr ? *options.watched : nobody;
  const std::unique_ptr<Bench> bench = plan.problem.bench();
  tuning::Callbacks callbacks;
  callbacks.reject = [&](const TileConfig& tile) -> std::optional<std::string> {
    for (const auto& [pruned, reason] : plan.pruned)
      if (pruned == tile) return reason;
    return std::nullopt;
  };
  callbacks.compile = [&](const TileConfig& tile) {
    const std::string what = blameText(plan, tile);
    const tuning::Watched::Piece piece(watched, what, kCompileSeconds);
    return watched.guard(bench->trial(tile), what);
  };
  callbacks.check = [&](tuning::Trial& candidate, tuning::Trial& safe) {
    const tuning::Watched::Piece piece(watched, tuning::Watched::nameOf(candidate), kCompileSeconds);
    return bench->check(tuning::Watched::inner(candidate), tuning::Watched::inner(safe));
  };
  callbacks.keep = [&](std::span<const cache::TunePoint> points, const std::optional<cache::TuneWinner>& winner) {
    if (!store.record(plan.key, points, winner) && options.mustKeep)
      throw Error(ErrorCode::IoError, "what is measured cannot be kept in " + cache::Directory::process().path().string(),
                  "FATTN_CACHE_DIR names a folder that can be written");
  };
  callbacks.progress = options.progress;
  tuning::Settings settings{.budgetSeconds = options.budgetSeconds, .jobs = options.jobs, .stop = options.stop};
  settings.overlap = !plan.problem.target.isHost();
  if (options.resume) settings.known = store.read(plan.key).points;
  std::erase_if(settings.known, [&](const cache::TunePoint& point) { return point.timeMs < options.knownSinceMs; });
  tuning::Space space{.candidates = plan.candidates, .safe = plan.problem.safe};
  space.variants = plan.problem.variants;
  return tuning::search(space, callbacks, settings);
}

void recordBlame(const TunePlan& plan, std::span<const tuning::Blame> blamed, cache::TunedStore& store) {
  const std::string problem = blameText(plan, {});
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  for (const tuning::Blame& blame : blamed) {
    if (!blame.what.starts_with(problem)) continue;
    const cache::TunePoint point{.tile = TileConfig::parse(std::string_view(blame.what).substr(problem.size())),
                                 .status = cache::TunePoint::Status::Failed,
                                 .reason = blame.reason,
                                 .timeMs = std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
    store.record(plan.key, {&point, 1});
  }
}

namespace {

/// What the thread that tunes uses. It may go on when nobody waits any more.
struct Tuning {
  TunePlan plan;
  TuneSearch search;
  std::stop_source stop{};
  tuning::Outcome outcome{};
};

void logOutcome(const Tuning& tuning) {
  if (!log::enabled(log::Level::Info) || !tuning.outcome.winner) return;
  log::write(log::Level::Info, fmt::format("tuned {} for {}: {} is {:.3f} times as fast as the default, in {:.1f} s",
                                           tuning.plan.problem.name, cache::bucketName(cache::bucketOf(tuning.plan.key.shape)),
                                           tuning.outcome.winner->tile.toString(), tuning.outcome.gain, tuning.outcome.seconds));
}

}  // namespace

bool tuneWithinCompile(const TuneProblem& problem) { return tuneWithinCompile(problem, runTuning); }

bool tuneWithinCompile(const TuneProblem& problem, const TuneSearch& search) try {
  static std::mutex mutex;
  static auto* tried = new std::set<std::string>;
  static bool leftOne = false;
  std::lock_guard lock(mutex);
  if (leftOne) return false;
  auto tuning = std::make_shared<Tuning>(planTuning(problem), search);
  // A problem that could not be tuned is not tried again at every compilation; another thread may just have done it.
  if (!tried->insert(cache::TunedStore::folderOf(tuning->plan.key).string()).second) return true;
  const std::optional<tuning::Blame> blame = tuning::watch([tuning](tuning::Watched& watched) {
    const TuneOptions options{
        .budgetSeconds = cache::tuneBudgetSeconds(), .resume = true, .watched = &watched, .stop = tuning->stop.get_token()};
    tuning->outcome = tuning->search(tuning->plan, options, tunedStore());
  });
  if (!blame) {
    logOutcome(*tuning);
    return true;
  }
  leftOne = true;
  tuning->stop.request_stop();
  recordBlame(tuning->plan, {&*blame, 1}, tunedStore());
  log::write(log::Level::Warning,
             fmt::format("FATTN_TUNE=on, but {} is given up: {}; what was known before is used, no process tries it again, and this one, "
                         "which still has it on its device, tunes nothing more",
                         blame->what, blame->reason));
  return false;
} catch (const Error& error) {
  log::write(log::Level::Warning, "FATTN_TUNE=on, but tuning failed, and what was known before is used: " + error.constraint());
  return false;
}

}  // namespace fattn::kernels
