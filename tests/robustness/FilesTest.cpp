// SPDX-License-Identifier: Apache-2.0
// Files: what is written is whole or not there, what is read is bounded in memory and time.
#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>

#include "compiler/text/TextLimits.h"
#include "fattn/Error.h"
#include "tests/robustness/Attack.h"
#include "tools/io/File.h"
#include "tools/io/MlirText.h"
#include "tools/io/Npy.h"
#include "tools/io/Safetensors.h"

namespace fattn::io {
namespace {

namespace fs = std::filesystem;
using test::inProcess;

struct Files : testing::Test {
  Files() {
    std::string pattern = testing::TempDir() + "fattn-files-XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  ~Files() override {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  std::string file(const std::string& name) const { return (folder / name).string(); }
  std::size_t entries() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator())); }

  fs::path folder;
};

std::string errorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.constraint();
  }
  return "";
}

double secondsOf(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST_F(Files, AFullDiskKeepsTheOldFileAndRaisesNoSignal) {
  const std::string path = file("result.json");
  writeFile(path, "the old result");
  EXPECT_EQ(inProcess([&] {
              const rlimit limit{1000, 1000};
              ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
              EXPECT_EQ(errorOf([&] { writeFile(path, std::string(5000, 'x')); }), "cannot write " + path + ": File too large");
            }),
            "");
  EXPECT_EQ(readText(path, 1000), "the old result");
  EXPECT_EQ(entries(), 1u) << "nothing is left of what failed";
}

TEST_F(Files, SpecialFilesAreRefusedAndNobodyWaits) {
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  for (const std::string& path : {std::string("/dev/zero"), file("pipe"), folder.string(), std::string("/dev/tty0"), file("nothing")}) {
    const std::string said = errorOf([&] { readText(path, 1000); });
    EXPECT_TRUE(said.starts_with("cannot read " + path + ": ")) << said;
  }
  EXPECT_EQ(errorOf([&] { writeFile(file("pipe"), "x"); }), "cannot write " + file("pipe") + ": No such device or address");
  EXPECT_EQ(errorOf([&] { writeFile(folder.string(), "x"); }), "cannot write " + folder.string() + ": Is a directory");
}

TEST_F(Files, MoreThanTheLimitIsNotRead) {
  writeFile(file("x"), "12345");
  EXPECT_EQ(readText(file("x"), 5), "12345");
  EXPECT_EQ(errorOf([&] { readText(file("x"), 4); }), "cannot read " + file("x") + ": it has 5 bytes; at most 4 are read");
  writeFile(file("huge"), "");
  fs::resize_file(file("huge"), std::uint64_t{1} << 40);
  EXPECT_NE(errorOf([&] { readMlir(file("huge")); }), "");
}

std::string manyTensors(int count) {
  std::string header = "{";
  for (int i = 0; i < count; ++i)
    header += fmt::format("{}\"t{}\":{{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[{},{}]}}", i == 0 ? "" : ",", i, 4 * i, 4 * i + 4);
  header += "}";
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + std::string(static_cast<std::size_t>(count) * 4, '\0');
}

TEST_F(Files, SafetensorsHeadersTakeLinearTime) {
  const auto time = [](int count) {
    const std::string bytes = manyTensors(count);
    const MemorySource source("x", std::as_bytes(std::span(bytes)));
    return secondsOf([&] { EXPECT_EQ(listSafetensors(source).size(), static_cast<std::size_t>(count)); });
  };
  const double small = time(5000), large = time(40000);
  std::printf("5,000 tensors: %.3f s, 40,000: %.3f s\n", small, large);
  EXPECT_LT(large, 8 * 3 * small + 1) << "it was above 100 s";
}

TEST_F(Files, SafetensorsHeadersNestedForEverAreRefused) {
  const std::string deep = "{\"a\":" + std::string(1000000, '[');
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(deep.size() >> (8 * i) & 0xff);
  bytes += deep;
  EXPECT_EQ(errorOf([&] { listSafetensors(MemorySource("x", std::as_bytes(std::span(bytes)))); }), "x: its header is not a JSON object");
}

// What a reader does with a mutant does not matter, as long as it is an Error or a tensor.
TEST_F(Files, MutantsOfTensorFilesAreReadOrRefused) {
  const HostTensor tensor = HostTensor::allocate(DType::F16, {2, 3, 4}, "a tensor");
  writeSafetensors(file("good.safetensors"), {{"q", &tensor}, {"k", &tensor}});
  writeNpy(file("good.npy"), tensor);
  const int count = test::timesFrom("FATTN_MUTANTS", 1000);
  std::minstd_rand random = test::seeded(9);
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random()) % n; };
  int refused = 0, taken = 0;
  for (const char* name : {"good.safetensors", "good.npy"}) {
    const std::string good = readText(file(name), 100000);
    for (int i = 0; i < count; ++i) {
      std::string bytes = good;
      for (std::size_t n = 1 + below(3); n > 0 && !bytes.empty(); --n) {
        const std::size_t at = below(bytes.size());
        switch (below(5)) {
          case 0:
            bytes[at] = static_cast<char>(random());
            break;
          case 1:
            bytes.resize(at);
            break;
          case 2:
            bytes.erase(at, 1 + below(8));
            break;
          case 3:
            bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(20)));
            break;
          default:
            bytes[at] = "0123456789[]{}\",:-"[below(18)];
        }
      }
      const MemorySource source(name, std::as_bytes(std::span(bytes)));
      try {
        if (std::string_view(name).ends_with(".npy"))
          readNpy(source);
        else
          readSafetensors(source, "q", "q");
        ++taken;
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  std::printf("%d mutants refused, %d read\n", refused, taken);
  EXPECT_GT(refused, count);
}

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(HostileMlir, EveryLimitIsNamedBeforeAnythingIsParsed) {
  const std::pair<std::string, const char*> hostile[] = {
      {repeated("module {\n", 10000), "line 101: brackets are nested more than 100 deep"},
      {"module attributes {a = " + std::string(10000, '[') + "} {}", "line 1: brackets are nested more than 100 deep"},
      {"func.func private @f(" + repeated("tuple<", 100000) + ")", "line 1: brackets are nested more than 100 deep"},
      {"#m = affine_map<(d0) -> (" + std::string(50000, '(') + "d0", "line 1: brackets are nested more than 100 deep"},
      {"#m = affine_map<(d0) -> (" + repeated("- ", 50000) + "d0", "line 1: an expression has more than 1000 operators"},
      {"#m = affine_map<(d0) -> (d0 " + repeated("mod 2 ", 50000), "line 1: an expression has more than 1000 operators"},
      {"#m = affine_map<(d0) -> (d0" + repeated("\n+ d0 ", 50000), "line 1002: an expression has more than 1000 operators"},
      {"%0 = arith.constant " + std::string(200000, '9') + " : i64", "line 1: a number has 200000 digits; at most 200 are read"},
      {"%0:2 = \"f\"() : () -> (i1, i1)\n\"g\"(%0#2147483648) : (i1) -> ()",
       "line 2: result 2147483648 of an operation is named; at most 10000 are read"},
      {"\"g\"(%0#" + std::string(150, '9') + ")", "line 1: result 99999999999999999999 of an operation is named; at most 10000 are read"},
      {std::string(20000, 'a'), "line 1: a name has 20000 characters; at most 10000 are read"},
      {std::string((std::size_t{16} << 20) + 1, ' '), "the text has 16777217 bytes; at most 16777216 are read"},
  };
  for (const auto& [text, said] : hostile) EXPECT_EQ(compiler::brokenLimit(text), said);
  std::string doubling = "#a0 = [1]\n";
  for (int i = 1; i <= 60; ++i) doubling += fmt::format("#a{} = [#a{}, #a{}]\n", i, i - 1, i - 1);
  EXPECT_EQ(compiler::brokenLimit(doubling), "line 23: aliases that name others stand for more than 5000000 attributes or types");
  std::string deepening = "#a0 = [1]\n";
  for (int i = 1; i <= 200000; ++i) deepening += fmt::format("#a{} = [#a{}]\n", i, i - 1);
  EXPECT_EQ(compiler::brokenLimit(deepening), "line 101: brackets are nested more than 100 deep");
}

