// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/ProgramOrder.h"

#include <algorithm>

namespace fattn::kernels {
namespace {

constexpr std::int64_t kPrograms = 176;      // of a group: a third more than the largest GPUs have multiprocessors
constexpr std::int64_t kMostGroups = 65535;  // CUDA's limit along z

/// The greatest divisor of `heads` with which a group has at most so many programs, or just one head.
std::int64_t groupOf(std::int64_t heads, std::int64_t blocks) {
  std::int64_t group = std::max<std::int64_t>(kPrograms / std::max<std::int64_t>(blocks, 1), 1);
  while (heads % group != 0) --group;
  return heads / group <= kMostGroups ? group : heads;
}

}  // namespace

Grid evenGrid(const BlockCounts& counts) { return {counts.blocks, counts.heads, counts.batch}; }

Grid unevenGrid(const BlockCounts& counts) {
  const std::int64_t heads = counts.heads * counts.batch;
  if (heads == 0) return {0, counts.blocks, 0};
  const std::int64_t group = groupOf(heads, counts.blocks);
  return {group, counts.blocks, heads / group};
}

ProgramPlace programPlace(bool isUneven, const dsl::Scalar& heads) {
  using namespace dsl;
  if (!isUneven) return {program_id(0), num_programs(0), program_id(1), program_id(2)};
  const Scalar head = program_id(2) * num_programs(0) + program_id(0);
  return {program_id(1), num_programs(1), head % heads, head / heads};
}

}  // namespace fattn::kernels
