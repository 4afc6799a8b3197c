// SPDX-License-Identifier: Apache-2.0
// Counts how often the banks of shared memory have to be read for one access.
#include "compiler/layout/BankConflicts.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace fattn::layout {
namespace {

constexpr int kWidestAccess = 16;  // bytes

/// How many accesses of `vector` elements a lane makes: as many as vectorGroups() finds. `map` is toOffset().
std::int64_t countVectors(const LinearLayout& registers, const LinearLayout& map, int vector) {
  const f2::Columns columns = map.columns(kRegister);
  const std::uint64_t free = map.freeBits(kRegister);
  f2::Columns low;  // where registers that are no copies begin in a vector
  for (std::size_t i = 0; i < columns.size(); ++i)
    if ((free >> i & 1) == 0) low.push_back(columns[i] & static_cast<f2::Vector>(vector - 1));
  const std::int64_t copies = registers.inputSize(kRegister) >> columns.size();
  return copies << (std::ssize(low) - f2::rank(low));
}

/// From (register, lane, warp) to the offset without padding, of the linear part. Repeats may come in different orders in the two, so
/// that only numbers pass through both.
LinearLayout toOffset(const LinearLayout& registers, const SharedLayout& shared) {
  return registers.linearPart().then(shared.offsets().linearPart());
}

/// What leads from any lane to those that are served together with it.
std::vector<int> servedTogether(int lanes, int accessBytes, const Banks& banks) {
  std::vector<int> basis;
  if (accessBytes >= 16) {
    basis = banks.wideGroup;
  } else {
    for (int lane = 1; lane < banks.count * banks.bytes / std::max(accessBytes, banks.bytes); lane *= 2) basis.push_back(lane);
  }
  std::vector<int> members = {0};
  for (int vector : basis) {
    if (vector >= lanes) continue;
    for (std::size_t i = 0, n = members.size(); i < n; ++i) members.push_back(members[i] ^ vector);
  }
  return members;
}

/// Lanes served together, as lists.
std::vector<std::vector<int>> laneGroups(int lanes, const std::vector<int>& members) {
  std::vector<std::vector<int>> groups;
  std::vector<bool> seen(lanes);
  for (int lane = 0; lane < lanes; ++lane) {
    if (seen[lane]) continue;
    groups.emplace_back();
    for (int member : members) {
      groups.back().push_back(lane ^ member);
      seen[lane ^ member] = true;
    }
  }
  return groups;
}

/// How often the fullest bank is read for these lanes' addresses (in bytes).
int passesOf(const std::vector<std::int64_t>& addresses, int accessBytes, const Banks& banks) {
  std::vector<std::int64_t> words;
  for (std::int64_t address : addresses) {
    for (std::int64_t byte = 0; byte < accessBytes; byte += std::min(accessBytes, banks.bytes))
      words.push_back((address + byte) / banks.bytes);
  }
  std::ranges::sort(words);
  const auto repeated = std::ranges::unique(words);
  words.erase(repeated.begin(), repeated.end());
  std::vector<int> load(banks.count);
  int result = 0;
  for (std::int64_t word : words) result = std::max(result, ++load[word % banks.count]);
  return result;
}

/// The passes of one group of lanes where all groups, of every register and warp, take the same: what tells two apart xors a constant into
/// their offsets (or adds multiples of the linear part), which permutes the banks. The layout search asks for this most of its time.
std::optional<int> passesOfAnyGroup(const LinearLayout& tile, const LinearLayout& map, const SharedLayout& shared,
                                    const std::vector<int>& members, int elementBits, int vector, const Banks& banks) {
  const f2::Columns lanes = map.columns(kLane);
  const bool aligned = std::ranges::none_of(lanes, [&](f2::Vector column) { return (column & static_cast<f2::Vector>(vector - 1)) != 0; });
  if (shared.interval() != 0 || !aligned || std::int64_t{1} << lanes.size() != tile.inputSize(kLane)) return std::nullopt;
  std::vector<std::int64_t> addresses;
  for (int member : members) addresses.push_back(static_cast<std::int64_t>(f2::multiply(lanes, member)) * elementBits / 8);
  return passesOf(addresses, vector * elementBits / 8, banks);
}

}  // namespace

