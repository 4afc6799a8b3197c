// SPDX-License-Identifier: Apache-2.0
// Brings tiles that matrix instructions read into shared memory, asynchronously where the machine and the alignment allow it:
//
//   %x = tile.load %p                               %b = alloc : buffer<1 x 64x128xbf16, swizzled>
//   %y = tile.trans %x, [1, 0]                      %t = copy_async %p, %b[0]
//   %z = convert_layout %y : -> #b            =>    copy_wait %t
//   %d = tile.dot %a, %z, %c                        %x = load_buffer %b[0] : -> #b transposed back
//                                                   %z = tile.trans %x, [1, 0]
//                                                   %d = tile.dot %a, %z, %c
//
// A load is moved where one of its uses leads, through convert_layout and tile.trans, to an operand of a dot; every use then reads the
// buffer in the layout it has. The engine is asynchronous where the table has one, the proven alignment allows one of its sizes and what
// lies outside is zero: one thread copies whole boxes (TensorMaps.h) for matrix units, which read the layouts that this engine writes, else
// all threads copy vectors. Without an engine each thread loads vectors and stores them (store_buffer). An engine that puts lanes' vectors
// next to each other is taken in loops that copy ahead, where it takes fewer slots of issue and of the banks (BufferLayout.h): which
// elements a lane fetches then follows from the buffer's layout. Where a reader takes elements of several such vectors at once, a thread
// loads vectors that lie next to each other, if it has enough of them. The buffer's swizzle is the one that all readers together and the
// writer need the fewest instructions and passes of the banks with; where a matrix unit reads it by itself, one that the unit knows.
//
// Where boxes come for a loop's dots, rows (1 x n) that each trip loads and many threads need come as boxes, too.
//
// A use in a loop that does not contain the load reads the buffer in every trip, or once before the loop where the registers suffice for
// fragments that live all through it: see fitsInRegisters.
// A load in the region of a tile.select_lazy stays a load where its warp can use it without shared memory, so that single warps may enter.
//
// Assumptions: A1 layouts are assigned; A2 tiles of more than two dimensions are no operands. Test: tests/lit/gpu/place-copies.mlir.
#include <map>

#include "compiler/gpu/Fragments.h"
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/DotShapes.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/copies/BufferLayout.h"
#include "compiler/gpu/passes/copies/TensorMaps.h"
#include "compiler/gpu/passes/lazy/ExactSides.h"
#include "compiler/layout/Conversion.h"
#include "compiler/layout/Tiling.h"
#include "compiler/transforms/Divisibility.h"
#include "fattn/Error.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_PLACECOPIESPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

using layout::LinearLayout;

/// One use at the end of a chain of renamings: dimension d of the used value is dimension order[d] of the load.
struct Use {
  OpOperand* operand = nullptr;
  SmallVector<int> order;
  bool isDotOperand() const { return isa<tile::DotOp>(operand->getOwner()) && operand->getOperandNumber() < 2; }
  /// The matrix unit reads it from the buffer.
  bool isReadFromShared() const {
    auto dot = dyn_cast<tile::DotOp>(operand->getOwner());
    return dot && tilegpu::isReadFromShared(dot, operand->getOperandNumber());
  }
  const LinearLayout& layout() const { return *layoutOf(operand->get()); }
  /// The layout of the used value, in the load's dimensions.
  LinearLayout inLoad() const {
    SmallVector<int> back(order.size());
    for (auto [d, o] : llvm::enumerate(order)) back[o] = static_cast<int>(d);
    return layout().transpose(std::span<const int>(back.data(), back.size()));
  }
};

void collectUses(Value value, ArrayRef<int> order, SmallVector<Use>& uses) {
  for (OpOperand& operand : value.getUses()) {
    Operation* user = operand.getOwner();
    if (isa<ConvertLayoutOp>(user)) {
      collectUses(user->getResult(0), order, uses);
    } else if (auto trans = dyn_cast<tile::TransOp>(user)) {
      SmallVector<int> next;
      for (int64_t d : trans.getPermutation()) next.push_back(order[d]);
      collectUses(trans.getResult(), next, uses);
    } else {
      uses.push_back({&operand, SmallVector<int>(order)});
    }
  }
}

