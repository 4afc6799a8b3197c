// SPDX-License-Identifier: Apache-2.0
// Looking up rows of the machine table and what follows from them.
#include "compiler/gpu/Target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "fattn/Error.h"

namespace fattn::gpu {
namespace {

const std::vector<Target>& table() {
  static const std::vector<Target> rows = [] {
    std::vector<Target> all = targets::nvidia();
    std::ranges::move(targets::amd(), std::back_inserter(all));
    return all;
  }();
  return rows;
}

}  // namespace

bool MatrixInstruction::takes(DType type) const { return std::ranges::find(types, type) != types.end(); }

bool MatrixInstruction::isInRegisters() const {
  return !asynchronous && warps == 1 && a.has(Home::Registers) && b.has(Home::Registers) && accumulator.has(Home::Registers);
}

std::optional<double> MatrixInstruction::cyclesOf(int n, bool aInShared) const {
  if (!cycles) return std::nullopt;
  return std::max(cycles->perColumn * n, (aInShared ? cycles->sharedA : 0) + cycles->sharedBPerColumn * n);
}

const MatrixInstruction* Target::matrixFor(DType type, std::string_view name) const {
  const auto found =
      std::ranges::find_if(matrix, [&](const MatrixInstruction& row) { return row.takes(type) && (name.empty() || row.name == name); });
  return found == matrix.end() ? nullptr : &*found;
}

const MatrixInstruction* Target::emittedFor(DType type) const {
  const auto found =
      std::ranges::find_if(matrix, [&](const MatrixInstruction& row) { return row.takes(type) && row.accumulator.has(Home::Registers); });
  return found == matrix.end() ? nullptr : &*found;
}

bool Target::multipliesByGroups() const {
  const auto byGroups = [](const MatrixInstruction& row) {
    return row.asynchronous && row.warps > 1 && row.b.has(Home::Shared) && row.accumulator.has(Home::Registers);
  };
  return copy(CopyKind::BulkTensor) != nullptr && std::ranges::any_of(matrix, byGroups);
}

const CopyEngine* Target::copy(CopyKind kind) const {
  const auto found = std::ranges::find(copies, kind, &CopyEngine::kind);
  return found == copies.end() ? nullptr : &*found;
}

std::string_view defaultTarget() { return table().front().name; }

const Target& findTarget(std::string_view name) {
  const auto found = std::ranges::find(table(), name, &Target::name);
  if (found == table().end())
    throw Error(ErrorCode::InvalidArgument, fmt::format("there is no GPU target '{}'", name),
                fmt::format("legal targets are {}", fmt::join(targetNames(), ", ")));
  return *found;
}

std::vector<std::string_view> targetNames() {
  std::vector<std::string_view> names;
  for (const Target& row : table()) names.push_back(row.name);
  return names;
}

int registerLimit(const Target& target, int groups, int threads, int copierRegisters) {
  const RegisterFile& file = target.registers;
  const auto down = [&](std::int64_t count) { return static_cast<int>(count / file.granule * file.granule); };
  if (!file.reallocation || copierRegisters == 0)
    return std::min(file.perThread, down(file.perSM / (static_cast<std::int64_t>(groups) * threads)));
  // A block starts with the same registers in every thread, and only what it starts with can be handed on.
  const int most = down(file.perThread);
  const int start = std::min(most, down(file.perSM / ((groups + 1L) * threads)));
  return std::min(most, down((start * (groups + 1L) - copierRegisters) / groups));
}

}  // namespace fattn::gpu
