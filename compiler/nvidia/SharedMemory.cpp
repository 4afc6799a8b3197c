// SPDX-License-Identifier: Apache-2.0
// Tiles between shared memory and registers by ldmatrix and stmatrix, where the layouts are made of 8 x 8 matrices of 16-byte rows that lie
// in one piece; else as every machine does (gpu/lower/SharedMemory.cpp).
//
// Register numbers: ldmatrix.x<count> leaves the words of matrix i in word i; behind the elements of a word the fragment's register bits
// are first those of the matrices of one instruction, then those of further instructions (nvidia::matrixAccess).
// Source: PTX ISA 8.7, "ldmatrix", "stmatrix". Test: tests/lit/nvidia/shared.mlir.
#include "compiler/gpu/lower/BufferAccess.h"
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/layout/Nvidia.h"
#include "compiler/nvidia/Boxes.h"
#include "compiler/nvidia/Machine.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace fattn::nvidia {

using gpu::BufferAccess, gpu::Lowering, gpu::Registers;
using layout::kRegister, layout::LinearLayout;

namespace {

/// An access by matrices: which register of the access gives the address of each instruction, and the tile's registers of each of its
/// words.
struct Matrices {
  BufferAccess rows;
  bool transposed = false;
  struct Instruction {
    int64_t address;
    SmallVector<SmallVector<int64_t>, 4> words;
  };
  std::vector<Instruction> instructions;
};

/// Rows of 16 bytes lie in one piece, aligned.
bool rowsLieWhole(const BufferAccess& rows, int64_t elementBytes) {
  if (rows.alignment() < 16) return false;
  int64_t row = 16 / elementBytes;
  for (int64_t r = 0; r < rows.access().inputSize(kRegister); ++r)
    if (rows.offset(r) != rows.offset(r - r % row) + r % row * elementBytes || rows.offset(r - r % row) % 16 != 0) return false;
  return true;
}

std::vector<Matrices::Instruction> instructionsOf(const LinearLayout& tile, const layout::nvidia::MatrixAccess& access, int bits) {
  int64_t elements = 32 / bits, row = 128 / bits;
  int64_t linear = int64_t{1} << tile.inputBits(kRegister), rows = int64_t{1} << access.access.inputBits(kRegister);
  std::vector<Matrices::Instruction> result;
  for (int64_t copy = 0; copy * linear < tile.inputSize(kRegister); ++copy)
    for (int64_t group = 0; group * row < rows; ++group) {
      Matrices::Instruction& one = result.emplace_back();
      one.address = copy * rows + group * row;
      for (int64_t i = 0; i < access.count; ++i) {
        one.words.emplace_back();
        for (int64_t e = 0; e < elements; ++e) one.words.back().push_back(copy * linear + (group * access.count + i) * elements + e);
      }
    }
  return result;
}

/// How matrices serve this tile of the buffer; nothing where they do not. Fails where the buffer cannot be addressed at all.
FailureOr<std::optional<Matrices>> matricesOf(Lowering& to, Operation* op, Value buffer, Value slot, RankedTensorType tile,
                                              ArrayRef<int64_t> offsets) {
  const LinearLayout& layout = *tilegpu::layoutOf(tile);
  int bits = tilegpu::elementBits(tile.getElementType());
  if (tile.getElementType().isInteger(1)) return std::optional<Matrices>();
  for (int d = 0; d < static_cast<int>(tile.getRank()); ++d) {
    auto access = layout::nvidia::matrixAccess(layout, d, bits);
    if (!access) continue;
    FailureOr<BufferAccess> rows = BufferAccess::create(to, op, buffer, slot, access->access, offsets);
    if (failed(rows)) return failure();
    if (!rowsLieWhole(*rows, bits / 8)) continue;
    return std::optional(Matrices{*rows, access->transposed, instructionsOf(layout, *access, bits)});
  }
  return std::optional<Matrices>();
}

std::string matrixName(StringRef what, size_t count, bool transposed) {
  return ("llvm.nvvm." + what + ".sync.aligned.m8n8.x" + Twine(count) + (transposed ? ".trans" : "") + ".b16").str();
}

Registers loadMatrices(Lowering& to, Matrices& matrices, Type element, int64_t registers) {
  Registers result(static_cast<size_t>(registers));
  Type word = to.b.getI32Type();
  for (const Matrices::Instruction& one : matrices.instructions) {
    size_t count = one.words.size();
    SmallVector<Type> words(count, word);
    Type type = count == 1 ? word : LLVM::LLVMStructType::getLiteral(to.b.getContext(), words);
    Value loaded = intrinsic(to.b, matrixName("ldmatrix", count, matrices.transposed), type, matrices.rows.pointer(one.address));
    for (auto [i, numbers] : llvm::enumerate(one.words)) {
      Value value = count == 1 ? loaded : LLVM::ExtractValueOp::create(to.b, loaded, static_cast<int64_t>(i)).getResult();
      Registers elements = to.unpack(value, to.registerType(element), static_cast<int>(numbers.size()));
      for (auto [r, register_] : llvm::zip_equal(numbers, elements)) result[static_cast<size_t>(r)] = register_;
    }
  }
  return result;
}

void storeMatrices(Lowering& to, Matrices& matrices, const Registers& registers) {
  for (const Matrices::Instruction& one : matrices.instructions) {
    SmallVector<Value> operands = {matrices.rows.pointer(one.address)};
    for (const auto& numbers : one.words) {
      SmallVector<Value> elements;
      for (int64_t r : numbers) elements.push_back(registers[static_cast<size_t>(r)]);
      operands.push_back(to.pack(elements, to.b.getI32Type()));
    }
    intrinsic(to.b, matrixName("stmatrix", one.words.size(), matrices.transposed), {}, operands);
  }
}

}  // namespace

