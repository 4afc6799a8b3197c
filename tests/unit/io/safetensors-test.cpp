// SPDX-License-Identifier: Apache-2.0
// .safetensors files: what PyTorch's writer makes is read, ours reads back, hostile headers get a sentence.
#include "tools/io/Safetensors.h"

#include <fmt/format.h>

#include "TestFiles.h"
#include "tools/io/TensorFile.h"

namespace fattn::io {
namespace {

std::string safetensors(const std::string& header, std::size_t bytes) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return file + header + std::string(bytes, '\0');
}

std::string refusedBytes(const std::string& bytes) {
  const Error e = errorOf([&] { readSafetensors(MemorySource("x.safetensors", bytesOf(bytes)), "", "q"); });
  EXPECT_TRUE(e.code() == ErrorCode::IoError || e.code() == ErrorCode::InvalidArgument);
  return e.constraint();
}

std::string refusalOf(const std::string& header, std::size_t bytes = 16) { return refusedBytes(safetensors(header, bytes)); }

TEST(Safetensors, ReadsEveryTypeThatPyTorchWrites) {
  const FileSource file(data("many.safetensors"));
  for (const auto& [name, dtype] :
       {std::pair("q", DType::BF16), {"k", DType::F16}, {"v", DType::F32}, {"e4m3", DType::F8E4M3}, {"e5m2", DType::F8E5M2}}) {
    SCOPED_TRACE(name);
    const HostTensor t = readSafetensors(file, name, "");
    EXPECT_EQ(t.dtype(), dtype);
    if (dtype != DType::F8E5M2) expectRamp(t);
  }
  // E5M2 keeps two mantissa bits: 2.25 lies between 2 and 2.5 and goes to the even one.
  EXPECT_EQ(at(readSafetensors(file, "e5m2", ""), {1, 1, 1}), 2.0f);
  EXPECT_EQ(readSafetensors(file, "mask", "").dtype(), DType::I1);
  EXPECT_EQ(readSafetensors(file, "empty", "").shape(), (std::vector<std::int64_t>{2, 0, 4}));
}

TEST(Safetensors, ChoosesTheOnlyTensorOrTheRole) {
  EXPECT_EQ(readTensor(parseFileSpec(data("one-bf16.safetensors")), "q").dtype(), DType::BF16);
  EXPECT_EQ(readTensor(parseFileSpec(data("many.safetensors")), "k").dtype(), DType::F16);
  EXPECT_EQ(readTensor(parseFileSpec(data("many.safetensors:v")), "k").dtype(), DType::F32);
}

TEST(Safetensors, NamesWhatTheFileHolds) {
  const FileSource file(data("many.safetensors"));
  const Error missing = errorOf([&] { readSafetensors(file, "", "o"); });
  EXPECT_NE(missing.constraint().find("holds no tensor called \"o\"; it holds \""), std::string::npos) << missing.constraint();
  EXPECT_NE(missing.constraint().find("\"q\" (\"BF16\" 2x3x4)"), std::string::npos) << missing.constraint();
  EXPECT_EQ(missing.hint(), "say which one: " + data("many.safetensors") + ":NAME");
  const Error type = errorOf([&] { readSafetensors(file, "wide", "q"); });
  EXPECT_NE(type.constraint().find("tensor \"wide\" has elements of type \"F64\"; readable are F32, F16, BF16"), std::string::npos)
      << type.constraint();
  EXPECT_EQ(type.hint(), "save it as float32");
}

TEST(Safetensors, ReadsBackWhatItWrites) {
  const TemporaryFolder folder;
  const std::string path = folder.file("out.safetensors");
  const HostTensor q = readTensor(parseFileSpec(data("many.safetensors:q")), ""), f = readTensor(parseFileSpec(data("fortran.npy")), "");
  writeSafetensors(path, {{"o", &q}, {"lse", &f}});
  EXPECT_EQ(readTensor(parseFileSpec(path + ":o"), "").dtype(), DType::BF16);
  expectRamp(readTensor(parseFileSpec(path), "o"));
  expectRamp(readTensor(parseFileSpec(path), "lse"));
  const Error twice = errorOf([&] { writeSafetensors(path, {{"o", &q}, {"o", &f}}); });
  EXPECT_EQ(twice.constraint(), path + ": two tensors are called \"o\"");
}

TEST(Safetensors, EveryTruncationOfARealFileIsRefused) {
  const std::string whole = readAll(data("one-bf16.safetensors"));
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(refusedBytes(whole.substr(0, n)).empty()) << n;
  EXPECT_EQ(refusedBytes(whole.substr(0, whole.size() - 1)),
            "x.safetensors: tensor \"x\" ends at byte 48 of the data, but there are only 47");
  EXPECT_EQ(refusedBytes(whole.substr(0, 5)),
            "x.safetensors: is only 5 bytes long; a .safetensors file starts with 8 bytes of header length");
  EXPECT_EQ(refusedBytes(whole + "x"), "x.safetensors: has 49 bytes of data, but its tensors take 48");
}

TEST(Safetensors, RefusesHeadersThatLie) {
  EXPECT_EQ(refusedBytes(std::string(8, '\xff')),
            "x.safetensors: says its header has 18446744073709551615 bytes; the format allows at most 100000000");
  EXPECT_EQ(refusedBytes(std::string("\x40\0\0\0\0\0\0\0{}", 10)), "x.safetensors: says its header has 64 bytes, but ends after 2");
  EXPECT_EQ(refusalOf("[1]"), "x.safetensors: its header is not a JSON object");
  EXPECT_EQ(refusalOf("{\"q\":"), "x.safetensors: its header is not a JSON object");
  EXPECT_EQ(refusalOf(std::string(100000, '[')), "x.safetensors: its header is not a JSON object");
  EXPECT_EQ(refusalOf("{}", 0), "x.safetensors: holds no tensors");
  EXPECT_EQ(refusalOf(R"({"q":1})"), "x.safetensors: tensor \"q\" has no \"dtype\"");
  EXPECT_EQ(refusalOf(R"({"q":{"dtype":"F32"}})"), "x.safetensors: tensor \"q\" has no list \"shape\"");
  EXPECT_EQ(refusalOf(R"({"q":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})"),
            "x.safetensors: tensor \"q\": \"shape\" must hold non-negative integers below 2^63");
  EXPECT_EQ(refusalOf(R"({"q":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})"),
            "x.safetensors: tensor \"q\": \"shape\" must hold non-negative integers below 2^63");
  EXPECT_EQ(refusalOf(R"({"q":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})"),
            "x.safetensors: tensor \"q\": \"data_offsets\" must be a begin and an end");
  EXPECT_EQ(refusalOf(R"({"q":{"dtype":"F32","shape":[4],"data_offsets":[0,8]}})", 8),
            "x.safetensors: tensor \"q\" of shape 4 and type F32 has 8 bytes of data, which is not its size");
  EXPECT_EQ(refusalOf(R"({"q":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})", 8),
            "x.safetensors: tensor \"q\" of shape 4294967296x4294967296 has more than 2^63 - 1 elements");
}

TEST(Safetensors, RefusesTensorsThatOverlapLeaveHolesOrShareAName) {
  const auto two = [](int begin, int end) {
    return fmt::format(
        R"({{"a":{{"dtype":"F32","shape":[2],"data_offsets":[0,8]}},"b":{{"dtype":"F32","shape":[1],"data_offsets":[{},{}]}}}})", begin,
        end);
  };
  const std::string overlap = refusalOf(two(4, 8), 8), hole = refusalOf(two(12, 16), 16);
  EXPECT_NE(overlap.find("tensors must follow each other"), std::string::npos) << overlap;
  EXPECT_NE(hole.find("tensors must follow each other"), std::string::npos) << hole;
  EXPECT_EQ(refusalOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4),
            "x.safetensors: the name \"a\" is used twice");
}

