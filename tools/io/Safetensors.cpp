// SPDX-License-Identifier: Apache-2.0
// The .safetensors format: 8 bytes of header length, a JSON object {name: {dtype, shape, data_offsets: [begin, end]}}, raw data. Checked as
// strictly as the reference implementation does, since every number in the header may be a lie.
#include "tools/io/Safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "fattn/Error.h"

namespace fattn::io {
namespace {

using nlohmann::json;

/// The reference implementation allows 100 MB.
constexpr std::int64_t kLargestHeader = 100'000'000;
constexpr std::size_t kHighestRank = 64;

struct TypeName {
  std::string_view text;
  DType dtype;
};
constexpr TypeName kTypes[] = {{"F32", DType::F32},        {"F16", DType::F16},        {"BF16", DType::BF16},
                               {"F8_E4M3", DType::F8E4M3}, {"F8_E5M2", DType::F8E5M2}, {"BOOL", DType::I1},
                               {"I8", DType::I8},          {"I32", DType::I32},        {"I64", DType::I64}};
struct OtherType {
  std::string_view text;
  std::int64_t bytes;
};
/// Types the format has and we have not; known so that a file holding them beside ours is still checked whole.
constexpr OtherType kOtherTypes[] = {{"F64", 8}, {"U8", 1}, {"I16", 2}, {"U16", 2}, {"U32", 4}, {"U64", 8}, {"F8_E8M0", 1}, {"C64", 8}};

std::optional<DType> parseType(std::string_view text) {
  for (const TypeName& t : kTypes)
    if (t.text == text) return t.dtype;
  return std::nullopt;
}

/// Bytes of an element, or nothing for a type we do not know (newer formats of the file, types below a byte).
std::optional<std::int64_t> elementSize(std::string_view text) {
  if (const std::optional<DType> dtype = parseType(text)) return sizeInBytes(*dtype);
  for (const OtherType& t : kOtherTypes)
    if (t.text == text) return t.bytes;
  return std::nullopt;
}

[[noreturn]] void refuse(const ByteSource& source, const std::string& what,
                         std::string hint = "the file is damaged, or no .safetensors file") {
  throw Error(ErrorCode::IoError, fmt::format("{}: {}", source.name(), what), std::move(hint));
}

/// Looks at the names of tensors and at how deep values are nested, and keeps nothing else. (A callback of json::parse() would be given the
/// same, but for each value it goes through all before it.)
class HeaderWatch final : public nlohmann::json_sax<json> {
 public:
  std::optional<std::string> twice;

  bool key(std::string& name) override {
    if (depth_ == 1 && !names_.insert(name).second) twice = name;
    return !twice;
  }
  bool start_object(std::size_t) override { return ++depth_ <= kDeepest; }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(std::size_t) override { return ++depth_ <= kDeepest; }
  bool end_array() override { return --depth_ >= 0; }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(json::binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override { return false; }

 private:
  static constexpr int kDeepest = 8;
  std::unordered_set<std::string> names_;
  int depth_ = 0;
};

/// Parses the header; JSON's "the last one wins" for names used twice would hide a tensor, so that is refused.
json parseHeader(const ByteSource& source, const std::string& text) {
  HeaderWatch watch;
  const bool good = json::sax_parse(text, &watch);
  if (watch.twice) refuse(source, fmt::format("the name {} is used twice", quote(*watch.twice)));
  json header = good ? json::parse(text, nullptr, /*allow_exceptions=*/false) : json(json::value_t::discarded);
  if (header.is_discarded() || !header.is_object()) refuse(source, "its header is not a JSON object");
  return header;
}

std::vector<std::int64_t> parseNumbers(const ByteSource& source, const std::string& name, const json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_array() || found->size() > kHighestRank)
    refuse(source, fmt::format("tensor {} has no list {}", quote(name), quote(key)));
  std::vector<std::int64_t> values;
  for (const json& v : *found) {
    if (!v.is_number_unsigned() || v.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
      refuse(source, fmt::format("tensor {}: {} must hold non-negative integers below 2^63", quote(name), quote(key)));
    values.push_back(v.get<std::int64_t>());
  }
  return values;
}

SafetensorsEntry parseEntry(const ByteSource& source, const std::string& name, const json& value, std::int64_t dataAt) {
  if (!value.is_object() || !value.contains("dtype") || !value["dtype"].is_string())
    refuse(source, fmt::format("tensor {} has no \"dtype\"", quote(name)));
  SafetensorsEntry entry{name, value["dtype"].get<std::string>(), parseNumbers(source, name, value, "shape"), 0, 0};
  const std::vector<std::int64_t> offsets = parseNumbers(source, name, value, "data_offsets");
  const std::int64_t available = source.size() - dataAt;
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    refuse(source, fmt::format("tensor {}: \"data_offsets\" must be a begin and an end", quote(name)));
  if (offsets[1] > available)
    refuse(source, fmt::format("tensor {} ends at byte {} of the data, but there are only {}", quote(name), offsets[1], available),
           "the file is truncated");
  const std::string what = fmt::format("{}: tensor {}", source.name(), quote(name));
  if (const std::optional<std::int64_t> size = elementSize(entry.dtype)) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(elementCount(entry.shape, what), *size, &bytes) || bytes != offsets[1] - offsets[0])
      refuse(source, fmt::format("tensor {} of shape {} and type {} has {} bytes of data, which is not its size", quote(name),
                                 printShape(entry.shape), entry.dtype, offsets[1] - offsets[0]));
  }
  entry.begin = dataAt + offsets[0];
  entry.end = dataAt + offsets[1];
  return entry;
}

/// "q BF16 1x8x128x64, k ..." for messages; the first few.
std::string contents(const std::vector<SafetensorsEntry>& entries) {
  constexpr std::size_t kShown = 8;
  std::string out;
  for (std::size_t i = 0; i < std::min(kShown, entries.size()); ++i)
    out += fmt::format("{}{} ({} {})", i == 0 ? "" : ", ", quote(entries[i].name), quote(entries[i].dtype), printShape(entries[i].shape));
  return entries.size() > kShown ? out + fmt::format(" and {} more", entries.size() - kShown) : out;
}

const SafetensorsEntry& choose(const ByteSource& source, const std::vector<SafetensorsEntry>& entries, const std::string& name,
                               const std::string& role) {
  if (entries.empty()) refuse(source, "holds no tensors", "");
  if (name.empty() && entries.size() == 1) return entries.front();
  const std::string& wanted = name.empty() ? role : name;
  const auto found = std::ranges::find(entries, wanted, &SafetensorsEntry::name);
  if (found != entries.end()) return *found;
  refuse(source, fmt::format("holds no tensor called {}; it holds {}", quote(wanted), contents(entries)),
         name.empty() ? fmt::format("say which one: {}:NAME", source.name()) : "");
}

}  // namespace

