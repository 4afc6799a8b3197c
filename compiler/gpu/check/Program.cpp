// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/check/Program.h"

#include <map>

#include "compiler/gpu/dialect/SourceLabels.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::check {
namespace {

/// Larger constants beside a loop's bounds are limits of a type, and no sizes.
constexpr int64_t kMostScale = 4096;

bool isNumber(Type type) { return type.isIntOrIndex(); }

/// Whether the checker follows values of this type.
bool isFollowed(Type type) {
  if (isNumber(type) || isa<tile::PtrType, tile::BlockPtrType>(type)) return true;
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<tile::PtrType>(tensor.getElementType());
}

Act actOf(Operation* op) {
  return llvm::TypeSwitch<Operation*, Act>(op)
      .Case<tilegpu::CopyAsyncOp>([](auto) { return Act::Copy; })
      .Case<tilegpu::CopyWaitOp>([](auto) { return Act::Wait; })
      .Case<tilegpu::ReleaseOp>([](auto) { return Act::Release; })
      .Case<tilegpu::SlotAcquireOp>([](auto) { return Act::Acquire; })
      .Case<tilegpu::SlotCommitOp>([](auto) { return Act::Commit; })
      .Case<tilegpu::SlotWaitOp>([](auto) { return Act::Await; })
      .Case<tilegpu::BarrierOp>([](auto) { return Act::Barrier; })
      .Case<tilegpu::DotWaitOp>([](auto) { return Act::WaitDot; })
      .Case<tilegpu::FenceAsyncOp>([](auto) { return Act::Fence; })
      .Case<tilegpu::InitBarriersOp>([](auto) { return Act::MakeBarriers; })
      .Case<tilegpu::TurnWaitOp>([](auto) { return Act::WaitTurn; })
      .Case<tilegpu::TurnPassOp>([](auto) { return Act::PassTurn; })
      .Case<tilegpu::LoadBufferOp>([](auto) { return Act::ReadBuffer; })
      .Case<tilegpu::StoreBufferOp>([](auto) { return Act::WriteBuffer; })
      .Case<tile::LoadOp, tile::GatherOp>([](auto) { return Act::ReadGlobal; })
      .Case<tile::StoreOp, tile::ScatterOp>([](auto) { return Act::WriteGlobal; })
      .Case([](tilegpu::StoreBoxesOp store) { return store.getAdd() ? Act::AtomicGlobal : Act::WriteGlobal; })
      .Case([](tilegpu::SendBoxesOp) { return Act::Send; })
      .Case<tile::AtomicAddOp, tile::AccumulateOp>([](auto) { return Act::AtomicGlobal; })
      .Default([](Operation*) { return Act::None; });
}

StepKind kindOf(Operation* op) {
  if (isa<scf::ForOp>(op)) return StepKind::For;
  if (isa<scf::WhileOp>(op)) return StepKind::While;
  if (isa<scf::IfOp>(op)) return StepKind::If;
  if (isa<tile::SelectLazyOp>(op)) return StepKind::Lazy;
  if (isa<tilegpu::EachProgramOp>(op)) return StepKind::Programs;
  if (isa<tilegpu::OwnerOnlyOp>(op)) return StepKind::Owner;
  if (actOf(op) != Act::None) return StepKind::Access;
  if (isa<tile::AddPtrOp>(op)) return StepKind::Pointer;
  if (isa<tile::MakeBlockPtrOp, tile::AdvanceOp>(op)) return StepKind::Window;
  if (isa<tile::AssumeDivisibleOp>(op)) return StepKind::Forward;
  if (isa<tile::ProgramIdOp, tile::NumProgramsOp, tilegpu::IsCopierOp, tilegpu::GroupLastOp, tile::UnsplatOp>(op)) return StepKind::Number;
  bool scalar = op->getNumResults() == 1 && isNumber(op->getResult(0).getType());
  if (scalar && isa<arith::ArithDialect>(op->getDialect())) return StepKind::Number;
  bool pointers = op->getNumResults() == 1 && op->getNumOperands() > 0 && !scalar && isFollowed(op->getResult(0).getType());
  return pointers && isFollowed(op->getOperand(0).getType()) ? StepKind::Forward : StepKind::Opaque;
}

class Flattener {
 public:
  explicit Flattener(func::FuncOp function) { program.function = function; }

