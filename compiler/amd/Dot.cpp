// SPDX-License-Identifier: Apache-2.0
// tile.dot becomes v_mfma (CDNA) or v_wmma (RDNA), one instruction for each fragment of the accumulator and each step along k.
//
// The layouts say in which register of a lane each element is, and whether the instruction computes the product or its transpose: then its
// first operand is B, whose fragment is A's with rows and columns exchanged. Fragments of one k step follow each other, so that an
// accumulator's next instruction comes after all the others'. Accumulators of 16 bits are wide inside of a dot.
// Source: "AMD Instinct MI300 Instruction Set Architecture", section 7; "RDNA3 Instruction Set Architecture", section 7.9.
// Test: tests/lit/amd/dot.mlir.
#include <fmt/format.h>

#include "compiler/amd/Machine.h"
#include "compiler/gpu/Fragments.h"
#include "compiler/gpu/lower/DotFragments.h"
#include "compiler/gpu/passes/DotShapes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace fattn::amd {

using gpu::Fragments, gpu::Lowering, gpu::Registers;
using layout::kRegister, layout::LinearLayout, layout::Operand;

namespace {

/// An instruction's fragments, and the LLVM intrinsic behind it.
struct Instruction {
  LinearLayout a, b, c;
  int64_t k = 0;
  std::string name = {};
  Type operand = {};    ///< one lane's part of A or B as the intrinsic takes it
  int pieces = 1;       ///< such parts in a fragment, each with an intrinsic of its own
  bool isMfma = false;  ///< three further operands permute lanes
};

StringRef nameOf(Type element) {
  if (element.isF16()) return "f16";
  if (element.isBF16()) return "bf16";
  if (element.isF32()) return "f32";
  return isa<Float8E4M3FNType>(element) ? "fp8" : "bf8";
}

/// `elements` of one lane: integers stand for what older intrinsics have no type for.
Type operandType(Type element, int64_t elements, bool isMfma) {
  Builder b(element.getContext());
  if (element.isF32()) return element;
  if (element.getIntOrFloatBitWidth() == 8) return isMfma ? Type(b.getI64Type()) : VectorType::get(elements / 4, b.getI32Type());
  bool asIntegers = element.isBF16() && (!isMfma || elements == 4);
  return VectorType::get(elements, asIntegers ? b.getI16Type() : element);
}

std::string intrinsicName(const gpu::MatrixInstruction& row, int64_t k, Type a, Type b, int64_t elements) {
  bool isMfma = row.layout == "mfma", isFloat8 = a.getIntOrFloatBitWidth() == 8;
  std::string shape = fmt::format("llvm.amdgcn.{}.f32.{}x{}x{}", isMfma ? "mfma" : "wmma", row.m, row.m, k);
  if (isFloat8) return shape + "." + nameOf(a).str() + "." + nameOf(b).str();
  // The first generation of names has no dot in front of the type.
  if (!isMfma || elements > 4) return shape + "." + nameOf(a).str();
  return shape + nameOf(a).str() + (a.isBF16() ? ".1k" : "");
}

/// Nothing if there is no instruction for the dot.
std::optional<Instruction> instructionFor(tile::DotOp op) {
  Type a = op.getA().getType().getElementType(), b = op.getB().getType().getElementType();
  std::optional<tilegpu::DotInstruction> chosen = tilegpu::instructionOf(op);
  if (!chosen || !isa<FloatType>(a) || op.getA().getType().getDimSize(1) % chosen->depth) return std::nullopt;
  const gpu::MatrixInstruction& row = *chosen->row;
  int depth = static_cast<int>(chosen->depth), bits = static_cast<int>(a.getIntOrFloatBitWidth());
  Instruction result{.a = gpu::fragmentOf(row, Operand::A, depth, bits),
                     .b = gpu::fragmentOf(row, Operand::B, depth, bits),
                     .c = gpu::fragmentOf(row, Operand::C, depth, bits)};
  int64_t elements = result.a.inputSize(kRegister) / row.pieces;
  result.k = depth;
  result.pieces = row.pieces;
  result.isMfma = row.layout == "mfma";
  result.name = intrinsicName(row, depth / row.pieces, a, b, elements);
  result.operand = operandType(a, elements, result.isMfma);
  return result;
}

LinearLayout transposed(const LinearLayout& layout) {
  const int swap[] = {1, 0};
  return layout.transpose(swap);
}

class DotEmitter {
 public:
  DotEmitter(Lowering& to, tile::DotOp op, Instruction instruction)
      : to_(to),
        op_(op),
        instruction_(std::move(instruction)),
        isTransposed_(!gpu::agrees(accumulator(), instruction_.c, accumulator(), 0, -1)),
        a_(*tilegpu::layoutOf(op.getA()), instruction_.a),
        b_(*tilegpu::layoutOf(op.getB()), instruction_.b),
        c_(accumulator(), isTransposed_ ? transposed(instruction_.c) : instruction_.c) {}

