// SPDX-License-Identifier: Apache-2.0
// Turns one `tile` function into loops over vectors and scratch memory: the heart of the CPU back end.
//
// Tiles are values; here they become one of three things:
//   - a view of global memory: a load that nobody overwrites is read where it is used, at its strides;
//   - a scratch buffer: results of dots, reductions and loops, and elementwise values that several places need;
//   - nothing: any other elementwise value is recomputed, vector by vector, inside the loop nest that consumes it.
// Consecutive elementwise values and reductions over one index space share one loop nest ("group"). Before and after, in short:
//
//   %s = tile.dot %q, %k, %zero            for i, j: registers += q[k][i..] * splat(k[j][k]); store into scratch
//   %p = math.exp2 (%s * %c - %m)     =>   for i (vectors): sum = 0
//   %l = tile.reduce add %p axis 1           for j: v = exp2(s[j][i..] * c - m[i..]); store p[j][i..]; sum += v
//                                            store l[i..] = sum
//
// Assumptions: A1 block pointers are made in the function, or carried through scf.for and only advanced (strides known).
// A2 one program is run by one thread; `scratch` is private to it. Tests: tests/lit/cpu, tests/unit/cpu.
//
// Where to read on, from the top down; each folder knows only those below it:
//   operations/  what each operation becomes (Operations.h), in program order (EmitBlock.cpp)
//   nests/       groups, their loop nests, and the value of a tile at one point of a nest (Groups.h, Nest.h, Evaluate.h)
//   state/       what is known while a kernel is emitted (Emission.h): memory of tiles, who still needs a value
//   lanes/       which dimension of each tile runs along the vectors, chosen beforehand (LaneAssignment.h)
//   builder/     code made from values alone: elements in memory, conversions, windows of arrays (HostBuilder.h)
#ifndef FATTN_COMPILER_CPU_EMITKERNEL_H
#define FATTN_COMPILER_CPU_EMITKERNEL_H

#include "compiler/cpu/HostTarget.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fattn::cpu {

/// The pointers with which the host calls a kernel: its arguments, the program's place in the grid, and the thread's scratch memory.
struct EntryPointers {
  mlir::Value args, grid, scratch;
};

/// Emits the body of `source` where the builder is. Gives the bytes of scratch memory that it needs.
mlir::FailureOr<int64_t> emitKernel(mlir::func::FuncOp source, const HostTarget& host, const mlir::OpBuilder& at, EntryPointers entry);

}  // namespace fattn::cpu

#endif