std::vector<SafetensorsEntry> listSafetensors(const ByteSource& source) {
  unsigned char start[8] = {};
  if (source.size() < 8)
    refuse(source, fmt::format("is only {} bytes long; a .safetensors file starts with 8 bytes of header length", source.size()));
  source.read(0, std::as_writable_bytes(std::span(start)));
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | start[i];
  if (length > static_cast<std::uint64_t>(kLargestHeader))
    refuse(source, fmt::format("says its header has {} bytes; the format allows at most {}", length, kLargestHeader));
  if (static_cast<std::int64_t>(length) > source.size() - 8)
    refuse(source, fmt::format("says its header has {} bytes, but ends after {}", length, source.size() - 8), "the file is truncated");
  std::string text(length, '\0');
  source.read(8, std::as_writable_bytes(std::span(text)));

  const std::int64_t dataAt = 8 + static_cast<std::int64_t>(length);
  std::vector<SafetensorsEntry> entries;
  const json header = parseHeader(source, text);
  for (const auto& [key, value] : header.items())
    if (key != "__metadata__") entries.push_back(parseEntry(source, key, value, dataAt));
  std::ranges::sort(entries, {}, [](const SafetensorsEntry& e) { return std::pair(e.begin, e.end); });
  std::int64_t at = dataAt;
  for (const SafetensorsEntry& e : entries) {
    if (e.begin != at)
      refuse(source, fmt::format("tensor {} starts at byte {}, but the one before it ends at byte {}: tensors must follow each other",
                                 quote(e.name), e.begin, at));
    at = e.end;
  }
  if (at != source.size())
    refuse(source, fmt::format("has {} bytes of data, but its tensors take {}", source.size() - dataAt, at - dataAt));
  return entries;
}

HostTensor readSafetensors(const ByteSource& source, const std::string& name, const std::string& role) {
  const std::vector<SafetensorsEntry> entries = listSafetensors(source);
  const SafetensorsEntry& entry = choose(source, entries, name, role);
  const std::optional<DType> dtype = parseType(entry.dtype);
  if (!dtype)
    refuse(source,
           fmt::format("tensor {} has elements of type {}; readable are F32, F16, BF16, F8_E4M3, F8_E5M2, BOOL, I8, I32 and I64",
                       quote(entry.name), quote(entry.dtype)),
           entry.dtype == "F64" ? "save it as float32" : "");
  HostTensor tensor = HostTensor::allocate(*dtype, entry.shape, fmt::format("{}: tensor {}", source.name(), quote(entry.name)));
  source.read(entry.begin, {tensor.data(), static_cast<std::size_t>(tensor.bytes())});
  if constexpr (std::endian::native == std::endian::big) {
    const std::int64_t size = sizeInBytes(*dtype);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) std::reverse(tensor.data() + i * size, tensor.data() + (i + 1) * size);
  }
  return tensor;
}

void writeSafetensors(const std::string& path, const std::vector<NamedTensor>& tensors) {
  json header = json::object();
  std::int64_t at = 0;
  for (const NamedTensor& t : tensors) {
    const auto* type = std::ranges::find(kTypes, t.tensor->dtype(), &TypeName::dtype);
    if (header.contains(t.name)) throw Error(ErrorCode::InvalidArgument, fmt::format("{}: two tensors are called {}", path, quote(t.name)));
    header[t.name] = {{"dtype", type->text}, {"shape", t.tensor->shape()}, {"data_offsets", {at, at + t.tensor->bytes()}}};
    at += t.tensor->bytes();
  }
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  writeFile(path, [&](const Append& append) {
    std::byte length[8];
    for (int i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(text.size() >> (8 * i) & 0xff);
    append(length);
    append(std::as_bytes(std::span(text)));
    for (const NamedTensor& t : tensors) {
      const HostTensor* dense = t.tensor;
      HostTensor copy;
      if (!dense->isRowMajor()) dense = &(copy = convert(*dense, dense->dtype(), path));
      append({dense->data(), static_cast<std::size_t>(dense->bytes())});
    }
  });
}

}  // namespace fattn::io
