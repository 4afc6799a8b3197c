// SPDX-License-Identifier: Apache-2.0
// The operations of the `tilegpu` dialect for blocks that take several programs.
#ifndef FATTN_COMPILER_GPU_DIALECT_TILEGPUPROGRAMOPS_TD
#define FATTN_COMPILER_GPU_DIALECT_TILEGPUPROGRAMOPS_TD

include "compiler/gpu/dialect/TileGpuBase.td"

def TileGpu_EachProgramOp : TileGpu_Op<"each_program", [SingleBlockImplicitTerminator<"NextProgramOp">, RecursiveMemoryEffects]> {
  let opDocGroup = TileGpu_ProgramsTopic;
  let summary = "the region once for each program that the block takes";
  let description = [{
    The launch has fewer blocks than programs (blocks in one dimension, those that fit on the device), and each block takes one program after
    another. The arguments of the region are the program's ids. Programs are taken in pairs, along x (x, y, z) and (X - 1 - x, y, z), where X is
    the number of programs along x: where work falls or rises along x, all pairs are about the same. `along` names another axis. Pairs are
    numbered along their axis first, and in round r block c of B takes pair r B + (c + r) mod B (`programsOf`). The middle one of an odd X is alone;
    who takes it changes from round to round. Where the launch has no more programs than blocks, each block takes the one of its number.

    With `dynamic` a block takes the program of its number, and then, whenever it is done with one, the next that no block has taken yet, in the
    order of their numbers along x first. All roles of the block take the same programs.

    The region's arguments behind the number of the program are numbers that a block carries from program to program: `inits` in its first one,
    and then what `tilegpu.next_program` gives.

    `tile.num_programs` is the number of programs, and `tile.program_id` stands outside only. Inserted by `-tilegpu-repeat-programs`.

    Constraints:
    - C1: the region has three arguments of type i32, or four: the last one is the number of the program among the block's, from 0 on. With
      `inits` it has four and one for each of these, and `tilegpu.next_program` has as many operands.
    - C2: the function carries `tilegpu.repeats`, and with `dynamic` the place where a role leaves the ids for the others, `tilegpu.claims`.
  }];
  let arguments = (ins Variadic<I32>:$inits, DefaultValuedAttr<Tile_Axis, "::fattn::tile::Axis::x">:$axis, UnitAttr:$dynamic);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`along` $axis^)? (`dynamic` $dynamic^)? (`carry` `(` $inits^ `)`)? $body attr-dict";
  let hasVerifier = 1;
}

def TileGpu_ClaimProgramOp : TileGpu_Op<"claim_program", [MemoryEffects<[TileGpu_SharedWrite]>]> {
  let opDocGroup = TileGpu_ProgramsTopic;
  let summary = "take the block's next program now";
  let description = [{
    In the role that copies, at most once in a trip of `tilegpu.each_program dynamic`: the answer is on its way while the trip goes on. A trip
    without it asks at its end. Inserted by `-tilegpu-repeat-programs`.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def TileGpu_TakeProgramOp : TileGpu_Op<"take_program", [MemoryEffects<[TileGpu_SharedRead, TileGpu_SharedWrite]>]> {
  let opDocGroup = TileGpu_ProgramsTopic;
  let summary = "read the ids of the block's next program now";
  let description = [{
    In the role that computes, at most once in a program of `tilegpu.each_program dynamic`: it waits until the role that copies has told the
    ids, which it does when all copies of this program are under way. A program without it waits at its end. Inserted by
    `-tilegpu-fill-dots`.

    Constraints:
    - C1: it stands in the region of a `tilegpu.each_program dynamic` itself, in no branch or loop.
    - C2: no wait for copies stands behind it: a copy may need what this role gives back first.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def TileGpu_NextProgramOp : TileGpu_Op<"next_program", [Pure, Terminator, HasParent<"EachProgramOp">]> {
  let opDocGroup = TileGpu_ProgramsTopic;
  let summary = "the end of a program, with the numbers that the block carries to the next one";
  let arguments = (ins Variadic<I32>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "$values attr-dict";
}

#endif
