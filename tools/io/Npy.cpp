// SPDX-License-Identifier: Apache-2.0
// The .npy format: "\x93NUMPY", version, header length (2 bytes in version 1, 4 later), a Python dict literal with the keys descr,
// fortran_order and shape, padding, raw data. The header is parsed by hand: it is a closed grammar, and files are hostile.
#include "tools/io/Npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "fattn/Error.h"

namespace fattn::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
/// NumPy itself reads headers up to 10000 characters unless told to trust the file.
constexpr std::int64_t kLargestHeader = 1 << 16;
constexpr std::size_t kHighestRank = 64;

struct Header {
  DType dtype = DType::F32;
  bool swapped = false;
  bool fortran = false;
  std::vector<std::int64_t> shape;
};

[[noreturn]] void refuse(const ByteSource& source, const std::string& what, std::string hint = "") {
  throw Error(ErrorCode::IoError, fmt::format("{}: {}", source.name(), what), std::move(hint));
}

struct NumpyType {
  std::string_view code;
  DType dtype;
};
constexpr NumpyType kTypes[] = {{"f2", DType::F16}, {"f4", DType::F32}, {"b1", DType::I1},
                                {"i1", DType::I8},  {"i4", DType::I32}, {"i8", DType::I64}};

void parseDescr(const ByteSource& source, std::string_view descr, Header& header) {
  constexpr std::string_view kLegal = "readable are float32, float16, bool, int8, int32 and int64";
  const std::string_view code = descr.empty() ? descr : descr.substr(std::string_view("<>=|").find(descr[0]) != std::string_view::npos);
  if (!code.empty() && code[0] == 'O')
    refuse(source, "holds Python objects (dtype object), not numbers; only arrays of numbers can be read",
           "convert it: array.astype(numpy.float32)");
  if (code == "f8")
    refuse(source, "has elements of type float64, which no kernel takes",
           "save it as float32: numpy.save(file, array.astype(numpy.float32))");
  if (code == "V2" || code == "V1")
    refuse(source,
           fmt::format("has elements of type {}, raw bytes without a meaning: the .npy format cannot describe bfloat16 or 8-bit floats",
                       quote(descr)),
           "save such tensors as .safetensors");
  const auto* type = std::ranges::find(kTypes, code, &NumpyType::code);
  if (type == std::end(kTypes)) refuse(source, fmt::format("has elements of type {}; {}", quote(descr), kLegal));
  header.dtype = type->dtype;
  constexpr bool kLittle = std::endian::native == std::endian::little;
  header.swapped = (descr[0] == '>' && kLittle) || (descr[0] == '<' && !kLittle);
}

/// A parser of exactly the dict literals that NumPy writes, in any key order and spacing.
class HeaderParser {
 public:
  HeaderParser(const ByteSource& source, std::string_view text) : source_(source), text_(text) {}

  Header parse() {
    Header header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr" && !descr) {
        descr = true;
        if (peek() == '[')
          refuse(source_, "is a structured array (its dtype is a list of fields); only arrays of one number type can be read");
        parseDescr(source_, string(), header);
      } else if (key == "fortran_order" && !order) {
        order = true;
        header.fortran = boolean();
      } else if (key == "shape" && !shape) {
        shape = true;
        header.shape = tuple();
      } else {
        malformed(fmt::format("its key {} is unknown or there twice", quote(key)));
      }
      if (!accept(',') && peek() != '}') malformed("a ',' or '}' is missing");
    }
    if (!descr || !order || !shape) malformed("the keys descr, fortran_order and shape must all be there");
    if (peek() != '\0') malformed("there is text after the closing '}'");
    return header;
  }

 private:
  [[noreturn]] void malformed(const std::string& what) const {
    refuse(source_, fmt::format("the .npy header is malformed at character {}: {}", at_, what), "the file is damaged, or no .npy file");
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) malformed(fmt::format("expected '{}'", c));
  }
  std::string_view string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') malformed("expected a string in quotes");
    const std::size_t begin = ++at_, end = text_.find(quote, begin);
    if (end == std::string_view::npos) malformed("a string does not end");
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }
  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    malformed("expected True or False");
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> values;
    expect('(');
    while (!accept(')')) {
      peek();
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error == std::errc::result_out_of_range) malformed("a dimension does not fit in 64 bits");
      if (error != std::errc()) malformed("expected a dimension, an integer");
      if (value < 0) malformed(fmt::format("dimension {} is negative", value));
      at_ = static_cast<std::size_t>(end - text_.data());
      accept('L');  // Python 2 wrote long integers so
      values.push_back(value);
      if (values.size() > kHighestRank) malformed(fmt::format("more than {} dimensions", kHighestRank));
      if (!accept(',') && peek() != ')') malformed("a ',' or ')' is missing");
    }
    return values;
  }

  const ByteSource& source_;
  std::string_view text_;
  std::size_t at_ = 0;
};

