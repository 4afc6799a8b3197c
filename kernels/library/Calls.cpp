// SPDX-License-Identifier: Apache-2.0
// The calls of fattn/Library.h: what their operands ask for, whether they agree, and the kernel for them.
#include <algorithm>
#include <array>
#include <bit>

#include "fattn/Library.h"
#include "fattn/Overlap.h"
#include "kernels/library/Handles.h"
#include "kernels/library/Library.h"

namespace fattn {
namespace {

constexpr std::int64_t kWidest = 16;  // bytes of one load or store

[[noreturn]] void failOperand(const char* tensor, const std::string& constraint, std::string hint = "") {
  throw Error(ErrorCode::InvalidArgument, std::string(tensor) + ": " + constraint, std::move(hint));
}

/// A view that was checked alone, and the bytes that it spans.
struct Checked {
  const char* name;
  TensorView view;
  std::int64_t bytes;
};

Checked checked(const char* name, const TensorView& view, int rank) {
  if (view.rank != rank) failOperand(name, "rank is " + std::to_string(view.rank) + "; it must be " + std::to_string(rank));
  const std::int64_t bytes = view.checkedBytes();
  if (bytes < 0) failOperand(name, view.toString() + " is no legal view, or spans more bytes than 63 bits count");
  for (int d = 0; d < rank; ++d) {
    if (view.shape[d] > INT32_MAX) failOperand(name, view.toString() + " has an extent above 2147483647");
    if (bytes > 0 && view.shape[d] > 1 && view.strides[d] < 0) failOperand(name, view.toString() + " has a negative stride");
  }
  return {name, view, bytes};
}

void requireShape(const Checked& tensor, std::initializer_list<std::int64_t> shape, const char* because) {
  int d = 0;
  for (const std::int64_t extent : shape) {
    if (tensor.view.shape[d] != extent)
      failOperand(tensor.name, "dimension " + std::to_string(d) + " is " + std::to_string(tensor.view.shape[d]) + "; it must be " +
                                   std::to_string(extent) + because);
    ++d;
  }
}

void requireType(const Checked& tensor, DType type, const char* because) {
  if (tensor.view.dtype != type)
    failOperand(tensor.name, "dtype is " + std::string(name(tensor.view.dtype)) + "; it must be " + std::string(name(type)) + because);
}

// Programs read and write at the same time; where both are the same view, each reads only what it writes itself.
void requireApart(const Checked& written, const Checked& read, bool mayBeSame) {
  if (areApart(written.view, written.bytes, read.view, read.bytes)) return;
  if (mayBeSame && written.view.data == read.view.data && haveSameRows(written.view, read.view)) return;
  if (shareMemory(written.view, written.bytes, read.view, read.bytes))
    failOperand(written.name, std::string("it shares memory with ") + read.name + ", and launches read and write in no particular order",
                mayBeSame ? std::string("give it memory of its own; it may also be exactly ") + read.name : "give it memory of its own");
}

// Rows that are written lie apart.
void requireDistinctRows(const Checked& out) {
  const TensorView& view = out.view;
  if (view.shape[0] > 1 && view.shape[1] > 0 && view.strides[0] < view.shape[1])
    failOperand(out.name, view.toString() + " holds elements that overlap in memory; the elements of an output must be distinct");
}

bool isAligned(const TensorView& view) {
  std::uint64_t bits = reinterpret_cast<std::uint64_t>(view.data);
  for (int d = 0; d + 1 < view.rank; ++d)
    if (view.shape[d] > 1) bits |= static_cast<std::uint64_t>(view.strides[d] * sizeInBytes(view.dtype));
  return bits % kWidest == 0;
}

// Code for aligned operands may read them by tensor maps (Module::accepts), which take rows at positive multiples of 16 bytes even where
// there is one row, and no matrix without elements.
bool isAlignedForMaps(const TensorView& view) {
  const std::int64_t row = view.strides[0] * sizeInBytes(view.dtype);
  return isAligned(view) && view.shape[0] > 0 && view.shape[1] > 0 && row > 0 && row % kWidest == 0;
}

std::int64_t alignmentOf(bool aligned, DType type) { return aligned ? kWidest : sizeInBytes(type); }

// Bits of a number that says which parameters, from the lowest on.
struct Packed {
  std::uint32_t bits = 0;
  int used = 0;
  Packed& put(std::uint32_t value, int width) {
    bits |= value << used;
    used += width;
    return *this;
  }
};
struct Unpacked {
  std::uint32_t bits;
  std::uint32_t take(int width) {
    const std::uint32_t value = bits & ((1u << width) - 1);
    bits >>= width;
    return value;
  }
};
constexpr int kTypeBits = 4;

Parameters gemmParameters(std::uint32_t kind) {
  Unpacked from{kind};
  const auto type = static_cast<DType>(from.take(kTypeBits)), out = static_cast<DType>(from.take(kTypeBits));
  const bool aColumns = from.take(1) != 0, bColumns = from.take(1) != 0, bias = from.take(1) != 0, residual = from.take(1) != 0;
  const std::uint32_t activation = from.take(2);
  const bool aligned = from.take(1) != 0;
  return {{"dtype", std::string(name(type))},
          {"out", std::string(name(out))},
          {"a_columns", aColumns},
          {"b_columns", bColumns},
          {"bias", bias},
          {"residual", residual},
          {"activation", std::string(kernels::kActivations[activation])},
          {"alignment", alignmentOf(aligned, type)}};
}

// Whether it is the columns whose elements lie side by side; throws where neither do.
bool areColumns(const Checked& matrix) {
  const TensorView& view = matrix.view;
  if (matrix.bytes == 0 || view.shape[1] <= 1 || view.strides[1] == 1)
    return view.shape[1] <= 1 && view.shape[0] > 1 && view.strides[0] == 1;
  if (view.shape[0] <= 1 || view.strides[0] == 1) return true;
  failOperand(matrix.name, view.toString() + " has neither rows nor columns whose elements lie side by side",
              "one of the strides must be 1; copy the matrix");
}

Parameters rowsParameters(std::uint32_t kind) {
  Unpacked from{kind};
  const auto type = static_cast<DType>(from.take(kTypeBits));
  return {{"dtype", std::string(name(type))}, {"alignment", alignmentOf(from.take(1) != 0, type)}};
}

Parameters rmsParameters(std::uint32_t kind) {
  Parameters parameters = rowsParameters(kind);
  Unpacked from{kind >> (kTypeBits + 1)};
  parameters.set("weight", from.take(1) != 0);
  return parameters;
}

Parameters layerParameters(std::uint32_t kind) {
  Parameters parameters = rmsParameters(kind);
  Unpacked from{kind >> (kTypeBits + 2)};
  parameters.set("bias", from.take(1) != 0);
  return parameters;
}

// [..., columns] as [rows, columns]: the leading dimensions are seen as one.
TensorView asRows(const char* name, const TensorView& view) {
  if (view.rank < 1) failOperand(name, "rank is 0; it must be 1 to 6");
  const int last = view.rank - 1;
  if (view.shape[last] > 1 && view.strides[last] != 1)
    failOperand(name, "the stride of dimension " + std::to_string(last) + " is " + std::to_string(view.strides[last]) + "; it must be 1",
                "copy the tensor so that the elements of a row lie side by side");
  TensorView rows(view.data, view.dtype, {1, view.shape[last]}, {0, 1});
  for (int d = last - 1; d >= 0; --d) {
    if (view.shape[d] == 1) continue;
    if (rows.shape[0] != 1 && view.strides[d] != rows.strides[0] * rows.shape[0] && view.elements() != 0)
      failOperand(name, view.toString() + " has leading dimensions that cannot be seen as one",
                  "copy the tensor, or call for each part of it");
    if (rows.shape[0] == 1) rows.strides[0] = view.strides[d];
    rows.shape[0] *= view.shape[d];
  }
  return rows;
}

struct RowOperands {
  Checked x, out;
  bool aligned;
};

RowOperands rowOperands(const TensorView& x, const TensorView& out) {
  RowOperands rows{checked("x", asRows("x", x), 2), checked("out", asRows("out", out), 2), false};
  requireType(rows.out, x.dtype, " as in x");
  requireShape(rows.out, {rows.x.view.shape[0], rows.x.view.shape[1]}, " as in x (dimensions before the last seen as one)");
  requireDistinctRows(rows.out);
  requireApart(rows.out, rows.x, true);
  rows.aligned = isAligned(rows.x.view) && isAligned(rows.out.view);
  return rows;
}

Checked checkedVector(const char* name, const TensorView& vector, const Checked& x) {
  Checked result = checked(name, vector, 1);
  requireType(result, x.view.dtype, " as in x");
  requireShape(result, {x.view.shape[1]}, " as the columns of x");
  if (vector.shape[0] > 1 && vector.strides[0] != 1)
    failOperand(name, "its stride is " + std::to_string(vector.strides[0]) + "; it must be 1");
  return result;
}

// Rows of other widths are other kinds: their tiles differ.
void putWidth(Packed& kind, std::int64_t columns) {
  constexpr int kBits = 5;
  kind.put(static_cast<std::uint32_t>(std::countr_zero(static_cast<std::uint32_t>(kernels::rowsWidth(columns)))), kBits);
}

bool isEmpty(const Checked& tensor) { return tensor.view.elements() == 0; }

void norm(Stream stream, const NormArgs& args, std::string_view target, bool isLayer) {
  RowOperands rows = rowOperands(args.x, args.out);
  std::array<Argument, 5> arguments = {Argument("x", rows.x.view), Argument("out", rows.out.view), Argument("eps", args.eps),
                                       Argument("eps", args.eps), Argument("eps", args.eps)};
  std::size_t count = 2;
  for (const auto& [vector, name] : {std::pair{&args.weight, "weight"}, std::pair{&args.bias, "bias"}}) {
    if (!*vector) continue;
    const Checked one = checkedVector(name, **vector, rows.x);
    requireApart(rows.out, one, false);
    rows.aligned = rows.aligned && isAligned(**vector);
    arguments[count++] = Argument(name, **vector);
  }
  arguments[count++] = Argument("eps", args.eps);
  if (isEmpty(rows.out)) return;
  Packed kind;
  kind.put(static_cast<std::uint32_t>(args.x.dtype), kTypeBits).put(rows.aligned, 1).put(args.weight.has_value(), 1);
  if (isLayer) kind.put(args.bias.has_value(), 1);
  putWidth(kind, rows.x.view.shape[1]);
  const KernelTemplate& from = isLayer ? kernels::layerNormTemplate() : kernels::rmsNormTemplate();
  const std::array<std::int64_t, 2> extents = {rows.x.view.shape[0], rows.x.view.shape[1]};
  kernels::handleOf(from, kind.bits, target, isLayer ? layerParameters : rmsParameters, extents)
      .launch(stream, extents, std::span(arguments).first(count));
}

}  // namespace

void softmax(Stream stream, const TensorView& x, const TensorView& out, std::string_view target) {
  const RowOperands rows = rowOperands(x, out);
  if (isEmpty(rows.out)) return;
  Packed kind;
  kind.put(static_cast<std::uint32_t>(x.dtype), kTypeBits).put(rows.aligned, 1);
  putWidth(kind, rows.x.view.shape[1]);
  const std::array<std::int64_t, 2> extents = {rows.x.view.shape[0], rows.x.view.shape[1]};
  const std::array<Argument, 2> arguments = {Argument("x", rows.x.view), Argument("out", rows.out.view)};
  kernels::handleOf(kernels::rowSoftmaxTemplate(), kind.bits, target, rowsParameters, extents).launch(stream, extents, arguments);
}

void layer_norm(Stream stream, const NormArgs& args, std::string_view target) { norm(stream, args, target, true); }

void rms_norm(Stream stream, const NormArgs& args, std::string_view target) {
  if (args.bias) failOperand("bias", "rms_norm has none", "add it afterwards, or use layer_norm");
  norm(stream, args, target, false);
}

void gemm(Stream stream, const GemmArgs& args, std::string_view target) {
  const Checked a = checked("a", args.a, 2), b = checked("b", args.b, 2), out = checked("out", args.out, 2);
  const std::int64_t m = a.view.shape[0], k = a.view.shape[1], n = b.view.shape[1];
  requireType(b, a.view.dtype, " as in a");
  requireShape(b, {k, n}, " as the columns of a");
  requireShape(out, {m, n}, " as in a and b");
  if (out.bytes > 0 && n > 1 && out.view.strides[1] != 1)
    failOperand("out", "the stride of dimension 1 is " + std::to_string(out.view.strides[1]) + "; it must be 1");
  requireDistinctRows(out);
  requireApart(out, a, false);
  requireApart(out, b, false);
  const bool aColumns = areColumns(a), bColumns = areColumns(b);
  const TensorView left = aColumns ? args.a.transposed(0, 1) : args.a, right = bColumns ? args.b.transposed(0, 1) : args.b;
  bool aligned = isAlignedForMaps(left) && isAlignedForMaps(right) && isAligned(args.out);
  std::array<Argument, 5> arguments = {Argument("a", left), Argument("b", right), Argument("out", args.out), Argument("out", args.out),
                                       Argument("out", args.out)};
  std::size_t count = 3;
  if (args.bias) {
    const Checked bias = checked("bias", *args.bias, 1);
    requireType(bias, out.view.dtype, " as in out");
    requireShape(bias, {n}, " as the columns of b");
    if (n > 1 && args.bias->strides[0] != 1)
      failOperand("bias", "its stride is " + std::to_string(args.bias->strides[0]) + "; it must be 1");
    requireApart(out, bias, false);
    aligned = aligned && isAligned(*args.bias);
    arguments[count++] = Argument("bias", *args.bias);
  }
  if (args.residual) {
    const Checked residual = checked("residual", *args.residual, 2);
    requireType(residual, out.view.dtype, " as in out");
    requireShape(residual, {m, n}, " as in out");
    if (residual.bytes > 0 && n > 1 && args.residual->strides[1] != 1) failOperand("residual", "the stride of dimension 1 must be 1");
    requireApart(out, residual, true);
    aligned = aligned && isAligned(*args.residual);
    arguments[count++] = Argument("residual", *args.residual);
  }
  if (isEmpty(out)) return;
  Packed kind;
  kind.put(static_cast<std::uint32_t>(a.view.dtype), kTypeBits).put(static_cast<std::uint32_t>(out.view.dtype), kTypeBits);
  kind.put(aColumns, 1).put(bColumns, 1).put(args.bias.has_value(), 1).put(args.residual.has_value(), 1);
  kind.put(static_cast<std::uint32_t>(args.activation), 2).put(aligned, 1).put(kernels::isSmallProduct(m, n), 1);
  const std::array<std::int64_t, 3> extents = {m, n, k};
  kernels::handleOf(kernels::gemmTemplate(), kind.bits, target, gemmParameters, extents)
      .launch(stream, extents, std::span(arguments).first(count));
}

}  // namespace fattn