TEST(TensorFile, NamesMustHaveAKnownEnding) {
  const Error e = errorOf([] { parseFileSpec("q.pt"); });
  EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(e.constraint(), "the file name \"q.pt\" ends in neither .npy nor .safetensors");
  EXPECT_EQ(errorOf([] { parseFileSpec("q.safetensors:"); }).constraint(), "q.safetensors: names no tensor after the colon");
  EXPECT_EQ(parseFileSpec("a:b.safetensors:model.q").path, "a:b.safetensors");
  EXPECT_EQ(parseFileSpec("a:b.safetensors:model.q").tensor, "model.q");
}

TEST(WriteFile, LeavesNothingBehindWhereItFails) {
  const TemporaryFolder folder;
  const std::string path = folder.file("x.bin");
  writeAll(path, "old");
  EXPECT_THROW(writeFile(path, [](const Append&) { throw std::runtime_error("half way"); }), std::runtime_error);
  EXPECT_EQ(readAll(path), "old");
  EXPECT_EQ(folder.files(), 1u);
  writeFile(path, [](const Append& append) { append(bytesOf("new")); });
  EXPECT_EQ(readAll(path), "new");
  EXPECT_EQ(folder.files(), 1u);
}

TEST(WriteFile, FollowsLinksAndNamesWhatIsWrong) {
  const TemporaryFolder folder;
  const std::string path = folder.file("x.bin"), link = folder.file("link.bin"), nowhere = folder.file("no/x.bin");
  writeAll(path, "old");
  std::filesystem::create_symlink(path, link);
  writeFile(link, [](const Append& append) { append(bytesOf("new")); });
  EXPECT_EQ(readAll(path), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  const Error e = errorOf([&] { writeFile(nowhere, [](const Append&) {}); });
  EXPECT_EQ(e.constraint(), "cannot write " + nowhere + ": No such file or directory");
  EXPECT_EQ(e.hint(), "the directory does not exist; create it first");
  EXPECT_EQ(errorOf([&] { writeFile("/dev/full", [](const Append& append) { append(bytesOf("x")); }); }).constraint(),
            "cannot write /dev/full: No space left on device");
}

}  // namespace
}  // namespace fattn::io