struct Preamble {
  std::int64_t headerAt = 0, headerLength = 0;
};

Preamble readPreamble(const ByteSource& source) {
  unsigned char start[12] = {};
  const std::int64_t have = std::min<std::int64_t>(source.size(), sizeof(start));
  source.read(0, std::as_writable_bytes(std::span(start, static_cast<std::size_t>(have))));
  if (have < 10 || std::memcmp(start, kMagic.data(), kMagic.size()) != 0) {
    if (have >= 4 && std::memcmp(start, "PK\x03\x04", 4) == 0)
      refuse(source, "is a zip archive (.npz), not one .npy array", "extract the array: numpy.save(file, archive[name])");
    refuse(source, have < 10 ? fmt::format("is only {} bytes long; an .npy file has a header of at least 10", source.size())
                             : "is no .npy file: it does not start with \"\\x93NUMPY\"");
  }
  const int major = start[6];
  if (major < 1 || major > 3) refuse(source, fmt::format("has .npy version {}.{}; 1, 2 and 3 are known", major, start[7]));
  if (major > 1 && have < 12) refuse(source, "ends within the .npy header", "the file is truncated");
  Preamble preamble;
  preamble.headerAt = major == 1 ? 10 : 12;
  for (int i = major == 1 ? 1 : 3; i >= 0; --i) preamble.headerLength = preamble.headerLength << 8 | start[8 + i];
  if (preamble.headerLength > kLargestHeader)
    refuse(source, fmt::format("has a header of {} bytes; at most {} are read", preamble.headerLength, kLargestHeader),
           "the file is damaged");
  if (preamble.headerLength > source.size() - preamble.headerAt)
    refuse(source, fmt::format("has a header of {} bytes, but ends after {}", preamble.headerLength, source.size() - preamble.headerAt),
           "the file is truncated");
  return preamble;
}

/// Swaps the bytes of every element.
void swapBytes(HostTensor& tensor) {
  const std::int64_t size = sizeInBytes(tensor.dtype());
  for (std::int64_t i = 0; i < tensor.elements(); ++i) std::reverse(tensor.data() + i * size, tensor.data() + (i + 1) * size);
}

}  // namespace

HostTensor readNpy(const ByteSource& source) {
  const Preamble preamble = readPreamble(source);
  std::string text(static_cast<std::size_t>(preamble.headerLength), '\0');
  source.read(preamble.headerAt, std::as_writable_bytes(std::span(text)));
  const Header header = HeaderParser(source, text).parse();

  // Compared with what is there before memory is asked for: a lying header costs nothing.
  const std::int64_t need = byteCount(header.shape, header.dtype, source.name());
  const std::int64_t dataAt = preamble.headerAt + preamble.headerLength, have = source.size() - dataAt;
  if (need > have)
    refuse(source,
           fmt::format("has {} bytes of data, but its header says {} of {}, {} bytes", have, printShape(header.shape), name(header.dtype),
                       need),
           "the file is truncated");
  HostTensor tensor = HostTensor::allocate(header.dtype, header.shape, source.name());
  source.read(dataAt, {tensor.data(), static_cast<std::size_t>(need)});
  if (header.swapped) swapBytes(tensor);
  if (header.fortran) tensor.setColumnMajor();
  return tensor;
}

void writeNpy(const std::string& path, const HostTensor& tensor) {
  const auto* type = std::ranges::find(kTypes, tensor.dtype(), &NumpyType::dtype);
  if (type == std::end(kTypes))
    throw Error(ErrorCode::InvalidArgument, fmt::format("{}: NumPy's .npy format has no type for {}", path, name(tensor.dtype())),
                "write a .safetensors file, or choose f32 or f16");
  const char order = sizeInBytes(tensor.dtype()) == 1 ? '|' : std::endian::native == std::endian::little ? '<' : '>';
  // A tuple of one needs its comma.
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", order, type->code,
                                   fmt::join(tensor.shape(), ", "), tensor.rank() == 1 ? "," : "");
  header.append((64 - (kMagic.size() + 4 + header.size() + 1) % 64) % 64, ' ') += '\n';
  std::string start(kMagic);
  start += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  start += header;

  const HostTensor* dense = &tensor;
  HostTensor copy;
  if (!tensor.isRowMajor()) dense = &(copy = convert(tensor, tensor.dtype(), path));
  writeFile(path, [&](const Append& append) {
    append(std::as_bytes(std::span(start)));
    append({dense->data(), static_cast<std::size_t>(dense->bytes())});
  });
}

}  // namespace fattn::io
