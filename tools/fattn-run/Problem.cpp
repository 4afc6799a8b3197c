// SPDX-License-Identifier: Apache-2.0
// Reading, drawing, checking and writing the tensors of a run.
#include "tools/fattn-run/Problem.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "fattn/Error.h"
#include "tools/io/Npy.h"
#include "tools/io/Random.h"
#include "tools/io/Safetensors.h"

namespace fattn::run {
namespace {

using io::HostTensor;
using io::Layout;

[[noreturn]] void refuse(std::string message, std::string hint = "") {
  throw Error(ErrorCode::InvalidArgument, std::move(message), std::move(hint));
}

std::string describe(const io::FileSpec& spec) { return spec.tensor.empty() ? spec.path : spec.path + ":" + spec.tensor; }

std::vector<std::int64_t> dimensions(Layout layout, std::int64_t batch, std::int64_t heads, std::int64_t length, std::int64_t width) {
  return layout == Layout::BHSD ? std::vector{batch, heads, length, width} : std::vector{batch, length, heads, width};
}

void checkTensor(const char* role, const HostTensor& t, Layout layout) {
  const char* order = layout == Layout::BHSD ? "batch, heads, length, head dimension (--layout bhsd)"
                                             : "batch, length, heads, head dimension (--layout bshd)";
  if (t.rank() != 4)
    refuse(
        fmt::format("{} has {} dimension{} ({}), needs 4: {}", role, t.rank(), t.rank() == 1 ? "" : "s", io::printShape(t.shape()), order));
  const std::size_t heads = layout == Layout::BHSD ? 1 : 2;
  if (t.shape()[heads] == 0 || t.shape()[3] == 0)
    refuse(fmt::format("{} has the shape {}; there must be at least 1 head, and a head dimension of at least 1", role,
                       io::printShape(t.shape())));
  if (!isFloat(t.dtype()))
    refuse(fmt::format("{} has elements of type {}; queries, keys and values are f32, f16 or bf16", role, name(t.dtype())));
}

/// The common type of the files, or the one asked for.
DType chooseType(const Options& options, const HostTensor& q, const HostTensor& k, const HostTensor& v) {
  if (options.dtype) return *options.dtype;
  if (q.dtype() != k.dtype() || q.dtype() != v.dtype())
    refuse(fmt::format("q is {}, k is {}, v is {}; they must have one type", name(q.dtype()), name(k.dtype()), name(v.dtype())),
           "--dtype converts them");
  if (q.dtype() != DType::F32 && q.dtype() != DType::F16 && q.dtype() != DType::BF16)
    refuse(fmt::format("q, k and v are {}; f32, f16 and bf16 can be run", name(q.dtype())), "--dtype converts them");
  return q.dtype();
}

io::AttentionShape matchShapes(const Options& options, const HostTensor& tq, const HostTensor& tk, const HostTensor& tv) {
  const io::View4 q = tq.view(options.layout), k = tk.view(options.layout), v = tv.view(options.layout);
  const std::string hint =
      fmt::format("the files are read as --layout {0}, q is {1}, k is {2}, v is {3}; is it --layout {4}?",
                  options.layout == Layout::BHSD ? "bhsd" : "bshd", io::printShape(tq.shape()), io::printShape(tk.shape()),
                  io::printShape(tv.shape()), options.layout == Layout::BHSD ? "bshd" : "bhsd");
  const auto same = [&](const char* what, const char* first, std::int64_t a, const char* second, std::int64_t b) {
    if (a != b) refuse(fmt::format("the {} of {} is {}, of {} {}; they must be equal", what, first, a, second, b), hint);
  };
  same("batch", "q", q.shape[0], "k", k.shape[0]);
  same("batch", "q", q.shape[0], "v", v.shape[0]);
  same("number of heads", "k", k.shape[1], "v", v.shape[1]);
  same("length", "k", k.shape[2], "v", v.shape[2]);
  same("head dimension", "q", q.shape[3], "k", k.shape[3]);
  if (q.shape[1] % k.shape[1] != 0)
    refuse(
        fmt::format("{} query heads cannot share {} key/value heads; the first must be a multiple of the second", q.shape[1], k.shape[1]),
        hint);
  return {q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2], q.shape[3], v.shape[3], options.shape.causal};
}

void readInputs(const Options& options, Progress& progress, Problem& p) {
  const auto read = [&](const char* role, const io::FileSpec& spec) {
    progress.step(fmt::format("reading {}", describe(spec)));
    HostTensor t = io::readTensor(spec, role);
    checkTensor(role, t, options.layout);
    return t;
  };
  p.q = read("q", *options.q);
  p.k = read("k", *options.k);
  p.v = read("v", *options.v);
  p.dtype = chooseType(options, p.q, p.k, p.v);
  p.shape = matchShapes(options, p.q, p.k, p.v);
  p.inputs = fmt::format("{}, {}, {}", describe(*options.q), describe(*options.k), describe(*options.v));
  // Kernels take any strides but that of the last dimension (a Fortran-order file's is not 1).
  std::string converted;
  for (HostTensor* t : {&p.q, &p.k, &p.v}) {
    if (t->dtype() != p.dtype) converted = fmt::format(" (converted from {})", name(t->dtype()));
    if (t->dtype() != p.dtype || !t->isRowMajor()) *t = io::convert(*t, p.dtype);
  }
  p.inputs += converted;
}

void drawInputs(const Options& options, Progress& progress, Problem& p) {
  progress.step("drawing random inputs");
  p.shape = options.shape;
  p.dtype = options.dtype.value_or(DType::F32);
  const io::AttentionShape& s = p.shape;
  p.q = HostTensor::allocate(p.dtype, dimensions(p.layout, s.batch, s.headsQ, s.lenQ, s.dim), "q");
  p.k = HostTensor::allocate(p.dtype, dimensions(p.layout, s.batch, s.headsKv, s.lenKv, s.dim), "k");
  p.v = HostTensor::allocate(p.dtype, dimensions(p.layout, s.batch, s.headsKv, s.lenKv, s.dimV), "v");
  std::uint64_t stream = 0;
  for (HostTensor* t : {&p.q, &p.k, &p.v}) io::fillNormal(*t, options.seed, stream++, options.threads);
  p.inputs = fmt::format("standard normal, seed {}", options.seed);
}

void writeOne(const io::FileSpec& spec, const char* defaultName, const HostTensor& tensor) {
  if (spec.format == io::FileFormat::Npy) return io::writeNpy(spec.path, tensor);
  io::writeSafetensors(spec.path, {{spec.tensor.empty() ? defaultName : spec.tensor, &tensor}});
}

}  // namespace

