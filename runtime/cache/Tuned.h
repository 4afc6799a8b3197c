// SPDX-License-Identifier: Apache-2.0
// What tuning has found out: the measured points of one problem, and the winner. docs/cache-format.md specifies the files and the rules.
#ifndef FATTN_RUNTIME_CACHE_TUNED_H
#define FATTN_RUNTIME_CACHE_TUNED_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fattn/TileConfig.h"

namespace fattn::cache {

/// Named extents: {{"rows", 1000}, {"keys", 1000}}. A name is a letter, then letters, digits and _, all lower case, at most 32.
using Shape = std::map<std::string, std::int64_t>;

/// The bucket of a shape: each extent becomes the smallest power of two that is not below it, from 1 to 2^40. Shapes of one bucket
/// share their tuning.
Shape bucketOf(const Shape& shape);
/// "keys=1024,rows=1024": the name of a bucket's folder.
std::string bucketName(const Shape& bucket);
/// The inverse; nothing for other texts.
std::optional<Shape> parseBucket(std::string_view name);
/// How far apart two buckets are: the sum of the doublings in each extent; -1 if their names of extents differ.
int bucketDistance(const Shape& a, const Shape& b);

/// The problem that a tuning is about. The texts are compared as they are, except that what is not printable ASCII counts as '?'.
struct TuneKey {
  std::string target;    ///< what code is made for, with the processor's features
  std::string device;    ///< Device::description()
  std::string driver;    ///< its version; "none" on the host
  std::string compiler;  ///< compiler::version()
  std::string kernel;    ///< hash of the kernel's IR with a reference tile configuration
  Shape shape;           ///< any shape: the stores take its bucket
  bool operator==(const TuneKey&) const = default;
};

/// What became of one candidate.
struct TunePoint {
  enum class Status : std::uint8_t { Measured, Failed, Pruned };

  TileConfig tile;
  Status status = Status::Measured;
  double medianUs = 0;  ///< of one launch; above 0 if measured
  double spreadUs = 0;  ///< the interquartile range
  std::int64_t samples = 0;
  std::string reason{};     ///< why it failed or was pruned, at most 500 characters
  std::int64_t timeMs = 0;  ///< when, in milliseconds since 1970
  std::string run{};        ///< who: the writer's id, set by the store where empty
  bool operator==(const TunePoint&) const = default;
};

/// The choice of a tuning that tried enough for a verdict, after ranking the best few again and checking the numbers.
struct TuneWinner {
  TileConfig tile;
  double medianUs = 0, spreadUs = 0;
  std::int64_t timeMs = 0;
  std::string run{};
  std::int64_t untried = 0;  ///< candidates that the budget did not reach
  bool operator==(const TuneWinner&) const = default;
};

/// All that is known about one problem. Without a winner the tuning is unfinished, and its points choose nothing.
struct TuneRecord {
  TuneKey key;
  std::vector<TunePoint> points;
  std::optional<TuneWinner> winner;
  std::size_t dropped = 0;  ///< entries of the file that named a schedule by its rank, which says nothing any more
  bool operator==(const TuneRecord&) const = default;
};

/// The key with its texts cleaned and its shape's bucket: what files hold.
TuneKey normalized(const TuneKey& key);
/// Takes the points of `from` into `into`, whose order becomes canonical. Of one candidate's points of one run the latest stays; of the
/// winners the latest, of two at the same time the one with the greater run. Neither the order nor repetition of merges matters.
void merge(TuneRecord& into, const TuneRecord& from);

/// The bytes of a file.
std::string encodeTuned(const TuneRecord& record);
/// The record of a file, if the file is whole, of this version or the one before, valid in every part, and about `key` where that is given.
std::optional<TuneRecord> decodeTuned(std::string_view file, const TuneKey* key = nullptr);
/// Forgets points that are a year older than the newest one, and beyond `most` points the oldest. The winner stays.
void trim(TuneRecord& record, std::size_t most);
/// A warning, once in a process, that a file held entries which named schedules by their ranks.
void sayDropped(const TuneRecord& record, const std::string& file);
/// Makes a file of the text of a JSON object that lacks the checksum: what encodeTuned() ends with. For tests of hostile files.
std::string sealTuned(std::string_view object);

}  // namespace fattn::cache

#endif
