// SPDX-License-Identifier: Apache-2.0
// Elements in memory: what they look like there, where they are, and how they are read and written at a point of a loop nest.
#ifndef FATTN_COMPILER_CPU_BUILDER_ACCESS_H
#define FATTN_COMPILER_CPU_BUILDER_ACCESS_H

#include "compiler/cpu/builder/HostBuilder.h"
#include "compiler/cpu/builder/View.h"

namespace fattn::cpu {

/// How an element lies in memory: floats below 32 bits as integers (what is only moved must not be converted by a processor without
/// arithmetic on them), booleans as bytes, pointers as 64-bit integers.
mlir::Type memoryType(mlir::Type element);
int64_t bytesOf(mlir::Type element);
/// A scalar or vector of elements as it lies in memory, and back.
mlir::Value toMemory(HostBuilder& b, mlir::Value v, mlir::Type element);
mlir::Value fromMemory(HostBuilder& b, mlir::Value v, mlir::Type element);

mlir::Value addressOf(HostBuilder& b, const View& view, llvm::ArrayRef<mlir::Value> index);
/// A vector if the view has several elements along the point's lane, else a scalar.
mlir::Value loadAt(HostBuilder& b, const View& view, const Point& p);
void storeAt(HostBuilder& b, const View& view, const Point& p, mlir::Value v);
/// Lanes of a point that lie inside a dimension of `size` elements.
mlir::Value lanesBelow(HostBuilder& b, const Point& p, int64_t size);

/// An element as it lies in memory, or the padding where the mask does not hold.
mlir::Value loadOrPad(HostBuilder& b, mlir::Value at, mlir::Value mask, mlir::Value padding, int64_t bytes);

}  // namespace fattn::cpu

#endif
