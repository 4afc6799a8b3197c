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
constexpr std::size_t kMaxFiles = 1000000;
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

void look(const Directory& directory, const fs::path& name, Inventory& inventory) {
  if (name.filename().string().starts_with(".tmp-")) {
    if (directory.age(name) > kKilledSeconds) inventory.faults.push_back({name, "its writer was killed"});
    return;
  }
  Directory::Missing missing = Directory::Missing::No;
  const std::optional<std::string> bytes = directory.read(name, kMaxFile, &missing);
  if (!bytes) {
    if (missing == Directory::Missing::Unusable)
      inventory.faults.push_back({name, "it cannot be read, is no ordinary file, or others may have written it"});
    return;
  }
  const bool tuned = *name.begin() == "tuned";
  if (std::string fault = tuned ? tunedFault(name, *bytes) : binaryFault(name, *bytes); !fault.empty()) {
    inventory.faults.push_back({name, std::move(fault)});
    return;
  }
  ++(tuned ? inventory.tuned : inventory.binaries);
  (tuned ? inventory.tunedBytes : inventory.binaryBytes) += bytes->size();
}

}  // namespace

Inventory verify(const Directory& directory) {
  Inventory inventory;
  if (directory.path().empty()) return inventory;
  std::size_t seen = 0;
  for (const char* store : {"tuned", "binaries"}) {
    std::error_code failed;
    for (fs::recursive_directory_iterator entry(directory.path() / store, failed), end; !failed && entry != end && ++seen < kMaxFiles;
         entry.increment(failed)) {
      std::error_code ignored;
      if (entry->is_directory(ignored) && !entry->is_symlink(ignored)) continue;
      look(directory, entry->path().lexically_relative(directory.path()), inventory);
    }
  }
  std::ranges::sort(inventory.faults, {}, &Fault::file);
  return inventory;
}

}  // namespace fattn::cache
