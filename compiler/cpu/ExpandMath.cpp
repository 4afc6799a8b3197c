// SPDX-License-Identifier: Apache-2.0
// math.exp2 on f32 becomes a polynomial:
//
//   2^x = 2^n * 2^f,  n = x rounded to an integer,  |f| <= 1/2,  2^f by a polynomial of degree 6 (relative error 2e-9, below 1 ulp in f32)
//
// Exact at integers, exp2(-inf) = 0, exp2(inf) = inf, NaN stays NaN, subnormal results are kept. With AVX-512 vreduceps gives f and
// vscalefps multiplies, both right at the infinities; elsewhere the argument is clamped and 2^n is put together in two halves.
// The other functions of math (log, tanh ...) come from MLIR's own approximations. Test: tests/unit/cpu/exp2-test.cpp.
#include "compiler/cpu/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace fattn::cpu {

#define GEN_PASS_DEF_EXPANDMATHPASS
#include "compiler/cpu/Passes.h.inc"

namespace {

// Minimax (relative error) on [-1/2, 1/2] with the constant term fixed to 1.
constexpr float kExp2Coefficients[] = {1.5353362e-4f, 1.3398874e-3f, 9.6184369e-3f, 5.5503324e-2f, 2.4022648e-1f, 6.9314718e-1f, 1.0f};

struct Exp2 {
  OpBuilder& b;
  Location loc;
  Type type;  // f32 or a vector of it

  Value constant(float v) const {
    auto attr = b.getF32FloatAttr(v);
    if (auto vec = dyn_cast<VectorType>(type)) return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vec, attr.getValue()));
    return arith::ConstantOp::create(b, loc, attr);
  }
  Type intType() const {
    if (auto vec = dyn_cast<VectorType>(type)) return VectorType::get(vec.getShape(), b.getI32Type());
    return b.getI32Type();
  }
  Value intConstant(int32_t v) const {
    if (auto vec = dyn_cast<VectorType>(intType())) return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vec, v));
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(v));
  }
  Value polynomial(Value f, bool fma) const {
    Value p = constant(kExp2Coefficients[0]);
    for (float c : ArrayRef(kExp2Coefficients).drop_front())
      p = fma ? math::FmaOp::create(b, loc, p, f, constant(c)).getResult()
              : arith::AddFOp::create(b, loc, arith::MulFOp::create(b, loc, p, f), constant(c)).getResult();
    return p;
  }
  Value withScalef(Value x) const {
    auto i32 = [&](int32_t v) -> Value { return LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(v)); };
    Value all = LLVM::ConstantOp::create(b, loc, b.getI16Type(), b.getI16IntegerAttr(-1));
    Value currentRounding = i32(4);
    auto call = [&](StringRef name, ValueRange operands) {
      return LLVM::CallIntrinsicOp::create(b, loc, type, b.getStringAttr(name), operands).getResult(0);
    };
    Value f = call("llvm.x86.avx512.mask.reduce.ps.512", {x, i32(0), x, all, currentRounding});
    Value n = math::RoundEvenOp::create(b, loc, x);
    return call("llvm.x86.avx512.mask.scalef.ps.512", {polynomial(f, true), n, x, all, currentRounding});
  }
  Value portable(Value x, bool fma) const {
    // Compare-and-select that keeps a NaN: it is what minps and maxps do with their second operand.
    auto clamp = [&](arith::CmpFPredicate p, float limit) {
      Value c = constant(limit);
      x = arith::SelectOp::create(b, loc, arith::CmpFOp::create(b, loc, p, c, x), c, x);
    };
    clamp(arith::CmpFPredicate::OGT, -151.0f);
    clamp(arith::CmpFPredicate::OLT, 129.0f);
    // Adding 1.5 * 2^23 leaves no place for a fraction: the adder rounds to the nearest integer, without SSE4.1's roundps.
    Value magic = constant(12582912.0f);
    Value n = arith::SubFOp::create(b, loc, arith::AddFOp::create(b, loc, x, magic), magic);
    Value p = polynomial(arith::SubFOp::create(b, loc, x, n), fma);
    Value i = arith::FPToSIOp::create(b, loc, intType(), n);
    Value half = arith::ShRSIOp::create(b, loc, i, intConstant(1));
    auto power = [&](Value e) -> Value {
      Value bits = arith::ShLIOp::create(b, loc, arith::AddIOp::create(b, loc, e, intConstant(127)), intConstant(23));
      return arith::BitcastOp::create(b, loc, type, bits);
    };
    Value scaled = arith::MulFOp::create(b, loc, p, power(half));
    return arith::MulFOp::create(b, loc, scaled, power(arith::SubIOp::create(b, loc, i, half)));
  }
};

struct ExpandExp2 : OpRewritePattern<math::Exp2Op> {
  ExpandExp2(MLIRContext* context, const HostTarget& target) : OpRewritePattern(context), target(target) {}
  LogicalResult matchAndRewrite(math::Exp2Op op, PatternRewriter& rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32()) return failure();
    auto vec = dyn_cast<VectorType>(type);
    Location loc = op.getLoc();
    Value x = op.getOperand();
    if (!target.scalef || !vec || vec.getNumElements() % 16) {
      rewriter.replaceOp(op, Exp2{rewriter, loc, type}.portable(x, target.fma));
      return success();
    }
    auto zmm = VectorType::get({16}, rewriter.getF32Type());
    if (vec == zmm) {
      rewriter.replaceOp(op, Exp2{rewriter, loc, zmm}.withScalef(x));
      return success();
    }
    Value out = arith::ConstantOp::create(rewriter, loc, vec, rewriter.getZeroAttr(vec));
    for (int64_t at = 0; at < vec.getNumElements(); at += 16) {
      Value part = vector::ExtractStridedSliceOp::create(rewriter, loc, x, {at}, {16}, {1});
      part = Exp2{rewriter, loc, zmm}.withScalef(part);
      out = vector::InsertStridedSliceOp::create(rewriter, loc, part, out, {at}, {1});
    }
    rewriter.replaceOp(op, out);
    return success();
  }
  const HostTarget& target;
};

class ExpandMathPass : public impl::ExpandMathPassBase<ExpandMathPass> {
 public:
  ExpandMathPass() = default;
  explicit ExpandMathPass(HostTarget target) : target(std::move(target)) {}
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExp2>(&getContext(), target);
    populateMathPolynomialApproximationPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns)))) signalPassFailure();
  }

 private:
  HostTarget target;
};

}  // namespace

std::unique_ptr<Pass> createExpandMathPass(const HostTarget& target) { return std::make_unique<ExpandMathPass>(target); }

}  // namespace fattn::cpu
