// SPDX-License-Identifier: Apache-2.0
// Operations of the `tile` dialect. The descriptions are the language reference (docs/tile-ir.md is generated from them).
#ifndef FATTN_COMPILER_DIALECT_TILEOPS_TD
#define FATTN_COMPILER_DIALECT_TILEOPS_TD

include "compiler/dialect/TilePointerOps.td"
include "compiler/dialect/TileShapeOps.td"
include "compiler/dialect/TileComputeOps.td"

#endif
