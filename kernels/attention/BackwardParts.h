// SPDX-License-Identifier: Apache-2.0
// What the programs of the backward pass share.
#ifndef FATTN_KERNELS_ATTENTION_BACKWARDPARTS_H
#define FATTN_KERNELS_ATTENTION_BACKWARDPARTS_H

#include <string>

#include "fattn/Template.h"
#include "fattn/dsl/Dsl.h"
#include "kernels/attention/AttentionBackward.h"

namespace fattn::kernels::backward {

inline constexpr std::int64_t kWorkspaceAlignment = 16;  // bytes
/// Of launches that are tuned: random statistics do not belong to random scores, and with larger ones dS overflows f16.
inline constexpr double kTunedScale = 0.01;

/// Tensors of a program's arguments, declared as the parameters say.
class Operands {
 public:
  Operands(dsl::Params& args, const Parameters& parameters);

  /// [B, H, S, width] of the dtype; f32 [B, H, S] with any strides; f32 of the workspace.
  dsl::TensorArg wide(const char* name);
  dsl::TensorArg strided(const char* name);
  dsl::TensorArg own(const char* name, int rank);

 private:
  dsl::Params& args_;
  DType type_;
  std::int64_t alignment_;
};

/// The rows of one head.
struct Head {
  const dsl::TensorArg& tensor;
  dsl::Scalar batch, head;

  dsl::Ptr base() const;
  /// `count` rows of `width` elements from `row` on, and `count` numbers of a tensor without columns.
  dsl::BlockPtr rows(const dsl::Scalar& row, std::int64_t count, std::int64_t width) const;
  dsl::BlockPtr numbers(const dsl::Scalar& row, std::int64_t count) const;
  /// The same as a tile of one row.
  dsl::BlockPtr line(std::int64_t count) const;
};

/// The dimensions of a statistics block pointer that have to be checked where blocks have `count` rows.
dsl::Dims statisticsCheck(std::int64_t count);

/// Exponents to base 2 of the probabilities: scores * scale - logs. Where `visible` does not hold: -infinity.
dsl::Tile probabilities(const dsl::Tile& scores, const dsl::Scalar& scale, const dsl::Tile& logs, const dsl::Tile* visible);

/// Throws Error{Unsupported} for types and head dimensions that there is no kernel for.
void check(const Parameters& parameters);
/// The parameters that all templates have.
Parameters parameters();

/// Bytes of shared memory that a loop over `stages` blocks of `step` rows needs beside `kept` rows, of which both have head_dim +
/// head_dim_v elements; and of two of what a step makes of them, which move between layouts.
std::int64_t ringBytes(const Parameters& parameters, std::int64_t kept, std::int64_t step, std::int32_t stages);

}  // namespace fattn::kernels::backward

#endif
