// SPDX-License-Identifier: Apache-2.0
// Registration, attributes and types of the `tilegpu` dialect.
#include "compiler/gpu/Fragments.h"
#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/layout/Parse.h"
#include "fattn/Error.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/xxhash.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

#include "compiler/gpu/dialect/TileGpuDialect.cpp.inc"

namespace fattn::layout {

llvm::hash_code hash_value(const LinearLayout& layout) {
  llvm::hash_code code = llvm::hash_combine_range(layout.columns().begin(), layout.columns().end());
  for (const auto* axes : {&layout.inputs(), &layout.outputs()})
    for (const Axis& axis : *axes) code = llvm::hash_combine(code, axis.name, axis.bits);
  for (const Repeat& repeat : layout.repeats()) code = llvm::hash_combine(code, repeat.in, repeat.out, repeat.count);
  return code;
}

}  // namespace fattn::layout

#define GET_ATTRDEF_CLASSES
#include "compiler/gpu/dialect/TileGpuAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/gpu/dialect/TileGpuTypes.cpp.inc"

namespace fattn::tilegpu {

/// `<"...">`, the text checked by the layout library.
static FailureOr<layout::LinearLayout> parseLayoutText(AsmParser& parser) {
  std::string text;
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseString(&text) || parser.parseGreater()) return failure();
  try {
    return layout::parseLayout(text);
  } catch (const Error& error) {
    parser.emitError(at) << error.what();
    return failure();
  }
}

Attribute RegsAttr::parse(AsmParser& parser, Type) {
  FailureOr<layout::LinearLayout> layout = parseLayoutText(parser);
  return failed(layout) ? RegsAttr() : RegsAttr::get(parser.getContext(), *layout);
}

void RegsAttr::print(AsmPrinter& printer) const { printer << "<\"" << getLayout().str() << "\">"; }

LogicalResult RegsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type, function_ref<InFlightDiagnostic()> emitError) const {
  const layout::LinearLayout& layout = getLayout();
  layout::Coords expected(shape.begin(), shape.end());
  if (layout.outputShape() != expected)
    return emitError() << "the layout's outputs must be the tensor's dimensions, but it is " << layout.str();
  std::vector<std::string> inputs;
  for (const layout::Axis& axis : layout.inputs()) inputs.push_back(axis.name);
  if (inputs != std::vector<std::string>{"register", "lane", "warp"})
    return emitError() << "the layout's inputs must be register, lane and warp, but it is " << layout.str();
  if (!layout.isSurjective()) return emitError() << "the layout must hold every element of the tile, but it is " << layout.str();
  return success();
}

Attribute SharedAttr::parse(AsmParser& parser, Type) {
  FailureOr<layout::LinearLayout> layout = parseLayoutText(parser);
  return failed(layout) ? SharedAttr() : SharedAttr::get(parser.getContext(), *layout);
}

void SharedAttr::print(AsmPrinter& printer) const { printer << "<\"" << getLayout().str() << "\">"; }

Attribute InstructionAttr::parse(AsmParser& parser, Type) {
  std::string name;
  int64_t depth = 0;
  bool sharedA = false, sharedB = false;
  if (parser.parseLess() || parser.parseString(&name) || parser.parseKeyword("depth") || parser.parseInteger(depth)) return {};
  if (succeeded(parser.parseOptionalKeyword("shared"))) {
    sharedA = succeeded(parser.parseOptionalKeyword("a"));
    sharedB = succeeded(parser.parseOptionalKeyword("b"));
  }
  if (parser.parseGreater()) return {};
  return get(parser.getContext(), StringAttr::get(parser.getContext(), name), depth, sharedA, sharedB);
}

void InstructionAttr::print(AsmPrinter& printer) const {
  printer << "<" << getName() << " depth " << getDepth();
  if (getSharedA() || getSharedB()) printer << " shared" << (getSharedA() ? " a" : "") << (getSharedB() ? " b" : "");
  printer << ">";
}

Type BufferType::parse(AsmParser& parser) {
  int64_t slots = 0;
  SmallVector<int64_t> shape;
  Type element;
  SharedAttr layout;
  if (parser.parseLess() || parser.parseInteger(slots) || parser.parseKeyword("x") ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(element) || parser.parseComma() ||
      parser.parseAttribute(layout) || parser.parseGreater())
    return {};
  return parser.getChecked<BufferType>(parser.getContext(), slots, shape, element, layout);
}