  FailureOr<Program> run() {
    func::FuncOp function = program.function;
    if (!function.getBody().hasOneBlock()) return function.emitError("cannot be checked: it has control flow that is not structured");
    for (BlockArgument argument : function.getArguments()) number(argument);
    if (block(function.getBody().front()) < 0) return failure();
    findReleased();
    findBoxSlots();
    findBuffersOfOneWriter();
    findRewrittenBuffers(program);
    findOverlaps();
    findShaping();
    return std::move(program);
  }

 private:
  int number(Value value) {
    if (!isFollowed(value.getType())) return -1;
    auto [it, fresh] = numbers.try_emplace(value, program.values);
    if (fresh) {
      ++program.values;
      program.windows.push_back(isNumber(value.getType()) ? -1 : program.pointers++);
    }
    return it->second;
  }

  int block(mlir::Block& source) {
    int index = static_cast<int>(program.blocks.size());
    program.blocks.emplace_back();
    Body result;
    for (BlockArgument argument : source.getArguments()) result.arguments.push_back(number(argument));
    for (Operation& op : source.without_terminator())
      if (failed(add(op, result))) return -1;
    result.terminator = source.getTerminator();
    for (Value value : result.terminator->getOperands()) result.yields.push_back(number(value));
    program.blocks[index] = std::move(result);
    return index;
  }

  /// What an operation means to the checker: a buffer, steps, or nothing.
  LogicalResult add(Operation& op, Body& body) {
    if (auto alloc = dyn_cast<tilegpu::AllocOp>(op)) {
      body.buffers.push_back(static_cast<int>(program.buffers.size()));
      addBuffer(alloc);
      return success();
    }
    if (auto dot = dyn_cast<tilegpu::DotAsyncOp>(op)) {
      readsOf(dot, body);
      return success();
    }
    // A copy that warps of their own make stands in their part of the program, too.
    return isa<tilegpu::CopyAsyncOp>(op) && tilegpu::isMadeElsewhere(&op) ? success() : addStep(op, body);
  }

  LogicalResult addStep(Operation& op, Body& body) {
    if (auto test = dyn_cast<tilegpu::IsCopierOp>(op))
      program.copiers = std::max(program.copiers, static_cast<int>(test.getThread().value_or(0)) + 1);
    if (auto each = dyn_cast<tilegpu::EachProgramOp>(op)) program.repeats = each.getAxis(), program.dynamic = each.getDynamic();
    Step step{.kind = kindOf(&op), .act = actOf(&op), .op = &op, .loops = around};
    if (step.kind == StepKind::Opaque && llvm::none_of(op.getResultTypes(), isFollowed)) return success();
    for (Value operand : followedOperands(&op)) step.operands.push_back(number(operand));
    for (Value value : op.getResults()) step.results.push_back(number(value));
    if (step.kind == StepKind::Access) access(step);
    if (auto label = isa<tile::UnsplatOp>(op) ? tilegpu::sourceLabelOf(&op) : std::nullopt) step.number = label->source;
    if (isa<scf::ForOp>(op)) step.loop = program.loops++;
    if (step.kind >= StepKind::For && failed(addRegions(step))) return failure();
    body.steps.push_back(std::move(step));
    return success();
  }

  LogicalResult addRegions(Step& step) {
    for (Region& region : step.op->getRegions()) {
      if (region.empty()) {
        step.blocks.push_back(-1);
        continue;
      }
      if (!region.hasOneBlock()) return step.op->emitError("cannot be checked: a region has several blocks");
      int index = regionOf(step, region);
      if (index < 0) return failure();
      step.blocks.push_back(index);
    }
    return success();
  }

