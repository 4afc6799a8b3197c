// SPDX-License-Identifier: Apache-2.0
// A kernel on tiles becomes the program of one thread: who lowers which operation, and the function around them.
//
//   func.func @k(%p: !tile.ptr<f32>) attributes {tile.kernel} {        func.func @k(%p: !llvm.ptr<1>) attributes {tile.kernel} {
//     %x = ... : tensor<16x8xf32, #acc>                         =>       %lane = ..., %warp = ...
//     %y = arith.addf %x, %x                                             %y0 = arith.addf %x0, %x0 : f32
//     ...                                                                %y1 = arith.addf %x1, %x1 : f32 ...
//
// Assumptions: A1 every tile has a layout; A2 what data crosses warps has been rewritten (-tilegpu-decompose-conversions), barriers and
// waits stand where they have to. Test: tests/lit/gpu/lower-*.mlir.
#include "compiler/gpu/Fragments.h"
#include "compiler/gpu/lower/Lowering.h"
#include "fattn/Error.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace fattn::gpu {
namespace {

/// The external symbol at which the block's shared memory starts; its size is the launch's matter.
constexpr StringLiteral kSharedName = "fattn_shared";
constexpr unsigned kAxes = 3;          // of the grid
constexpr unsigned kGlobalMemory = 1;  // LLVM's address space

LogicalResult dispatch(Lowering& to, Operation* op) {
  if (std::optional<LogicalResult> shape = lowerShape(to, op)) return *shape;
  return llvm::TypeSwitch<Operation*, LogicalResult>(op)
      .Case([&](tile::ReduceOp reduce) { return lowerReduce(to, reduce); })
      .Case([&](tile::CumsumOp sum) { return lowerCumsum(to, sum); })
      .Case([&](tilegpu::ConvertLayoutOp convert) { return lowerConversion(to, convert); })
      .Case([&](tile::AssumeDivisibleOp assume) {
        to.setScalar(assume.getResult(), to.scalar(assume.getInput()));
        return success();
      })
      .Case<tile::ProgramIdOp, tile::NumProgramsOp, tile::AddPtrOp, tile::MakeBlockPtrOp, tile::AdvanceOp>(
          [&](Operation* pointer) { return lowerPointers(to, pointer); })
      .Case<tile::LoadOp, tile::StoreOp, tile::AccumulateOp>([&](Operation* memory) { return lowerGlobal(to, memory); })
      .Case<tile::GatherOp, tile::ScatterOp, tile::AtomicAddOp>([&](Operation* memory) { return lowerScattered(to, memory); })
      .Case([&](tile::DotOp dot) { return to.machine.dot(to, dot); })
      .Case([&](tile::DevicePrintOp print) { return to.machine.devicePrint(to, print); })
      .Case([&](tilegpu::LoadBufferOp load) { return to.machine.loadBuffer(to, load); })
      .Case([&](tilegpu::StoreBufferOp store) { return to.machine.storeBuffer(to, store); })
      .Case([&](tilegpu::CopyAsyncOp copy) { return to.machine.copyAsync(to, copy); })
      .Case([&](tilegpu::CopyWaitOp wait) { return to.machine.copyWait(to, wait); })
      .Case([&](tilegpu::ReleaseOp release) { return to.machine.release(to, release); })
      .Case([&](tilegpu::StoreBoxesOp store) { return to.machine.storeBoxes(to, store); })
      .Case([&](tilegpu::SendBoxesOp send) { return to.machine.sendBoxes(to, send); })
      .Case([&](tilegpu::AwaitSentOp wait) { return to.machine.awaitSent(to, wait); })
      .Case([&](tilegpu::IsCopierOp test) { return to.machine.isCopier(to, test); })
      .Case([&](tilegpu::WarpLeastOp least) { return to.machine.warpLeast(to, least); })
      .Case([&](tilegpu::GroupLastOp last) { return to.machine.groupLast(to, last); })
      .Case([&](tilegpu::SetRegistersOp set) { return to.machine.setRegisters(to, set); })
      .Case([&](tilegpu::MarkOp mark) { return to.machine.mark(to, mark); })
      .Case([&](tilegpu::TurnWaitOp turn) { return to.machine.turnWait(to, turn); })
      .Case([&](tilegpu::TurnPassOp turn) { return to.machine.turnPass(to, turn); })
      .Case([&](tilegpu::SlotAcquireOp slot) { return to.machine.slotAcquire(to, slot); })
      .Case([&](tilegpu::SlotCommitOp slot) { return to.machine.slotCommit(to, slot); })
      .Case([&](tilegpu::SlotWaitOp slot) { return to.machine.slotWait(to, slot); })
      .Case([&](tilegpu::OwnerOnlyOp owner) { return to.machine.ownerOnly(to, owner); })
      .Case([&](tilegpu::EachProgramOp each) { return lowerPrograms(to, each); })
      .Case([&](tilegpu::ClaimProgramOp claim) { return to.machine.claimProgram(to, claim); })
      .Case([&](tilegpu::TakeProgramOp take) { return takeProgram(to, take); })
      .Case([&](tilegpu::InitBarriersOp init) { return to.machine.initBarriers(to, init); })
      .Case([&](tilegpu::DotAsyncOp dot) { return to.machine.dotAsync(to, dot); })
      .Case([&](tilegpu::DotWaitOp wait) { return to.machine.dotWait(to, wait); })
      .Case([&](tilegpu::FenceAsyncOp fence) { return to.machine.fenceAsync(to, fence); })
      .Case([&](tilegpu::BarrierOp barrier) {
        to.machine.barrier(to.b, barrier.getGlobal() ? Visible::All : Visible::Shared);
        return success();
      })
      .Case([&](tilegpu::AwaitLaunchesOp) {
        to.machine.awaitLaunches(to);
        return success();
      })
      .Case([&](tilegpu::AllocOp) { return success(); })  // who uses the buffer asks for its offset
      .Case([&](tile::SelectLazyOp lazy) { return lowerControl(to, lazy); })
      .Default([&](Operation* other) -> LogicalResult {
        if (isa_and_nonnull<scf::SCFDialect>(other->getDialect())) return lowerControl(to, other);
        return lowerElementwise(to, other);
      });
}

/// A1, where an operation's own lowering would look for the layout.
LogicalResult verifyHomes(Operation* op) {
  for (Type type : llvm::concat<Type>(llvm::to_vector(op->getOperandTypes()), llvm::to_vector(op->getResultTypes())))
    if (tile::isTile(type) && !tilegpu::layoutOf(type))
      return op->emitOpError() << "needs tiles with a layout #tilegpu.regs, which -tilegpu-assign-layouts gives them, but got " << type;
  return success();
}

/// Whether there are more or fewer programs than blocks, so that a launch says how many.
bool countsPrograms(func::FuncOp function) { return function->hasAttr(tilegpu::kRepeatsAttr) || function->hasAttr(tilegpu::kClusterAttr); }

/// The same function on lowered arguments, still empty. Further arguments are, where blocks take several programs or share copies, the
/// counter of those that are taken, if they are handed out, and how many there are along each axis; and then the tensor maps, pointers to
/// what the launch makes of them. What the attributes of arguments promise has been used.
func::FuncOp declare(OpBuilder& builder, func::FuncOp source, const Lowering& types) {
  SmallVector<Type> inputs;
  for (Type type : source.getArgumentTypes()) inputs.push_back(types.registerType(type));
  if (source->hasAttr(tilegpu::kClaimsAttr)) inputs.push_back(LLVM::LLVMPointerType::get(builder.getContext(), kGlobalMemory));
  if (countsPrograms(source)) inputs.append(kAxes, builder.getI32Type());
  if (auto maps = source->getAttrOfType<ArrayAttr>(tilegpu::kTensorMapsAttr))
    inputs.append(maps.size(), LLVM::LLVMPointerType::get(builder.getContext()));
  auto result = func::FuncOp::create(builder, source.getLoc(), source.getName(), builder.getFunctionType(inputs, {}));
  result->setDiscardableAttrs(source->getDiscardableAttrDictionary());
  return result;
}

/// The address of the block's shared memory.
Value sharedMemory(Lowering& to, ModuleOp module) {
  auto pointer = LLVM::LLVMPointerType::get(module.getContext(), 3);
  if (!module.lookupSymbol(kSharedName)) {
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
    LLVM::GlobalOp::create(builder, module.getLoc(), bytes, /*isConstant=*/false, LLVM::Linkage::External, kSharedName, Attribute(),
                           /*alignment=*/1024, /*addrSpace=*/3);
  }
  return LLVM::AddressOfOp::create(to.b, pointer, kSharedName);
}

}  // namespace