/// Elements along a dimension that follow each other in a thread's registers, in the widest of the layouts.
int64_t longestRun(ArrayRef<LinearLayout> layouts, int d) {
  int64_t longest = 1;
  for (const LinearLayout& layout : layouts) {
    SmallVector<int64_t> steps;  // of registers, along this dimension alone
    for (int bit = 0; bit < layout.inputBits(layout::kRegister); ++bit) {
      layout::Coords basis = layout.at({{layout::kRegister, int64_t{1} << bit}});
      const int64_t step = std::exchange(basis[d], 0);
      if (llvm::all_of(basis, [](int64_t other) { return other == 0; })) steps.push_back(step);
    }
    int64_t run = 1;
    while (llvm::is_contained(steps, run)) run *= 2;
    longest = std::max(longest, run);
  }
  return longest;
}

/// The outermost loop around `user` that does not contain `op`; null where there is none.
Operation* loopBetween(Operation* op, Operation* user) {
  Operation* found = nullptr;
  for (Operation* parent = user->getParentOp(); parent && !parent->isAncestor(op); parent = parent->getParentOp())
    if (isa<scf::ForOp, scf::WhileOp>(parent)) found = parent;
  return found;
}

class Placer {
 public:
  Placer(func::FuncOp func, bool boxes, int64_t ahead)
      : func(func), target(targetOf(func)), warps(warpsOf(func)), mayBoxes(boxes), ahead(ahead) {}

  void run() {
    SmallVector<tile::LoadOp> loads;
    func.walk([&](tile::LoadOp load) { loads.push_back(load); });
    for (tile::LoadOp load : loads)
      if (load.getType().getRank() == 2 && isa<scf::ForOp>(load->getParentOp())) inLoops += bytesOf(load);
    askUnits(loads);
    for (tile::LoadOp load : loads) place(load);
  }

 private:
  static int64_t bytesOf(tile::LoadOp load) { return load.getType().getNumElements() * elementBits(load.getType().getElementType()) / 8; }

  /// Three quarters of a thread's registers for what the loop carries, its largest product and these fragments; the last quarter is for
  /// addresses, operands of the current step and what arithmetic needs.
  bool fitsInRegisters(Operation* loop, Operation* user, Type fragment) {
    int64_t limit = gpu::registerLimit(target, 1, static_cast<int>(warps) * target.warpSize, /*copierRegisters=*/0);
    int64_t& held = heldIn[loop];
    auto dot = dyn_cast<tile::DotOp>(user);
    int64_t more = registersOf(fragment) * (dot && splitsOperands(dot) ? 2 : 1);  // both parts are the same in every trip
    if (registersIn(loop) + held + more > limit * 3 / 4) return false;
    held += more;
    return true;
  }

  LinearLayout copyLayout(RankedTensorType type, int contiguous, int64_t bytes) {
    layout::BlockedOptions options{.shape = layout::Coords(type.getShape().begin(), type.getShape().end()), .order = {contiguous}};
    for (int d = static_cast<int>(type.getRank()) - 1; d >= 0; --d)
      if (d != contiguous) options.order.push_back(d);
    options.elementBits = elementBits(type.getElementType());
    options.lanes = target.warpSize;
    options.warps = warps;
    options.vectorBytes = static_cast<int>(bytes);
    return layout::blocked(options);
  }

  /// For a copy through registers: a thread holds `run` elements that follow each other across the vectors it loads, as many as a reader
  /// takes at once, so that both move them as one vector in shared memory. Vectors become narrower for that, but not below 8 bytes: loads
  /// of less cost more than what the readers' elements cost to put in order. A thread that has fewer vectors puts as many elements in order
  /// as it has: each element is put in order once where it is written, and by every reader where it is not.
  LinearLayout registerLayout(RankedTensorType type, int contiguous, int64_t bytes, int64_t run) {
    constexpr int64_t kLeastBytes = 8;
    const int64_t ofThread = type.getNumElements() * elementBits(type.getElementType()) / 8 / (warps * target.warpSize);
    int64_t narrow = bytes;
    while (narrow > kLeastBytes && ofThread / narrow < run) narrow /= 2;
    run = std::min(run, std::max<int64_t>(ofThread / narrow, 1));
    if (run == 1) return copyLayout(type, contiguous, bytes);
    return layout::withVectors(copyLayout(type, contiguous, narrow), 1 - contiguous, run, /*amongWarps=*/true);
  }

