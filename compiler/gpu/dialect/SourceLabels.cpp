// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/dialect/SourceLabels.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

std::optional<SourceLabel> asLabel(Attribute attribute) {
  auto numbers = dyn_cast_or_null<DenseI64ArrayAttr>(attribute);
  if (!numbers || numbers.size() != 2) return std::nullopt;
  return SourceLabel{.source = numbers[0], .clone = numbers[1]};
}

/// The part of a location that carries a label; null where none does.
FusedLoc labelledPart(Location location) {
  FusedLoc found;
  location->walk([&](Location part) {
    auto fused = dyn_cast<FusedLoc>(part);
    if (!fused || !asLabel(fused.getMetadata())) return WalkResult::advance();
    found = fused;
    return WalkResult::interrupt();
  });
  return found;
}

/// The first group's has no number.
std::string ofGroup(StringRef attribute, size_t group) { return attribute.str() + (group == 0 ? "" : std::to_string(group)); }

}  // namespace

std::string sourceOfAAttr(size_t group) { return ofGroup(kSourceOfAAttr, group); }
std::string sourceOfBAttr(size_t group) { return ofGroup(kSourceOfBAttr, group); }

std::optional<SourceLabel> sourceLabelOf(Operation* op) {
  if (auto label = asLabel(op->getAttr(kSourceAttr))) return label;
  if (isa<FileLineColLoc, UnknownLoc>(op->getLoc())) return std::nullopt;
  FusedLoc part = labelledPart(op->getLoc());
  return part ? asLabel(part.getMetadata()) : std::nullopt;
}

std::optional<SourceLabel> sourceLabelOf(Operation* op, StringRef attribute) { return asLabel(op->getAttr(attribute)); }

void keepSourceLabel(Operation* from, Operation* to, StringRef attribute) {
  if (auto label = sourceLabelOf(from)) to->setAttr(attribute, DenseI64ArrayAttr::get(to->getContext(), {label->source, label->clone}));
}

void setSourceLabel(Operation* op, SourceLabel label) {
  auto numbers = DenseI64ArrayAttr::get(op->getContext(), {label.source, label.clone});
  if (op->hasAttr(kSourceAttr)) return op->setAttr(kSourceAttr, numbers);
  FusedLoc old = labelledPart(op->getLoc());
  ArrayRef<Location> own = old ? old.getLocations() : ArrayRef<Location>();
  op->setLoc(FusedLoc::get(op->getContext(), own.empty() ? ArrayRef<Location>(op->getLoc()) : own, numbers));
}

void copySourceLabel(Operation* from, Operation* to) {
  if (Attribute shown = from->getAttr(kSourceAttr)) return to->setAttr(kSourceAttr, shown);
  if (auto label = sourceLabelOf(from)) setSourceLabel(to, *label);
}

void relabelClone(Operation* op, int64_t clone) {
  op->walk([&](Operation* inner) {
    if (auto label = sourceLabelOf(inner)) setSourceLabel(inner, {.source = label->source, .clone = clone});
  });
}

void removeSourceLabels(Operation* op) {
  op->walk([](Operation* inner) {
    FusedLoc part = labelledPart(inner->getLoc());
    if (!part) return;
    ArrayRef<Location> own = part.getLocations();
    inner->setLoc(own.size() == 1 ? own.front() : FusedLoc::get(inner->getContext(), own));
  });
}

}  // namespace fattn::tilegpu
