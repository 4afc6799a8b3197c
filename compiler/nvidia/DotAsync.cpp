// SPDX-License-Identifier: Apache-2.0
// tilegpu.dot_async becomes wgmma.m64n<n>k16, one instruction for each 64 rows of a warp group and each step along k, in one piece of
// inline PTX, so that nothing comes between them; tilegpu.dot_wait becomes wgmma.wait_group, through which the accumulator's registers
// pass, so that neither LLVM nor ptxas touches them earlier:
//
//   %d = dot_async %q[0], %k[%s], %zero {transposed_b}       wgmma.fence; wgmma %d, %q + 0, %k + 0, 0; ... wgmma.commit_group
//   %e = dot_wait %d {pending = 1}                           wgmma.wait_group 1 (%d in, %e out)
//
// An operand in shared memory is named by a descriptor: address, strides, and the swizzle. The tile lies in columns of 128, 64 or 32 bytes,
// each swizzled, one after the other (tilegpu::matrixUnitLayouts). Along its contiguous dimension the instruction takes k ("K-major") or
// the other dimension ("MN-major"):
//   K-major:  8 rows further are 8 * width bytes; 16 elements of k further are 32 bytes, then the next column;
//   MN-major: 8 elements of k further are 8 * width bytes; the next column of the group is `leading` bytes further.
// Of padding (tilegpu.used) no more is multiplied than an instruction's granule holds.
// Sources: PTX ISA 8.7, "Asynchronous Warpgroup Level Matrix Instructions", matrix descriptors and canonical layouts.
// Test: tests/lit/nvidia/dot-async.mlir.
#include <fmt/format.h>

#include "compiler/gpu/Fragments.h"
#include "compiler/gpu/lower/DotFragments.h"
#include "compiler/layout/Nvidia.h"
#include "compiler/layout/Shared.h"
#include "compiler/nvidia/Machine.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace fattn::nvidia {

using gpu::Fragments, gpu::Lowering, gpu::Registers;
using layout::Coords, layout::LinearLayout, layout::Operand;

namespace {

constexpr int kGroupRows = 64, kGroupWarps = 4, kDepth = 16;

/// Whether all dots take the buffer's contiguous dimension for k, or none does.
bool isReadOneWay(Value buffer) {
  SmallVector<bool> ways;
  for (Operation* user : buffer.getUsers()) {
    auto dot = dyn_cast<tilegpu::DotAsyncOp>(user);
    if (!dot) continue;
    for (const tilegpu::DotAsyncOp::Factors& group : dot.factors()) {
      if (group.b == buffer) ways.push_back(dot.getTransposedB());
      if (group.a == buffer) ways.push_back(!dot.getTransposedA());
    }
  }
  return llvm::all_equal(ways);
}

/// An operand in shared memory.
class SharedTile {
 public:
  /// `kContiguous`: the dimension that follows itself in memory is k. `everyColumn`: of the columns along the other dimension, those that
  /// an instruction reads are so many apart.
  static FailureOr<SharedTile> create(Lowering& to, Operation* op, Value buffer, Value slot, bool kContiguous, int64_t everyColumn) {
    auto alloc = buffer.getDefiningOp<tilegpu::AllocOp>();
    if (!alloc) return op->emitOpError() << "needs a buffer that is the result of tilegpu.alloc";
    if (!alloc.getOffset()) return alloc.emitOpError() << "needs an offset, which -tilegpu-allocate-shared sets";
    auto type = cast<tilegpu::BufferType>(buffer.getType());
    SharedTile result;
    result.kContiguous_ = kContiguous;
    result.rows_ = type.getShape()[0];
    result.blockRows_ = result.rows_ & -result.rows_;
    Coords shape(type.getShape().begin(), type.getShape().end());
    for (int width : {128, 64, 32})
      if (shape[1] * 2 % width == 0 && type.getLayout().getLayout() == layout::swizzled(shape, 16, width, 16).elements())
        result.width_ = width, result.columns_ = shape[1] * 2 / width;
    if (!result.width_) return op->emitOpError() << "needs a buffer in a layout that the matrix unit reads, but got " << type;
    // In units of 16 bytes, as descriptors have it; 14 bits hold all of shared memory. In a cluster the block's rank stands above them,
    // where descriptors have the strides.
    Value base = LLVM::PtrToIntOp::create(to.b, to.b.getI32Type(), to.sharedBase);
    constexpr int64_t kAddressInBlock = (1 << 18) - 1;
    if (tilegpu::clusterOf(alloc) > 1) base = arith::AndIOp::create(to.b, base, to.i32(kAddressInBlock));
    // Beside the address, of 14 bits, its word has the distance of columns, which no trip changes. Where the same buffer is read in both
    // directions it comes behind the address, which then is the same for both.
    const int64_t leading = (kContiguous ? 1 : everyColumn * result.columnBytes() / 16) << 16;
    const bool first = isReadOneWay(buffer);
    Value units = arith::ShRUIOp::create(to.b, base, to.i32(4));
    Value start = arith::AddIOp::create(to.b, units, to.i32((static_cast<int64_t>(*alloc.getOffset()) / 16) + (first ? leading : 0)));
    Value within = arith::MulIOp::create(to.b, to.scalar(slot), to.i32(type.getSlotBytes() / 16));
    result.start_ = arith::AddIOp::create(to.b, start, within);
    if (!first) result.start_ = arith::OrIOp::create(to.b, result.start_, to.i32(leading));
    return result;
  }

