// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Verify.h"

#include <algorithm>
#include <optional>

#include "runtime/cache/BinaryStore.h"
#include "runtime/cache/TunedStore.h"

namespace fattn::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFile = std::size_t{256} << 20;
constexpr double kKilledSeconds = 3600;

std::optional<Digest> digestOf(const std::string& name) {
  Digest digest{};
  const std::string_view digits = "0123456789abcdef";
  if (name.size() != digest.size() * 2) return std::nullopt;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const std::size_t value = digits.find(name[i]);
    if (value == std::string_view::npos) return std::nullopt;
    digest[i / 2] = static_cast<std::uint8_t>(digest[i / 2] << 4 | value);
  }
  return digest;
}

// What is wrong with a file; empty where nothing is.
std::string tunedFault(const fs::path& name, const std::string& bytes) {
  const std::optional<TuneRecord> record = decodeTuned(bytes);
  if (!record) return "it is no whole file of tuned configurations of this version";
  if (TunedStore::folderOf(record->key) != name.parent_path()) return "it is about another problem than its folder";
  return "";
}

std::string binaryFault(const fs::path& name, const std::string& bytes) {
  const std::optional<Digest> key = digestOf(name.stem().string());
  if (!key || BinaryStore::fileOf(*key) != name) return "its name is no key";
  return decodeBinary(bytes, *key) ? "" : "it is no whole binary of this version for the key in its name";
}

// What no reader would take, and why; else it is counted.
std::string look(const Directory& directory, const Directory::Entry& entry, Inventory& inventory) {
  if (entry.kind == NameKind::Temporary) return entry.age > kKilledSeconds ? "its writer was killed" : "";
  if (entry.kind == NameKind::Foreign) return "its name is none of the cache's: no reader takes it and nothing removes it";
  const std::expected<std::string, Refusal> bytes = directory.read(entry.name, kMaxFile);
  if (!bytes) return bytes.error().absent() ? "" : bytes.error().why;
  const bool tuned = *entry.name.begin() == "tuned";
  if (std::string fault = tuned ? tunedFault(entry.name, *bytes) : binaryFault(entry.name, *bytes); !fault.empty()) return fault;
  ++(tuned ? inventory.tuned : inventory.binaries);
  (tuned ? inventory.tunedBytes : inventory.binaryBytes) += bytes->size();
  return "";
}

}  // namespace

Inventory verify(const Directory& directory) {
  Inventory inventory;
  for (const char* store : {"tuned", "binaries"}) {
    const Directory::Listing listing = directory.list(store);
    for (const Refusal& refused : listing.refused) inventory.faults.push_back({store, refused.why});
    for (const Directory::Entry& entry : listing.entries)
      if (std::string fault = look(directory, entry, inventory); !fault.empty())
        inventory.faults.push_back({entry.name, std::move(fault), entry.kind != NameKind::Foreign});
  }
  std::ranges::sort(inventory.faults, {}, &Fault::file);
  return inventory;
}

}  // namespace fattn::cache
