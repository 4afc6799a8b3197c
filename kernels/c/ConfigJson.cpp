// SPDX-License-Identifier: Apache-2.0
#include "kernels/c/ConfigJson.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/c/Json.h"

namespace fattn::kernels {
namespace {

using namespace json;

constexpr std::string_view kOp = "attention_forward";
constexpr std::array<std::string_view, 9> kKeys = {"op",     "dtype", "head_dim", "head_dim_v", "causal",
                                                   "target", "tile",  "shape",    "alignment"};

struct Choice {
  std::string_view key;
  std::int32_t TileConfig::* member;
};
// Attention's numbers: not BLOCK_K, which it does not have.
constexpr std::array<Choice, 4> kChoices = {
    {{"block_m", &TileConfig::block_m}, {"block_n", &TileConfig::block_n}, {"stages", &TileConfig::stages}, {"warps", &TileConfig::warps}}};
constexpr const char* kSchedule = "schedule";

struct Extent {
  std::string_view key;
  std::int64_t ShapeHint::* member;
};
constexpr std::array<Extent, 4> kExtents = {
    {{"batch", &ShapeHint::batch}, {"heads", &ShapeHint::heads}, {"seq_q", &ShapeHint::seq_q}, {"seq_k", &ShapeHint::seq_k}}};

std::string legalKeys() {
  std::string text;
  for (std::string_view key : kKeys) text.append(text.empty() ? "" : ", ").append(key);
  return "the legal keys are " + text;
}

std::string legalChoices() {
  std::string text;
  for (const Choice& choice : kChoices) text.append(text.empty() ? "" : ", ").append(choice.key);
  return "the legal keys of tile are " + text + ", " + kSchedule;
}

std::string legalExtents() {
  std::string text;
  for (const Extent& extent : kExtents) text.append(text.empty() ? "" : ", ").append(extent.key);
  return R"(write for example {"seq_q": 1, "seq_k": 4096}; the legal keys of shape are )" + text;
}

TileConfig tileOf(const Json& value) {
  if (!value.is_object()) fail("tile is " + quote(value) + "; it must be an object", legalChoices());
  TileConfig tile;
  for (const auto& [key, number] : value.items()) {
    if (key == kSchedule) {
      tile.schedule = textOf("tile.schedule", number);
      if (tile.schedule.empty()) fail("tile.schedule is empty", "leave schedule out to let fattn choose");
      continue;
    }
    const Choice* found = nullptr;
    for (const Choice& choice : kChoices)
      if (choice.key == key) found = &choice;
    if (found == nullptr) fail("tile has no key " + quote(key), legalChoices());
    tile.*found->member = countOf("tile", key, number, "to let fattn choose");
  }
  tile.validate();
  return tile;
}

ShapeHint shapeOf(const Json& value) {
  if (!value.is_object()) fail("shape is " + quote(value) + "; it must be an object", legalExtents());
  ShapeHint shape;
  for (const auto& [key, number] : value.items()) {
    const auto* found = std::ranges::find(kExtents, key, &Extent::key);
    if (found == kExtents.end()) fail("shape has no key " + quote(key), legalExtents());
    shape.*found->member = countOf("shape", key, number, "where it is not known");
  }
  return shape;
}

void readOp(const Json& value) {
  if (textOf("op", value) != kOp) fail("op is " + quote(value) + R"(; the only legal one is "attention_forward")");
}

DType dtypeOf(const Json& value) {
  std::optional<DType> dtype = parseDType(textOf("dtype", value));
  if (!dtype) fail("dtype is " + quote(value) + R"(; the legal ones are "f32", "f16" and "bf16")");
  return *dtype;
}

Json jsonOf(const AttentionConfig& config) {
  Json json = {{"op", kOp}, {"dtype", name(config.dtype)}, {"head_dim", config.head_dim}};
  if (config.head_dim_v != 0) json["head_dim_v"] = config.head_dim_v;
  json["causal"] = config.causal;
  if (!config.target.empty()) json["target"] = config.target;
  if (config.tile) {
    Json& tile = json["tile"] = Json::object();
    for (const Choice& choice : kChoices)
      if (int value = (*config.tile).*choice.member; value != 0) tile[std::string(choice.key)] = value;
    if (!config.tile->schedule.empty()) tile[kSchedule] = config.tile->schedule;
  }
  if (config.shape) {
    Json& shape = json["shape"] = Json::object();
    for (const Extent& extent : kExtents)
      if (std::int64_t value = (*config.shape).*extent.member; value != 0) shape[std::string(extent.key)] = value;
  }
  if (config.alignment != 0) json["alignment"] = config.alignment;
  return json;
}

}  // namespace

AttentionConfig parseConfig(std::string_view text) {
  const Json json = parseJson(text, R"(write for example {"op": "attention_forward", "dtype": "bf16", "head_dim": 128})");
  if (!json.is_object()) fail("it is " + quote(json) + "; it must be a JSON object", legalKeys());
  for (const auto& item : json.items())
    if (std::find(kKeys.begin(), kKeys.end(), item.key()) == kKeys.end()) fail("unknown key " + quote(item.key()), legalKeys());
  for (const char* key : {"op", "dtype", "head_dim"})
    if (!json.contains(key)) fail("the key \"" + std::string(key) + "\" is missing", "op, dtype and head_dim have to be there");

  readOp(json["op"]);
  AttentionConfig config{.dtype = dtypeOf(json["dtype"]), .head_dim = integerOf("head_dim", json["head_dim"])};
  if (auto found = json.find("head_dim_v"); found != json.end()) {
    config.head_dim_v = integerOf("head_dim_v", *found);
    if (config.head_dim_v == 0) fail("head_dim_v is 0; it must be a multiple of 8 from 8 to 256", "leave it out where it equals head_dim");
  }
  if (auto found = json.find("causal"); found != json.end()) {
    if (!found->is_boolean()) fail("causal is " + quote(*found) + "; it must be true or false");
    config.causal = found->get<bool>();
  }
  if (auto found = json.find("target"); found != json.end()) config.target = textOf("target", *found);
  if (auto found = json.find("tile"); found != json.end()) config.tile = tileOf(*found);
  if (auto found = json.find("shape"); found != json.end()) config.shape = shapeOf(*found);
  if (auto found = json.find("alignment"); found != json.end())
    config.alignment = static_cast<std::int32_t>(std::clamp<std::int64_t>(integerOf("alignment", *found), -1, 1 << 20));
  return config;
}

std::string toJson(const AttentionConfig& config) { return dump(jsonOf(config)); }

std::string toJson(const KernelInfo& info) {
  return dump({{"config", jsonOf(info.config)},
               {"device", info.device},
               {"entry", info.entry},
               {"from_cache", info.from_cache},
               {"compile_ms", info.compile_ms},
               {"binary_bytes", info.binary_bytes},
               {"scratch_bytes", info.scratch_bytes},
               {"shared_bytes", info.shared_bytes},
               {"threads", info.threads},
               {"registers", info.registers},
               {"spill_bytes", info.spill_bytes},
               {"resident", info.resident}});
}

std::string toJson(std::span<Device* const> devices) {
  Json list = Json::array();
  for (const Device* device : devices) {
    Capabilities can = device->capabilities();
    list.push_back({{"target", device->name()},
                    {"kind", name(device->kind())},
                    {"description", device->description()},
                    {"memory_bytes", can.memoryBytes},
                    {"shared_bytes", can.sharedBytes},
                    {"multiprocessors", can.multiprocessors},
                    {"asynchronous", can.asynchronous},
                    {"max_grid", can.maxGrid}});
  }
  return dump(list);
}

}  // namespace fattn::kernels