  /// Bytes from the tile's start to its element (mn, k): multiples of 64 (8 in B) and of 16. See layout::swizzled for tiles whose rows are
  /// no power of two: blocks of rows follow each other.
  int64_t offset(int64_t mn, int64_t k) const {
    int64_t contiguous = kContiguous_ ? k : mn, other = kContiguous_ ? mn : k;
    int64_t column = contiguous / (width_ / 2), inner = std::min(columns_, columns_ & -columns_);
    int64_t block = blockRows_ * width_ * inner;
    return column / inner * (rows_ / blockRows_) * block + other / blockRows_ * block + column % inner * blockRows_ * width_ +
           contiguous % (width_ / 2) * 2 + other % blockRows_ * width_;
  }

  /// Bytes from one column of the swizzle's width to the next.
  int64_t columnBytes() const { return offset(kContiguous_ ? 0 : width_ / 2, kContiguous_ ? width_ / 2 : 0); }

  /// Whether the groups' parts of the columns of B are equally many bytes apart, and each begins where a descriptor may. Of several that
  /// one group has, each is a column.
  bool hasSteps(const gpu::GroupGrid& grid) const {
    const int64_t mn = grid.columnStep;
    for (int64_t i = 1; i < grid.columns * grid.columnParts; ++i)
      if (offset(i * mn, 0) != i * offset(mn, 0)) return false;
    if (grid.columnParts > 1) return !kContiguous_ && mn * 2 == width_;
    return kContiguous_ ? mn % 8 == 0 : mn * 2 % width_ == 0;
  }
  /// The lower word of the descriptor (i32) of what lies `groups` (null: 0) times `mn` rows, or columns of B, behind the start.
  Value descriptor(Lowering& to, Value groups, int64_t mn) const {
    if (!groups) return start_;
    return arith::AddIOp::create(to.b, start_, arith::MulIOp::create(to.b, groups, to.i32(offset(mn, 0) / 16)));
  }
  /// The upper word, a number: it knows no place.
  uint32_t upper() const {
    uint32_t stride = static_cast<uint32_t>(8 * width_ / 16), swizzle = width_ == 128 ? 1 : width_ == 64 ? 2 : 3;
    return stride | swizzle << 30;
  }

  /// What the instruction calls the operand: 0 for K-major, 1 for MN-major.
  int major() const { return kContiguous_ ? 0 : 1; }

 private:
  bool kContiguous_ = true;
  int64_t rows_ = 0, blockRows_ = 0;  ///< of the buffer, and of a block of it: the power of two in them
  int64_t width_ = 0, columns_ = 0;   ///< bytes of a swizzled column, and how many there are
  Value start_;  ///< the lower word of the slot's descriptor: its address in units of 16 bytes, and the columns' distance
};

/// Inline PTX with side effects: first the values in and out, then the ones in.
class Assembly {
 public:
  /// Numbers of operands in the text: $0.. are `results` f32 registers.
  explicit Assembly(size_t results) : results_(results) {}

  std::string input(Value value, const char* constraint) {
    inputs_.push_back(value);
    constraints_ += fmt::format(",{}", constraint);
    return fmt::format("${}", results_ + inputs_.size() - 1);
  }

