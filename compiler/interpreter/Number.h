// SPDX-License-Identifier: Apache-2.0
// Numbers of the interpreter: one element of a tile, its rounding, its bytes in memory, its text.
#ifndef FATTN_COMPILER_INTERPRETER_NUMBER_H
#define FATTN_COMPILER_INTERPRETER_NUMBER_H

#include <cstdint>
#include <string>

#include "mlir/IR/BuiltinTypes.h"

namespace fattn::interpreter {

/// One element. Floating-point numbers are in `f`; integers in `i`, sign-extended (i1: 0 or 1); pointers in `i` (byte offset) and
/// `buffer` (which argument's memory; -1 for none).
struct Element {
  union {
    double f;
    int64_t i = 0;
  };
  int32_t buffer = -1;

  static Element number(double value) {
    Element e;
    e.f = value;
    return e;
  }
  static Element integer(int64_t value) {
    Element e;
    e.i = value;
    return e;
  }
};

/// Rounds to nearest even in the floating-point type.
double roundTo(double value, mlir::Type type);
/// Rounds an f32 number to 10 fraction bits.
double roundToTf32(double value);
/// Wraps to the width of the integer type (index: 64) and sign-extends; an i1 is 0 or 1.
int64_t wrapTo(uint64_t value, mlir::Type type);
/// Width of an integer type in bits; 64 for index.
unsigned integerBits(mlir::Type type);
/// The integer read as signed: an i1 that holds is -1.
int64_t asSigned(int64_t value, mlir::Type type);
/// The integer read as unsigned, without the sign bits.
uint64_t asUnsigned(int64_t value, mlir::Type type);

/// Bytes of one element in memory.
int64_t bytesOf(mlir::Type type);
Element readBytes(const void* from, mlir::Type type);
void writeBytes(void* to, const Element& element, mlir::Type type);

/// The bit pattern of a number, and the number of a bit pattern.
uint64_t toBits(const Element& element, mlir::Type type);
Element fromBits(uint64_t bits, mlir::Type type);

/// Shortest text that tells floats apart; integers in decimal; i1 as true and false.
std::string toText(const Element& element, mlir::Type type);

}  // namespace fattn::interpreter

#endif