static LogicalResult missing(Operation* op) {
  return op->emitOpError() << "is not an operation of this machine, " << tilegpu::targetOf(op).name;
}

LogicalResult Machine::copyAsync(Lowering&, tilegpu::CopyAsyncOp op) { return missing(op); }
LogicalResult Machine::copyWait(Lowering&, tilegpu::CopyWaitOp op) { return missing(op); }
LogicalResult Machine::release(Lowering&, tilegpu::ReleaseOp op) { return missing(op); }
LogicalResult Machine::storeBoxes(Lowering&, tilegpu::StoreBoxesOp op) { return missing(op); }
LogicalResult Machine::sendBoxes(Lowering&, tilegpu::SendBoxesOp op) { return missing(op); }
LogicalResult Machine::awaitSent(Lowering&, tilegpu::AwaitSentOp op) { return missing(op); }
FailureOr<Machine::NextProgram> Machine::nextProgram(Lowering&, tilegpu::EachProgramOp op, Value) { return missing(op); }
LogicalResult Machine::claimProgram(Lowering&, tilegpu::ClaimProgramOp op) { return missing(op); }
LogicalResult Machine::isCopier(Lowering&, tilegpu::IsCopierOp op) { return missing(op); }
LogicalResult Machine::warpLeast(Lowering&, tilegpu::WarpLeastOp op) { return missing(op); }
LogicalResult Machine::groupLast(Lowering&, tilegpu::GroupLastOp op) { return missing(op); }
LogicalResult Machine::setRegisters(Lowering&, tilegpu::SetRegistersOp op) { return missing(op); }
LogicalResult Machine::mark(Lowering&, tilegpu::MarkOp op) { return missing(op); }
LogicalResult Machine::turnWait(Lowering&, tilegpu::TurnWaitOp op) { return missing(op); }
LogicalResult Machine::turnPass(Lowering&, tilegpu::TurnPassOp op) { return missing(op); }
LogicalResult Machine::slotAcquire(Lowering&, tilegpu::SlotAcquireOp op) { return missing(op); }
LogicalResult Machine::slotCommit(Lowering&, tilegpu::SlotCommitOp op) { return missing(op); }
LogicalResult Machine::slotWait(Lowering&, tilegpu::SlotWaitOp op) { return missing(op); }
LogicalResult Machine::ownerOnly(Lowering&, tilegpu::OwnerOnlyOp op) { return missing(op); }
LogicalResult Machine::initBarriers(Lowering&, tilegpu::InitBarriersOp op) { return missing(op); }
LogicalResult Machine::dotAsync(Lowering&, tilegpu::DotAsyncOp op) { return missing(op); }
LogicalResult Machine::dotWait(Lowering&, tilegpu::DotWaitOp op) { return missing(op); }
LogicalResult Machine::fenceAsync(Lowering&, tilegpu::FenceAsyncOp op) { return missing(op); }

