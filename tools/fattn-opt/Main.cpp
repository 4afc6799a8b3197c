// SPDX-License-Identifier: Apache-2.0
// fattn-opt: reads, verifies, transforms and prints .mlir files that hold the project's dialects. The driver of the lit tests.
#include "compiler/dialect/Tile.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tools/fattn-opt/RegisterPasses.h"

int main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  fattn::tile::registerTileDialects(registry);
  fattn::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "fattn-opt: works on tile programs\n", registry));
}