void BufferType::print(AsmPrinter& printer) const {
  printer << "<" << getSlots() << " x ";
  for (int64_t size : getShape()) printer << size << "x";
  printer << getElementType() << ", " << getLayout() << ">";
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t slots, ArrayRef<int64_t> shape, Type element,
                                 SharedAttr layout) {
  if (slots < 1) return emitError() << "a buffer has at least one slot, but got " << slots;
  if (!tile::isStorageType(element)) return emitError() << "a buffer's elements are those of memory, but got " << element;
  const layout::LinearLayout& map = layout.getLayout();
  if (map.outputShape() != layout::Coords(shape.begin(), shape.end()) || map.inputs().size() != 1 || !map.hasInput(layout::kOffset))
    return emitError() << "a buffer's layout leads from offset to its dimensions, but it is " << map.str();
  if (!map.isBijective()) return emitError() << "a buffer's layout must be a bijection, but it is " << map.str();
  return success();
}

int64_t BufferType::getElementBytes() const { return elementBits(getElementType()) / 8; }
int64_t BufferType::getSlotBytes() const { return getLayout().getLayout().inputSize(layout::kOffset) * getElementBytes(); }
BufferType BufferType::withSlots(int64_t slots) const { return get(getContext(), slots, getShape(), getElementType(), getLayout()); }

namespace {

/// Layouts are long and few: they are printed once, at the head of a module, and called by short names.
struct LayoutAliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attribute, raw_ostream& out) const override {
    if (!isa<RegsAttr, SharedAttr>(attribute)) return AliasResult::NoAlias;
    out << (isa<RegsAttr>(attribute) ? "regs" : "shared");
    return AliasResult::FinalAlias;
  }
};

}  // namespace

void TileGpuDialect::initialize() {
  addInterfaces<LayoutAliases>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/gpu/dialect/TileGpuAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/gpu/dialect/TileGpuTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/gpu/dialect/TileGpuOps.cpp.inc"
      >();
}

const layout::LinearLayout* layoutOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto regs = tensor ? dyn_cast_or_null<RegsAttr>(tensor.getEncoding()) : RegsAttr();
  return regs ? &regs.getLayout() : nullptr;
}

RankedTensorType withLayout(RankedTensorType type, const layout::LinearLayout& layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               RegsAttr::get(type.getContext(), layout.asTile(static_cast<int>(type.getRank()))));
}

RankedTensorType withoutLayout(RankedTensorType type) { return RankedTensorType::get(type.getShape(), type.getElementType()); }

bool picksAny(tile::ReduceOp op) {
  Block& body = op.getCombine().front();
  return llvm::equal(body.getTerminator()->getOperands(), body.getArguments().take_front(op.getInputs().size()));
}

Operation* combinationOf(tile::ReduceOp reduce) {
  Block& body = reduce.getCombine().front();
  if (reduce.getInputs().size() != 1 || !llvm::hasNItems(body, 2)) return nullptr;
  Operation* op = &body.front();
  bool plain = op->getNumOperands() == 2 && op->getNumResults() == 1 && body.getTerminator()->getOperand(0) == op->getResult(0) &&
               op->getOperand(0) != op->getOperand(1) && llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>);
  return plain ? op : nullptr;
}

SmallVector<RowsOfGroup> rowsByGroup(const layout::LinearLayout& layout, int64_t groupWarps) {
  const int64_t warps = layout.inputSize(layout::kWarp);
  SmallVector<RowsOfGroup> groups(static_cast<size_t>(warps / groupWarps), {std::numeric_limits<int64_t>::max(), 0});
  for (int64_t warp = 0; warp < warps; ++warp)
    for (int64_t lane = 0; lane < layout.inputSize(layout::kLane); ++lane)
      for (int64_t i = 0; i < layout.inputSize(layout::kRegister); ++i) {
        const int64_t row = layout.at({{layout::kRegister, i}, {layout::kLane, lane}, {layout::kWarp, warp}}).front();
        RowsOfGroup& group = groups[static_cast<size_t>(warp / groupWarps)];
        group = {std::min(group.first, row), std::max(group.last, row)};
      }
  return groups;
}

