// SPDX-License-Identifier: Apache-2.0
// Global memory under a predicate, and atomic additions.
//
//   @$4 ld.global.v2.b32 {$0, $1}, [$3];      the outputs hold the replacement before
//   @$3 st.global.v2.b32 [$2], {$0, $1};
//   @$2 red.relaxed.gpu.global.add.f32 [$0], $1;
//   @$5 red.relaxed.gpu.global.add.v4.f32 [$0], {$1, $2, $3, $4};      sm_90
//   atom.acq_rel.gpu.global.add.u32 $0, [$1], $2;
// Without a predicate plain loads and stores, which LLVM knows. Source: PTX ISA 8.7, "ld", "st", "atom", "red".
#include <fmt/format.h>

#include "compiler/nvidia/Machine.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::nvidia {
namespace {

/// How an element is written in PTX.
struct Notation {
  StringRef bits;        ///< "b32"
  StringRef constraint;  ///< "r"
};

Notation notationOf(Type type) {
  switch (type.getIntOrFloatBitWidth()) {
    case 8:
      return {"b8", "h"};
    case 16:
      return {"b16", "h"};
    case 32:
      return {"b32", type.isF32() ? "f" : "r"};
    default:
      return {"b64", type.isF64() ? "d" : "l"};
  }
}

/// "{$0, $1}", or "$0" for one.
std::string listFrom(int64_t first, int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) text += (i ? ", $" : "$") + std::to_string(first + i);
  return count == 1 ? text : "{" + text + "}";
}

std::string widthOf(int64_t count) { return count == 1 ? "." : ".v" + std::to_string(count) + "."; }

SmallVector<Value> elementsOf(ImplicitLocOpBuilder& b, Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector) return {value};
  SmallVector<Value> elements;
  for (int64_t i = 0; i < vector.getNumElements(); ++i)
    elements.push_back(
        LLVM::ExtractElementOp::create(b, value, arith::ConstantOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(i))).getResult()));
  return elements;
}

/// 8-bit values travel in 16-bit registers.
Type carried(Type element) { return element.isInteger(8) ? IntegerType::get(element.getContext(), 16) : element; }

Value call(ImplicitLocOpBuilder& b, Type result, ValueRange operands, const std::string& text, const std::string& constraints) {
  auto op = LLVM::InlineAsmOp::create(b, result ? TypeRange(result) : TypeRange(), operands, text, constraints + ",~{memory}",
                                      /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(),
                                      ArrayAttr());
  return result ? op.getResult(0) : Value();
}

int64_t bytesOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8 * (vector ? vector.getNumElements() : 1);
}

/// "@$2 " for a predicate that is the operand of this number; nothing without one.
std::string guardOf(Value predicate, size_t operand) { return predicate ? fmt::format("@${} ", operand) : ""; }

/// How an addition of this type is written in PTX.
std::string additionOf(Type type) {
  if (type.isF16()) return "add.noftz.f16";
  if (type.isBF16()) return "add.noftz.bf16";
  if (type.isF32()) return "add.f32";
  if (type.isF64()) return "add.f64";
  return type.isInteger(32) ? "add.u32" : "add.u64";
}

/// Adds without asking for what was there. Such an addition acquires nothing.
void addOnly(ImplicitLocOpBuilder& b, const std::string& addition, Value address, Value value, Value predicate) {
  SmallVector<Value> operands = {address, value};
  if (predicate) operands.push_back(predicate);
  call(b, {}, operands, guardOf(predicate, 2) + "red.relaxed.gpu.global." + addition + " [$0], $1;",
       "l," + notationOf(value.getType()).constraint.str() + (predicate ? ",b" : ""));
}

/// Adds and gives what was there, or 0 where the predicate does not hold. `order`: "relaxed" or "acq_rel".
Value fetchAndAdd(ImplicitLocOpBuilder& b, const std::string& order, const std::string& addition, Value address, Value value,
                  Value predicate) {
  Type type = value.getType();
  std::string constraint = notationOf(type).constraint.str(), constraints = "=" + constraint + ",l," + constraint;
  SmallVector<Value> operands = {address, value};
  if (predicate) {
    operands.append({predicate, arith::ConstantOp::create(b, b.getZeroAttr(type))});
    constraints += ",b,0";
  }
  return call(b, type, operands, guardOf(predicate, 3) + "atom." + order + ".gpu.global." + addition + " $0, [$1], $2;", constraints);
}

/// An addition that the chip does not know: LLVM makes a loop of compare-and-swap of it. The branch around it takes the value from an
/// opaque instruction, so that nothing moves into it.
Value addByComparing(ImplicitLocOpBuilder& b, Value address, Value value, Value predicate, LLVM::AtomicOrdering order) {
  Type type = value.getType(), bits = b.getI16Type();
  auto add = [&](OpBuilder& at, Location loc, Value number) -> Value {
    return LLVM::AtomicRMWOp::create(at, loc, LLVM::AtomicBinOp::fadd, address, number, order, "device");
  };
  if (!predicate) return add(b, b.getLoc(), value);
  Value opaque = call(b, bits, LLVM::BitcastOp::create(b, bits, value).getResult(), "mov.b16 $0, $1;", "=h,h");
  value = LLVM::BitcastOp::create(b, type, opaque);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  auto branch = scf::IfOp::create(
      b, predicate, [&](OpBuilder& at, Location loc) { scf::YieldOp::create(at, loc, add(at, loc, value)); },
      [&](OpBuilder& at, Location loc) { scf::YieldOp::create(at, loc, zero); });
  return branch.getResult(0);
}

}  // namespace