  int regionOf(const Step& step, Region& region) {
    bool loop = step.kind == StepKind::For || step.kind == StepKind::While;
    if (loop) around.push_back(static_cast<int>(program.blocks.size()));
    int index = block(region.front());
    if (loop) around.pop_back();
    return index;
  }

  /// The predicate of a copy is the last operand of it that counts here.
  static SmallVector<Value> followedOperands(Operation* op) {
    SmallVector<Value> operands(op->getOperands());
    if (auto copy = dyn_cast<tilegpu::CopyAsyncOp>(op)) operands.resize(copy.getPred() ? 4 : 3);
    return operands;
  }

  void addBuffer(tilegpu::AllocOp alloc) {
    tilegpu::BufferType type = alloc.getResult().getType();
    Buffer buffer{.alloc = alloc, .firstSlot = program.slots, .slots = type.getSlots(), .slotBytes = type.getSlotBytes()};
    buffer.objects = alloc.getBarriers().has_value();
    // Without places all buffers are apart.
    buffer.begin = alloc.getOffset() ? static_cast<int64_t>(*alloc.getOffset()) : unplaced;
    unplaced += alloc.getOffset() ? 0 : type.getBytes();
    program.slots += static_cast<int>(buffer.slots);
    program.mostSlots = std::max(program.mostSlots, buffer.slots);
    buffers[alloc.getResult()] = static_cast<int>(program.buffers.size());
    program.buffers.push_back(buffer);
  }

  /// The matrix unit reads all of a slot, for all threads of some warps: any thread's write meets it.
  void readsOf(tilegpu::DotAsyncOp dot, Body& body) {
    auto add = [&](Value buffer, Value slot, StringRef labelled, bool begins) {
      Step step{.kind = StepKind::Access, .act = Act::ReadByDot, .op = dot, .operands = {number(slot)}, .loops = around};
      step.number = begins;
      if (auto label = tilegpu::sourceLabelOf(dot, labelled)) {
        step.label = static_cast<int>(label->source);
        auto [it, fresh] = streams.try_emplace({label->source, label->clone}, program.streams);
        program.streams += fresh;
        step.stream = it->second;
      } else {
        step.stream = program.streams++;
      }
      step.buffer = bufferOf(buffer);
      if (step.buffer >= 0 && step.label >= 0) program.buffers[step.buffer].labelled = true;
      step.owners = intern({.layout = {}, .shape = {}, .oneHolder = false});
      body.steps.push_back(std::move(step));
    };
    for (auto [group, factors] : llvm::enumerate(dot.factors())) {
      add(factors.b, factors.slotOfB, tilegpu::sourceOfBAttr(group), /*begins=*/group == 0);
      if (factors.slotOfA) add(factors.a, factors.slotOfA, tilegpu::sourceOfAAttr(group), /*begins=*/false);
    }
  }

  void access(Step& step) {
    // What a pass puts beside an access may have its location, and is no run of it.
    bool synchronizes = step.op->hasTrait<tilegpu::Synchronizes>();
    if (auto label = tilegpu::sourceLabelOf(step.op); label && !synchronizes && step.act != Act::Send)
      step.label = static_cast<int>(label->source), labelled(step, *label);
    if (step.label < 0) step.stream = program.streams++;
    if (auto wait = dyn_cast<tilegpu::CopyWaitOp>(step.op); wait && wait.isBulk()) {
      step.bulk = true;
      step.buffer = bufferOf(wait.getBuffer());
      if (wait.getPhase()) step.phase = number(wait.getPhase());
    }
    llvm::TypeSwitch<Operation*>(step.op)
        .Case([&](tilegpu::CopyAsyncOp copy) {
          step.bulk = copy.isBulk();
          if (copy.getPhase()) step.phase = number(copy.getPhase());
          shared(step, copy.getBuffer(), step.bulk ? Attribute() : *copy.getLayout(), !step.bulk);
        })
        .Case([&](tilegpu::TurnPassOp pass) { step.number = pass.getFirst(); })
        .Case<tilegpu::ReleaseOp, tilegpu::SlotAcquireOp, tilegpu::SlotCommitOp, tilegpu::SlotWaitOp>(
            [&](auto slot) { step.buffer = bufferOf(slot.getBuffer()); })
        .Case([&](tilegpu::LoadBufferOp load) { shared(step, load.getBuffer(), load.getType().getEncoding(), false); })
        .Case([&](tilegpu::StoreBufferOp store) { shared(step, store.getBuffer(), store.getValue().getType().getEncoding(), false); })
        .Case<tilegpu::CopyWaitOp, tilegpu::DotWaitOp>(
            [&](auto wait) { step.number = static_cast<int64_t>(wait.getPending().value_or(0)); })
        .Case<tile::LoadOp, tile::GatherOp>([&](auto load) { global(step, load.getResult().getType(), false); })
        .Case<tile::StoreOp, tile::AccumulateOp, tile::ScatterOp>([&](auto store) { global(step, store.getValue().getType(), true); })
        .Case([&](tilegpu::StoreBoxesOp store) { global(step, store.getValue().getType(), /*oneHolder=*/true, /*byWarp=*/true); })
        .Case([&](tile::AtomicAddOp add) {
          step.orders = add.getOrder() != tile::MemoryOrder::relaxed;
          global(step, add.getValue().getType(), true);
        });
  }

