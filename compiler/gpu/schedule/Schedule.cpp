// SPDX-License-Identifier: Apache-2.0
// Text, legality and canonical form of schedules.
#include "compiler/gpu/schedule/Schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

namespace fattn::gpu {
namespace {

std::optional<int> findNode(const CostedLoop& loop, std::string_view name) {
  const auto found = std::ranges::find(loop.names, name);
  if (found == loop.names.end()) return std::nullopt;
  return static_cast<int>(found - loop.names.begin());
}

template <typename NameOf>
std::string printNodes(const Schedule& schedule, const std::vector<CopyAhead>& copies, NameOf nameOf) {
  std::string text;
  for (int place = 0; place < schedule.size; ++place) {
    const int node = schedule.order[place];
    if (place != 0) text += ' ';
    text += nameOf(node);
    if (schedule.stage[node] != 0) text += std::to_string(schedule.stage[node]);
    if (schedule.runsOn[node]) text += '_';
  }
  for (std::size_t copy = 0; copy < copies.size(); ++copy)
    if (const auto trips = schedule.ahead[copy]; trips && *trips != copies[copy].most)
      text += fmt::format(" {}{}", copies[copy].name, *trips);
  return text;
}

[[noreturn]] void fail(std::string_view text, std::string what, std::string hint) {
  throw Error(ErrorCode::InvalidArgument, fmt::format("schedule `{}`: {}", text, what), std::move(hint));
}

/// Takes a word that says how far a copy runs ahead. False: it is another word.
bool takeCopy(const CostedLoop& loop, std::string_view text, std::string_view name, std::string_view digits, Schedule& schedule) {
  const auto copy = std::ranges::find(loop.copies, name, &CopyAhead::name);
  if (copy == loop.copies.end()) return false;
  auto& trips = schedule.ahead[static_cast<std::size_t>(copy - loop.copies.begin())];
  if (trips) fail(text, fmt::format("copy {} stands there twice", name), "each copy is told one distance");
  if (digits.size() != 1 || digits[0] - '0' > copy->most)
    fail(text, fmt::format("copy {} runs {} trips ahead", name, digits.empty() ? "no number of" : digits),
         fmt::format("legal are {0}0 to {0}{1}; more stages allow more", name, copy->most));
  trips = static_cast<std::uint8_t>(digits[0] - '0');
  return true;
}

std::string knownNames(const CostedLoop& loop) {
  std::string text = fmt::format("the nodes are {}", fmt::join(loop.names, ", "));
  std::vector<std::string> copies;
  for (const CopyAhead& copy : loop.copies) copies.push_back(copy.name);
  return copies.empty() ? text : fmt::format("{}; the copies are {}", text, fmt::join(copies, ", "));
}

/// A dot that runs on: nothing in its trip or the next one uses its result but itself, and the next trip waits for a dot before it is
/// issued again.
void checkRunsOn(const CostedLoop& loop, const Schedule& schedule, std::string_view text) {
  const auto isDot = [&](int node) { return loop.nodes[node].queued && !loop.nodes[node].copy; };
  for (int place = 0; place < schedule.size; ++place) {
    const int node = schedule.order[place];
    if (!schedule.runsOn[node]) continue;
    const std::string& name = loop.names[node];
    if (!isDot(node))
      fail(text, fmt::format("{} cannot run on: no matrix unit computes it by itself", name), "`_` stands behind such dots");
    for (const Edge& edge : loop.edges)
      if (edge.from == node && edge.to != node && !edge.order)
        fail(text, fmt::format("{} cannot run on: {} uses it", name, loop.names[edge.to]), "only dots that add to what they carry run on");
    const bool waited = std::ranges::any_of(loop.edges, [&](const Edge& edge) {
      const auto placeOf = [&](int n) { return std::ranges::find(schedule.order, n) - schedule.order.begin(); };
      return isDot(edge.from) && edge.to != edge.from && !edge.order && edge.distance == 0 &&
             schedule.stage[edge.from] == schedule.stage[edge.to] && placeOf(edge.to) < place;
    });
    if (!waited) fail(text, fmt::format("{} cannot run on: nothing in front of it waits for a dot of its trip", name), "leave `_` out");
  }
}

}  // namespace

std::array<int, kMaxNodes> Schedule::positions() const {
  std::array<int, kMaxNodes> result{};
  for (int place = 0; place < size; ++place) result[order[place]] = stage[order[place]] * size + place;
  return result;
}

std::string print(const CostedLoop& loop, const Schedule& schedule) {
  return printNodes(schedule, loop.copies, [&](int node) { return loop.names[node]; });
}

std::string print(const LoopModel& loop, const Schedule& schedule) {
  return printNodes(schedule, loop.copies, [&](int node) { return loop.nodes[node].name; });
}

Schedule parseSchedule(const CostedLoop& loop, std::string_view text) {
  Schedule result;
  std::array<bool, kMaxNodes> seen{};
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const bool runsOn = word.size() > 1 && word.back() == '_';
    if (runsOn) word.pop_back();
    const std::string name = word.substr(0, word.find_last_not_of("0123456789") + 1), digits = word.substr(name.size());
    const auto node = findNode(loop, name);
    if (!node && !runsOn && takeCopy(loop, text, name, digits, result)) continue;
    if (!node) fail(text, fmt::format("there is no node '{}'", name), knownNames(loop));
    const int stage = digits.empty() ? 0 : digits.size() > 1 ? kMaxStages : digits[0] - '0';
    if (stage >= kMaxStages) fail(text, fmt::format("{} has stage {}", name, digits), fmt::format("stages are 0 to {}", kMaxStages - 1));
    if (seen[*node]) fail(text, fmt::format("{} stands there twice", name), "every node is issued once a trip");
    seen[*node] = true;
    result.stage[*node] = static_cast<std::uint8_t>(stage);
    result.runsOn[*node] = runsOn;
    result.order[result.size++] = static_cast<std::uint8_t>(*node);
  }
  for (int node = 0; node < loop.size(); ++node)
    if (!seen[node])
      fail(text, fmt::format("{} is missing", loop.names[node]),
           fmt::format("every node is issued once a trip: {}", fmt::join(loop.names, ", ")));
  return result;
}