  /// `tied`: what the result registers hold before; empty where that does not matter.
  Registers emit(Lowering& to, const std::string& text, ValueRange tied) {
    std::string constraints;
    for (size_t i = 0; i < results_; ++i) constraints += i ? ",=f" : "=f";
    constraints += constraints_;
    SmallVector<Value> operands(inputs_);
    for (auto [i, value] : llvm::enumerate(tied)) {
      constraints += fmt::format(",{}", i);
      operands.push_back(value);
    }
    constraints += ",~{memory}";
    SmallVector<Type> types(results_, to.b.getF32Type());
    Type type = results_ == 1 ? types[0] : LLVM::LLVMStructType::getLiteral(to.b.getContext(), types);
    auto dialect = LLVM::AsmDialectAttr::get(to.b.getContext(), LLVM::AsmDialect::AD_ATT);
    Value all = LLVM::InlineAsmOp::create(to.b, type, operands, text, constraints, /*has_side_effects=*/true, /*is_align_stack=*/false,
                                          LLVM::TailCallKind::None, dialect, ArrayAttr())
                    .getResult(0);
    if (results_ == 1) return {all};
    Registers registers;
    for (size_t i = 0; i < results_; ++i) registers.push_back(LLVM::ExtractValueOp::create(to.b, all, static_cast<int64_t>(i)));
    return registers;
  }

 private:
  size_t results_;
  SmallVector<Value> inputs_;
  std::string constraints_;
};

class AsyncDotEmitter {
 public:
  AsyncDotEmitter(Lowering& to, tilegpu::DotAsyncOp op)
      : to_(to), op_(op), c_(*tilegpu::layoutOf(op.getAcc().getType()), layout::nvidia::mma(Operand::C, kDepth, 16)) {}

  LogicalResult emit() {
    if (failed(verify()) || failed(findTiles())) return failure();
    number();
    Assembly assembly(order_.size());
    std::string text =
        "{ .reg .b64 a, b, da, db; wgmma.fence.sync.aligned; " + instructions(assembly) + "wgmma.commit_group.sync.aligned; }";
    Registers tied;
    if (!startsFromZero())
      for (int64_t r : order_) tied.push_back(to_.registers(op_.getAcc())[static_cast<size_t>(r)]);
    Registers results = assembly.emit(to_, text, tied), all = to_.registers(op_.getAcc());
    for (auto [r, value] : llvm::zip_equal(order_, results)) all[static_cast<size_t>(r)] = value;
    to_.set(op_.getResult(), std::move(all));
    return success();
  }

 private:
  LogicalResult findTiles() {
    const int64_t everyColumn = grid_.columnParts > 1 ? grid_.columns : 1;
    for (const tilegpu::DotAsyncOp::Factors& group : op_.factors()) {
      FailureOr<SharedTile> b = SharedTile::create(to_, op_, group.b, group.slotOfB, op_.getTransposedB(), everyColumn);
      if (failed(b)) return failure();
      tilesB_.push_back(*b);
      if (!group.slotOfA) continue;
      FailureOr<SharedTile> a = SharedTile::create(to_, op_, group.a, group.slotOfA, !op_.getTransposedA(), 1);
      if (failed(a)) return failure();
      tilesA_.push_back(*a);
    }
    b_ = tilesB_.front();
    if (!tilesA_.empty()) a_ = tilesA_.front();
    if (!op_.getOthers().empty()) return success();
    if (grid_.columns == 1 || b_.hasSteps(grid_)) return success();
    return op_.emitOpError() << "shares the columns of " << op_.getB().getType() << " among groups, whose parts begin within swizzled ones";
  }

  /// One for each 64 rows of a warp group and each step along k.
  std::string instructions(Assembly& assembly) {
    auto [rowGroup, columnGroup] = groupOf();
    std::string text;
    const bool ownOperands = !op_.getOthers().empty();
    auto low = [&](const SharedTile& tile, ArrayRef<SharedTile> ofGroups, Value group, int64_t step) {
      return assembly.input(ownOperands ? ofOwnGroup(ofGroups, rowGroup) : tile.descriptor(to_, group, step), "r");
    };
    std::string lowA = a_ ? low(*a_, tilesA_, rowGroup, grid_.rowStep) : "";
    std::string lowB = low(b_, tilesB_, columnGroup, grid_.columnStep);
    const bool fixedA = a_ && isFixed(op_.getASlot()), fixedB = isFixed(op_.getBSlot());
    if (a_) text += fixedA && !fixedB ? beginVarying("a", lowA, lowB, *a_) : begin("a", lowA, *a_);
    text += a_ && fixedB && !fixedA ? beginVarying("b", lowB, lowA, b_) : begin("b", lowB, b_);
    for (int64_t row : c_.places(0))
      for (int64_t k = 0; k < steps() * kDepth; k += kDepth) {
        if (a_) text += further("a", a_->offset(row, k));
        text += further("b", b_.offset(0, k));
        text += multiply(row, a_ ? "da" : fragmentOfA(assembly, row, k), k > 0 || !startsFromZero());
      }
    return text;
  }