  /// Whether an asynchronous engine can move vectors of so many bytes, and fills with zeros as the load asks for.
  static bool canCopy(const gpu::CopyEngine* engine, tile::LoadOp load, int64_t bytes) {
    if (!engine || !llvm::is_contained(engine->bytes, bytes)) return false;
    std::optional<Attribute> padding = load.getPadding();
    if (!padding || load.getBoundaryCheck().empty()) return true;
    if (auto number = dyn_cast<FloatAttr>(*padding)) return number.getValue().isPosZero();
    auto integer = dyn_cast<IntegerAttr>(*padding);
    return integer && integer.getValue().isZero();
  }

  void place(tile::LoadOp load) {
    RankedTensorType type = load.getType();
    SmallVector<Use> uses;
    SmallVector<int> identity = llvm::to_vector(llvm::seq<int>(0, static_cast<int>(type.getRank())));
    collectUses(load.getResult(), identity, uses);
    if (type.getRank() != 2) return;
    if (llvm::none_of(uses, [](const Use& use) { return use.isDotOperand(); })) {
      if (isSharedRow(load, uses)) placeRow(load, uses);
      return;
    }
    int bits = elementBits(type.getElementType());
    if (layoutOf(type) && isForSingleWarps(load, target, warps) && staysInWarps(*layoutOf(type), uses, bits)) return;
    int contiguous = transforms::contiguousDim(load.getPtr()).value_or(1);
    int64_t bytes = transforms::accessBytes(load.getPtr(), extentsOf(load));
    LinearLayout write = copyLayout(type, contiguous, bytes);
    std::vector<LinearLayout> reads = readsOf(uses, contiguous, bits);
    bool unitReads = llvm::any_of(uses, [](const Use& use) { return use.isReadFromShared(); });
    bool async = canCopy(target.copy(gpu::CopyKind::CpAsync), load, bytes);
    const layout::Banks banks = gpu::banksOf(target);
    std::optional<PricedLayout> home;
    auto choose = [&](int inOrder) {
      auto candidates =
          unitReads ? matrixUnitLayouts(type.getShape(), bits, asked.at(load)) : candidateLayouts(reads, write, bits, banks, inOrder);
      return chooseLayout(candidates, reads, write, bits, banks, inOrder);
    };
    if (async) home = choose(static_cast<int>(bytes * 8 / bits));
    if (!home) {
      async = false;
      write = registerLayout(type, contiguous, bytes, longestRun(reads, 1 - contiguous));
      home = choose(1);
      const int64_t loads = type.getNumElements() * bits / 8 / bytes / (warps * target.warpSize);
      const auto direct = unitReads ? std::nullopt : directCopy(load, reads, contiguous, bytes);
      if (direct && direct->slots <= home->slots + loads) {
        inLoops += ahead * bytesOf(load);
        return emit(load, direct->write, direct->home, Engine::Vectors, {}, uses);
      }
    }
    std::optional<BulkWindow> bulk;
    if (mayBoxes && unitReads && reads.empty() && target.copy(gpu::CopyKind::BulkTensor)) bulk = boxes(load, home->layout);
    emit(load, write, home->layout, bulk ? Engine::Boxes : async ? Engine::Vectors : Engine::None, bulk, uses);
  }

  /// A copy by the engine that puts a warp's lanes' vectors next to each other in shared memory, as wide as loads are. It is for loops that
  /// copy ahead: outside of them nothing is waited for in each trip. Two blocks still fit on an SM, or it is not worth the further slots.
  /// Elements that a reader takes from several vectors are put in order on their way through registers.
  std::optional<DirectCopy> directCopy(tile::LoadOp load, ArrayRef<LinearLayout> reads, int contiguous, int64_t bytes) {
    const gpu::CopyEngine* engine = target.copy(gpu::CopyKind::DirectToShared);
    const int64_t slots = ahead * bytesOf(load);
    if (!canCopy(engine, load, bytes) || longestRun(reads, 1 - contiguous) > 1 || ahead == 0 || !isa<scf::ForOp>(load->getParentOp()) ||
        (inLoops + slots) * 2 > target.shared.bytesPerSM || transforms::mayEndWithin(load.getPtr(), load.getBoundaryCheck(), bytes))
      return std::nullopt;
    const RankedTensorType type = load.getType();
    return chooseDirectCopy(reads, copyLayout(type, contiguous, bytes), elementBits(type.getElementType()), bytes, warps, target);
  }