std::optional<Error> illegalEdge(const CostedLoop& loop, const Schedule& schedule) {
  const auto at = schedule.positions();
  for (const auto& [from, to, distance, chained, reuse, order] : loop.edges) {
    if (at[from] < at[to] + distance * schedule.size) continue;
    const int needed = schedule.stage[from] - distance;
    const std::string u = loop.names[from], v = loop.names[to];
    std::string what = fmt::format("schedule `{}` is illegal: {} needs {} of {}, which is issued ", print(loop, schedule), v, u,
                                   distance == 0 ? "the same iteration" : "the iteration before");
    what += schedule.stage[to] == needed
                ? "later in the trip"
                : fmt::format("{} trip{} later", needed - schedule.stage[to], needed - schedule.stage[to] == 1 ? "" : "s");
    return Error(ErrorCode::InvalidArgument, std::move(what),
                 fmt::format("put {0} before {1} with stage {2} of {1}, or give {1} stage {3} or more", u, v, std::max(needed, 0),
                             std::max(needed, 0) + 1));
  }
  return std::nullopt;
}

namespace {

/// Two nodes of which the second has to follow the first at once; nothing where all do.
std::optional<std::pair<int, int>> apart(const CostedLoop& loop, const Schedule& schedule) {
  const auto at = schedule.positions();
  for (const std::vector<int>& nodes : loop.together)
    for (std::size_t i = 1; i < nodes.size(); ++i)
      if (at[nodes[i]] != at[nodes[i - 1]] + 1 || schedule.stage[nodes[i]] != schedule.stage[nodes[i - 1]])
        return std::pair(nodes[i - 1], nodes[i]);
  return std::nullopt;
}

/// Two nodes that are to have one stage and do not; nothing where all have.
std::optional<std::pair<int, int>> inOtherTrips(const CostedLoop& loop, const Schedule& schedule) {
  for (const std::vector<int>& nodes : loop.oneTrip)
    for (const int node : nodes)
      if (schedule.stage[node] != schedule.stage[nodes.front()]) return std::pair(nodes.front(), node);
  return std::nullopt;
}

}  // namespace

bool keepsGroups(const CostedLoop& loop, const Schedule& schedule) { return !apart(loop, schedule) && !inOtherTrips(loop, schedule); }

std::optional<Error> brokenGroup(const CostedLoop& loop, const Schedule& schedule) {
  const std::string text = print(loop, schedule);
  if (const auto both = apart(loop, schedule))
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("schedule `{}` is illegal: {} and {}, which warp groups begin together, are apart", text,
                             loop.names[both->first], loop.names[both->second]),
                 fmt::format("put {} right behind {}, with the same stage", loop.names[both->second], loop.names[both->first]));
  if (const auto both = inOtherTrips(loop, schedule))
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("schedule `{}` is illegal: {} and {} are of different trips, between which warp groups exchange nothing", text,
                             loop.names[both->first], loop.names[both->second]),
                 fmt::format("give {} and {} the same stage", loop.names[both->first], loop.names[both->second]));
  return std::nullopt;
}

Schedule canonical(const Schedule& schedule) { return canonical(schedule.positions(), schedule.size); }

Schedule canonical(const std::array<int, kMaxNodes>& at, int size) {
  const int low = size == 0 ? 0 : *std::min_element(at.begin(), at.begin() + size);
  Schedule result{.size = size};
  for (int node = 0; node < size; ++node) {
    result.stage[node] = static_cast<std::uint8_t>((at[node] - low) / size);
    result.order[(at[node] - low) % size] = static_cast<std::uint8_t>(node);
  }
  return result;
}

Schedule forceSchedule(const CostedLoop& loop, std::string_view text) {
  Schedule schedule = parseSchedule(loop, text);
  if (const auto error = illegalEdge(loop, schedule)) throw Error(*error);
  if (const auto error = brokenGroup(loop, schedule)) throw Error(*error);
  checkRunsOn(loop, schedule, text);
  const std::uint8_t least = schedule.size == 0 ? 0 : *std::min_element(schedule.stage.begin(), schedule.stage.begin() + schedule.size);
  for (int node = 0; node < schedule.size; ++node) schedule.stage[node] -= least;
  return schedule;
}

}  // namespace fattn::gpu