Value Machine::loadGlobal(ImplicitLocOpBuilder& b, Value address, Type type, Value predicate, Value other) {
  if (!predicate) return LLVM::LoadOp::create(b, type, address, static_cast<unsigned>(bytesOf(type)));
  auto vector = dyn_cast<VectorType>(type);
  int64_t count = vector ? vector.getNumElements() : 1;
  Type element = getElementTypeOrSelf(type), inRegister = carried(element);
  auto [bits, constraint] = notationOf(element);
  SmallVector<Value> operands = {address, predicate};
  std::string constraints, tied;
  for (auto [i, value] : llvm::enumerate(elementsOf(b, other))) {
    operands.push_back(element == inRegister ? value : arith::ExtUIOp::create(b, inRegister, value).getResult());
    constraints += "=" + constraint.str() + ",";
    tied += "," + std::to_string(i);
  }
  std::string at = std::to_string(count), on = std::to_string(count + 1);
  std::string text = "@$" + on + " ld.global" + widthOf(count) + bits.str() + " " + listFrom(0, count) + ", [$" + at + "];";
  SmallVector<Type> types(static_cast<size_t>(count), inRegister);
  Type result = count == 1 ? inRegister : LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  Value loaded = call(b, result, operands, text, constraints + "l,b" + tied);
  if (count == 1) return element == inRegister ? loaded : arith::TruncIOp::create(b, element, loaded).getResult();
  Value whole = LLVM::PoisonOp::create(b, type);
  for (int64_t i = 0; i < count; ++i)
    whole = LLVM::InsertElementOp::create(b, whole, LLVM::ExtractValueOp::create(b, loaded, i),
                                          arith::ConstantOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(i))).getResult());
  return whole;
}

void Machine::storeGlobal(ImplicitLocOpBuilder& b, Value address, Value value, Value predicate) {
  if (!predicate) {
    LLVM::StoreOp::create(b, value, address, static_cast<unsigned>(bytesOf(value.getType())));
    return;
  }
  SmallVector<Value> operands = elementsOf(b, value);
  Type element = getElementTypeOrSelf(value.getType());
  auto [bits, constraint] = notationOf(element);
  auto count = static_cast<int64_t>(operands.size());
  std::string constraints;
  for (Value& operand : operands) {
    if (element != carried(element)) operand = arith::ExtUIOp::create(b, carried(element), operand);
    constraints += constraint.str() + ",";
  }
  operands.append({address, predicate});
  std::string text = "@$" + std::to_string(count + 1) + " st.global" + widthOf(count) + bits.str() + " [$" + std::to_string(count) + "], " +
                     listFrom(0, count) + ";";
  call(b, {}, operands, text, constraints + "l,b");
}

Value Machine::atomicAdd(ImplicitLocOpBuilder& b, Value address, Value value, Value predicate, tile::MemoryOrder order, bool used) {
  Type type = value.getType();
  bool half = type.isF16() || type.isBF16(), orders = order != tile::MemoryOrder::relaxed;
  if (type.isBF16() && capability_ < 90)
    return addByComparing(b, address, value, predicate, orders ? LLVM::AtomicOrdering::acq_rel : LLVM::AtomicOrdering::monotonic);
  if (half) value = LLVM::BitcastOp::create(b, b.getI16Type(), value);
  if (!used && !orders) {
    addOnly(b, additionOf(type), address, value, predicate);
    return {};
  }
  Value old = fetchAndAdd(b, orders ? "acq_rel" : "relaxed", additionOf(type), address, value, predicate);
  return half ? LLVM::BitcastOp::create(b, type, old).getResult() : old;
}

/// One instruction adds as many bytes of f32, or of pairs of f16 or bf16, as the machine table says; bf16 from sm_90 on only.
void Machine::accumulateGlobal(gpu::Lowering& to, Value address, ValueRange elements, Value predicate) {
  ImplicitLocOpBuilder& b = to.b;
  Type type = elements[0].getType(), word = type.isF32() ? type : Type(b.getI32Type());
  const bool half = type.isF16() || type.isBF16();
  const size_t each = half ? 2 : 1;
  if (!(half || type.isF32()) || elements.size() % each != 0 || (type.isBF16() && capability_ < 90))
    return gpu::Machine::accumulateGlobal(to, address, elements, predicate);
  SmallVector<Value> words(elements);
  if (half) {
    words.clear();
    for (size_t i = 0; i < elements.size(); i += each) words.push_back(to.pack(elements.slice(i, each), word));
  }
  const std::string kind = type.isF32() ? ".f32" : type.isF16() ? ".f16x2" : ".bf16x2", constraint = type.isF32() ? ",f" : ",r";
  const size_t width = std::min(words.size(), static_cast<size_t>(addedBytes_) / 4);
  for (size_t first = 0; first < words.size(); first += width) {
    SmallVector<Value> operands = {
        LLVM::GEPOp::create(b, address.getType(), word, address, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(first)})};
    std::string constraints = "l";
    for (size_t i = 0; i < width; ++i) {
      operands.push_back(words[first + i]);
      constraints += constraint;
    }
    const std::string guard = guardOf(predicate, operands.size());
    if (predicate) {
      operands.push_back(predicate);
      constraints += ",b";
    }
    auto count = static_cast<int64_t>(width);
    call(b, {}, operands,
         fmt::format("{}red.relaxed.gpu.global.add{}{}{} [$0], {};", guard, half ? ".noftz" : "",
                     width > 1 ? fmt::format(".v{}", width) : "", kind, listFrom(1, count)),
         constraints);
  }
}

}  // namespace fattn::nvidia
