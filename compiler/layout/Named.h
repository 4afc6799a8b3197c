// SPDX-License-Identifier: Apache-2.0
// Layouts by name, as tools and tests write them: "mma.m16n8k16.c", "wgmma.m64n80.c", "blocked", "swizzle128".
#ifndef FATTN_COMPILER_LAYOUT_NAMED_H
#define FATTN_COMPILER_LAYOUT_NAMED_H

#include "compiler/layout/Shared.h"

namespace fattn::layout {

/// What a name leaves open. Empty or 0: what suits the name.
struct NamedOptions {
  Coords shape = {};                            ///< a fragment is repeated over it; the others need it
  Coords warps = {};                            ///< along each dimension; blocked layouts take the product
  int bits = 0;                                 ///< of an element (of operands in memory or registers, not of their products)
  int lanes = 32;                               ///< for blocked
  std::vector<int> order = {};                  ///< for blocked: from the contiguous dimension outwards
  std::int64_t padInterval = 0, padAmount = 0;  ///< for rowmajor, in elements
};

/// A layout of registers or of shared memory.
struct NamedLayout {
  std::string name;
  int bits = 32;
  std::optional<LinearLayout> registers;
  std::optional<SharedLayout> shared;
};

/// Throws Error naming what is legal.
NamedLayout namedLayout(const std::string& name, const NamedOptions& options = {});

/// A family of names, for lists: the pattern, all its members spelled out, and what they are.
struct NameFamily {
  std::string pattern;
  std::vector<std::string> members;
  std::string what;
  bool needsShape = false;
};
const std::vector<NameFamily>& nameFamilies();

}  // namespace fattn::layout

#endif
