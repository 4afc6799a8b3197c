// SPDX-License-Identifier: Apache-2.0
// Tuned configurations that come with the library: a folder of the files of the tuned store, found by names instead of by hashes, because
// they are to serve other drivers and other versions of the compiler than those they were measured with.
//
//   <root>/<device>/<problem>/<bucket>.json        host-avx512bf16/attention_forward-f32-d64-v64/heads=32,seq_k=2048,seq_q=2048.json
//
// docs/cache-format.md specifies the files, docs/tuning.md who is served by which device's.
#ifndef FATTN_RUNTIME_CACHE_SHIPPED_H
#define FATTN_RUNTIME_CACHE_SHIPPED_H

#include <span>

#include "runtime/cache/TunedStore.h"

namespace fattn::cache {

/// Where shipped files are looked for: the folder that FATTN_TUNED_DIR names (empty: nowhere), else the one beside the library that this
/// code is in, else where it was to be installed.
std::vector<std::filesystem::path> shippedRoots();

/// The finished tunings of the device's folder, by name; where it has none, of the first folder by name that begins with `family`, if that
/// is not empty. Only what `accept` accepts. Whatever is wrong with a file, or if everybody may write to it or to a folder of it: it is as
/// if it were not there.
std::vector<TunedBucket> shippedBuckets(std::span<const std::filesystem::path> roots, const std::string& device, const std::string& family,
                                        const std::string& problem, const std::function<bool(const TileConfig&)>& accept);

/// The place of a record in a root.
std::filesystem::path shippedFile(const std::string& device, const std::string& problem, const Shape& bucket);

/// The record with what is worth shipping: its winner, and the points that are not much slower, which say how much each configuration loses
/// (kUnmeasured).
TuneRecord shipped(const TuneRecord& record);

}  // namespace fattn::cache

#endif
