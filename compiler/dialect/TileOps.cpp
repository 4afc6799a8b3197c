// SPDX-License-Identifier: Apache-2.0
// Verifiers and folders of the `tile` operations.
#include "compiler/dialect/Tile.h"

#define GET_OP_CLASSES
#include "compiler/dialect/TileOps.cpp.inc"