  /// How threads read the buffer for the uses that do, each once.
  std::vector<LinearLayout> readsOf(ArrayRef<Use> uses, int contiguous, int bits) {
    std::vector<LinearLayout> reads;
    for (const Use& use : uses) {
      if (use.isReadFromShared()) continue;
      LinearLayout read = gpu::readAccessOf(target, use.inLoad(), contiguous, bits);
      if (!llvm::is_contained(reads, read)) reads.push_back(read);
    }
    return reads;
  }

  /// What matrix units ask of the loads' buffers. One instruction reads the operands of products of which each warp group computes one:
  /// they lie alike.
  void askUnits(ArrayRef<tile::LoadOp> loads) {
    std::map<std::pair<Block*, unsigned>, SmallVector<Operation*>> alike;
    for (tile::LoadOp load : loads) {
      UnitReads& all = asked[load];
      SmallVector<Use> uses;
      collectUses(load.getResult(), llvm::to_vector(llvm::seq<int>(0, static_cast<int>(load.getType().getRank()))), uses);
      for (const Use& use : uses) {
        if (!use.isReadFromShared()) continue;
        auto dot = cast<tile::DotOp>(use.operand->getOwner());
        all = all.with(unitReadsOf(dot, use.operand->getOperandNumber(), !llvm::is_sorted(use.order)));
        if (dot->hasAttr(kPairedAttr)) alike[{dot->getBlock(), use.operand->getOperandNumber()}].push_back(load);
      }
    }
    for (const auto& [place, together] : alike) {
      UnitReads all;
      for (Operation* load : together) all = all.with(asked.at(load));
      for (Operation* load : together) asked[load] = all;
    }
  }

  /// Whether every use can have what a load leaves in this layout without shared memory: single warps enter an exact side without any.
  bool staysInWarps(const LinearLayout& loaded, ArrayRef<Use> uses, int bits) {
    return llvm::all_of(uses, [&](const Use& use) {
      return !use.isReadFromShared() &&
             layout::planConversion(loaded, use.inLoad(), bits, gpu::banksOf(target)).kind != layout::ConversionKind::Shared;
    });
  }

  enum class Engine : std::uint8_t { None, Vectors, Boxes };

  /// The load as boxes whose rows the engine swizzles as the buffer's layout asks for.
  static std::optional<BulkWindow> boxes(tile::LoadOp load, const LinearLayout& home) {
    layout::Coords shape = home.outputShape();
    int bits = elementBits(load.getType().getElementType());
    for (int64_t width : {128, 64, 32})
      if (shape[1] * bits / 8 % width == 0 && layout::swizzled(shape, bits, static_cast<int>(width), 16).elements() == home)
        return bulkWindow(load, width, width);
    return std::nullopt;
  }

  /// A row that every trip of a loop loads, of which many threads need the same: where an engine brings the loop's operands ahead of their
  /// trip, it brings the row, too. Else each thread waits for its own load in each trip, or keeps the next trip's numbers in registers.
  bool isSharedRow(tile::LoadOp load, ArrayRef<Use> uses) {
    constexpr int64_t kWorthCopying = 4;  // threads that need an element
    auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
    if (!loop || !mayBoxes || !target.copy(gpu::CopyKind::BulkTensor) || load.getType().getDimSize(0) != 1) return false;
    auto isNeededByMany = [&](const Use& use) {
      return registersOf(use.operand->get().getType()) * target.warpSize * warps >= kWorthCopying * load.getType().getNumElements();
    };
    auto brings = loop.walk([](tile::DotOp dot) {
      return tilegpu::isReadFromShared(dot, 0) || tilegpu::isReadFromShared(dot, 1) ? WalkResult::interrupt() : WalkResult::advance();
    });
    return brings.wasInterrupted() && llvm::all_of(uses, isNeededByMany);
  }

  void placeRow(tile::LoadOp load, ArrayRef<Use> uses) {
    RankedTensorType type = load.getType();
    const LinearLayout home = layout::rowMajor(layout::Coords(type.getShape().begin(), type.getShape().end())).elements();
    const int64_t bytes = type.getDimSize(1) * elementBits(type.getElementType()) / 8;
    constexpr int64_t kBoxAlignment = 128;  // of what a box fills: of each slot
    if (bytes % kBoxAlignment != 0) return;
    if (auto bulk = bulkWindow(load, bytes, /*swizzle=*/0)) emit(load, home, home, Engine::Boxes, bulk, uses);
  }

