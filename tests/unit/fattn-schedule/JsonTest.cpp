// SPDX-License-Identifier: Apache-2.0
// Loop models as JSON: what is read, and every message.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "fattn/Error.h"
#include "tests/unit/fattn-schedule/Run.h"
#include "tools/fattn-schedule/Json.h"

namespace fattn::schedule {
namespace {

std::string messageOf(const std::string& text) {
  try {
    parseLoop(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string node(const std::string& fields) { return R"({"nodes": [{"name": "A", )" + fields + "}]}"; }

TEST(ScheduleJson, AFileIsRead) {
  std::ifstream in(dataFile("gemm.json"));
  const gpu::LoopModel loop = parseLoop({std::istreambuf_iterator<char>(in), {}});
  EXPECT_EQ(loop.groups, 2);
  EXPECT_EQ(loop.threads, 128);
  EXPECT_EQ(loop.fixedRegisters, 88);
  EXPECT_EQ(loop.copyBytesPerCycle, 64);
  ASSERT_EQ(loop.nodes.size(), 3U);
  EXPECT_EQ(loop.nodes[0].kind, gpu::NodeKind::Copy);
  EXPECT_EQ(loop.nodes[0].bytes, 16384);
  EXPECT_EQ(loop.nodes[0].shared, 32768);
  EXPECT_EQ(loop.nodes[1].kind, gpu::NodeKind::Dot);
  EXPECT_EQ(loop.nodes[1].dot.m, 64);
  EXPECT_EQ(loop.nodes[1].dot.n, 128);
  EXPECT_TRUE(loop.nodes[1].dot.aInShared);
  EXPECT_EQ(loop.nodes[2].work.latency, 40);
  ASSERT_EQ(loop.edges.size(), 3U);
  EXPECT_TRUE(loop.edges[1].chained);
  EXPECT_EQ(loop.edges[2].distance, 1);
}

TEST(ScheduleJson, MessagesNameThePlace) {
  EXPECT_EQ(messageOf("{"), "the loop model is no JSON: unexpected text at byte 2");
  EXPECT_EQ(messageOf("[]"), "loop model: document: expected an object");
  EXPECT_EQ(messageOf("{}"), "loop model: document: 'nodes' is missing");
  EXPECT_EQ(messageOf(R"({"nodes": 3})"), "loop model: nodes: expected an array");
  EXPECT_EQ(messageOf(R"({"nodes": [], "group": 2})"),
            "loop model: document: unknown field 'group'\n  hint: legal fields are name, groups, threads, fixed_registers, "
            "fixed_shared_bytes, register_limit, copy_bytes_per_cycle, nodes, edges");
  EXPECT_EQ(messageOf(R"({"nodes": [{"work": {}}]})"), "loop model: nodes[0]: 'name' is missing");
  EXPECT_EQ(messageOf(R"({"nodes": [{"name": 1}]})"), "loop model: nodes[0].name: expected a string");
  EXPECT_EQ(messageOf(node(R"("registers": 1)")), "loop model: nodes[0]: a node has exactly one of 'dot', 'copy' and 'work'");
  EXPECT_EQ(
      messageOf(node(R"("work": {"exp": 1})")),
      "loop model: nodes[0].work: unknown field 'exp'\n  hint: legal fields are exp2, fma, add, convert, shuffle, shared_bytes, latency");
  EXPECT_EQ(messageOf(node(R"("work": {"exp2": "many"})")), "loop model: nodes[0].work.exp2: expected a number");
  EXPECT_EQ(messageOf(node(R"("work": {}, "registers": 1.5)")), "loop model: nodes[0].registers: expected an integer of at most 1e9");
  EXPECT_EQ(messageOf(node(R"("dot": {"n": 8})")), "loop model: nodes[0].dot: 'k' is missing");
  EXPECT_EQ(messageOf(node(R"("dot": {"n": 8, "k": 8, "type": "bf61"})")),
            "loop model: nodes[0].dot.type: unknown type 'bf61'\n  hint: for example bf16, f16, f32 (as tf32), f8e4m3");
  EXPECT_EQ(messageOf(node(R"("dot": {"n": 8, "k": 8, "a": "smem"})")),
            "loop model: nodes[0].dot.a: unknown home 'smem'\n  hint: legal are shared and registers");
  EXPECT_EQ(messageOf(node(R"("copy": {})")), "loop model: nodes[0].copy: 'bytes' is missing");
  EXPECT_EQ(messageOf(R"({"nodes": [{"name": "A", "work": {}}], "edges": [{"from": "A", "to": "B"}]})"),
            "loop model: edges[0].to: there is no node 'B'");
  EXPECT_EQ(messageOf(R"({"nodes": [{"name": "A", "work": {}}], "edges": [{"from": "A", "to": "A", "chained": 1}]})"),
            "loop model: edges[0].chained: expected true or false");
  EXPECT_EQ(messageOf(R"({"nodes": [{"name": "A", "work": {}}], "edges": [{"from": "A", "to": "A"}]})"),
            "within one iteration A -> A needs its own result\n  hint: one of these edges has to have distance 1");
}

}  // namespace
}  // namespace fattn::schedule