LogicalResult lowerTensors(func::FuncOp source, Machine& machine) {
  if (!source->hasAttr(tilegpu::kTargetAttr))
    return source.emitOpError() << "has no attribute " << tilegpu::kTargetAttr << ", which -tilegpu-assign-layouts sets";
  if (!source.getBody().hasOneBlock()) return source.emitOpError() << "must have structured control flow (scf) only";
  OpBuilder builder(source);
  Lowering to(builder, source.getLoc(), machine);
  func::FuncOp result = declare(builder, source, to);
  to.b.setInsertionPointToStart(result.addEntryBlock());
  for (auto [from, into] : llvm::zip(source.getArguments(), result.getArguments())) to.setScalar(from, into);
  auto further = result.getArguments().drop_front(source.getNumArguments());
  if (source->hasAttr(tilegpu::kClaimsAttr)) to.counter = further.consume_front();
  if (countsPrograms(source)) {
    llvm::append_range(to.extents, further.take_front(kAxes));
    further = further.drop_front(kAxes);
  }
  llvm::append_range(to.tensorMaps, further);

  const Target& target = tilegpu::targetOf(source);
  to.banks = banksOf(target);
  Value thread = machine.threadId(to.b);
  to.lane = arith::AndIOp::create(to.b, thread, to.i32(target.warpSize - 1));
  to.warp = machine.uniform(to.b, arith::DivUIOp::create(to.b, thread, to.i32(target.warpSize)));
  auto needsUniform = [](Operation* op) {
    return isa<tilegpu::DotAsyncOp, tilegpu::InitBarriersOp, tilegpu::GroupLastOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
  };
  if (source.walk(needsUniform).wasInterrupted()) to.uniformWarp = machine.shuffle(to.b, to.warp, to.i32(0));
  machine.limitBarriers(0);
  to.sharedBase = sharedMemory(to, source->getParentOfType<ModuleOp>());
  if (failed(to.lowerBlock(source.getBody().front()))) return failure();
  to.b.setLoc(source.getBody().front().getTerminator()->getLoc());
  machine.endBlock(to, source);
  func::ReturnOp::create(to.b);
  source.erase();
  return success();
}

LogicalResult lowerOperation(Lowering& to, Operation* op) {
  if (failed(verifyHomes(op))) return failure();
  to.b.setLoc(op->getLoc());
  try {
    return dispatch(to, op);
  } catch (const Error& error) {  // the layout library's
    return op->emitOpError() << "cannot be lowered: " << error.what();
  }
}

}  // namespace fattn::gpu