  LogicalResult emit() {
    const LinearLayout &c = accumulator(), &fragment = instruction_.c;
    if (!gpu::agrees(c, isTransposed_ ? transposed(fragment) : fragment, c, 0, -1) ||
        !gpu::agrees(*tilegpu::layoutOf(op_.getA()), instruction_.a, c, 0, 1) ||
        !gpu::agrees(*tilegpu::layoutOf(op_.getB()), instruction_.b, c, 1, 0))
      return wrongLayouts();
    Registers result = widened(to_.registers(op_.getAcc()));
    SmallVector<int64_t> rows = c_.places(0), columns = c_.places(1);
    for (int64_t k = 0; k < op_.getA().getType().getDimSize(1); k += instruction_.k)
      for (int64_t column : columns)
        for (int64_t row : rows) {
          SmallVector<int64_t> a = a_.at(row, k), b = b_.at(k, column), at = c_.at(row, column);
          if (a.empty() || b.empty() || at.empty()) return wrongLayouts();
          const auto each = a.size() / static_cast<size_t>(instruction_.pieces);
          for (size_t from = 0; from < a.size(); from += each) {
            Value left = operand(op_.getA(), ArrayRef(a).slice(from, each)), right = operand(op_.getB(), ArrayRef(b).slice(from, each));
            multiply(left, right, at, result);
          }
        }
    to_.set(op_.getResult(), narrowed(std::move(result)));
    return success();
  }

 private:
  const LinearLayout& accumulator() { return *tilegpu::layoutOf(op_.getAcc()); }
  Type resultElement() { return op_.getAcc().getType().getElementType(); }

  LogicalResult wrongLayouts() {
    return op_.emitOpError() << "needs operands and accumulator in the fragments of " << instruction_.name
                             << " or of its transpose, A with the accumulator's rows and B with its columns in every wave, but a is "
                             << op_.getA().getType() << ", b is " << op_.getB().getType() << " and the accumulator is "
                             << op_.getAcc().getType();
  }

  Registers widened(const Registers& registers) {
    if (resultElement().isF32()) return registers;
    return llvm::map_to_vector(registers, [&](Value value) -> Value { return arith::ExtFOp::create(to_.b, to_.b.getF32Type(), value); });
  }
  Registers narrowed(Registers registers) {
    if (!resultElement().isF32())
      for (Value& value : registers) value = arith::TruncFOp::create(to_.b, resultElement(), value);
    return registers;
  }

  /// A fragment as the intrinsic takes it; once for all instructions that use it.
  Value operand(Value tile, ArrayRef<int64_t> registers) {
    Value& result = operands_[{tile.getAsOpaquePointer(), registers[0]}];
    if (result) return result;
    SmallVector<Value> elements;
    for (int64_t r : registers) elements.push_back(to_.registers(tile)[static_cast<size_t>(r)]);
    return result = to_.pack(elements, instruction_.operand);
  }

  void multiply(Value a, Value b, ArrayRef<int64_t> at, Registers& registers) {
    ImplicitLocOpBuilder& builder = to_.b;
    auto type = VectorType::get(static_cast<int64_t>(at.size()), builder.getF32Type());
    Value sum = LLVM::PoisonOp::create(builder, type);
    for (auto [i, r] : llvm::enumerate(at))
      sum = LLVM::InsertElementOp::create(builder, sum, registers[static_cast<size_t>(r)], to_.i32(static_cast<int64_t>(i)));
    SmallVector<Value> operands = isTransposed_ ? SmallVector<Value>{b, a, sum} : SmallVector<Value>{a, b, sum};
    if (instruction_.isMfma) operands.append(3, to_.i32(0));
    sum = intrinsic(builder, instruction_.name, type, operands);
    for (auto [i, r] : llvm::enumerate(at))
      registers[static_cast<size_t>(r)] = LLVM::ExtractElementOp::create(builder, sum, to_.i32(static_cast<int64_t>(i)));
  }

  Lowering& to_;
  tile::DotOp op_;
  Instruction instruction_;
  bool isTransposed_;
  Fragments a_, b_, c_;
  std::map<std::pair<const void*, int64_t>, Value> operands_;
};

}  // namespace

LogicalResult Machine::dot(Lowering& to, tile::DotOp op) {
  if (std::optional<Instruction> instruction = instructionFor(op)) return DotEmitter(to, op, std::move(*instruction)).emit();
  return op.emitOpError() << "has no matrix instruction of " << target_.name << " for a of " << op.getA().getType() << " and b of "
                          << op.getB().getType();
}

}  // namespace fattn::amd