  /// The lower word of the executing warp's group's own tile.
  Value ofOwnGroup(ArrayRef<SharedTile> tiles, Value group) {
    Value word = tiles.front().descriptor(to_, Value(), 0);
    for (auto [i, tile] : llvm::enumerate(tiles.drop_front())) {
      Value mine = arith::CmpIOp::create(to_.b, arith::CmpIPredicate::eq, group, to_.i32(static_cast<int64_t>(i) + 1));
      word = arith::SelectOp::create(to_.b, mine, tile.descriptor(to_, Value(), 0), word);
    }
    return word;
  }

  /// Makes the descriptor of a tile's start from its lower word.
  static std::string begin(const char* tile, const std::string& low, const SharedTile& of) {
    return fmt::format("mov.b64 {}, {{{}, {}}}; ", tile, low, of.upper());
  }

  /// The same for a tile that stays while the other one of a loop's trips varies: to its lower word comes the other's highest bit, which is
  /// 0, but the assembler cannot know. It would compute what does not vary in front of the loop, and go on from there in words with a
  /// carry, three instructions for each descriptor.
  static std::string beginVarying(const char* tile, const std::string& low, const std::string& other, const SharedTile& of) {
    return fmt::format("{{ .reg .b32 low; shr.u32 low, {1}, 31; add.u32 low, low, {0}; ", low, other) + begin(tile, "low", of) + "} ";
  }

  /// Whether all trips of the loop around have the same slot, and the assembler would make much of that. Where it knows the slot, each
  /// descriptor is two instructions; below kFewSteps of them the two that hide it are not worth the register that they take.
  bool isFixed(Value slot) const {
    constexpr int64_t kFewSteps = 16;
    auto loop = op_->getParentOfType<LoopLikeOpInterface>();
    if (!loop) return false;
    return matchPattern(slot, m_Constant()) ? steps() >= kFewSteps : loop.isDefinedOutsideOfLoop(slot);
  }

  /// Makes the descriptor of what lies `bytes` behind the start. It is one addition of 64 bits, in a register pair that all threads share;
  /// made of words, each descriptor would take a second instruction for the upper one.
  static std::string further(const char* tile, int64_t bytes) { return fmt::format("add.s64 d{0}, {0}, {1}; ", tile, bytes / 16); }

  std::string multiply(int64_t row, const std::string& left, bool accumulates) const {
    std::string majorOfA = a_ ? fmt::format(", {}", a_->major()) : "";  // only memory has one
    return fmt::format("{} {}, {}, db, {}, 1, 1{}, {}; ", instruction(), accumulator(row), left, accumulates ? 1 : 0, majorOfA, b_.major());
  }

