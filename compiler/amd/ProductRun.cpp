// SPDX-License-Identifier: Apache-2.0
// The order of a run of products: reads of LDS as far ahead as LDS takes, and vector instructions spread evenly beneath products.
//
// LLVM finds which instruction belongs to which place of the order by trying, in a time that grows with the third power of their number: a
// run of 48 products, 144 reads and 128 vector instructions took it 0.37 s. A long run is said in parts, which LLVM sees one by one. What
// the order puts into a part is moved there, such as reads for products of the next one, so that the order of the whole is the same:
//
//   reads 1, products 1, reads 2, products 2      =>      reads 1, some of reads 2, products 1 | the other reads 2, products 2
//
// A run has no stores and no fences (OrderProducts.cpp). What else has effects keeps its order.
#include "compiler/amd/ProductRun.h"

#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace fattn::amd {
namespace {

StringRef intrinsicOf(Operation& op) {
  auto call = dyn_cast<LLVM::CallIntrinsicOp>(op);
  return call ? call.getIntrin() : StringRef();
}
bool isMfma(Operation& op) { return intrinsicOf(op).starts_with("llvm.amdgcn.mfma"); }

/// Whether it becomes about one vector instruction: a mask and a shift are one with what uses them, a sum of three one with the sum of two.
bool isVector(Operation& op) {
  if (isa<LLVM::AddOp>(op)) return llvm::none_of(op.getUsers(), [](Operation* user) { return isa<LLVM::AddOp>(user); });
  return isa<LLVM::AndOp, LLVM::SelectOp, LLVM::FAddOp, LLVM::FMAOp, LLVM::FMulOp, LLVM::FPTruncOp>(op) ||
         (!intrinsicOf(op).empty() && !isProduct(op) && op.getNumResults() == 1);
}

/// Whether others with effects stay on their sides of it. An intrinsic with a result computes it, which MLIR does not know.
bool hasEffects(Operation& op) {
  const bool computes = isa<LLVM::CallIntrinsicOp>(op) && op.getNumResults() == 1;
  return !computes && !loadsShared(op) && !isMemoryEffectFree(&op);
}

/// A SIMD's clocks for a product. MFMA: 32 rows and columns take 16 registers of a lane for their sums, 16 take 4. WMMA: gfx11's operands
/// have 16 elements, gfx12's products are twice as fast.
int64_t clocksOf(Operation& product) {
  auto elementsOf = [](Value value) {
    auto vector = dyn_cast<VectorType>(value.getType());
    return vector ? vector.getNumElements() : 1;
  };
  const bool isSlow = isMfma(product) ? elementsOf(product.getResult(0)) == 16 : elementsOf(product.getOperand(0)) == 16;
  return isSlow ? 32 : 16;
}

/// Clocks from a read of LDS to its data while the other SIMDs read as well: 64 or 80, and the turns of some 16-byte reads of four SIMDs,
/// at 128 bytes a clock on CDNA and twice as many of RDNA's two compute units together. An assumption: no chip was at hand.
int64_t readClocksOf(Operation& product) { return isMfma(product) ? 256 : 128; }

int64_t advance(int64_t& done, int64_t to) { return to - std::exchange(done, to); }

}  // namespace

bool isProduct(Operation& op) { return isMfma(op) || intrinsicOf(op).starts_with("llvm.amdgcn.wmma"); }

bool loadsShared(Operation& op) {
  auto load = dyn_cast<LLVM::LoadOp>(op);
  return load && load.getAddr().getType().getAddressSpace() == ROCDL::ROCDLDialect::kSharedMemoryAddressSpace;
}

ProductOrder::ProductOrder(const Run& run, int64_t atOnce) : run_(run), atOnce_(atOnce) {
  Operation* effect = nullptr;
  for (Operation* op = run.begin; op != run.last->getNextNode(); op = op->getNextNode()) {
    places_.try_emplace(op, operations_.size());
    operations_.push_back(op);
    if (hasEffects(*op)) pinned_.try_emplace(op, std::exchange(effect, op));
  }
  for (Operation* op : operations_)
    if (isProduct(*op)) products_.push_back(op), need(op);
  for (Operation* op : operations_) {
    if (seen_.contains(op)) continue;
    if (isVector(*op)) vectors_.push_back(op);
    if (loadsShared(*op)) reads_.push_back(op);
  }
}

