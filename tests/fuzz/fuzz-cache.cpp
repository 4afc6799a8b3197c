// SPDX-License-Identifier: Apache-2.0
// Fuzzes the readers of the caches' files: any bytes give nothing, or what writes the same again. The first byte says what the rest is: b
// and t, a file of binaries or tuned configurations as it is; B and T, the part that the checksum covers, with a right checksum.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "runtime/cache/BinaryStore.h"
#include "runtime/cache/Tuned.h"

namespace {

using namespace fattn;

void require(bool holds) {
  if (!holds) std::abort();
}

void readBinary(const std::string& file) {
  cache::Digest key{};
  if (file.size() >= 56)
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(file[24 + i]);
  if (auto binary = cache::decodeBinary(file, key)) require(cache::encodeBinary(key, *binary) == file);
}

std::string sealedBinary(std::string_view payload) {
  std::string file = cache::encodeBinary({}, {}).substr(0, 56);
  std::uint64_t size = 56 + payload.size() + 32;
  for (std::size_t i = 0; i < 8; ++i) file[16 + i] = static_cast<char>(size >> (8 * i));
  file += payload;
  cache::Digest digest = cache::hash(file);
  return file.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}

void readTuned(const std::string& file) {
  auto record = cache::decodeTuned(file);
  if (!record) return;
  for (const cache::TunePoint& point : record->points) point.tile.validate();
  if (record->winner) record->winner->tile.validate();
  auto again = cache::decodeTuned(cache::encodeTuned(*record), &record->key);
  require(again && *again == *record);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'b') readBinary(rest);
  if (data[0] == 'B') readBinary(sealedBinary(rest));
  if (data[0] == 't') readTuned(rest);
  if (data[0] == 'T') readTuned(cache::sealTuned(rest));
  cache::parseBucket(rest);
  return 0;
}
