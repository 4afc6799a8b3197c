// SPDX-License-Identifier: Apache-2.0
// .npy files: what NumPy writes is read, what we write NumPy's rules allow, and hostile headers get a sentence.
#include "tools/io/Npy.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "TestFiles.h"

namespace fattn::io {
namespace {

HostTensor readFile(const std::string& name) { return readNpy(FileSource(data(name))); }

/// A version 1 file with this header text and `bytes` bytes of data.
std::string npy(const std::string& header, std::size_t bytes, char version = 1) {
  std::string file = "\x93NUMPY";
  file += {version, '\0'};
  for (std::size_t i = 0; i < (version == 1 ? 2 : 4); ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return file + header + std::string(bytes, '\0');
}

Error refusal(const std::string& bytes) {
  return errorOf([&] { readNpy(MemorySource("x.npy", bytesOf(bytes))); });
}

Error refusalOfHeader(const std::string& header, std::size_t bytes = 16) { return refusal(npy(header, bytes)); }

TEST(Npy, ReadsWhatNumPyWrites) {
  for (const char* file : {"f32.npy", "f16.npy", "version2.npy", "version3.npy"}) {
    SCOPED_TRACE(file);
    expectRamp(readFile(file));
  }
  EXPECT_EQ(readFile("f16.npy").dtype(), DType::F16);
}

TEST(Npy, SwapsTheBytesOfBigEndianFiles) {
  const HostTensor t = readFile("big-endian.npy");
  EXPECT_EQ(t.dtype(), DType::F32);
  expectRamp(t);
}

TEST(Npy, ReadsFortranOrderByStrides) {
  const HostTensor t = readFile("fortran.npy");
  EXPECT_EQ(t.strides(), (std::vector<std::int64_t>{1, 2, 6}));
  expectRamp(t);
  const HostTensor dense = convert(t, DType::F32);
  EXPECT_TRUE(dense.isRowMajor());
  expectRamp(dense);
}

TEST(Npy, ReadsScalarsVectorsEmptyArraysBooleansAndIntegers) {
  EXPECT_EQ(readFile("scalar.npy").rank(), 0);
  EXPECT_EQ(at(readFile("scalar.npy"), {}), 1.5f);
  EXPECT_EQ(readFile("vector.npy").shape(), std::vector<std::int64_t>{5});
  EXPECT_EQ(readFile("zero-sized.npy").shape(), (std::vector<std::int64_t>{2, 0, 4}));
  EXPECT_EQ(readFile("zero-sized.npy").elements(), 0);
  EXPECT_EQ(readFile("bool.npy").dtype(), DType::I1);
  const HostTensor integers = readFile("i64.npy");
  EXPECT_EQ(reinterpret_cast<const std::int64_t*>(integers.data())[2], std::int64_t{1} << 40);
}

TEST(Npy, WritesTheBytesNumPyWrites) {
  const TemporaryFolder folder;
  for (const char* name : {"f32.npy", "f16.npy", "scalar.npy", "vector.npy", "zero-sized.npy", "bool.npy", "i64.npy"}) {
    const std::string path = folder.file(name);
    writeNpy(path, readFile(name));
    EXPECT_EQ(readAll(path), readAll(data(name))) << name;
  }
}

TEST(Npy, WritesFortranOrderAsC) {
  const TemporaryFolder folder;
  writeNpy(folder.file("c.npy"), readFile("fortran.npy"));
  EXPECT_EQ(readAll(folder.file("c.npy")), readAll(data("f32.npy")));
}

TEST(Npy, RefusesTypesNumPyHasNot) {
  const Error e = errorOf([] { writeNpy("never.npy", HostTensor::allocate(DType::BF16, {2})); });
  EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(e.constraint(), "never.npy: NumPy's .npy format has no type for bf16");
  EXPECT_EQ(e.hint(), "write a .safetensors file, or choose f32 or f16");
  EXPECT_FALSE(std::filesystem::exists("never.npy"));
}

TEST(Npy, RefusesOtherElementTypesNamingTheRule) {
  const auto text = [](const char* file) { return errorOf([&] { readFile(file); }).constraint().substr(data("").size()); };
  EXPECT_EQ(text("f64.npy"), "f64.npy: has elements of type float64, which no kernel takes");
  EXPECT_EQ(text("u2.npy"), "u2.npy: has elements of type \"<u2\"; readable are float32, float16, bool, int8, int32 and int64");
  EXPECT_EQ(text("object.npy"), "object.npy: holds Python objects (dtype object), not numbers; only arrays of numbers can be read");
  EXPECT_EQ(text("structured.npy"),
            "structured.npy: is a structured array (its dtype is a list of fields); only arrays of one number type can be read");
  EXPECT_EQ(text("archive.npz"), "archive.npz: is a zip archive (.npz), not one .npy array");
  EXPECT_EQ(refusalOfHeader("{'descr': '|V2', 'fortran_order': False, 'shape': (2,), }").constraint(),
            "x.npy: has elements of type \"|V2\", raw bytes without a meaning: the .npy format cannot describe bfloat16 or 8-bit floats");
  EXPECT_EQ(refusalOfHeader("{'descr': '', 'fortran_order': False, 'shape': (2,), }").constraint(),
            "x.npy: has elements of type \"\"; readable are float32, float16, bool, int8, int32 and int64");
}

TEST(Npy, EveryTruncationOfARealFileIsRefused) {
  const std::string whole = readAll(data("f32.npy"));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const Error e = refusal(whole.substr(0, n));
    EXPECT_EQ(e.code(), ErrorCode::IoError) << n;
  }
  const Error e = refusal(whole.substr(0, whole.size() - 1));
  EXPECT_EQ(e.constraint(), "x.npy: has 95 bytes of data, but its header says 2x3x4 of f32, 96 bytes");
  EXPECT_EQ(e.hint(), "the file is truncated");
  EXPECT_EQ(refusal(whole.substr(0, 60)).constraint(), "x.npy: has a header of 118 bytes, but ends after 50");
  EXPECT_EQ(refusal("").constraint(), "x.npy: is only 0 bytes long; an .npy file has a header of at least 10");
}

TEST(Npy, RefusesForeignFilesAndVersions) {
  EXPECT_EQ(refusal("this is plain text").constraint(), "x.npy: is no .npy file: it does not start with \"\\x93NUMPY\"");
  EXPECT_EQ(refusal(npy("{}", 0, 4)).constraint(), "x.npy: has .npy version 4.0; 1, 2 and 3 are known");
  EXPECT_EQ(refusal(npy(std::string(70000, ' '), 0, 2)).constraint(), "x.npy: has a header of 70000 bytes; at most 65536 are read");
}

TEST(Npy, RefusesMalformedHeaders) {
  const auto text = [](const std::string& header) { return refusalOfHeader(header).constraint(); };
  EXPECT_EQ(text(""), "x.npy: the .npy header is malformed at character 0: expected '{'");
  EXPECT_EQ(text("{'descr': '<f4'"), "x.npy: the .npy header is malformed at character 15: a ',' or '}' is missing");
  EXPECT_EQ(text("{'descr': '<f4}"), "x.npy: the .npy header is malformed at character 11: a string does not end");
  EXPECT_EQ(text("{}"), "x.npy: the .npy header is malformed at character 2: the keys descr, fortran_order and shape must all be there");
  EXPECT_EQ(text("{'descr': '<f4', 'descr': '<f4'}"),
            "x.npy: the .npy header is malformed at character 25: its key \"descr\" is unknown or there twice");
  EXPECT_EQ(text("{'a\nb': 1}"), "x.npy: the .npy header is malformed at character 7: its key \"a\\x0ab\" is unknown or there twice");
  EXPECT_EQ(text("{'fortran_order': 1}"), "x.npy: the .npy header is malformed at character 18: expected True or False");
  EXPECT_EQ(text("{'shape': 3}"), "x.npy: the .npy header is malformed at character 10: expected '('");
  EXPECT_EQ(text("{'shape': (a,)}"), "x.npy: the .npy header is malformed at character 11: expected a dimension, an integer");
  EXPECT_EQ(text("{'shape': (-1,)}"), "x.npy: the .npy header is malformed at character 11: dimension -1 is negative");
  EXPECT_EQ(text("{'shape': (99999999999999999999,)}"),
            "x.npy: the .npy header is malformed at character 11: a dimension does not fit in 64 bits");
  EXPECT_EQ(text("{'shape': (1 2)}"), "x.npy: the .npy header is malformed at character 13: a ',' or ')' is missing");
  EXPECT_EQ(text("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x"),
            "x.npy: the .npy header is malformed at character 58: there is text after the closing '}'");
  std::string deep = "{'shape': (";
  for (int i = 0; i < 65; ++i) deep += "1,";
  EXPECT_NE(text(deep + ")}").find("more than 64 dimensions"), std::string::npos);
}

TEST(Npy, RefusesSizesThatOverflow) {
  const std::string f4 = "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}";
  EXPECT_EQ(refusalOfHeader(fmt::format(fmt::runtime(f4), "4294967296, 4294967296")).constraint(),
            "x.npy of shape 4294967296x4294967296 has more than 2^63 - 1 elements");
  EXPECT_EQ(refusalOfHeader(fmt::format(fmt::runtime(f4), "4294967296, 0, 4294967296")).constraint(),
            "x.npy of shape 4294967296x0x4294967296 has more than 2^63 - 1 elements");
  EXPECT_EQ(refusalOfHeader(fmt::format(fmt::runtime(f4), "4294967296, 1073741824")).constraint(),
            "x.npy of shape 4294967296x1073741824 and type f32 takes more than 2^63 - 1 bytes");
  EXPECT_EQ(refusalOfHeader(fmt::format(fmt::runtime(f4), "1000000, 1000000")).constraint(),
            "x.npy: has 16 bytes of data, but its header says 1000000x1000000 of f32, 4000000000000 bytes");
}

TEST(Npy, MissingFilesFoldersAndPipesAreNamed) {
  const auto text = [](const std::string& path) { return errorOf([&] { readNpy(FileSource(path)); }).constraint(); };
  const TemporaryFolder folder;
  const std::string missing = folder.file("missing.npy"), pipe = folder.file("pipe.npy");
  EXPECT_EQ(text(missing), "cannot read " + missing + ": No such file or directory");
  EXPECT_EQ(text(folder.file("")), "cannot read " + folder.file("") + ": Is a directory");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(text(pipe), "cannot read " + pipe + ": it is not a regular file");
}

}  // namespace
}  // namespace fattn::io
