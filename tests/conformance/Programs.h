// SPDX-License-Identifier: Apache-2.0
// Small programs of which every device can be asked for the exact result.
#ifndef FATTN_TESTS_CONFORMANCE_PROGRAMS_H
#define FATTN_TESTS_CONFORMANCE_PROGRAMS_H

#include "fattn/Kernel.h"
#include "fattn/dsl/Dsl.h"
#include "runtime/base/Binary.h"
#include "tests/conformance/Conformance.h"

namespace fattn::conformance {

/// Elements that one program takes, where it takes a part of an array.
constexpr std::int64_t kBlock = 64;
inline std::int64_t blocksOf(std::size_t length) { return (static_cast<std::int64_t>(length) + kBlock - 1) / kBlock; }

/// x[i] = 2 x[i] + 1 of i32. Arguments: x, length (I32). Grid: blocksOf(length).
dsl::Program step();
/// What step() makes of the number in so many launches.
std::int32_t stepped(std::int32_t number, int launches);
/// Launches step(), compiled, on the whole array.
void launchStep(const TileKernel& kernel, const Array<std::int32_t>& x, Stream stream);

/// out[i] = factor * (i % 3 == 0 ? 0.5 : x[i]) + y[i], of f32; the masked elements of x are not read. Arguments: x, y, out, length (I32),
/// factor (F32). Grid: blocksOf(length).
dsl::Program maskedScaledAdd();

/// Each program adds 1 to its element of counts [z, y, x] and writes its ids and the grid to ids [z, y, x, 6], all i32. Arguments: counts,
/// ids.
dsl::Program gridIds();

/// Does nothing, without arguments.
dsl::Program nothing();

/// Writes the integers to out [4] of i64 in the order of the arguments, and the number to real, of f32. Arguments: byte (I8), out, number
/// (F32), truth (I1), real, wide (I64), narrow (I32).
dsl::Program scalars();

/// counts[x[i]] += 1 atomically, of i32. Arguments: x, counts, length (I32). Grid: blocksOf(length).
dsl::Program histogram();

/// The code of a program for a chip, "amd:gfx942", every pass verified.
compiler::Binary binaryOf(const dsl::Program& program, const std::string& chip);

}  // namespace fattn::conformance

#endif
