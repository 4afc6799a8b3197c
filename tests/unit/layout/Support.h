// SPDX-License-Identifier: Apache-2.0
// What the layout tests share: seeded random layouts, and the brute force that the algebra is compared with.
#ifndef FATTN_TESTS_UNIT_LAYOUT_SUPPORT_H
#define FATTN_TESTS_UNIT_LAYOUT_SUPPORT_H

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <set>

#include "compiler/layout/LinearLayout.h"
#include "fattn/Error.h"

namespace fattn::layout::test {

/// The same sequence on every run.
std::mt19937 seeded(unsigned seed);

/// Calls visit(inputs, outputs) for every input of a layout.
void forEach(const LinearLayout& layout, const std::function<void(const Coords&, const Coords&)>& visit);

/// How many inputs hold each element, by evaluating all of them.
std::map<Coords, int> holders(const LinearLayout& layout);

/// Numbered postconditions of a layout that is a bijection onto its tile.
void expectBijection(const LinearLayout& layout, const Coords& shape);

/// A random bijection of register, lane (5 bits) and warp onto a tile of this shape; odd factors are repeated over registers, or over
/// warps. Every linear map of that kind is equally likely.
LinearLayout randomTile(std::mt19937& random, const Coords& shape, int warpBits, int laneBits = 5);

/// A random layout of a lane, warp and register that also holds some elements more than once.
LinearLayout withCopies(std::mt19937& random, const LinearLayout& layout, int bits);

/// The message of the Error that f throws; "" if it throws none.
std::string messageOf(const std::function<void()>& f);

}  // namespace fattn::layout::test

#endif