  void emit(tile::LoadOp load, const LinearLayout& write, const LinearLayout& home, Engine engine, const std::optional<BulkWindow>& bulk,
            ArrayRef<Use> uses) {
    RankedTensorType type = load.getType();
    OpBuilder b(load);
    Location loc = load.getLoc();
    auto bufferType = BufferType::get(b.getContext(), 1, type.getShape(), type.getElementType(), SharedAttr::get(b.getContext(), home));
    Operation* outermost = load;
    while (outermost->getParentOp() != func) outermost = outermost->getParentOp();
    b.setInsertionPoint(outermost);
    Value buffer = AllocOp::create(b, loc, bufferType, IntegerAttr(), IntegerAttr(), IntegerAttr());
    Value zero = arith::ConstantIntOp::create(b, loc, 0, 32);
    b.setInsertionPoint(load);
    if (engine != Engine::None) {
      auto layout = bulk ? RegsAttr() : RegsAttr::get(b.getContext(), write.asTile(2));
      auto map = bulk ? b.getI64IntegerAttr(addTensorMap(func, *bulk)) : IntegerAttr();
      ValueRange coordinates = bulk ? ValueRange(bulk->coordinates) : ValueRange();
      auto copy =
          CopyAsyncOp::create(b, loc, load.getPtr(), buffer, zero, Value(), Value(), coordinates, layout, map, load.getBoundaryCheckAttr());
      if (Attribute extents = load->getAttr(kExtentsAttr)) copy->setAttr(kExtentsAttr, extents);
      Value token = copy;
      CopyWaitOp::create(b, loc, ValueRange(token), bulk ? buffer : Value(), bulk ? zero : Value(), Value(), IntegerAttr());
    } else {
      auto loaded = cast<tile::LoadOp>(b.clone(*load));
      loaded.getResult().setType(withLayout(type, write));
      StoreBufferOp::create(b, loc, loaded.getResult(), buffer, zero);
    }
    for (const Use& use : uses) read(load, buffer, zero, use);
    eraseChain(load);
  }

  /// Reads the buffer for one use: next to it, or before the loop that does not contain the load.
  void read(tile::LoadOp load, Value buffer, Value zero, const Use& use) {
    Operation* user = use.operand->getOwner();
    auto type = cast<RankedTensorType>(use.operand->get().getType());
    RankedTensorType readType = withLayout(load.getType(), use.inLoad());
    Operation* loop = use.isReadFromShared() ? nullptr : loopBetween(load, user);
    OpBuilder b(user);
    if (loop && fitsInRegisters(loop, user, readType)) b.setInsertionPoint(loop);
    Value value = LoadBufferOp::create(b, load.getLoc(), readType, buffer, zero, b.getDenseI64ArrayAttr({}));
    if (!llvm::is_sorted(use.order)) {
      SmallVector<int64_t> permutation(use.order.begin(), use.order.end());
      value = tile::TransOp::create(b, load.getLoc(), type, value, permutation);
    }
    use.operand->set(value);
  }

  void eraseChain(Operation* op) {
    for (Operation* user : llvm::make_early_inc_range(op->getUsers())) eraseChain(user);
    op->erase();
  }

  func::FuncOp func;
  const gpu::Target& target;
  int64_t warps;
  bool mayBoxes;
  int64_t ahead;                                ///< trips that loops will copy ahead
  int64_t inLoops = 0;                          ///< bytes of tiles that loops load, with the slots that copies ahead take
  llvm::DenseMap<Operation*, UnitReads> asked;  ///< of the loads' buffers by matrix units
  llvm::DenseMap<Operation*, int64_t> heldIn;   // registers of fragments before a loop
};

class PlaceCopiesPass : public impl::PlaceCopiesPassBase<PlaceCopiesPass> {
 public:
  using PlaceCopiesPassBase::PlaceCopiesPassBase;
  void getDependentDialects(DialectRegistry& registry) const override { registerTileGpuDialects(registry); }
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isDeclaration()) continue;
      try {
        Placer(func, boxes, ahead).run();
      } catch (const Error& error) {
        func.emitError() << error.what();
        return signalPassFailure();
      }
    }
  }
};

}  // namespace

}  // namespace fattn::tilegpu
