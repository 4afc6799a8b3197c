// SPDX-License-Identifier: Apache-2.0
// In which order a device begins the programs of a pass, where a mask makes some longer than others.
//
// A device begins programs along x first and takes the next one where one ends. So that it ends everywhere at about the same time, long
// programs have to come first. Where heads followed each other, the last one's longest programs would begin at the end. So the heads of a
// group take turns: first all their longest programs begin, then the next longer ones. A group has about as many programs as run at once:
// then those that share keys still run side by side.
#ifndef FATTN_KERNELS_ATTENTION_PROGRAMORDER_H
#define FATTN_KERNELS_ATTENTION_PROGRAMORDER_H

#include "fattn/Device.h"
#include "fattn/dsl/Dsl.h"

namespace fattn::kernels {

/// The blocks of a pass: so many of each head of each batch entry.
struct BlockCounts {
  std::int64_t blocks, heads, batch;
};

/// The grid of a pass whose programs are equally long: (blocks, heads, batch).
Grid evenGrid(const BlockCounts& counts);
/// The grid of a pass whose programs differ: (heads of a group, blocks, groups), where the heads of all batch entries count.
Grid unevenGrid(const BlockCounts& counts);

/// Which program of one of these grids it is.
struct ProgramPlace {
  dsl::Scalar block, blocks;  ///< i32, its number in the order, and how many there are
  dsl::Scalar head, batch;    ///< i32
};
/// `heads`: i32, of a batch entry.
ProgramPlace programPlace(bool isUneven, const dsl::Scalar& heads);

}  // namespace fattn::kernels

#endif
