// SPDX-License-Identifier: Apache-2.0
// Products of a few rows, whose lanes run along the contraction on the host: odd numbers of rows, all element types, at every level of
// instructions; blocks of an array one after the other, whose next lines are asked for beyond its end.
#include <cmath>
#include <cstring>
#include <vector>

#include "fattn/dsl/Dsl.h"
#include "tests/unit/cpu/Run.h"
#include "tools/io/Convert.h"

namespace fattn {
namespace {

using namespace dsl;

/// Numbers as they lie in memory, and as what they are.
struct Array {
  std::vector<std::uint8_t> bytes;
  std::vector<float> values;

  Array(DType type, std::size_t count, float phase) : bytes(count * sizeInBytes(type)), values(count) {
    for (std::size_t i = 0; i < count; ++i) {
      const float x = std::sin(static_cast<float>(i) * 0.37f + phase);
      if (type == DType::F32) {
        store(i, x), values[i] = x;
      } else {
        const std::uint16_t bits = type == DType::F16 ? io::floatToF16(x) : io::floatToBf16(x);
        store(i, bits), values[i] = type == DType::F16 ? io::f16ToFloat(bits) : io::bf16ToFloat(bits);
      }
    }
  }

 private:
  template <class T>
  void store(std::size_t i, T value) {
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
};

struct Case {
  std::string target;
  DType type;
};

class FewRows : public testing::TestWithParam<Case> {
 protected:
  /// c[m, b * N + n] = c0[m, n] + sum of a[m, k] * keys[b * N + n, k], for blocks b. Also r[m, d] = sum of c[m, j] * keys[j, d].
  void check(int M, int N, int K, int blocks);
};

void FewRows::check(int M, int N, int K, int blocks) {
  const DType type = GetParam().type;
  const int J = N * blocks;
  const Array a(type, M * K, 0.1f), keys(type, J * K, 0.7f), start(DType::F32, M * N, 0.3f);
  std::vector<float> c(M * J, NAN), r(M * K, NAN);
  Program program = trace("few_rows", [&](Params& params) {
    Ptr ap = params.ptr("a", type), kp = params.ptr("keys", type), sp = params.ptr("start", DType::F32), cp = params.ptr("c", DType::F32),
        rp = params.ptr("r", DType::F32);
    const Tile rows = load(make_block_ptr(ap, {M, K}, {K, 1}, {0, 0}, {M, K}));
    const Tile first = load(make_block_ptr(sp, {M, N}, {N, 1}, {0, 0}, {M, N}));
    auto [sum] = for_(0, J, N, carry(zeros({M, K})), [&](Scalar j, Tile sum) {
      const Tile block = load(make_block_ptr(kp, {J, K}, {K, 1}, {j, 0}, {N, K}));
      const Tile product = dot(rows, trans(block), first);
      store(make_block_ptr(cp, {M, J}, {J, 1}, {0, j}, {M, N}), product);
      return carry(dot(cast(product, type), block, sum));
    });
    store(make_block_ptr(rp, {M, K}, {K, 1}, {0, 0}, {M, K}), sum);
  });
  const std::uint64_t args[] = {cpu_tests::slot(a.bytes.data()), cpu_tests::slot(keys.bytes.data()), cpu_tests::slot(start.bytes.data()),
                                cpu_tests::slot(c.data()), cpu_tests::slot(r.data())};
  FATTN_RUN_OR_SKIP(program, GetParam().target, (Grid{1, 1, 1}), args);
  const double narrow = type == DType::F32 ? 1e-6 : type == DType::F16 ? 1e-3 : 8e-3;  // a rounding of what is multiplied by the keys
  for (int m = 0; m < M; ++m) {
    for (int j = 0; j < J; ++j) {
      double sum = start.values[m * N + j % N];
      for (int k = 0; k < K; ++k) sum += double{a.values[m * K + k]} * keys.values[j * K + k];
      EXPECT_NEAR(c[m * J + j], sum, 1e-5 * K) << "row " << m << ", column " << j;
    }
    for (int d = 0; d < K; ++d) {
      double sum = 0, size = 0;
      for (int j = 0; j < J; ++j) {
        const double term = double{c[m * J + j]} * keys.values[j * K + d];
        sum += term, size += std::fabs(term);
      }
      EXPECT_NEAR(r[m * K + d], sum, narrow * size + 1e-5) << "row " << m << ", column " << d;
    }
  }
}

TEST_P(FewRows, OneRow) { check(1, 64, 128, 3); }
TEST_P(FewRows, TwoRows) { check(2, 16, 64, 2); }
TEST_P(FewRows, ThreeRowsLeaveLanesOfTheSumsWithoutWork) { check(3, 32, 32, 2); }
TEST_P(FewRows, FourRows) { check(4, 64, 128, 3); }
TEST_P(FewRows, SevenRowsAreTwoBlocks) { check(7, 16, 96, 2); }
TEST_P(FewRows, EightRows) { check(8, 64, 256, 2); }
TEST_P(FewRows, ColumnsThatFillNoBlock) { check(4, 10, 64, 2); }
TEST_P(FewRows, AContractionThatFillsNoVector) { check(4, 32, 40, 2); }

std::vector<Case> allCases() {
  std::vector<Case> cases;
  for (const std::string& target : cpu_tests::allTargets())
    for (DType type : {DType::F32, DType::F16, DType::BF16}) cases.push_back({target, type});
  return cases;
}

std::string nameOf(const testing::TestParamInfo<Case>& info) {
  std::string text = info.param.target + "_" + std::string(name(info.param.type));
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return text;
}

INSTANTIATE_TEST_SUITE_P(Targets, FewRows, testing::ValuesIn(allCases()), nameOf);

}  // namespace
}  // namespace fattn
