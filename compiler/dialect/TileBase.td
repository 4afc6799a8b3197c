// SPDX-License-Identifier: Apache-2.0
// What all operations of the `tile` dialect share: the op class, type constraints and enumerations.
#ifndef FATTN_COMPILER_DIALECT_TILEBASE_TD
#define FATTN_COMPILER_DIALECT_TILEBASE_TD

include "compiler/dialect/TileDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

def Tile_Tile : Type<CPred<"::fattn::tile::isTile($_self)">, "tile (ranked tensor of static shape)",
                     "::mlir::RankedTensorType">;
def Tile_TileOrScalar : AnyTypeOf<[Tile_Tile, AnySignlessIntegerOrIndex, AnyFloat, Tile_PtrType]>;
def Tile_PtrLike : Type<CPred<"::fattn::tile::isPtrLike($_self)">, "pointer or tile of pointers">;

def Tile_Axis : I32EnumAttr<"Axis", "grid axis", [
    I32EnumAttrCase<"x", 0>, I32EnumAttrCase<"y", 1>, I32EnumAttrCase<"z", 2>]> {
  let cppNamespace = "::fattn::tile";
}

def Tile_Precision : I32EnumAttr<"Precision", "how a dot of f32 operands rounds them", [
    I32EnumAttrCase<"ieee", 0>, I32EnumAttrCase<"tf32", 1>]> {
  let cppNamespace = "::fattn::tile";
}

def Tile_MemoryOrder : I32EnumAttr<"MemoryOrder", "what an atomic operation orders beside itself", [
    I32EnumAttrCase<"relaxed", 0>, I32EnumAttrCase<"acq_rel", 1>]> {
  let cppNamespace = "::fattn::tile";
}

#endif