  /// Parts of one read, cut along a dot's depth, or of one store, run once a trip each.
  void labelled(Step& step, tilegpu::SourceLabel label) {
    std::vector<int64_t> key = {label.source, label.clone};
    if (auto load = dyn_cast<tilegpu::LoadBufferOp>(step.op)) {
      llvm::append_range(key, load.getOffsets());
      llvm::append_range(key, load.getType().getShape());
    }
    if (tilegpu::SliceOp part = storedPartOf(step.op)) llvm::append_range(key, part.getOffsets());
    auto [it, fresh] = streams.try_emplace(key, program.streams);
    if (fresh) ++program.streams;
    step.stream = it->second;
  }

  int bufferOf(Value buffer) const {
    auto it = buffers.find(buffer);
    return it == buffers.end() ? -1 : it->second;
  }

  void shared(Step& step, Value buffer, Attribute layout, bool oneHolder) {
    step.buffer = bufferOf(buffer);
    Accessor accessor{.layout = layout, .shape = {}, .oneHolder = oneHolder};
    auto type = cast<tilegpu::BufferType>(buffer.getType());
    accessor.shape.assign(type.getShape().begin(), type.getShape().end());
    if (auto load = dyn_cast<tilegpu::LoadBufferOp>(step.op); load && llvm::ArrayRef(accessor.shape) != load.getType().getShape()) {
      accessor.shape.append(load.getType().getShape().begin(), load.getType().getShape().end());
      llvm::append_range(accessor.shape, load.getOffsets());
    }
    // Where only some elements count, and lie one behind the other, any thread may meet any other.
    if (auto extents = step.op->getAttrOfType<DenseI64ArrayAttr>("extents"); extents && !extents.empty())
      accessor = {.layout = {}, .shape = {}, .oneHolder = false};
    step.owners = intern(std::move(accessor));
    if (step.buffer >= 0 && step.label >= 0) program.buffers[step.buffer].labelled = true;
  }

  void global(Step& step, Type type, bool oneHolder, bool byWarp = false) {
    Accessor accessor{.layout = {}, .shape = {}, .oneHolder = oneHolder, .byWarp = byWarp};
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      accessor.layout = tensor.getEncoding();
      tilegpu::SliceOp part = storedPartOf(step.op);
      if (part) llvm::append_range(accessor.shape, part.getInput().getType().getShape());
      llvm::append_range(accessor.shape, tensor.getShape());
      if (part) llvm::append_range(accessor.shape, part.getOffsets());
    }
    step.owners = intern(std::move(accessor));
  }

  int intern(Accessor accessor) {
    auto it = llvm::find(program.accessors, accessor);
    if (it == program.accessors.end()) it = program.accessors.insert(it, std::move(accessor));
    return static_cast<int>(it - program.accessors.begin());
  }

