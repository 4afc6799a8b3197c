// SPDX-License-Identifier: Apache-2.0
// A conversion's exchange of 16-bit numbers by words of two.
#ifndef FATTN_COMPILER_GPU_LOWER_HALFEXCHANGE_H
#define FATTN_COMPILER_GPU_LOWER_HALFEXCHANGE_H

#include <optional>

#include "compiler/gpu/lower/Lowering.h"
#include "compiler/layout/Conversion.h"

namespace fattn::gpu {

/// map.at(lane, warp) without its constant, xor `constant`, as an i32. (Conversions.cpp)
mlir::Value threadNumber(Lowering& to, const layout::ThreadMap& map, int64_t constant);

/// The registers of the reduced destination, from those of one copy of the source; nothing where the plan moves words already, where
/// results are made of more than two words, or where the machine has no permutation of bytes.
std::optional<Registers> exchangeHalves(Lowering& to, const layout::Conversion& plan, llvm::ArrayRef<mlir::Value> source,
                                        mlir::Type element);

}  // namespace fattn::gpu

#endif
