// SPDX-License-Identifier: Apache-2.0
// Stores what warp groups exchange that compute different products:
//
//   %s = tile.dot %k, %q, 0 {tilegpu.paired = 0}           %s = tile.dot %k, %q, 0 {tilegpu.paired = 0}
//   %p = math.exp2 %s                                      %p = math.exp2 %s
//   %t = tile.dot %v, %o, 0 {tilegpu.paired = 1}           store_buffer %p, %b[0]              // %b: alloc, swizzled
//   %u = arith.mulf %p, %t                            =>   %t = tile.dot %v, %o, 0 {tilegpu.paired = 1}
//   %x = tile.dot %p, %o, %c                               %u = arith.mulf (load_buffer %b[0]), %t
//                                                          %x = tile.dot (load_buffer %b[0]), %o, %c   // by the matrix unit
//
// A narrow tile that several groups share costs the matrix unit more than its part: for a product of 64 rows it reads all rows for each
// group, as often as there are groups. Where each group computes a product of its own instead, and what follows from that alone, nothing is
// read twice, and what others need of it they find in shared memory. -tilegpu-assign-layouts has chosen the products (`tilegpu.paired`),
// and their fragments, of which so far each group has a copy. -tilegpu-assign-pairs does the rest.
//
// Conditions, else an error: C1 there are such products; C2 what leaves a chain (PairedDots.h) is read by another chain, or is the first
// operand of dots that the matrix unit computes; C3 the unit can read it.
//
// Runs before -tilegpu-schedule-loops. Test: tests/lit/gpu/pairs.mlir.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/DotShapes.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/dots/ExchangedOperand.h"
#include "compiler/gpu/passes/roles/PairedDots.h"
#include "fattn/Error.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_EXCHANGEPAIRSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

[[noreturn]] void cannotExchange(const std::string& what) { failPairs(what, "leave `pairs` out of the order"); }

/// A dot whose first operand is what is exchanged, and the renamings in between, the last one first.
struct Reader {
  tile::DotOp dot;
  SmallVector<Operation*> chain;
  bool transposed = false;
};

class Exchange {
 public:
  Exchange(scf::ForOp loop, Value value, const llvm::DenseMap<Operation*, int64_t>& chains)
      : loop_(loop), value_(value), chains_(chains), group_(chains.lookup(value.getDefiningOp())) {}

  void run() {
    findReaders(value_, {}, false);
    for (OpOperand& use : value_.getUses()) noteUse(use);
    if (readers_.empty() && others_.empty()) return;
    auto type = dyn_cast<RankedTensorType>(value_.getType());
    if (!type || !layoutOf(type)) cannotExchange("what follows from one is no tile");
    UnitReads reads{.rowsTogether = 16};
    for (const Reader& reader : readers_) reads = reads.with(unitReadsOf(reader.dot, 0, reader.transposed));
    auto homes = matrixUnitLayouts(type.getShape(), elementBits(type.getElementType()), reads);
    if (homes.empty()) cannotExchange("a tile does not lie in shared memory as the matrix unit reads it");
    OpBuilder start = OpBuilder::atBlockBegin(&loop_->getParentOfType<func::FuncOp>().getBody().front()), outside(loop_);
    auto buffer = BufferType::get(start.getContext(), 1, type.getShape(), type.getElementType(),
                                  SharedAttr::get(start.getContext(), homes.front().elements()));
    alloc_ = AllocOp::create(start, value_.getLoc(), buffer, IntegerAttr(), IntegerAttr(), IntegerAttr());
    for (StringRef name : {kExchangeAttr, kPairedAttr}) alloc_.getDefiningOp()->setAttr(name, start.getUnitAttr());
    slot_ = arith::ConstantIntOp::create(outside, value_.getLoc(), 0, 32);
    OpBuilder behind(start.getContext());
    behind.setInsertionPointAfter(value_.getDefiningOp());
    StoreBufferOp::create(behind, value_.getLoc(), value_, alloc_, slot_);
    for (OpOperand* use : others_) use->set(readBefore(use->getOwner()));
    for (Reader& reader : readers_) give(reader);
  }

