// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/SlotTable.h"

#include "fattn/Error.h"

namespace fattn::kernels {
namespace {

std::string slotText(std::string_view slot, bool isPointer, DType type) {
  return std::string(slot) + ", " + (isPointer ? "a pointer to " : "a scalar of ") + std::string(name(type));
}

}  // namespace

std::size_t SlotTable::take(std::string_view name, bool isPointer, DType type) {
  for (std::size_t i = 0; i < declared_.size(); ++i) {
    const dsl::Param& arg = declared_[i];
    if (arg.name != name) continue;
    if (arg.isPointer != isPointer || arg.type != type || taken_[i])
      throw Error(ErrorCode::Internal, "the kernel declares the argument " + slotText(arg.name, arg.isPointer, arg.type) +
                                           "; its launch packs " + slotText(name, isPointer, type) + (taken_[i] ? ", twice" : ""));
    taken_[i] = true;
    return i;
  }
  throw Error(ErrorCode::Internal, "the kernel declares no argument " + slotText(name, isPointer, type) + ", which its launch packs");
}

void SlotTable::requireAllTaken() const {
  for (std::size_t i = 0; i < declared_.size(); ++i)
    if (!taken_[i])
      throw Error(ErrorCode::Internal, "the kernel declares the argument " +
                                           slotText(declared_[i].name, declared_[i].isPointer, declared_[i].type) +
                                           ", which its launch does not pack");
}

}  // namespace fattn::kernels
