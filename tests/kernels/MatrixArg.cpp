// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/Kernels.h"

namespace fattn::examples {

MatrixArg matrixArg(dsl::Params& args, std::string_view name, DType dtype, Form form, dsl::Aliasing aliasing) {
  constexpr std::int64_t kBytes = 16;
  bool aligned = form == Form::Aligned;
  MatrixArg matrix;
  matrix.base = args.ptr(name, dtype, aligned ? kBytes : 1, aliasing);
  matrix.row = args.scalar(std::string(name) + "_row", DType::I64, aligned ? kBytes / sizeInBytes(dtype) : 1);
  dsl::Scalar column = args.scalar(std::string(name) + "_column", DType::I64);
  matrix.column = form == Form::Strided ? column : dsl::Scalar(std::int64_t{1});
  return matrix;
}

}  // namespace fattn::examples