LogicalResult Machine::loadBuffer(Lowering& to, tilegpu::LoadBufferOp op) {
  if (!op.getExtents().empty()) return gpu::Machine::loadBuffer(to, op);
  RankedTensorType type = op.getResult().getType();
  auto matrices = matricesOf(to, op, op.getBuffer(), op.getSlot(), type, op.getOffsets());
  if (failed(matrices)) return failure();
  if (!*matrices) return gpu::Machine::loadBuffer(to, op);
  to.set(op.getResult(), loadMatrices(to, **matrices, type.getElementType(), tilegpu::layoutOf(type)->inputSize(kRegister)));
  return success();
}

LogicalResult Machine::storeBuffer(Lowering& to, tilegpu::StoreBufferOp op) {
  if (!op.getExtents().empty() || capability_ < 90) return gpu::Machine::storeBuffer(to, op);
  // What warps fill for an owner stands in a loop that has no register to spare.
  const Value lane = to.lane, warp = to.warp;
  const bool here = tilegpu::isCommitted(op.getBuffer());
  if (here) to.lane = computedHere(to, lane), to.warp = computedHere(to, to.uniformWarp);
  LogicalResult result = storeByMatrices(to, op);
  to.lane = lane, to.warp = warp;
  return result;
}

LogicalResult Machine::storeByMatrices(Lowering& to, tilegpu::StoreBufferOp op) {
  auto matrices = matricesOf(to, op, op.getBuffer(), op.getSlot(), op.getValue().getType(), {});
  if (failed(matrices)) return failure();
  if (!*matrices) return gpu::Machine::storeBuffer(to, op);
  storeMatrices(to, **matrices, to.registers(op.getValue()));
  return success();
}

void Machine::storeShared(ImplicitLocOpBuilder& b, Value address, Value value, Value predicate) {
  unsigned bits = value.getType().getIntOrFloatBitWidth();
  if (!predicate) {
    LLVM::StoreOp::create(b, value, address, bits / 8);
    return;
  }
  Type integer = b.getIntegerType(bits);
  if (value.getType() != integer) value = LLVM::BitcastOp::create(b, integer, value);
  if (bits == 8) value = arith::ExtUIOp::create(b, b.getI16Type(), value);
  std::string text = "@$2 st.shared.b" + std::to_string(bits) + " [$0], $1;";
  std::string constraints = std::string("r,") + (bits == 64 ? "l" : bits == 32 ? "r" : "h") + ",b,~{memory}";
  Value place = LLVM::PtrToIntOp::create(b, b.getI32Type(), address);
  LLVM::InlineAsmOp::create(b, TypeRange(), ValueRange{place, value, predicate}, text, constraints, /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

}  // namespace fattn::nvidia