TEST(HostileMlir, WhatProgramsHaveIsWithinTheLimits) {
  for (const std::string& text :
       {std::string("func.func @f(%a: i32) -> i32 {\n  %c = arith.cmpi slt, %a, %a : i32 // {{{{\n  return %a : i32\n}\n"),
        "#s = affine_set<(d0) : (d0 >= 0, d0 - 1 >= 0)>\n" + repeated("#s\n", 1000),
        repeated("#l = [1]\n\"x\"() {a = #l, b = dense<-1> : tensor<4x4xi32>} : () -> ()\n", 5000),
        "%0 = arith.constant dense<\"0x" + std::string(100000, 'F') + "\"> : tensor<50000xi8>", repeated("{}()[]<>", 100000)})
    EXPECT_EQ(compiler::brokenLimit(text), "") << text.substr(0, 100);
}

TEST(HostileMlir, TwentyThousandRandomTextsAreScanned) {
  std::minstd_rand random = test::seeded(1);
  const std::string_view pieces[] = {"{",  "}",  "(",  ")",  "<",  ">",   "->", ">=", "[", "]", "#a",  "#a = ",
                                     "!b", "\"", "\\", "\n", "//", "0x1", "9",  "-",  "x", " ", "mod", "\0"};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (unsigned n = random() % 60; n > 0; --n) text += pieces[random() % std::size(pieces)];
    compiler::brokenLimit(text, {.bytes = 100, .nesting = 5, .digits = 3, .operators = 3, .expanded = 20});
  }
}

TEST(LargeStack, CarriesResultsAndExceptions) {
  // Eight megabytes are the stack of a main thread.
  const std::function<int(int)> deep = [&](int level) -> int {
    volatile char space[1000] = {};
    return level == 0 ? static_cast<int>(space[0]) : 1 + deep(level - 1);
  };
  int depth = 0;
  onLargeStack([&] { depth = deep(30000); });
  EXPECT_EQ(depth, 30000);
  EXPECT_EQ(errorOf([] { onLargeStack([] { throw Error(ErrorCode::IoError, "it failed"); }); }), "it failed");
}

}  // namespace
}  // namespace fattn::io
