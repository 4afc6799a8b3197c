// SPDX-License-Identifier: Apache-2.0
// Bases for the offset bits: vectors lowest, then the banks, then a complement of what either side accesses at once.
#include "compiler/layout/Swizzle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "compiler/layout/BankConflicts.h"
#include "fattn/Error.h"

namespace fattn::layout {
namespace {

f2::Columns operator+(f2::Columns a, const f2::Columns& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

f2::Columns first(const f2::Columns& columns, int n) {
  return {columns.begin(), columns.begin() + std::min<std::ptrdiff_t>(n, std::ssize(columns))};
}

int log2(int powerOfTwo) { return std::countr_zero(static_cast<unsigned>(powerOfTwo)); }

struct Problem {
  const LinearLayout &read, &write;
  int elementBits;
  const Banks& banks;

  int bits() const { return read.totalOutputBits(); }
  int bankBits() const { return std::min(bits(), log2(banks.count * banks.bytes * 8 / elementBits)); }
};

/// The coordinates of lanes served together with `vector` elements each.
f2::Columns phase(const LinearLayout& side, int vector, const Problem& problem) {
  int bytes = vector * problem.elementBits / 8;
  f2::Columns lanes = side.columns(kLane), result;
  if (bytes < 16) return first(lanes, log2(problem.banks.count * problem.banks.bytes / std::max(bytes, problem.banks.bytes)));
  for (int mask : problem.banks.wideGroup) {
    if (mask >> lanes.size() == 0) result.push_back(f2::multiply(lanes, mask));
  }
  return result;
}

/// Of the candidates those that no combination of the threads' coordinates reaches: a lane's vector has to be its own.
f2::Columns ownVectors(const f2::Columns& candidates, const f2::Columns& threads, int count) {
  return first(f2::extension(threads, candidates), count);
}

f2::Columns threads(const LinearLayout& side) { return side.columns(kLane) + side.columns(kWarp) + side.columns(kBlock); }

/// Gives the offset bits their coordinates: `shared` vectors of both sides, then `more` of one of them.
LinearLayout build(const f2::Columns& shared, const f2::Columns& more, bool moreForRead, const Problem& problem) {
  f2::Columns vectors = shared + more;
  int n = problem.bits(), m = problem.bankBits(), wordBits = std::max(0, log2(problem.banks.bytes * 8) - log2(problem.elementBits));
  auto reach = [&](const LinearLayout& side, bool wide) {
    int bits = static_cast<int>(wide ? vectors.size() : shared.size());
    f2::Columns x = first(vectors, std::max(bits, wordBits)) + phase(side, 1 << bits, problem);
    return first(f2::extension({}, x), m);
  };
  f2::Columns x = reach(problem.read, moreForRead || more.empty()), y = reach(problem.write, !moreForRead || more.empty());
  // Both get the dimension of the banks, first from each other, so that what they share grows.
  f2::Columns x2 = first(x + f2::extension(x, y + f2::units(n)), m), y2 = first(y + f2::extension(y, x2 + f2::units(n)), m);
  f2::Columns high = f2::commonComplement(x2, y2, n);
  f2::Columns low = f2::extension(vectors + high, x + y + f2::units(n));
  // Seen from their vectors' complement lanes must not reach into a vector: move what is above along the vectors to where they are.
  f2::Columns rest = f2::extension(vectors, threads(problem.write) + threads(problem.read) + low + high);
  f2::Span span(vectors + rest);
  f2::Vector vectorMask = (f2::Vector{1} << vectors.size()) - 1;
  auto project = [&](f2::Vector v) { return v ^ f2::multiply(vectors, span.solve(v).value_or(0) & vectorMask); };
  f2::Columns bases = vectors;
  for (f2::Vector v : low + high) bases.push_back(project(v));
  std::vector<Repeat> repeats;
  for (const Repeat& repeat : problem.read.repeats()) {
    if (!repeat.out.empty()) repeats.push_back({std::string(kOffset), repeat.out, repeat.count});
  }
  return LinearLayout::fromColumns({{std::string(kOffset), n}}, problem.read.outputs(), bases, repeats);
}

/// Whether a vector brings these registers one after the other, and the first of them can be the first of a group.
bool areInOrder(const std::vector<std::int64_t>& registers) {
  for (std::size_t i = 0; i < registers.size(); ++i)
    if (registers[i] != registers[0] + static_cast<std::int64_t>(i)) return false;
  return registers[0] % std::ssize(registers) == 0;
}

SwizzleChoice measure(SharedLayout layout, const Problem& problem) {
  BankReport read = bankConflicts(problem.read, layout, problem.elementBits, 0, problem.banks);
  BankReport write = bankConflicts(problem.write, layout, problem.elementBits, 0, problem.banks);
  const int moves = movesBehind(problem.read, layout, problem.elementBits, read.vector, problem.banks);
  return {std::move(layout), read, write, moves};
}

bool better(const SwizzleChoice& a, const SwizzleChoice& b) { return a.slots() < b.slots(); }

/// No layout takes fewer slots, as each side's vectors are at best as wide as its own registers allow.
int leastSlots(const Problem& problem, int most) {
  int slots = 0;
  for (const LinearLayout* side : {&problem.read, &problem.write}) {
    const int registers = static_cast<int>(side->inputSize(kRegister) >> std::popcount(side->freeBits(kRegister)));
    const int widest = static_cast<int>(ownVectors(side->columns(kRegister), threads(*side), most).size());
    int passes = std::numeric_limits<int>::max();
    for (int bits = 0; bits <= widest; ++bits) {
      const int bytes = std::max(1, (problem.elementBits << bits) / 8);
      passes = std::min(passes, (registers >> bits) * groupsServed(static_cast<int>(side->inputSize(kLane)), bytes, problem.banks));
    }
    slots += passes + (registers >> widest);
  }
  return slots;
}

void check(const LinearLayout& read, const LinearLayout& write, int elementBits) {
  if (read.outputShape() != write.outputShape()) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("the tile is written as ({}) and read as ({})", fmt::join(write.outputShape(), ","),
                                                        fmt::join(read.outputShape(), ",")));
  }
  if (elementBits != 8 && elementBits != 16 && elementBits != 32 && elementBits != 64) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("elements of {} bits in shared memory; legal are 8, 16, 32 and 64", elementBits));
  }
}

}  // namespace