/// Finds the reads and the vector instructions of the run that a product needs and none before it did, each in
/// the order of the program.
void ProductOrder::need(Operation* product) {
  const size_t vectors = vectors_.size(), reads = reads_.size();
  SmallVector<Operation*> work = {product};
  while (!work.empty())
    for (Value operand : work.pop_back_val()->getOperands()) {
      Operation* def = operand.getDefiningOp();
      if (!def || !places_.contains(def) || !seen_.insert(def).second) continue;
      if (isVector(*def)) vectors_.push_back(def);
      if (loadsShared(*def)) reads_.push_back(def);
      work.push_back(def);
    }
  const auto comesBefore = [&](Operation* a, Operation* b) { return places_.lookup(a) < places_.lookup(b); };
  std::sort(vectors_.begin() + vectors, vectors_.end(), comesBefore);
  std::sort(reads_.begin() + reads, reads_.end(), comesBefore);
  needed_.push_back(std::ssize(vectors_));
}

/// How many vector instructions are to be done behind i products: evenly from where a product needed more to where the next one does.
int64_t ProductOrder::vectorsBehind(int64_t i) const {
  const int64_t products = std::ssize(needed_);
  int64_t from = i - 1, to = i;
  while (from > 0 && needed_[from - 1] == needed_[from]) --from;
  while (to < products && needed_[to] == needed_[from]) ++to;
  const int64_t more = (to < products ? needed_[to] : std::ssize(vectors_)) - needed_[from];
  return needed_[from] + llvm::divideCeilSigned(more * (i - from), to - from);
}

SmallVector<ProductOrder::Part> ProductOrder::parts() const {
  const int64_t products = std::ssize(products_), reads = std::ssize(reads_);
  const int64_t count = std::min(products, llvm::divideCeilSigned(products + reads + std::ssize(vectors_), atOnce_));
  const int64_t ahead = std::min(reads, llvm::divideCeilSigned(readClocksOf(*run_.first) * reads, products * clocksOf(*run_.first)));
  SmallVector<Part> parts(1);
  auto group = [&](Kind kind, int64_t size) {
    if (size > 0) parts.back().groups.push_back({kind, size});
  };
  int64_t read = ahead, worked = needed_.front();
  group(SharedRead, read);
  group(Vector, worked);
  for (int64_t i = 1; i <= products; ++i) {
    group(Matrix, 1);
    group(SharedRead, advance(read, std::min(reads, ahead + reads * i / products)));
    group(Vector, advance(worked, std::max(worked, vectorsBehind(i))));
    if (i < products * std::ssize(parts) / count) continue;
    parts.back().products = i, parts.back().reads = read, parts.back().vectors = worked;
    if (i < products) parts.emplace_back();
  }
  return parts;
}

/// Takes what a part needs of the operations that no part before it has taken; the last part takes all.
SmallVector<Operation*> ProductOrder::take(const Part& before, const Part& part) {
  SmallVector<Operation*> work, mine;
  auto want = [&](Operation* op) {
    if (op && places_.contains(op) && taken_.insert(op).second) work.push_back(op);
  };
  auto wantFrom = [&](ArrayRef<Operation*> list, int64_t from, int64_t to) { llvm::for_each(list.slice(from, to - from), want); };
  wantFrom(products_, before.products, part.products);
  wantFrom(reads_, before.reads, part.reads);
  wantFrom(vectors_, before.vectors, part.vectors);
  for (const size_t end = places_.lookup(products_[part.products - 1]); passed_ < end; ++passed_)
    if (pinned_.contains(operations_[passed_])) want(operations_[passed_]);
  if (part.products == std::ssize(products_)) llvm::for_each(operations_, want);
  while (!work.empty()) {
    Operation* op = mine.emplace_back(work.pop_back_val());
    for (Value operand : op->getOperands()) want(operand.getDefiningOp());
    if (auto effect = pinned_.find(op); effect != pinned_.end()) want(effect->second);
  }
  llvm::sort(mine, [&](Operation* a, Operation* b) { return places_.lookup(a) < places_.lookup(b); });
  return mine;
}

void ProductOrder::say(const Part& part, Operation* behind) const {
  OpBuilder b(behind->getContext());
  b.setInsertionPointAfter(behind);
  for (const Group& group : part.groups)
    ROCDL::SchedGroupBarrier::create(b, run_.last->getLoc(), group.kind, static_cast<uint32_t>(group.size), 0);
  ROCDL::SchedBarrier::create(b, run_.last->getLoc(), 0);
}

void ProductOrder::emit() {
  const SmallVector<Part> all = parts();
  if (all.size() == 1) return say(all.front(), run_.last);
  Operation* end = run_.last->getNextNode();
  Part before;
  for (const Part& part : all) {
    const SmallVector<Operation*> mine = take(before, part);
    for (Operation* op : mine) op->moveBefore(end);
    say(part, mine.back());
    before = part;
  }
}

}  // namespace fattn::amd