  void findReleased() {
    for (const Body& block : program.blocks)
      for (const Step& step : block.steps)
        if (step.act == Act::Release && step.buffer >= 0)
          program.buffers[static_cast<size_t>(step.buffer)].released = true;
        else if (step.act == Act::Commit && step.buffer >= 0)
          program.buffers[static_cast<size_t>(step.buffer)].committed = true;
  }

  void findBoxSlots() {
    program.boxSlots.resize(static_cast<unsigned>(program.slots));
    for (const Body& block : program.blocks)
      for (const Step& step : block.steps) {
        if (step.act != Act::Copy || !step.bulk || step.buffer < 0) continue;
        const Buffer& buffer = program.buffers[static_cast<size_t>(step.buffer)];
        program.boxSlots.set(static_cast<unsigned>(buffer.firstSlot), static_cast<unsigned>(buffer.firstSlot + buffer.slots));
      }
  }

  /// A round trip through memory that a later pass made: what it reads is what its one write left.
  void findBuffersOfOneWriter() {
    std::map<int, int> writers;
    for (Body& block : program.blocks)
      for (Step& step : block.steps)
        if ((step.act == Act::WriteBuffer || step.act == Act::Copy) && step.buffer >= 0 && ++writers[step.buffer] == 1)
          program.buffers[step.buffer].onlyWriter = &step;
    for (auto [i, buffer] : llvm::enumerate(program.buffers))
      if (buffer.labelled || writers[static_cast<int>(i)] != 1) buffer.onlyWriter = nullptr;
  }

  void findOverlaps() {
    program.overlaps.resize(static_cast<size_t>(program.slots));
    auto range = [](const Buffer& buffer, int64_t slot) {
      int64_t begin = buffer.begin + slot * buffer.slotBytes;
      return std::pair(begin, begin + buffer.slotBytes);
    };
    for (const Buffer& a : program.buffers)
      for (const Buffer& b : program.buffers)
        for (int64_t i = 0; &a != &b && i < a.slots; ++i)
          for (int64_t j = 0; j < b.slots; ++j) {
            auto [begin, end] = range(a, i);
            auto [otherBegin, otherEnd] = range(b, j);
            if (begin < otherEnd && otherBegin < end) program.overlaps[a.firstSlot + i].push_back(b.firstSlot + static_cast<int>(j));
          }
  }

  /// Arguments and constants that bounds and conditions are computed from.
  void findShaping() {
    llvm::SetVector<Value> work;
    program.function.walk([&](Operation* op) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) work.insert_range(ValueRange({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}));
      if (auto branch = dyn_cast<scf::IfOp>(op)) work.insert(branch.getCondition());
      if (auto condition = dyn_cast<scf::ConditionOp>(op)) work.insert(condition.getCondition());
    });
    llvm::SetVector<int64_t> scales;
    for (size_t i = 0; i < work.size(); ++i) {
      Value value = work[i];
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (isa<func::FuncOp>(argument.getOwner()->getParentOp())) program.shaping.push_back(static_cast<int>(argument.getArgNumber()));
        continue;
      }
      APInt constant;
      Operation* op = value.getDefiningOp();
      if (auto number = dyn_cast<arith::ConstantOp>(op))
        if (auto integer = dyn_cast<IntegerAttr>(number.getValue());
            integer && std::abs(integer.getInt()) > 1 && std::abs(integer.getInt()) <= kMostScale)
          scales.insert(std::abs(integer.getInt()));
      for (Value operand : op->getOperands())
        if (isNumber(operand.getType())) work.insert(operand);
    }
    program.scales.assign(scales.begin(), scales.end());
  }

  Program program;
  llvm::DenseMap<Value, int> numbers, buffers;
  std::map<std::vector<int64_t>, int> streams;
  SmallVector<int, 2> around;  ///< bodies of the loops around the block that is read
  int64_t unplaced = int64_t{1} << 40;
};

}  // namespace

FailureOr<Program> programOf(func::FuncOp function) { return Flattener(function).run(); }

}  // namespace fattn::check
