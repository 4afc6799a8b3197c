// SPDX-License-Identifier: Apache-2.0
// What the programs of the backward pass share.
#ifndef FATTN_KERNELS_ATTENTION_BACKWARDPARTS_H
#define FATTN_KERNELS_ATTENTION_BACKWARDPARTS_H

#include <optional>
#include <string>

#include "fattn/Template.h"
#include "fattn/dsl/Dsl.h"
#include "kernels/attention/AttentionBackward.h"

namespace fattn::kernels::backward {

inline constexpr std::int64_t kWorkspaceAlignment = 16;  // bytes
inline constexpr std::int64_t kFragmentRows = 16;        ///< of what a matrix instruction leaves
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

/// Some rows among those of a tensor.
struct Among {
  dsl::Scalar first, count;  ///< i32
  /// A block reads what lies behind the last row along with it, as a copy engine does. Else that is 0.
  bool readsOn;
};

/// The rows of one head.
struct Head {
  const dsl::TensorArg& tensor;
  dsl::Scalar batch, head;
  std::optional<Among> among{};  ///< none: all rows

  /// The same, of which blocks read or write nothing behind the last row.
  Head alone() const;
  /// Of the head's first row, or of the first of some, unless blocks read on.
  dsl::Ptr base() const;
  /// `count` rows of `width` elements from `row` on, and `count` numbers of a tensor without columns.
  dsl::BlockPtr rows(const dsl::Scalar& row, std::int64_t count, std::int64_t width) const;
  dsl::BlockPtr numbers(const dsl::Scalar& row, std::int64_t count) const;
  /// The same from the first one on, as a tile of one row.
  dsl::BlockPtr line(std::int64_t count) const;

 private:
  dsl::Scalar firstRead(const dsl::Scalar& row) const;
  dsl::Scalar length() const;
};

/// A batch entry. The sequences of a packed batch lie in one entry of the tensors.
struct Entry {
  dsl::Scalar batch;                                 ///< i32, of tensors
  dsl::Scalar queries, keys;                         ///< i32, how many
  std::optional<Among> amongQueries{}, amongKeys{};  ///< where packed
  std::optional<Among> amongStatistics{};            ///< likewise: a multiple of kStatisticsRows

  Head ofQueries(const dsl::TensorArg& tensor, const dsl::Scalar& head) const { return {tensor, batch, head, amongQueries}; }
  Head ofKeys(const dsl::TensorArg& tensor, const dsl::Scalar& head) const { return {tensor, batch, head, amongKeys}; }
  Head ofStatistics(const dsl::TensorArg& tensor, const dsl::Scalar& head) const { return {tensor, batch, head, amongStatistics}; }
};

/// What a program is told of where batch entries lie. Parameter `packed`: the arguments i32 cu_q [sequences + 1] and most_q, and, where it
/// has keys, cu_k and most_k. `most`: rows beyond so many of a sequence count as not there.
class Packing {
 public:
  Packing(dsl::Params& args, const Parameters& parameters, bool hasKeys);

  bool isPacked() const { return cuQ_.has_value(); }
  /// `queries` and `keys`: i64, rows of the tensors.
  Entry entry(const dsl::Scalar& batch, const dsl::Scalar& queries, const dsl::Scalar& keys) const;

 private:
  std::optional<dsl::TensorArg> cuQ_, cuK_;
  std::optional<dsl::Scalar> mostQ_, mostK_;
  bool boxes_ = false;
};

/// Whether sums of so many columns can lie in fragments: layouts know odd numbers of columns only where nothing lies around them.
bool hasWholeFragments(std::int64_t width);

/// The order of the workspace, which the parameter `order` names. What matrix instructions of 16 rows and 8 columns leave is not in the
/// order of rows: a thread has pairs of two rows, eight columns apart.
///   rows     row by row;
///   vectors  what a thread has lies together, 16 bytes an access, and a warp's 512 bytes follow each other;
///   lanes    what the threads of a warp have in one register lies together, for additions of one number an instruction.
class WorkspaceOrder {
 public:
  /// Throws Error{Unsupported} for other names.
  explicit WorkspaceOrder(const Parameters& parameters);

  /// Whether blocks have to have a multiple of kFragmentRows rows.
  bool hasFragments() const { return kind_ != Kind::Rows; }
  /// Whether sums of so many columns lie in fragments.
  bool hasFragments(std::int64_t width) const { return hasFragments() && hasWholeFragments(width); }

  /// The window of `count` rows of a head's sums from the first one on, among others as well, and by how many of its lines `row` rows move
  /// it.
  dsl::BlockPtr sums(const Head& head, std::int64_t count, std::int64_t width) const;
  dsl::Scalar firstRow(const dsl::Scalar& row, std::int64_t width) const;
  /// [count, width] as the window of sums has it, and back.
  dsl::Tile stored(const dsl::Tile& sums) const;
  dsl::Tile loaded(const dsl::Tile& window, std::int64_t count, std::int64_t width) const;
  /// Numbers of rows as they lie in memory, and back; of any shape with one dimension that is not 1. A thread's four lie together.
  dsl::Tile storedNumbers(const dsl::Tile& numbers) const;
  dsl::Tile loadedNumbers(const dsl::Tile& numbers) const;

 private:
  enum class Kind : std::uint8_t { Rows, Vectors, Lanes };
  Kind kind_;
};

/// The dimensions of a statistics block pointer that have to be checked where blocks have `count` rows.
dsl::Dims statisticsCheck(std::int64_t count);

/// Exponents to base 2 of the probabilities: scores * scale - logs. Where `visible` does not hold: -infinity.
dsl::Tile probabilities(const dsl::Tile& scores, const dsl::Scalar& scale, const dsl::Tile& logs, const dsl::Tile* visible);

/// Throws Error{Unsupported} for types and head dimensions that there is no kernel for.
void check(const Parameters& parameters);
/// The parameters that all templates have.
Parameters parameters();
/// The template for packed batches, which has the parameter `boxes`: loops read on behind the last row of a sequence. It is not tuned.
KernelTemplate packed(const KernelTemplate& dense, const char* name);
bool isPacked(const Parameters& parameters);

/// Bytes of shared memory that a loop over `stages` blocks of `step` rows needs beside `kept` rows, of which both have head_dim +
/// head_dim_v elements; and of two of what a step makes of them, which move between layouts.
std::int64_t ringBytes(const Parameters& parameters, std::int64_t kept, std::int64_t step, std::int32_t stages);

}  // namespace fattn::kernels::backward

#endif
