// SPDX-License-Identifier: Apache-2.0
// tile.dot becomes mma.sync.m16n8k<k>, one instruction for each 16 x 8 fragment of the accumulator and each step along k.
//
// The layouts say in which register of a lane each element is; fragments are found by where their elements lie in lane 0 of warp 0, which
// is the same in every thread up to the thread's own place. A, B and C have to agree on that place: A has C's rows, B has C's columns, and
// all threads have all of k.
//
// Fragments of one k step follow each other, so that an accumulator's next instruction comes after all the others'.
//
// f32 operands are rounded to tf32 for precision tf32. For precision ieee each is split into two parts, and the product is low high +
// high low + high high (Tf32Parts.h), which is exact to about 2^-22 and IEEE's for infinite operands.
// The instruction truncates its sums, an error that grows with the accumulator: each step's products are summed from zero, and the sum is
// added by an ordinary addition, which rounds to nearest.
#include "compiler/gpu/lower/DotFragments.h"
#include "compiler/gpu/passes/DotShapes.h"
#include "compiler/layout/Nvidia.h"
#include "compiler/nvidia/Machine.h"
#include "compiler/nvidia/Tf32Parts.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace fattn::nvidia {

using gpu::Fragments, gpu::Lowering, gpu::Registers;
using layout::LinearLayout, layout::Operand;

namespace {

/// An instruction, and the LLVM intrinsic behind it.
struct Instruction {
  int k = 0, bits = 0;  ///< of an operand's element
  std::string name;
  Type operandWord, accumulatorWord;  ///< 32-bit registers as the intrinsic takes them
  int accumulatorPack = 1;            ///< elements in a register
};

StringRef ptxName(Type type) {
  if (type.isF16()) return "f16";
  if (type.isBF16()) return "bf16";
  if (isa<Float8E4M3FNType>(type)) return "e4m3";
  if (isa<Float8E5M2Type>(type)) return "e5m2";
  if (type.isInteger(8)) return "s8";
  return "tf32";
}

/// The intrinsic of the instruction that the dot becomes; nothing if there is none.
std::optional<Instruction> instructionFor(tile::DotOp op) {
  Type a = op.getA().getType().getElementType(), b = op.getB().getType().getElementType();
  Type accumulator = op.getAcc().getType().getElementType();
  std::optional<tilegpu::DotInstruction> chosen = tilegpu::instructionOf(op);
  if (!chosen || op.getA().getType().getDimSize(1) % chosen->depth) return std::nullopt;
  Builder builder(op.getContext());
  Instruction result;
  result.bits = static_cast<int>(a.getIntOrFloatBitWidth());
  bool fp8 = isa<FloatType>(a) && result.bits == 8;
  result.k = static_cast<int>(chosen->depth);
  result.name = "llvm.nvvm.mma.m16n8k" + std::to_string(result.k) + ".row.col.";
  result.operandWord = builder.getI32Type();
  result.accumulatorWord = accumulator;
  if (a.isF16()) {
    result.operandWord = VectorType::get(2, a);
    result.name += accumulator.isF16() ? "f16.f16" : "f32.f32";
    if (accumulator.isF16()) result.accumulatorWord = result.operandWord, result.accumulatorPack = 2;
  } else if (fp8) {
    result.name += ("f32." + ptxName(a) + "." + ptxName(b) + ".f32").str();
  } else {
    result.name += ptxName(a);
  }
  return result;
}

class DotEmitter {
 public:
  DotEmitter(Lowering& to, tile::DotOp op, Instruction instruction)
      : to_(to),
        op_(op),
        instruction_(std::move(instruction)),
        a_(*tilegpu::layoutOf(op.getA()), fragment(Operand::A)),
        b_(*tilegpu::layoutOf(op.getB()), fragment(Operand::B)),
        c_(*tilegpu::layoutOf(op.getAcc()), fragment(Operand::C)) {}

  LogicalResult emit() {
    Registers result = to_.registers(op_.getAcc());
    SmallVector<int64_t> rows = c_.places(0), columns = c_.places(1);
    for (int64_t k = 0; k < op_.getA().getType().getDimSize(1); k += instruction_.k)
      for (int64_t column : columns)
        for (int64_t row : rows) {
          Place place{a_.at(row, k), b_.at(k, column), c_.at(row, column)};
          if (place.a.empty() || place.b.empty() || place.c.empty()) return wrongLayouts();
          isSplit() ? multiplySplit(place, result) : multiplyWhole(place, result);
        }
    to_.set(op_.getResult(), std::move(result));
    return success();
  }

  LogicalResult verify() {
    const LinearLayout& c = *tilegpu::layoutOf(op_.getAcc());
    if (gpu::agrees(c, fragment(Operand::C), c, 0, -1) && gpu::agrees(*tilegpu::layoutOf(op_.getA()), fragment(Operand::A), c, 0, 1) &&
        gpu::agrees(*tilegpu::layoutOf(op_.getB()), fragment(Operand::B), c, 1, 0))
      return success();
    return wrongLayouts();
  }

 private:
  enum class Part { High, Low };

  /// The registers of one instruction's fragments.
  struct Place {
    SmallVector<int64_t> a, b, c;
  };

