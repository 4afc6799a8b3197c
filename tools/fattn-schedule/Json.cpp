// SPDX-License-Identifier: Apache-2.0
// A reader that knows where in the document it is.
#include "tools/fattn-schedule/Json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "fattn/Error.h"

namespace fattn::schedule {
namespace {

using nlohmann::json;

[[noreturn]] void fail(const std::string& where, const std::string& what, std::string hint = "") {
  throw Error(ErrorCode::InvalidArgument, fmt::format("loop model: {}: {}", where, what), std::move(hint));
}

/// An object of the document and its path.
class Object {
 public:
  Object(const json& value, std::string path, std::initializer_list<const char*> fields) : value_(value), path_(std::move(path)) {
    if (!value.is_object()) fail(path_, "expected an object");
    for (const auto& [key, unused] : value.items())
      if (std::ranges::none_of(fields, [&](const char* field) { return key == field; }))
        fail(path_, fmt::format("unknown field '{}'", key.substr(0, 40)), fmt::format("legal fields are {}", fmt::join(fields, ", ")));
  }

  bool has(const char* field) const { return value_.contains(field); }
  std::string path(const char* field) const { return path_ == "document" ? field : path_ + "." + field; }
  const json& at(const char* field) const {
    if (!has(field)) fail(path_, fmt::format("'{}' is missing", field));
    return value_.at(field);
  }
  std::string text(const char* field) const {
    const json& value = at(field);
    if (!value.is_string()) fail(path(field), "expected a string");
    return value.get<std::string>();
  }
  double number(const char* field, double otherwise) const {
    if (!has(field)) return otherwise;
    const json& value = at(field);
    if (!value.is_number() || !std::isfinite(value.get<double>())) fail(path(field), "expected a number");
    return value.get<double>();
  }
  int integer(const char* field, int otherwise) const {
    const double value = number(field, otherwise);
    if (value != std::floor(value) || std::abs(value) > 1e9) fail(path(field), "expected an integer of at most 1e9");
    return static_cast<int>(value);
  }
  bool flag(const char* field) const {
    if (!has(field)) return false;
    if (!at(field).is_boolean()) fail(path(field), "expected true or false");
    return at(field).get<bool>();
  }
  const json& array(const char* field) const {
    if (!at(field).is_array()) fail(path(field), "expected an array");
    return at(field);
  }

 private:
  const json& value_;
  std::string path_;
};

gpu::DotWork parseDot(const json& value, const std::string& path) {
  const Object object(value, path, {"type", "m", "n", "k", "a", "column_parts"});
  gpu::DotWork dot;
  const std::string type = object.has("type") ? object.text("type") : "bf16", home = object.has("a") ? object.text("a") : "shared";
  const auto parsed = parseDType(type);
  if (!parsed)
    fail(object.path("type"), fmt::format("unknown type '{}'", type.substr(0, 40)), "for example bf16, f16, f32 (as tf32), f8e4m3");
  if (home != "shared" && home != "registers")
    fail(object.path("a"), fmt::format("unknown home '{}'", home.substr(0, 40)), "legal are shared and registers");
  object.at("n"), object.at("k");
  dot = {.type = *parsed,
         .m = object.integer("m", 64),
         .n = object.integer("n", 0),
         .k = object.integer("k", 0),
         .aInShared = home == "shared",
         .columnParts = object.integer("column_parts", 1)};
  return dot;
}

gpu::ArithmeticWork parseWork(const json& value, const std::string& path) {
  const Object o(value, path, {"exp2", "fma", "add", "convert", "shuffle", "shared_bytes", "latency"});
  return {.exp2 = o.number("exp2", 0),
          .fma = o.number("fma", 0),
          .add = o.number("add", 0),
          .convert = o.number("convert", 0),
          .shuffle = o.number("shuffle", 0),
          .sharedBytes = o.number("shared_bytes", 0),
          .latency = o.number("latency", 0)};
}

gpu::Node parseNode(const json& value, const std::string& path) {
  const Object object(value, path, {"name", "dot", "copy", "work", "registers", "working_registers", "shared_bytes"});
  gpu::Node node{.name = object.text("name"),
                 .registers = object.integer("registers", 0),
                 .working = object.integer("working_registers", 0),
                 .shared = object.integer("shared_bytes", 0)};
  if (static_cast<int>(object.has("dot")) + static_cast<int>(object.has("copy")) + static_cast<int>(object.has("work")) != 1)
    fail(path, "a node has exactly one of 'dot', 'copy' and 'work'");
  if (object.has("dot")) {
    node.kind = gpu::NodeKind::Dot;
    node.dot = parseDot(object.at("dot"), object.path("dot"));
  } else if (object.has("copy")) {
    const Object copy(object.at("copy"), object.path("copy"), {"bytes"});
    copy.at("bytes");
    node.kind = gpu::NodeKind::Copy;
    node.bytes = copy.number("bytes", 0);
  } else {
    node.work = parseWork(object.at("work"), object.path("work"));
  }
  return node;
}

gpu::Edge parseEdge(const json& value, const std::string& path, const gpu::LoopModel& loop) {
  const Object object(value, path, {"from", "to", "distance", "chained", "reuse", "order"});
  const auto node = [&](const char* field) {
    const std::string name = object.text(field);
    const auto index = loop.find(name);
    if (!index) fail(object.path(field), fmt::format("there is no node '{}'", name.substr(0, 40)));
    return *index;
  };
  return {.from = node("from"),
          .to = node("to"),
          .distance = object.integer("distance", 0),
          .chained = object.flag("chained"),
          .reuse = object.flag("reuse"),
          .order = object.flag("order")};
}

}  // namespace

gpu::LoopModel parseLoop(const std::string& text) {
  json document;
  try {
    document = json::parse(text);
  } catch (const json::parse_error& error) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("the loop model is no JSON: unexpected text at byte {}", error.byte));
  }
  const Object object(
      document, "document",
      {"name", "groups", "threads", "fixed_registers", "fixed_shared_bytes", "register_limit", "copy_bytes_per_cycle", "nodes", "edges"});
  gpu::LoopModel loop;
  if (object.has("name")) loop.name = object.text("name");
  loop.groups = object.integer("groups", 1);
  loop.threads = object.integer("threads", 128);
  loop.fixedRegisters = object.integer("fixed_registers", 0);
  loop.fixedShared = object.integer("fixed_shared_bytes", 0);
  if (object.has("register_limit")) loop.registerLimit = object.integer("register_limit", 0);
  if (object.has("copy_bytes_per_cycle")) loop.copyBytesPerCycle = object.number("copy_bytes_per_cycle", 0);
  const json& nodes = object.array("nodes");
  for (std::size_t i = 0; i < nodes.size(); ++i) loop.nodes.push_back(parseNode(nodes[i], fmt::format("nodes[{}]", i)));
  if (object.has("edges")) {
    const json& edges = object.array("edges");
    for (std::size_t i = 0; i < edges.size(); ++i) loop.edges.push_back(parseEdge(edges[i], fmt::format("edges[{}]", i), loop));
  }
  loop.verify();
  return loop;
}

}  // namespace fattn::schedule
