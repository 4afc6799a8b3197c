// SPDX-License-Identifier: Apache-2.0
// A location in MLIR is a file and a line. LLVM wants a line in a scope, and takes the file from the scope: an operation of another file
// than its function's gets a scope of that file inside of the function's.
//
//   llvm.func @f() { %0 = llvm.mul ... loc("a.h":3:1) } loc("b.cpp":1:1)
//     becomes
//   llvm.func @f() { %0 = llvm.mul ... loc(fused<#di_lexical_block_file<scope = #sp, file = "a.h">>["a.h":3:1]) }
//     loc(fused<#sp = #di_subprogram<name = "f", file = "b.cpp", line = 1>>["b.cpp":1:1])
#include "compiler/emit/LineTables.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Support/Path.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace fattn::emit {
namespace {

/// The first place in a file that the location names. Of several lines LLVM would keep none ("line 0").
FileLineColLoc firstPlace(Location location) {
  FileLineColLoc found;
  location->walk([&](Location part) {
    found = dyn_cast<FileLineColLoc>(part);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

LLVM::DIFileAttr fileOf(FileLineColLoc place) {
  llvm::StringRef path = place.getFilename();
  return LLVM::DIFileAttr::get(place.getContext(), llvm::sys::path::filename(path), llvm::sys::path::parent_path(path));
}

LLVM::DISubprogramAttr scopeOf(LLVM::LLVMFuncOp function, FileLineColLoc place, LineTables kind, const std::string& producer) {
  MLIRContext* context = function.getContext();
  LLVM::DIFileAttr file = fileOf(place);
  auto emission = kind == LineTables::Sections ? LLVM::DIEmissionKind::LineTablesOnly : LLVM::DIEmissionKind::DebugDirectivesOnly;
  auto unit = LLVM::DICompileUnitAttr::get(DistinctAttr::create(UnitAttr::get(context)), llvm::dwarf::DW_LANG_C_plus_plus, file,
                                           StringAttr::get(context, producer), /*isOptimized=*/true, emission);
  auto type = LLVM::DISubroutineTypeAttr::get(context, {});
  auto name = StringAttr::get(context, function.getName());
  auto flags = LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized;
  return LLVM::DISubprogramAttr::get(context, DistinctAttr::create(UnitAttr::get(context)), unit, file, name, name, file, place.getLine(),
                                     place.getLine(), flags, type, {}, {});
}

/// `location` reduced to one line in `scope`; unknown where it names none.
Location inScope(Location location, LLVM::DISubprogramAttr scope) {
  MLIRContext* context = location.getContext();
  FileLineColLoc place = firstPlace(location);
  if (!place) return UnknownLoc::get(context);
  LLVM::DIFileAttr file = fileOf(place);
  if (file == scope.getFile()) return place;
  return FusedLoc::get(context, {place}, LLVM::DILexicalBlockFileAttr::get(context, scope, file, 0));
}

}  // namespace

void attachLineTables(ModuleOp module, LineTables kind, const std::string& producer) {
  module.walk([&](LLVM::LLVMFuncOp function) {
    FileLineColLoc place = firstPlace(function.getLoc());
    if (function.isExternal() || !place) return;
    LLVM::DISubprogramAttr scope = scopeOf(function, place, kind, producer);
    function.getBody().walk([&](Operation* op) {
      op->setLoc(inScope(op->getLoc(), scope));
      for (Region& region : op->getRegions())
        for (BlockArgument argument : region.getArguments()) argument.setLoc(inScope(argument.getLoc(), scope));
    });
    for (Block& block : function.getBody())
      for (BlockArgument argument : block.getArguments()) argument.setLoc(inScope(argument.getLoc(), scope));
    function->setLoc(FusedLoc::get(function.getContext(), {place}, scope));
  });
}

}  // namespace fattn::emit
