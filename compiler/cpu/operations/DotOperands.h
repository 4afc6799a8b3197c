// SPDX-License-Identifier: Apache-2.0
// Operands of dots: used where they lie if their strides and element type allow it, else converted, transposed or interleaved into scratch.
// One that lies in an array and whose elements are read many times is copied, too: rows of a large array fall into the same few sets of the
// cache, and each on a page of its own. In scratch they lie side by side, at a distance that spreads them over the sets.
// One whose elements are read once or twice is converted, or its rows interleaved, in registers where it is read (Panel.h).
#ifndef FATTN_COMPILER_CPU_OPERATIONS_DOTOPERANDS_H
#define FATTN_COMPILER_CPU_OPERATIONS_DOTOPERANDS_H

#include "compiler/cpu/builder/View.h"
#include "compiler/cpu/operations/Dots.h"

namespace fattn::cpu {

struct Emission;

/// The operand with this number, 0 or 1, in the form in which the dot reads it.
View dotOperand(Emission& e, tile::DotOp op, int number);
/// Before a loop: operands of the dots inside that do not change in it are packed once. Gives those that were.
llvm::SmallVector<PackedOperand> prepackFor(Emission& e, mlir::Operation* loop);
/// Behind the loop.
void releasePacked(Emission& e, llvm::ArrayRef<PackedOperand> packed);

}  // namespace fattn::cpu

#endif