BankPasses passesOfAccess(std::span<const std::int64_t> addresses, int accessBytes, const Banks& banks) {
  BankPasses result;
  const int lanes = static_cast<int>(addresses.size());
  for (const std::vector<int>& group : laneGroups(lanes, servedTogether(lanes, accessBytes, banks))) {
    std::vector<std::int64_t> together;
    for (int lane : group) together.push_back(addresses[static_cast<std::size_t>(lane)]);
    result.passes += passesOf(together, accessBytes, banks);
    ++result.ideal;
  }
  return result;
}

static int vectorOf(const LinearLayout& map, const SharedLayout& shared, int elementBits, int maxBytes) {
  f2::Span own(map.columns(kRegister));
  f2::Vector byThreads = 0;  // offset bits that lanes and warps have a hand in
  for (const Axis& axis : map.inputs()) {
    if (axis.name == kRegister) continue;
    for (f2::Vector column : map.columns(axis.name)) byThreads |= column;
  }
  int vector = 1;
  for (int bit = 0; bit < map.outputBits(kOffset) && vector * 2 * elementBits <= maxBytes * 8; ++bit) {
    if (!own.contains(f2::Vector{1} << bit) || (byThreads >> bit & 1)) break;
    if (shared.interval() && (shared.interval() % (vector * 2) || shared.amount() % (vector * 2))) break;
    vector *= 2;
  }
  return vector;
}

int groupsServed(int lanes, int accessBytes, const Banks& banks) {
  return lanes / static_cast<int>(servedTogether(lanes, accessBytes, banks).size());
}

int sharedVector(const LinearLayout& registers, const SharedLayout& shared, int elementBits, int maxBytes) {
  return vectorOf(toOffset(registers, shared), shared, elementBits, maxBytes);
}

std::vector<std::vector<std::int64_t>> vectorGroups(const LinearLayout& registers, const SharedLayout& shared, int vector) {
  LinearLayout map = toOffset(registers, shared);
  f2::Columns columns = map.columns(kRegister);
  f2::Span span(columns);
  std::uint64_t free = map.freeBits(kRegister);
  std::vector<std::int64_t> members;  // what leads from a vector's first register to its i-th
  for (int i = 0; i < vector; ++i) members.push_back(static_cast<std::int64_t>(span.solve(i).value_or(0)));
  std::vector<std::vector<std::int64_t>> result;
  std::int64_t linear = std::int64_t{1} << columns.size();
  for (std::int64_t r = 0; r < registers.inputSize(kRegister); ++r) {
    std::int64_t low = r % linear;
    if ((low & static_cast<std::int64_t>(free)) || (f2::multiply(columns, low) & (vector - 1))) continue;
    result.emplace_back();
    for (std::int64_t member : members) result.back().push_back(r - low + (low ^ member));
  }
  return result;
}

BankReport bankConflicts(const LinearLayout& registers, const SharedLayout& shared, int elementBits, int vector, const Banks& banks) {
  BankReport report;
  LinearLayout tile = registers.withInputs({std::string(kRegister), std::string(kLane), std::string(kWarp)});
  const LinearLayout map = toOffset(tile, shared);
  report.vector = vector ? vector : vectorOf(map, shared, elementBits, kWidestAccess);
  report.instructions = static_cast<int>(countVectors(tile, map, report.vector));
  std::int64_t lanes = tile.inputSize(kLane), warps = tile.inputSize(kWarp);
  int accessBytes = report.vector * elementBits / 8;
  const std::vector<int> members = servedTogether(static_cast<int>(lanes), accessBytes, banks);
  report.ideal = static_cast<int>(lanes) / static_cast<int>(members.size());
  if (auto passes = passesOfAnyGroup(tile, map, shared, members, elementBits, report.vector, banks)) {
    report.passes = *passes * report.ideal;
    return report;
  }
  for (const auto& group : vectorGroups(registers, shared, report.vector)) {
    for (std::int64_t warp = 0; warp < warps; ++warp) {
      std::vector<std::int64_t> addresses;
      for (std::int64_t lane = 0; lane < lanes; ++lane)
        addresses.push_back(shared.offsetOf(tile.apply({group.front(), lane, warp})) * elementBits / 8);
      const BankPasses access = passesOfAccess(addresses, accessBytes, banks);
      report.passes = std::max(report.passes, access.passes);
      report.ideal = access.ideal;
    }
  }
  return report;
}

}  // namespace fattn::layout