Problem makeProblem(const Options& options, Progress& progress) {
  Problem p;
  p.layout = options.layout;
  if (options.q)
    readInputs(options, progress, p);
  else
    drawInputs(options, progress, p);
  if (options.out && options.out->format == io::FileFormat::Npy && p.dtype == DType::BF16)
    refuse(fmt::format("--out {}: an .npy file cannot hold bf16", options.out->path),
           "write a .safetensors file, or choose --dtype f32 or f16");
  const io::AttentionShape& s = p.shape;
  p.scale = static_cast<float>(options.scale.value_or(1 / std::sqrt(static_cast<double>(s.dim))));
  p.o = HostTensor::allocate(p.dtype, dimensions(p.layout, s.batch, s.headsQ, s.lenQ, s.dimV), "the output");
  p.lse = HostTensor::allocate(DType::F32, {s.batch, s.headsQ, s.lenQ}, "the log-sum-exp");
  // All ones is a NaN in every type: what a kernel forgets to write does not look like a result.
  for (HostTensor* t : {&p.o, &p.lse}) std::memset(t->data(), 0xff, static_cast<std::size_t>(t->bytes()));
  return p;
}

void writeResults(const Options& options, const Problem& problem) {
  if (options.out && options.lse && options.out->path == options.lse->path) {
    const auto named = [](const io::FileSpec& spec, const char* name) { return spec.tensor.empty() ? std::string(name) : spec.tensor; };
    io::writeSafetensors(options.out->path, {{named(*options.out, "o"), &problem.o}, {named(*options.lse, "lse"), &problem.lse}});
    return;
  }
  if (options.out) writeOne(*options.out, "o", problem.o);
  if (options.lse) writeOne(*options.lse, "lse", problem.lse);
}

}  // namespace fattn::run
