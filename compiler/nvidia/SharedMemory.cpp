// SPDX-License-Identifier: Apache-2.0
// Tiles between shared memory and registers: ldmatrix and stmatrix where the layouts are made of 8 x 8 matrices of 16-byte rows that lie
// in one piece, else the widest vectors.
//
// Register numbers: ldmatrix.x<count> leaves the words of matrix i in word i; behind the elements of a word the fragment's register bits
// are first those of the matrices of one instruction, then those of further instructions (nvidia::matrixAccess).
// Source: PTX ISA 8.7, "ldmatrix", "stmatrix". Test: tests/lit/nvidia/shared.mlir.
#include "compiler/gpu/lower/WindowAccess.h"
#include "compiler/layout/Nvidia.h"
#include "compiler/nvidia/BufferAccess.h"
#include "compiler/nvidia/Machine.h"
#include "compiler/nvidia/SharedRows.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::nvidia {

using gpu::Lowering, gpu::Registers;
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
  if (!op.getExtents().empty()) return loadRows(to, op);
  RankedTensorType type = op.getResult().getType();
  const LinearLayout& layout = *tilegpu::layoutOf(type);
  Type element = type.getElementType();
  auto matrices = matricesOf(to, op, op.getBuffer(), op.getSlot(), type, op.getOffsets());
  if (failed(matrices)) return failure();
  if (*matrices) {
    to.set(op.getResult(), loadMatrices(to, **matrices, element, layout.inputSize(kRegister)));
    return success();
  }
  FailureOr<BufferAccess> access = BufferAccess::create(to, op, op.getBuffer(), op.getSlot(), layout, op.getOffsets());
  if (failed(access)) return failure();
  std::map<int64_t, Value> loaded;
  int64_t bytes = tilegpu::elementBits(element) / 8;
  for (const std::vector<int64_t>& group : bufferVectors(*access, bytes)) {
    int count = static_cast<int>(group.size());
    Value value =
        LLVM::LoadOp::create(to.b, gpu::memoryType(to, element, count), access->pointer(group[0]), static_cast<unsigned>(bytes * count));
    for (auto [r, part] : llvm::zip_equal(group, gpu::fromMemory(to, value, element, count))) loaded[access->offset(r)] = part;
  }
  Registers result;
  for (int64_t r = 0; r < layout.inputSize(kRegister); ++r) result.push_back(loaded[access->offset(r)]);
  to.set(op.getResult(), std::move(result));
  return success();
}

LogicalResult Machine::storeBuffer(Lowering& to, tilegpu::StoreBufferOp op) {
  if (!op.getExtents().empty()) return storeRows(to, op);
  RankedTensorType type = op.getValue().getType();
  const LinearLayout& layout = *tilegpu::layoutOf(type);
  Type element = type.getElementType();
  const Registers& registers = to.registers(op.getValue());
  if (capability_ >= 90) {
    auto matrices = matricesOf(to, op, op.getBuffer(), op.getSlot(), type, {});
    if (failed(matrices)) return failure();
    if (*matrices) return storeMatrices(to, **matrices, registers), success();
  }
  FailureOr<BufferAccess> access = BufferAccess::create(to, op, op.getBuffer(), op.getSlot(), layout, {});
  if (failed(access)) return failure();
  int64_t bytes = tilegpu::elementBits(element) / 8;
  OpBuilder::InsertionGuard behind(to.b);
  if (Value holder = gpu::isHolder(to, layout::holdersOf(layout)))
    to.b.setInsertionPointToStart(scf::IfOp::create(to.b, holder, /*withElseRegion=*/false).thenBlock());
  for (const std::vector<int64_t>& group : bufferVectors(*access, bytes)) {
    SmallVector<Value> elements;
    for (int64_t r : group) elements.push_back(registers[static_cast<size_t>(r)]);
    LLVM::StoreOp::create(to.b, gpu::toMemory(to, elements, element), access->pointer(group[0]),
                          static_cast<unsigned>(bytes * static_cast<int64_t>(group.size())));
  }
  return success();
}

}  // namespace fattn::nvidia