int movesBehind(const LinearLayout& read, const SharedLayout& shared, int elementBits, int vector, const Banks& banks) {
  const int words = vector * elementBits / (8 * banks.bytes);
  if (words < 2) return 0;
  int moves = 0;
  for (const std::vector<std::int64_t>& group : vectorGroups(read, shared, vector)) moves += areInOrder(group) ? 0 : words;
  return moves;
}

bool keepsOrder(const SharedLayout& shared, const LinearLayout& registers, int count) {
  f2::Columns columns = shared.elements().columns(kOffset), wanted = first(registers.columns(kRegister), log2(count));
  return wanted == first(columns, static_cast<int>(wanted.size())) && std::ssize(wanted) == log2(count);
}

SwizzleChoice chooseSwizzle(const LinearLayout& read, const LinearLayout& write, int elementBits, const Banks& banks, int inOrder) {
  check(read, write, elementBits);
  Problem problem{read, write, elementBits, banks};
  int most = log2(std::max(1, 128 / elementBits));
  f2::Columns ofRead = read.columns(kRegister), ofWrite = write.columns(kRegister);
  f2::Columns both = ownVectors(f2::intersection(ofRead, ofWrite), threads(read) + threads(write), most);
  std::optional<SwizzleChoice> best;
  const int least = leastSlots(problem, most);
  auto attempt = [&](const f2::Columns& shared, const f2::Columns& more, bool moreForRead) {
    if (best && best->slots() <= least) return;
    LinearLayout layout = build(shared, more, moreForRead, problem);
    if (!layout.isBijective()) return;
    SwizzleChoice choice = measure(SharedLayout(std::move(layout)), problem);
    if (!keepsOrder(choice.layout, write, inOrder)) return;
    if (!best || better(choice, *best)) best = std::move(choice);
  };
  for (int size = static_cast<int>(both.size()); size >= 0; --size) {
    f2::Columns shared = first(both, size);
    attempt(shared, {}, true);
    for (bool forRead : {true, false}) {
      const LinearLayout& side = forRead ? read : write;
      f2::Columns more = ownVectors(f2::extension(shared, side.columns(kRegister)), threads(side) + shared, most - size);
      for (int extra = static_cast<int>(more.size()); extra > 0; --extra) attempt(shared, first(more, extra), forRead);
    }
  }
  if (!best) throw Error(ErrorCode::InvalidArgument, fmt::format("no layout keeps {} registers of the writer in order", inOrder));
  return *best;
}

SwizzleChoice chooseBulkSwizzle(const LinearLayout& read, int elementBits, const Banks& banks) {
  std::optional<SwizzleChoice> best;
  for (int bytes : {128, 64, 32, 0}) {
    if (read.outputSize(dim(1)) * elementBits / 8 % std::max(16, bytes)) continue;
    SharedLayout layout = swizzled(read.outputShape(), elementBits, bytes);
    BankReport report = bankConflicts(read, layout, elementBits, 0, banks);
    SwizzleChoice choice{std::move(layout), report, {}};
    if (!best || better(choice, *best)) best = std::move(choice);
  }
  if (!best) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("a bulk copy moves rows of a multiple of 16 bytes, not {} elements of {} bits",
                                                        read.outputSize(dim(1)), elementBits));
  }
  return *best;
}

}  // namespace fattn::layout