SmallVector<int64_t> programsOf(const std::array<int64_t, 3>& extents, tile::Axis axis, int64_t block, int64_t blocks, size_t most) {
  const auto along = static_cast<size_t>(axis);
  const bool paired = extents[0] * extents[1] * extents[2] > blocks;
  std::array<int64_t, 3> places = extents;
  if (paired) places[along] = (extents[along] + 1) / 2;
  SmallVector<int64_t> programs;
  for (int64_t round = 0; programs.size() < most; ++round) {
    const int64_t pair = round * blocks + (block + round) % blocks;
    if (pair >= places[0] * places[1] * places[2]) break;
    std::array<int64_t, 3> at;
    int64_t rest = pair;
    for (size_t i = 0; i < at.size(); ++i) {
      const size_t next = axisInTurn(axis, i);
      at[next] = rest % places[next], rest /= places[next];
    }
    auto take = [&] { programs.push_back(at[0] + extents[0] * (at[1] + extents[1] * at[2])); };
    take();
    const int64_t first = std::exchange(at[along], extents[along] - 1 - at[along]);
    if (paired && first != at[along] && programs.size() < most) take();
  }
  return programs;
}

SmallVector<int64_t> dealtPrograms(int64_t programs, int64_t block, int64_t blocks, uint64_t seed, size_t most) {
  SmallVector<int64_t> dealt;
  if (block < programs) dealt.push_back(block);
  for (int64_t number = blocks; number < programs && dealt.size() < most; ++number) {
    const std::array<uint64_t, 2> drawn = {seed, static_cast<uint64_t>(number)};
    const uint64_t hash = llvm::xxh3_64bits({reinterpret_cast<const uint8_t*>(drawn.data()), sizeof(drawn)});
    if (hash % static_cast<uint64_t>(blocks) == static_cast<uint64_t>(block)) dealt.push_back(number);
  }
  return dealt;
}

void takeOneProgram(Operation* function) {
  for (StringRef name : {kRepeatsAttr, kDynamicAttr, kClaimsAttr}) function->removeAttr(name);
}

int elementBits(Type element) {
  if (element.isInteger(1)) return 8;
  return element.isIntOrFloat() ? static_cast<int>(element.getIntOrFloatBitWidth()) : 64;
}

ArrayRef<int64_t> extentsOf(Operation* op) {
  auto extents = op->getAttrOfType<DenseI64ArrayAttr>(kExtentsAttr);
  return extents ? extents.asArrayRef() : ArrayRef<int64_t>();
}

/// The function that `op` is, or is in.
static Operation* functionOf(Operation* op) {
  return isa<FunctionOpInterface>(op) ? op : op->getParentOfType<FunctionOpInterface>().getOperation();
}

int64_t clusterOf(Operation* op) {
  auto cluster = functionOf(op)->getAttrOfType<IntegerAttr>(kClusterAttr);
  return cluster ? cluster.getInt() : 1;
}

const gpu::Target& targetOf(Operation* op) {
  auto name = functionOf(op)->getAttrOfType<StringAttr>(kTargetAttr);
  if (!name) throw Error(ErrorCode::InvalidArgument, "the function has no attribute tilegpu.target", "-tilegpu-assign-layouts sets it");
  return gpu::findTarget(name.getValue());
}

UsedPart usedPartOf(Operation* dot) {
  auto used = dot->getAttrOfType<DenseI64ArrayAttr>(kUsedAttr);
  return used ? UsedPart{used[0], used[1]} : UsedPart{};
}

layout::Banks banksOf(Operation* op) { return functionOf(op)->hasAttr(kTargetAttr) ? gpu::banksOf(targetOf(op)) : layout::Banks{}; }

int64_t warpsOf(Operation* op) {
  if (op->getParentOfType<OwnerOnlyOp>()) return *targetOf(op).warpGroup;
  auto warps = functionOf(op)->getAttrOfType<IntegerAttr>(kWarpsAttr);
  if (!warps) throw Error(ErrorCode::InvalidArgument, "the function has no attribute tilegpu.warps", "-tilegpu-assign-layouts sets it");
  return warps.getInt();
}

int64_t copierWarpsOf(Operation* op) {
  auto warps = functionOf(op)->getAttrOfType<IntegerAttr>(kCopierWarpsAttr);
  return warps ? warps.getInt() : 0;
}

void registerTileGpuDialects(DialectRegistry& registry) {
  tile::registerTileDialects(registry);
  registry.insert<TileGpuDialect>();
}

}  // namespace fattn::tilegpu