  /// Instructions along k, without those of padding.
  int64_t steps() const { return llvm::divideCeil(std::min(depth(), tilegpu::usedPartOf(op_).depth), kDepth); }
  int64_t depth() const {
    if (auto tile = dyn_cast<RankedTensorType>(op_.getA().getType())) return tile.getDimSize(1);
    return cast<tilegpu::BufferType>(op_.getA().getType()).getShape()[op_.getTransposedA() ? 0 : 1];
  }
  /// Of one instruction, without padding in steps of its columns. All groups have as many as the first one, which has the most.
  int64_t columns() const {
    constexpr uint64_t kStep = 8;
    const int64_t used = tilegpu::usedPartOf(op_).columns;
    int64_t ofFirst = 0;
    for (int64_t part = 0; part < grid_.columnParts; ++part)
      ofFirst += std::clamp<int64_t>(used - part * grid_.columns * grid_.columnStep, 0, grid_.columnStep);
    return static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(ofFirst), kStep));
  }
  Type elementOfB() const { return op_.getB().getType().getElementType(); }
  bool startsFromZero() const { return matchPattern(op_.getAcc(), m_AnyZeroFloat()); }

  /// The number of the executing warp's group along the rows and along the columns; null along a direction in which all groups have the
  /// same.
  std::pair<Value, Value> groupOf() {
    Value group = arith::ShRUIOp::create(to_.b, to_.uniformWarp, to_.i32(llvm::Log2_64(kGroupWarps)));
    if (grid_.columns == 1) return {group, Value()};
    if (grid_.rows == 1) return {Value(), group};
    return {arith::RemUIOp::create(to_.b, group, to_.i32(grid_.rows)), arith::DivUIOp::create(to_.b, group, to_.i32(grid_.rows))};
  }

  /// Warps of a group one below the other, each with 16 rows and the group's columns.
  LogicalResult verify() {
    const LinearLayout& c = *tilegpu::layoutOf(op_.getAcc().getType());
    LinearLayout fragment = layout::nvidia::mma(Operand::C, kDepth, 16);
    std::optional<gpu::GroupGrid> grid = gpu::groupGridOf(c, kGroupRows, kGroupWarps);
    grid_ = grid.value_or(gpu::GroupGrid());
    bool agrees = grid && op_.getAcc().getType().getDimSize(0) % (kGroupRows * grid_.rows) == 0;
    for (int64_t lane = 0; lane < 32; ++lane) agrees = agrees && c.apply({0, lane, 0}) == fragment.apply({0, lane, 0});
    if (agrees && elementOfB().getIntOrFloatBitWidth() == 16 && isa<FloatType>(elementOfB()) && depth() % kDepth == 0) return success();
    return op_.emitOpError() << "needs 16-bit floating-point operands, a depth in multiples of 16 and an accumulator in the fragments of "
                                "wgmma.m64, but got "
                             << op_.getA().getType() << ", " << op_.getB().getType() << " and " << op_.getAcc().getType();
  }

  /// The order of the accumulator's registers in the instructions.
  void number() {
    constexpr int64_t kFragment = 8;
    const SmallVector<int64_t> places = c_.places(1);
    for (int64_t row : c_.places(0))
      for (int64_t column : ArrayRef(places).take_front(static_cast<size_t>(columns() / kFragment))) {
        first_.try_emplace(row, order_.size());
        llvm::append_range(order_, c_.at(row, column));
      }
  }

  std::string accumulator(int64_t row) const {
    size_t count = order_.size() / first_.size();
    std::string text = "{";
    for (size_t i = 0; i < count; ++i) text += fmt::format("{}${}", i ? ", " : "", first_.at(row) + i);
    return text + "}";
  }

  std::string fragmentOfA(Assembly& assembly, int64_t row, int64_t k) {
    Fragments a(*tilegpu::layoutOf(op_.getA().getType()), layout::nvidia::mma(Operand::A, kDepth, 16));
    SmallVector<int64_t> registers = a.at(row, k);
    const Registers& source = to_.registers(op_.getA());
    std::string text = "{";
    for (size_t i = 0; i < registers.size(); i += 2) {
      Value pair[] = {source[static_cast<size_t>(registers[i])], source[static_cast<size_t>(registers[i + 1])]};
      text += (i ? ", " : "") + assembly.input(to_.pack(pair, to_.b.getI32Type()), "r");
    }
    return text + "}";
  }

  std::string instruction() const {
    StringRef type = elementOfB().isBF16() ? "bf16" : "f16";
    return fmt::format("wgmma.mma_async.sync.aligned.m64n{}k16.f32.{}.{}", columns(), type.str(), type.str());
  }

  Lowering& to_;
  mutable tilegpu::DotAsyncOp op_;  // whose accessors are not const
  Fragments c_;
  std::optional<SharedTile> a_;  ///< nothing where it is in registers
  SharedTile b_;
  SmallVector<SharedTile, 2> tilesA_, tilesB_;  ///< of each group, the first one among them
  gpu::GroupGrid grid_;                         ///< of the warp groups
  SmallVector<int64_t> order_;                  ///< registers of the tile as the instructions count them
  std::map<int64_t, size_t> first_;             ///< of each 64 rows, in that order
};

}  // namespace

LogicalResult Machine::dotAsync(Lowering& to, tilegpu::DotAsyncOp op) { return AsyncDotEmitter(to, op).emit(); }

LogicalResult Machine::dotWait(Lowering& to, tilegpu::DotWaitOp op) {
  const Registers registers = to.registers(op.getValue());
  Assembly assembly(registers.size());
  // Without an instruction, too, nothing that uses the result moves up. ptxas takes a wait that waits for nothing for the end of what is in
  // flight, and then serializes what is read behind it (C7514).
  std::string wait = op.getCovered() ? "" : fmt::format("wgmma.wait_group.sync.aligned {};", op.getPending().value_or(0));
  to.set(op.getResult(), assembly.emit(to, wait, registers));
  return success();
}

LogicalResult Machine::fenceAsync(Lowering& to, tilegpu::FenceAsyncOp) {
  LLVM::InlineAsmOp::create(to.b, TypeRange(), ValueRange(), "fence.proxy.async.shared::cta;", "~{memory}", /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return success();
}

}  // namespace fattn::nvidia