 private:
  /// Of the dots that take the value, or a renaming of it.
  void findReaders(Value value, const SmallVector<Operation*>& chain, bool transposed) {
    for (OpOperand& use : value.getUses()) {
      Operation* user = use.getOwner();
      if (auto dot = dyn_cast<tile::DotOp>(user)) {
        const std::optional<DotInstruction> instruction = instructionOf(dot);
        if (use.getOperandNumber() != 0 || !instruction || !instruction->sharedB || dot->getBlock() != loop_.getBody())
          cannotExchange(
              "what follows from one is an operand of another product, but not the first one, or the matrix unit cannot read it from "
              "shared memory");
        readers_.push_back({dot, chain, transposed});
      } else if (isa<tile::TransOp, ConvertLayoutOp>(user) && !chains_.contains(user)) {
        SmallVector<Operation*> longer = {user};
        longer.append(chain);
        findReaders(user->getResult(0), longer, transposed != isa<tile::TransOp>(user));
      }
    }
  }

  /// A use that neither is a dot's nor in the value's own chain.
  void noteUse(OpOperand& use) {
    Operation* user = use.getOwner();
    Operation* inBody = loop_.getBody()->findAncestorOpInBlock(*user);
    if (isa<tile::DotOp>(user) || (isa<tile::TransOp, ConvertLayoutOp>(user) && !chains_.contains(user))) return;
    auto chain = chains_.find(inBody);
    if (chain == chains_.end()) cannotExchange("what follows from one is used by " + user->getName().getStringRef().str());
    if (chain->second != group_) others_.push_back(&use);
  }

  /// The tile read again, once for each group, in front of its first use there.
  Value readBefore(Operation* user) {
    Operation* inBody = loop_.getBody()->findAncestorOpInBlock(*user);
    LoadBufferOp& load = loads_[chains_.lookup(inBody)];
    OpBuilder b(inBody);
    if (!load) load = LoadBufferOp::create(b, value_.getLoc(), cast<RankedTensorType>(value_.getType()), alloc_, slot_);
    if (inBody->isBeforeInBlock(load)) load->moveBefore(inBody);
    return load;
  }

  void give(Reader& reader) {
    readFromBuffer(reader.dot, cast<RankedTensorType>(value_.getType()), alloc_, slot_, reader.transposed);
    for (Operation* op : reader.chain)
      if (op->use_empty()) op->erase();
  }

  scf::ForOp loop_;
  Value value_, alloc_, slot_;
  const llvm::DenseMap<Operation*, int64_t>& chains_;
  int64_t group_;
  SmallVector<Reader> readers_;
  SmallVector<OpOperand*> others_;
  std::map<int64_t, LoadBufferOp> loads_;  ///< of each group
};

class ExchangePairsPass : public impl::ExchangePairsPassBase<ExchangePairsPass> {
 public:
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration()) return;
    llvm::SmallSetVector<Operation*, 2> loops;
    func.walk([&](tile::DotOp dot) {
      if (dot->hasAttr(kPairedAttr)) loops.insert(dot->getParentOp());
    });
    try {
      if (loops.empty() && func->hasAttr(kPairsAttr))
        cannotExchange("no loop has as many products of loaded tiles as the block has warp groups, of the same shape and from zeros");
      for (Operation* loop : loops) exchange(cast<scf::ForOp>(loop));
    } catch (const Error& error) {
      func.emitError() << error.what();
      signalPassFailure();
    }
  }

 private:
  static void exchange(scf::ForOp loop) {
    const llvm::DenseMap<Operation*, int64_t> chains = chainsOf(*loop.getBody(), pairedGroup);
    for (Value value : exchangedValues(*loop.getBody(), chains)) Exchange(loop, value, chains).run();
  }
};

}  // namespace

}  // namespace fattn::tilegpu
