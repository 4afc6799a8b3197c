// SPDX-License-Identifier: Apache-2.0
#include "tests/random/Arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "compiler/dialect/Tile.h"

namespace fattn::random {
namespace {

constexpr std::size_t kAlignment = 256, kGuard = 256, kLeastBytes = std::size_t{4} << 20;

std::size_t roundUp(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

constexpr std::size_t kAtomicBytes = 4;  // that an atomic addition of a narrower element exchanges (tile.atomic_add)

/// A program of arrays alone has no module.
bool hasNarrowAtomics(const generator::Program& program) {
  return program.module && mlir::ModuleOp(*program.module)
                               .walk([](mlir::Operation* op) {
                                 if (!mlir::isa<tile::AtomicAddOp, tile::AccumulateOp>(op)) return mlir::WalkResult::advance();
                                 const unsigned bits = mlir::getElementTypeOrSelf(op->getOperand(1).getType()).getIntOrFloatBitWidth();
                                 return bits < 8 * kAtomicBytes ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
                               })
                               .wasInterrupted();
}

std::shared_ptr<void> allocate(Device& device, std::size_t bytes) {
  return {device.allocate(bytes), [&device](void* memory) { device.free(memory); }};
}

}  // namespace

void Arena::plan(const generator::Program& program) {
  places_.clear();
  const std::size_t whole = hasNarrowAtomics(program) ? kAtomicBytes : 1;
  std::size_t at = 0;
  for (std::size_t i = 0; i < program.arguments.size(); ++i) {
    const auto* array = std::get_if<generator::Array>(&program.arguments[i]);
    if (!array || generator::sameAs(program, i)) continue;
    std::size_t begin = roundUp(at + kGuard) + static_cast<std::size_t>(array->misalignment);
    at = begin + array->bytes.size();
    places_.push_back({i, begin, array->bytes.size(), (at + whole - 1) / whole * whole});
  }
  // No two guard bytes side by side are the same, and no stretch of them is the next: a copy of a guard onto another one is seen.
  sent_.resize(roundUp(at + kGuard));
  for (std::size_t i = 0; i < sent_.size(); ++i) sent_[i] = static_cast<char>(0xA5 ^ (i * 37) ^ (i >> 8));
  for (const Place& place : places_)
    std::memcpy(sent_.data() + place.begin, std::get<generator::Array>(program.arguments[place.argument]).bytes.data(), place.bytes);
}

std::vector<std::uint64_t> Arena::upload(const generator::Program& program) {
  std::vector<std::uint64_t> slots = place(program);
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (auto same = generator::sameAs(program, i)) slots[i] = slots.at(*same);
  return slots;
}

std::vector<std::uint64_t> Arena::place(const generator::Program& program) {
  plan(program);
  pieces_.clear();
  std::vector<std::uint64_t> slots;
  for (const auto& argument : program.arguments)
    slots.push_back(std::holds_alternative<generator::Array>(argument) ? 0 : static_cast<std::uint64_t>(std::get<int64_t>(argument)));
  if (placing_ == Placing::Together) {
    if (blockBytes_ < sent_.size()) {
      block_.reset();
      blockBytes_ = std::max({sent_.size(), 2 * blockBytes_, kLeastBytes});
      block_ = allocate(device_, blockBytes_ + kAlignment);
    }
    auto base = roundUp(std::bit_cast<std::uintptr_t>(block_.get()));
    device_.copy(std::bit_cast<void*>(base), sent_.data(), sent_.size());
    for (const Place& place : places_) slots[place.argument] = base + place.begin;
    return slots;
  }
  for (const Place& place : places_) {
    const std::size_t first = place.begin / kAlignment * kAlignment;
    pieces_.push_back(allocate(device_, place.end - first));
    char* piece = static_cast<char*>(pieces_.back().get());
    device_.copy(piece, sent_.data() + first, place.end - first);
    slots[place.argument] = std::bit_cast<std::uint64_t>(piece + (place.begin - first));
  }
  return slots;
}

std::string Arena::download(generator::Program& program) {
  image_ = sent_;
  if (placing_ == Placing::Together) {
    auto base = roundUp(std::bit_cast<std::uintptr_t>(block_.get()));
    device_.copy(image_.data(), std::bit_cast<void*>(base), image_.size());
  } else {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const std::size_t first = places_[i].begin / kAlignment * kAlignment;
      device_.copy(image_.data() + first, pieces_[i].get(), places_[i].end - first);
    }
  }
  device_.synchronize();
  for (const Place& place : places_) {
    auto& array = std::get<generator::Array>(program.arguments[place.argument]);
    std::memcpy(array.bytes.data(), image_.data() + place.begin, place.bytes);
  }
  return damage();
}

std::string Arena::damage() const {
  if (places_.empty()) return "";
  std::size_t next = 0;
  for (std::size_t at = 0; at < image_.size(); ++at) {
    if (next < places_.size() && at == places_[next].begin) {
      at += places_[next++].bytes;
      if (at >= image_.size()) break;
    }
    if (image_[at] == sent_[at]) continue;
    if (next < places_.size() && places_[next].begin - at <= at - (next > 0 ? places_[next - 1].begin + places_[next - 1].bytes : 0))
      return fmt::format("argument {}: a byte {} before its array was written", places_[next].argument, places_[next].begin - at);
    const Place& last = places_[next - 1];
    return fmt::format("argument {}: a byte {} behind its array was written", last.argument, at - last.begin - last.bytes);
  }
  return "";
}

}  // namespace fattn::random
