// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/BinaryStore.h"

#include <algorithm>
#include <bit>

#include "runtime/base/Log.h"

namespace fattn::cache {
namespace {

static_assert(std::endian::native == std::endian::little, "the files are little-endian and written as numbers lie in memory");

constexpr std::string_view kMagic = "fattnbin";
constexpr std::uint32_t kBinaryVersion = 8;
constexpr std::size_t kHeader = 8 + 4 + 4 + 8 + 32, kDigest = 32, kMaxBinary = std::size_t{256} << 20, kMaxBinaryText = 4096,
                      kMaxArgs = 4096;
constexpr int kShards = 16;  // folders, by the first digit of the key: each is pruned by itself, so that a write looks at few files

void put(std::string& out, const void* bytes, std::size_t size) { out.append(static_cast<const char*>(bytes), size); }
template <typename T>
void put(std::string& out, T value) {
  put(out, &value, sizeof(value));
}
void putText(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  put(out, text.data(), text.size());
}

std::string textOf(const Digest& digest) { return {digest.begin(), digest.end()}; }

// Takes values off the front of a file. After the first that is not there, `good` is false and every value is 0 or empty.
struct Reader {
  std::string_view rest;
  bool good = true;

  std::string_view take(std::size_t size) {
    if (!good || size > rest.size()) return good = false, std::string_view();
    std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  }
  template <typename T>
  T number() {
    T value{};
    std::string_view bytes = take(sizeof(T));
    if (good) bytes.copy(reinterpret_cast<char*>(&value), sizeof(T));
    return value;
  }
  std::string text(std::size_t most) {
    auto size = number<std::uint32_t>();
    if (size > most) good = false;
    return std::string(take(good ? size : 0));
  }
  // A number that must not be negative.
  template <typename T>
  T count() {
    T value = number<T>();
    if (value < 0) good = false;
    return value;
  }
};

constexpr std::size_t kMaxMaps = 64, kMaxDims = 5;

void putProducts(std::string& out, const std::vector<compiler::LaunchProduct>& products) {
  put(out, static_cast<std::uint32_t>(products.size()));
  for (const compiler::LaunchProduct& product : products) {
    put(out, product.factor);
    put(out, static_cast<std::uint32_t>(product.arguments.size()));
    for (std::int32_t argument : product.arguments) put(out, argument);
  }
}

void putTensorMaps(std::string& out, const compiler::Binary& binary) {
  put(out, static_cast<std::uint32_t>(binary.tensorMaps.size()));
  for (const compiler::TensorMap& map : binary.tensorMaps) {
    for (std::int32_t value : {map.pointer, map.elementBytes, map.swizzleBytes, map.boxColumns, map.boxRows}) put(out, value);
    put(out, static_cast<std::uint8_t>(map.adds));
    putProducts(out, map.sizes);
    putProducts(out, map.strides);
  }
  put(out, static_cast<std::uint32_t>(binary.nonNegative.size()));
  for (std::int32_t argument : binary.nonNegative) put(out, argument);
}

// As many as `most`, each read by `one`.
template <typename T, typename One>
std::vector<T> takeList(Reader& in, std::size_t most, One one) {
  auto count = in.number<std::uint32_t>();
  if (count > most) in.good = false;
  std::vector<T> list;
  for (std::uint32_t i = 0; in.good && i < count; ++i) list.push_back(one());
  return list;
}

// The number of one of the binary's arguments.
std::int32_t takeArgument(Reader& in, const compiler::Binary& binary, bool pointer) {
  auto number = in.count<std::int32_t>();
  if (static_cast<std::size_t>(number) >= binary.args.size() || binary.args[static_cast<std::size_t>(number)].isPointer != pointer)
    in.good = false;
  return number;
}

std::vector<compiler::LaunchProduct> takeProducts(Reader& in, const compiler::Binary& binary) {
  return takeList<compiler::LaunchProduct>(in, kMaxDims, [&] {
    compiler::LaunchProduct product{.factor = in.number<std::int64_t>(), .arguments = {}};
    product.arguments = takeList<std::int32_t>(in, kMaxMaps, [&] { return takeArgument(in, binary, false); });
    return product;
  });
}

void takeTensorMaps(Reader& in, compiler::Binary& binary) {
  binary.tensorMaps = takeList<compiler::TensorMap>(in, kMaxMaps, [&] {
    compiler::TensorMap map;
    map.pointer = takeArgument(in, binary, true);
    for (std::int32_t* value : {&map.elementBytes, &map.swizzleBytes, &map.boxColumns, &map.boxRows}) *value = in.count<std::int32_t>();
    auto adds = in.number<std::uint8_t>();
    if (adds > 1 || (adds == 1 && map.elementBytes != 4)) in.good = false;
    map.adds = adds == 1;
    map.sizes = takeProducts(in, binary);
    map.strides = takeProducts(in, binary);
    if (map.sizes.size() < 2 || map.strides.size() + 1 != map.sizes.size()) in.good = false;
    return map;
  });
  binary.nonNegative = takeList<std::int32_t>(in, kMaxArgs, [&] { return takeArgument(in, binary, false); });
}

std::optional<compiler::Binary> decodePayload(std::string_view payload) {
  Reader in{payload};
  compiler::Binary binary;
  binary.target = in.text(kMaxBinaryText);
  binary.entry = in.text(kMaxBinaryText);
  binary.scratchBytes = in.count<std::int64_t>();
  binary.sharedBytes = in.count<std::int64_t>();
  binary.threads = in.count<std::int32_t>();
  binary.registers = in.count<std::int32_t>();
  binary.spillBytes = in.count<std::int32_t>();
  for (bool* flag : {&binary.repeats, &binary.counts, &binary.overlaps}) {
    auto value = in.number<std::uint8_t>();
    if (value > 1) return std::nullopt;
    *flag = value == 1;
  }
  binary.cluster = in.number<std::uint8_t>();
  if (binary.cluster < 1 || (binary.cluster > 1 && binary.repeats)) return std::nullopt;
  binary.dieOrder.dies = in.number<std::uint8_t>();
  binary.dieOrder.first = in.number<std::uint8_t>();
  if (binary.dieOrder.dies < 1 || binary.dieOrder.first > 2) return std::nullopt;
  auto args = in.number<std::uint32_t>();
  if (args > kMaxArgs) return std::nullopt;
  for (std::uint32_t i = 0; in.good && i < args; ++i) {
    compiler::ArgInfo arg{.name = in.text(kMaxBinaryText)};
    auto pointer = in.number<std::uint8_t>();
    std::optional<DType> type = parseDType(in.text(kMaxBinaryText));
    if (!type || pointer > 1) return std::nullopt;
    arg.isPointer = pointer == 1;
    arg.type = *type;
    binary.args.push_back(std::move(arg));
  }
  takeTensorMaps(in, binary);
  binary.bytes = in.text(kMaxBinary);
  if (!in.good || !in.rest.empty()) return std::nullopt;
  return binary;
}

}  // namespace

std::string encodeBinary(const Digest& key, const compiler::Binary& binary) {
  std::string payload;
  putText(payload, binary.target);
  putText(payload, binary.entry);
  put(payload, binary.scratchBytes);
  put(payload, binary.sharedBytes);
  for (int value : {binary.threads, binary.registers, binary.spillBytes}) put(payload, static_cast<std::int32_t>(value));
  for (bool flag : {binary.repeats, binary.counts, binary.overlaps}) put(payload, static_cast<std::uint8_t>(flag));
  put(payload, static_cast<std::uint8_t>(binary.cluster));
  put(payload, binary.dieOrder.dies);
  put(payload, binary.dieOrder.first);
  put(payload, static_cast<std::uint32_t>(binary.args.size()));
  for (const compiler::ArgInfo& arg : binary.args) {
    putText(payload, arg.name);
    put(payload, static_cast<std::uint8_t>(arg.isPointer));
    putText(payload, name(arg.type));
  }
  putTensorMaps(payload, binary);
  putText(payload, binary.bytes);
  std::string file(kMagic);
  put(file, kBinaryVersion);
  put(file, std::uint32_t{0});
  put(file, static_cast<std::uint64_t>(kHeader + payload.size() + kDigest));
  put(file, key.data(), key.size());
  file += payload;
  Digest digest = hash(file);
  put(file, digest.data(), digest.size());
  return file;
}

std::optional<compiler::Binary> decodeBinary(std::string_view file, const Digest& key) {
  if (file.size() < kHeader + kDigest || file.size() > kMaxBinary) return std::nullopt;
  Reader in{file};
  if (in.take(kMagic.size()) != kMagic || in.number<std::uint32_t>() != kBinaryVersion || in.number<std::uint32_t>() != 0 ||
      in.number<std::uint64_t>() != file.size() || in.take(kDigest) != textOf(key))
    return std::nullopt;
  if (file.substr(file.size() - kDigest) != textOf(hash(file.substr(0, file.size() - kDigest)))) return std::nullopt;
  return decodePayload(in.rest.substr(0, in.rest.size() - kDigest));
}

std::filesystem::path BinaryStore::fileOf(const Digest& key) {
  std::string digits = hex(key);
  return std::filesystem::path("binaries") / digits.substr(0, 1) / (digits + ".bin");
}

std::optional<compiler::Binary> BinaryStore::load(const Digest& key) const {
  for (const Directory* directory : {static_cast<const Directory*>(&directory_), shared_}) {
    if (directory == nullptr) continue;
    const std::expected<std::string, Refusal> file = directory->read(fileOf(key), kMaxBinary);
    std::optional<compiler::Binary> binary = file ? decodeBinary(*file, key) : std::nullopt;
    if (binary) return binary;
    if ((!file && file.error().absent()) || !log::enabled(log::Level::Info)) continue;
    log::write(log::Level::Info,
               "the cache ignores " +
                   (file ? (directory->path() / fileOf(key)).string() + ": it is no whole file of its kind" : file.error().why));
  }
  return std::nullopt;
}

bool BinaryStore::save(const Digest& key, const compiler::Binary& binary) {
  std::string file = encodeBinary(key, binary);
  if (file.size() > std::min<std::uint64_t>(kMaxBinary, bytes_ / kShards)) return true;  // too large to keep, which is not an error
  std::filesystem::path name = fileOf(key);
  if (!directory_.replace(name, file, /*durable=*/false)) return false;
  directory_.prune(name.parent_path(), bytes_ / kShards, name);
  return true;
}

}  // namespace fattn::cache
