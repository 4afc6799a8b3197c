// SPDX-License-Identifier: Apache-2.0
// Tile configurations of the backward pass: where nothing is tuned, and what is worth trying.
#ifndef FATTN_KERNELS_ATTENTION_BACKWARDTILES_H
#define FATTN_KERNELS_ATTENTION_BACKWARDTILES_H

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fattn/Template.h"

namespace fattn::kernels::backward {

TileConfig keysTile(const Parameters& parameters, const Machine& machine);
TileConfig queriesTile(const Parameters& parameters, const Machine& machine);
TileConfig rowsTile(const Parameters& parameters, const Machine& machine);
TileConfig roundTile(const Parameters& parameters, const Machine& machine);

/// Whether the order lets each warp group compute a product of its own (the word `pairs`).
bool hasPairs(const TileConfig& tile);

std::vector<TileConfig> keysSpace(const Parameters& parameters, const Machine& machine);
std::vector<TileConfig> queriesSpace(const Parameters& parameters, const Machine& machine);
std::vector<TileConfig> rowsSpace(const Parameters& parameters, const Machine& machine);
std::vector<TileConfig> roundSpace(const Parameters& parameters, const Machine& machine);

/// As KernelTemplate::misfit.
std::optional<std::string> keysMisfit(const Parameters& parameters, const TileConfig& tile, const Machine& machine,
                                      std::span<const std::int64_t> extents);
std::optional<std::string> queriesMisfit(const Parameters& parameters, const TileConfig& tile, const Machine& machine,
                                         std::span<const std::int64_t> extents);

}  // namespace fattn::kernels::backward

#endif
