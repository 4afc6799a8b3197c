// SPDX-License-Identifier: Apache-2.0
// The check: reference rows, two error meters, and what the inputs contained.
#include "tools/fattn-run/Check.h"

#include <algorithm>

#include "tools/io/Convert.h"
#include "tools/io/Reference.h"

namespace fattn::run {

double tolerance(DType dtype) { return dtype == DType::F32 ? 2e-6 : dtype == DType::F16 ? 2e-3 : 5e-3; }

bool CheckResult::passed() const {
  // A logarithm can be near zero in all of a small result; its error then counts absolutely.
  if (!(o.relative() <= allowed && std::min(lse.relative(), lse.maxAbsolute()) <= allowed)) return false;
  return hasNonFiniteInputs() || o.mismatched() + lse.mismatched() == 0;
}

CheckResult check(const Problem& p, std::uint64_t seed, int threads) {
  CheckResult result;
  result.allowed = tolerance(p.dtype);
  for (const io::HostTensor* t : {&p.q, &p.k, &p.v}) {
    const io::NonFinite n = io::countNonFinite(*t, threads);
    result.inputs.nans += n.nans;
    result.inputs.infinities += n.infinities;
  }
  const std::vector<std::int64_t> rows = io::chooseRows(p.shape, seed);
  const io::Reference reference =
      io::attentionReference(p.shape, p.scale, p.q.view(p.layout), p.k.view(p.layout), p.v.view(p.layout), rows, threads);
  result.rows = static_cast<std::int64_t>(rows.size());
  const io::View4 o = p.o.view(p.layout);
  const std::size_t width = static_cast<std::size_t>(p.shape.dimV);
  std::vector<float> row(width);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::int64_t head = rows[r] / p.shape.lenQ, i = rows[r] % p.shape.lenQ;
    io::toFloat(p.dtype, o.at(head / p.shape.headsQ, head % p.shape.headsQ, i, 0), row.data(), width);
    for (std::size_t d = 0; d < width; ++d) result.o.add(row[d], reference.o[r * width + d]);
    result.lse.add(io::loadFloat(DType::F32, p.lse.data() + rows[r] * 4), reference.lse[r]);
  }
  return result;
}

}  // namespace fattn::run
