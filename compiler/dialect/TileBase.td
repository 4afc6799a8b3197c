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

// Traits of TileTraits.h.
class Tile_Trait<string name> : NativeOpTrait<name> {
  let cppNamespace = "::fattn::tile";
}
def Tile_MovesElements : Tile_Trait<"MovesElements">;
def Tile_CheapToRepeat : Tile_Trait<"CheapToRepeat">;
def Tile_KeepsIndices : Tile_Trait<"KeepsIndices">;
def Tile_AccessesArrays : Tile_Trait<"AccessesArrays">;

// Topics of the reference.
class Tile_Topic<string title, string text> : OpDocGroup {
  let summary = title;
  let description = text;
}
def Tile_GridTopic : Tile_Topic<"The grid", "Which program this is, of how many.">;
def Tile_PointersTopic : Tile_Topic<"Pointers", "Where tiles lie in global memory: windows into strided arrays, and pointers to single elements.">;
def Tile_MemoryTopic : Tile_Topic<"Memory", "Tiles from and to global memory.">;
def Tile_ShapesTopic : Tile_Topic<"Making and reshaping tiles", "What moves elements around, or makes them from nothing, without computing on them.">;
def Tile_ComputationTopic : Tile_Topic<"Computation", "What `arith` and `math` on tensors lack.">;
def Tile_RareSidesTopic : Tile_Topic<"Rare cases", "Work that is almost never needed.">;
def Tile_FactsTopic : Tile_Topic<"Facts and debugging", "What changes no value.">;

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