  void multiplyWhole(const Place& place, Registers& accumulator) {
    const SmallVector<Value>& wordsOfA = words(op_.getA(), place.a, Part::High);
    multiply(wordsOfA, words(op_.getB(), place.b, Part::High), place.c, accumulator);
  }

  /// The three products of split operands, summed from zero and then added. The sum's registers live no longer than that.
  void multiplySplit(const Place& place, Registers& accumulator) {
    Registers sum(accumulator.size());
    for (int64_t r : place.c) sum[static_cast<size_t>(r)] = arith::ConstantOp::create(to_.b, to_.b.getF32FloatAttr(0));
    for (auto [a, b] : {std::pair(Part::Low, Part::High), std::pair(Part::High, Part::Low), std::pair(Part::High, Part::High)}) {
      const SmallVector<Value>& wordsOfA = words(op_.getA(), place.a, a);
      multiply(wordsOfA, words(op_.getB(), place.b, b), place.c, sum);
    }
    for (int64_t r : place.c) {
      Value& total = accumulator[static_cast<size_t>(r)];
      total = arith::AddFOp::create(to_.b, total, sum[static_cast<size_t>(r)]);
    }
  }

  LinearLayout fragment(Operand operand) const { return layout::nvidia::mma(operand, instruction_.k, instruction_.bits); }

  LogicalResult wrongLayouts() {
    return op_.emitOpError() << "needs operands and accumulator in the fragments of mma.m16n8k" << instruction_.k
                             << ", A with the accumulator's rows and B with its columns in every warp, but a is " << op_.getA().getType()
                             << ", b is " << op_.getB().getType() << " and the accumulator is " << op_.getAcc().getType();
  }

  /// A fragment in the registers of the machine; once for all instructions that use it.
  const SmallVector<Value>& words(Value tile, ArrayRef<int64_t> registers, Part part) {
    SmallVector<Value>& result = words_[{tile.getAsOpaquePointer(), registers[0], part}];
    if (!result.empty()) return result;
    const Registers& source = to_.registers(tile);
    int count = 32 / instruction_.bits;
    for (size_t i = 0; i < registers.size(); i += static_cast<size_t>(count)) {
      if (instruction_.bits == 32) {
        result.push_back(tf32(source[static_cast<size_t>(registers[i])], part));
        continue;
      }
      SmallVector<Value> elements;
      for (int64_t r : registers.slice(i, static_cast<size_t>(count))) elements.push_back(source[static_cast<size_t>(r)]);
      result.push_back(to_.pack(elements, instruction_.operandWord));
    }
    return result;
  }

  bool isSplit() { return instruction_.bits == 32 && op_.getPrecision() == tile::Precision::ieee; }

  Value tf32(Value number, Part part) {
    if (!isSplit()) return intrinsic(to_.b, "llvm.nvvm.f2tf32.rna", to_.b.getI32Type(), number);
    Tf32Parts parts = tf32Parts(to_.b, number);
    return part == Part::High ? parts.high : parts.low;
  }

  void multiply(ArrayRef<Value> a, ArrayRef<Value> b, ArrayRef<int64_t> c, Registers& accumulator) {
    int pack = instruction_.accumulatorPack;
    SmallVector<Value> operands(a);
    operands.append(b.begin(), b.end());
    for (size_t i = 0; i < c.size(); i += static_cast<size_t>(pack)) {
      SmallVector<Value> elements;
      for (int64_t r : c.slice(i, static_cast<size_t>(pack))) elements.push_back(accumulator[static_cast<size_t>(r)]);
      operands.push_back(to_.pack(elements, instruction_.accumulatorWord));
    }
    SmallVector<Type> words(c.size() / static_cast<size_t>(pack), instruction_.accumulatorWord);
    Value result = intrinsic(to_.b, instruction_.name, LLVM::LLVMStructType::getLiteral(op_.getContext(), words), operands);
    Type element = op_.getAcc().getType().getElementType();
    for (size_t i = 0; i < words.size(); ++i) {
      Value word = LLVM::ExtractValueOp::create(to_.b, result, static_cast<int64_t>(i));
      for (auto [j, value] : llvm::enumerate(to_.unpack(word, element, pack)))
        accumulator[static_cast<size_t>(c[i * static_cast<size_t>(pack) + j])] = value;
    }
  }

  Lowering& to_;
  tile::DotOp op_;
  Instruction instruction_;
  Fragments a_, b_, c_;
  std::map<std::tuple<const void*, int64_t, Part>, SmallVector<Value>> words_;
};

}  // namespace

LogicalResult Machine::dot(Lowering& to, tile::DotOp op) {
  std::optional<Instruction> instruction = instructionFor(op);
  if (!instruction)
    return op.emitOpError() << "has no matrix instruction of sm_" << capability_ << " for a of " << op.getA().getType()
                            << "; legal are 16 bits with k a multiple of 8, f32 with 8, i8 with 16, and, from sm_89 on, f8 with 32";
  DotEmitter emitter(to, op, *instruction);
  return failed(emitter.verify()) ? failure() : emitter.emit();
}

}  // namespace fattn::nvidia
