// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kernels/c/ConfigJson.h"

namespace fattn::kernels {
namespace {

std::string hint() { return "\n  hint: "; }
std::string keys() { return hint() + "the legal keys are op, dtype, head_dim, head_dim_v, causal, target, tile, shape, alignment"; }
std::string choices() { return hint() + "the legal keys of tile are block_m, block_n, stages, warps, schedule"; }
std::string example() { return hint() + R"(write for example {"op": "attention_forward", "dtype": "bf16", "head_dim": 128})"; }

/// The keys that have to be there, and these.
std::string with(const std::string& more) { return R"({"op": "attention_forward", "dtype": "bf16", "head_dim": 64, )" + more + "}"; }

std::string refusal(std::string_view text) try {
  parseConfig(text);
  return "accepted";
} catch (const Error& error) {
  EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
  std::string what = error.what();
  EXPECT_TRUE(what.starts_with("configuration: ") || what.starts_with("tile configuration: ")) << what;
  return what.starts_with("configuration: ") ? what.substr(15) : what;
}

TEST(ConfigJson, WhatIsLeftOutStaysOpen) {
  EXPECT_EQ(parseConfig(R"({"op": "attention_forward", "dtype": "f32", "head_dim": 72})"),
            (AttentionConfig{.dtype = DType::F32, .head_dim = 72}));
}

TEST(ConfigJson, EveryKey) {
  AttentionConfig config = parseConfig(with(R"("head_dim_v": 32, "causal": true, "target": "host:avx2",
      "tile": {"block_m": 128, "block_n": 64, "stages": 2, "warps": 4, "schedule": "A B1 a"})"));
  EXPECT_EQ(config, (AttentionConfig{.dtype = DType::BF16,
                                     .head_dim = 64,
                                     .head_dim_v = 32,
                                     .causal = true,
                                     .target = "host:avx2",
                                     .tile = TileConfig{.block_m = 128, .block_n = 64, .stages = 2, .warps = 4, .schedule = "A B1 a"}}));
  EXPECT_EQ(parseConfig(toJson(config)), config);
}

TEST(ConfigJson, EveryDTypeByName) {
  for (DType dtype : {DType::F32, DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2, DType::I1, DType::I8, DType::I32, DType::I64}) {
    AttentionConfig config{.dtype = dtype, .head_dim = 8};
    EXPECT_EQ(parseConfig(toJson(config)), config);
  }
}

TEST(ConfigJson, TextOfAConfiguration) {
  EXPECT_EQ(toJson(AttentionConfig{.dtype = DType::F16, .head_dim = 64, .tile = TileConfig{.block_n = 32}}),
            R"({"op":"attention_forward","dtype":"f16","head_dim":64,"causal":false,"tile":{"block_n":32}})");
}

TEST(ConfigJson, TextOfAKernel) {
  KernelInfo info{.config = {.dtype = DType::F32, .head_dim = 8, .head_dim_v = 8, .target = "host", .tile = TileConfig{.block_m = 8}},
                  .tile = {.block_m = 8},
                  .device = "a \"device\"",
                  .entry = "entry",
                  .compile_ms = 1.5,
                  .binary_bytes = 2,
                  .scratch_bytes = 3,
                  .shared_bytes = 4,
                  .threads = 5,
                  .registers = 6,
                  .spill_bytes = 7,
                  .resident = 8};
  EXPECT_EQ(
      toJson(info),
      R"({"config":{"op":"attention_forward","dtype":"f32","head_dim":8,"head_dim_v":8,"causal":false,"target":"host",)"
      R"("tile":{"block_m":8}},"device":"a \"device\"","entry":"entry","from_cache":false,"compile_ms":1.5,"binary_bytes":2,"scratch_bytes":3,)"
      R"("shared_bytes":4,"threads":5,"registers":6,"spill_bytes":7,"resident":8})");
}

TEST(ConfigJson, TextOfTheDevices) {
  std::string text = toJson(listDevices());
  EXPECT_TRUE(text.find(R"("target":"host","kind":"host","description":")") != std::string::npos) << text;
  EXPECT_TRUE(text.find(R"("asynchronous":false,"max_grid":[)") != std::string::npos) << text;
}

TEST(ConfigJson, NotJson) {
  std::string empty = refusal("");  // the middle is the JSON library's
  EXPECT_TRUE(empty.starts_with("not valid JSON: parse error at line 1, column 1: ")) << empty;
  EXPECT_TRUE(empty.ends_with(example())) << empty;
  EXPECT_EQ(refusal("{\"op\": 1,\n x}").substr(0, 56), "not valid JSON: parse error at line 2, column 2: syntax ");
  EXPECT_EQ(refusal(R"({"head_dim": 1e999})"), "not valid JSON: number overflow parsing '1e999'" + example());
  EXPECT_TRUE(refusal(with(R"("tile": {})") + " {}").starts_with("not valid JSON: parse error"));
}

TEST(ConfigJson, BytesThatAreNoUtf8AreNotQuoted) {
  std::string what = refusal("{\"\xff\": 1}");
  EXPECT_TRUE(what.starts_with("not valid JSON: parse error at line 1, column 3: ")) << what;
  EXPECT_EQ(what.find('\xff'), std::string::npos);
}

TEST(ConfigJson, NotAnObject) {
  EXPECT_EQ(refusal("[1, 2]"), "it is [1,2]; it must be a JSON object" + keys());
  EXPECT_EQ(refusal("null"), "it is null; it must be a JSON object" + keys());
}

TEST(ConfigJson, NestingIsRefusedBeforeItTakesTheStack) {
  EXPECT_EQ(refusal(with(R"("tile": )" + std::string(1'000'000, '['))), "it is nested deeper than any configuration is");
}

TEST(ConfigJson, KeysUnknownMissingOrTwice) {
  EXPECT_EQ(refusal(with(R"("headdim": 1)")), "unknown key \"headdim\"" + keys());
  EXPECT_EQ(refusal(with(R"("causal": true, "causal": false)")), "the key \"causal\" is given twice");
  EXPECT_EQ(refusal(with(R"("tile": {"block_m": 8, "block_m": 8})")), "the key \"block_m\" is given twice");
  std::string three = hint() + "op, dtype and head_dim have to be there";
  EXPECT_EQ(refusal("{}"), "the key \"op\" is missing" + three);
  EXPECT_EQ(refusal(R"({"op": "attention_forward", "head_dim": 64})"), "the key \"dtype\" is missing" + three);
  EXPECT_EQ(refusal(R"({"op": "attention_forward", "dtype": "f16"})"), "the key \"head_dim\" is missing" + three);
}

TEST(ConfigJson, ValuesOfTheWrongType) {
  EXPECT_EQ(refusal(R"({"op": 1, "dtype": "f16", "head_dim": 64})"), "op is 1; it must be a string");
  EXPECT_EQ(refusal(R"({"op": "gemm", "dtype": "f16", "head_dim": 64})"), R"(op is "gemm"; the only legal one is "attention_forward")");
  EXPECT_EQ(refusal(R"({"op": "attention_forward", "dtype": true, "head_dim": 64})"), "dtype is true; it must be a string");
  EXPECT_EQ(refusal(R"({"op": "attention_forward", "dtype": "fp16", "head_dim": 64})"),
            R"(dtype is "fp16"; the legal ones are "f32", "f16" and "bf16")");
  EXPECT_EQ(refusal(R"({"op": "attention_forward", "dtype": "f16", "head_dim": 64.0})"), "head_dim is 64.0; it must be an integer");
  EXPECT_EQ(refusal(R"({"op": "attention_forward", "dtype": "f16", "head_dim": 18446744073709551615})"),
            "head_dim is 18446744073709551615; it does not fit 64 bits");
  EXPECT_EQ(refusal(with(R"("head_dim_v": "64")")), R"(head_dim_v is "64"; it must be an integer)");
  EXPECT_EQ(refusal(with(R"("head_dim_v": 0)")),
            "head_dim_v is 0; it must be a multiple of 8 from 8 to 256" + hint() + "leave it out where it equals head_dim");
  EXPECT_EQ(refusal(with(R"("causal": 1)")), "causal is 1; it must be true or false");
  EXPECT_EQ(refusal(with(R"("target": null)")), "target is null; it must be a string");
}

TEST(ConfigJson, TileChoices) {
  EXPECT_EQ(refusal(with(R"("tile": "BLOCK_M=64")")), R"(tile is "BLOCK_M=64"; it must be an object)" + choices());
  EXPECT_EQ(refusal(with(R"("tile": {"BLOCK_M": 64})")), R"(tile has no key "BLOCK_M")" + choices());
  EXPECT_EQ(refusal(with(R"("tile": {"block_k": 64})")), R"(tile has no key "block_k")" + choices());
  EXPECT_EQ(refusal(with(R"("tile": {"warps": 1.5})")), "tile.warps is 1.5; it must be an integer");
  EXPECT_EQ(refusal(with(R"("tile": {"schedule": 3})")), "tile.schedule is 3; it must be a string");
  EXPECT_EQ(refusal(with(R"("tile": {"schedule": ""})")), "tile.schedule is empty" + hint() + "leave schedule out to let fattn choose");
  for (const char* value : {"0", "-8", "4294967304"})
    EXPECT_EQ(refusal(with(R"("tile": {"block_m": )" + std::string(value) + "}")), "tile.block_m is " + std::string(value) +
                                                                                       "; it must be at least 1 and fit 32 bits" + hint() +
                                                                                       "leave block_m out to let fattn choose");
  EXPECT_EQ(refusal(with(R"("tile": {"block_n": 12})")),
            "tile configuration: BLOCK_N is 12; legal values are 1, 2, 4 and multiples of 8 up to 16384" + hint() +
                "leave BLOCK_N out to let fattn choose");
}

std::string extents() {
  return hint() + R"(write for example {"seq_q": 1, "seq_k": 4096}; the legal keys of shape are batch, heads, seq_q, seq_k)";
}

TEST(ConfigJson, AShapeOfWhichSomeIsKnown) {
  AttentionConfig config = parseConfig(with(R"("shape": {"seq_q": 1, "seq_k": 4096})"));
  EXPECT_EQ(config, (AttentionConfig{.dtype = DType::BF16, .head_dim = 64, .shape = ShapeHint{.seq_q = 1, .seq_k = 4096}}));
  for (const char* text :
       {R"("shape": {"batch": 2, "heads": 8, "seq_q": 100, "seq_k": 2147483647})", R"("shape": {"heads": 8})", R"("shape": {})"}) {
    AttentionConfig every = parseConfig(with(text));
    EXPECT_TRUE(every.shape);
    EXPECT_EQ(parseConfig(toJson(every)), every) << text;
  }
}

TEST(ConfigJson, ShapesThatAreNone) {
  EXPECT_EQ(refusal(with(R"("shape": [1, 8, 512, 512])")), "shape is [1,8,512,512]; it must be an object" + extents());
  EXPECT_EQ(refusal(with(R"("shape": {"seqlen": 512})")), "shape has no key \"seqlen\"" + extents());
  EXPECT_EQ(refusal(with(R"("shape": {"seq_q": "512"})")), "shape.seq_q is \"512\"; it must be an integer");
  EXPECT_EQ(refusal(with(R"("shape": {"seq_q": 1, "seq_q": 2})")), "the key \"seq_q\" is given twice");
  for (const char* value : {"0", "-1", "2147483648"})
    EXPECT_EQ(refusal(with(R"("shape": {"heads": )" + std::string(value) + "}")), "shape.heads is " + std::string(value) +
                                                                                      "; it must be at least 1 and fit 32 bits" + hint() +
                                                                                      "leave heads out where it is not known");
}

TEST(ConfigJson, LongValuesAreCutBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "\u00e9";  // two bytes each, after the one of the quotation mark
  std::string cut = "\"" + text.substr(0, 58) + "...";
  EXPECT_EQ(refusal(with(R"("causal": ")" + text + "\"")), "causal is " + cut + "; it must be true or false");
}

}  // namespace
}  // namespace fattn::kernels
