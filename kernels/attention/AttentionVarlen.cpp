// SPDX-License-Identifier: Apache-2.0
// Attention of packed sequences. A program takes a block of rows of one sequence and one head, as the forward does; where the sequence
// begins and ends it reads from the device's memory. Programs behind the end of their sequence see no keys and write nothing.
#include "kernels/attention/AttentionVarlen.h"

#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/AttentionSupport.h"
#include "kernels/attention/PackedSequences.h"
#include "kernels/attention/ProgramOrder.h"

namespace fattn::kernels {
namespace {

using namespace dsl;

void varlenProgram(Params& args, const Parameters& parameters, const TileConfig& tile) {
  const ForwardKind kind = kindOf(parameters);
  auto form = [&](Aliasing aliasing) { return TensorForm{.alignment = kind.alignment, .aliasing = aliasing}; };
  const TensorForm plain{.alignment = sizeInBytes(DType::F32), .rows = false, .aliasing = Aliasing::None};
  // o may be q: a program has read its rows of q before it writes them.
  const TensorArg q = args.tensor("q", kind.dtype, 3, form(Aliasing::Possible)), k = args.tensor("k", kind.dtype, 3, form(Aliasing::None)),
                  v = args.tensor("v", kind.dtype, 3, form(Aliasing::None)), o = args.tensor("o", kind.dtype, 3, form(Aliasing::InPlace)),
                  lse = args.tensor("lse", DType::F32, 2, plain), cuQ = args.tensor("cu_q", DType::I32, 1, plain),
                  cuK = args.tensor("cu_k", DType::I32, 1, plain);
  const Scalar scale = args.scalar("scale", DType::F32), writeLse = args.scalar("write_lse", DType::I32);

  const auto [place, blocks, head, batch] = programPlace(kind.causal, cast(q.size[1], DType::I32));
  const Scalar row0 = (kind.causal ? blocks - 1 - place : place) * tile.block_m;  // causal: the last rows see the most keys
  const Scalar kvHead = head / cast(q.size[1] / k.size[1], DType::I32);
  const Sequence queries = packedSequence(cuQ, q.size[0], batch), keys = packedSequence(cuK, k.size[0], batch);
  const Scalar seqK = where(row0 < queries.length, keys.length, 0);
  auto rowsOf = [](const TensorArg& x, const Scalar& first, const Scalar& length, const Scalar& ofHead, std::int64_t elements) {
    return [=] {
      return HeadRows{x.base + (cast(first, DType::I64) * x.stride[0] + cast(ofHead, DType::I64) * x.stride[1]), cast(length, DType::I64),
                      x.stride[0], elements};
    };
  };
  auto allRowsOf = [](const TensorArg& x, const Scalar& ofHead, std::int64_t elements) {
    return [=] { return HeadRows{x.base + cast(ofHead, DType::I64) * x.stride[1], x.size[0], x.stride[0], elements}; };
  };
  forwardRows({.q = rowsOf(q, queries.first, queries.length, head, kind.head_dim),
               .k = rowsOf(k, keys.first, seqK, kvHead, kind.head_dim),
               .v = rowsOf(v, keys.first, seqK, kvHead, kind.head_dim_v),
               .o = rowsOf(o, queries.first, queries.length, head, kind.head_dim_v),
               .lse = rowsOf(lse, queries.first, queries.length, head, 1),
               .among = ForwardRows::Among{.q = allRowsOf(q, head, kind.head_dim),
                                           .k = allRowsOf(k, kvHead, kind.head_dim),
                                           .v = allRowsOf(v, kvHead, kind.head_dim_v),
                                           .firstQ = queries.first,
                                           .firstK = keys.first},
               .row0 = row0,
               .seqQ = queries.length,
               .seqK = seqK,
               .scale = scale,
               .writeLse = writeLse,
               .dtype = kind.dtype,
               .causal = kind.causal},
              tile);
}

void checkVarlen(const Parameters& parameters) { requireKind(kindOf(parameters)); }

Grid varlenGrid(const Parameters& parameters, const TileConfig& tile, std::span<const std::int64_t> extents) {
  const BlockCounts counts = {(extents[2] + tile.block_m - 1) / tile.block_m, extents[1], extents[0]};
  return parameters.flag("causal") ? unevenGrid(counts) : evenGrid(counts);
}

TileConfig varlenTile(const Parameters& parameters, const Machine& machine) {
  return defaultTile(kindOf(parameters), machine, /*isUneven=*/true);
}

}  // namespace

const KernelTemplate& varlenTemplate() {
  static const auto* what = new KernelTemplate{.name = "attention_varlen",
                                               .parameters = {{"dtype", std::string("f16")},
                                                              {"head_dim", std::int64_t{128}},
                                                              {"head_dim_v", std::int64_t{128}},
                                                              {"causal", false},
                                                              {"alignment", std::int64_t{16}}},
                                               .extents = {"batch", "heads", "length"},
                                               .typical = {8, 32, 2048},
                                               .program = varlenProgram,
                                               .grid = varlenGrid,
                                               .tile = varlenTile,
                                               .check = checkVarlen};
  return *what;
}

}  // namespace fattn::kernels
