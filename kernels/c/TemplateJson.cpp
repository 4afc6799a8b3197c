// SPDX-License-Identifier: Apache-2.0
#include "kernels/c/TemplateJson.h"

#include <algorithm>
#include <array>

#include "kernels/c/Json.h"

namespace fattn::kernels {
namespace {

using namespace json;

struct TileNumber {
  std::string_view key;
  std::int32_t TileConfig::* member;
};
constexpr std::array<TileNumber, 5> kTileNumbers = {{{"block_m", &TileConfig::block_m},
                                                     {"block_n", &TileConfig::block_n},
                                                     {"block_k", &TileConfig::block_k},
                                                     {"stages", &TileConfig::stages},
                                                     {"warps", &TileConfig::warps}}};
constexpr const char* kTileKeys = "the legal keys of tile are block_m, block_n, block_k, stages, warps, schedule";

TileConfig anyTileOf(const Json& value) {
  if (!value.is_object()) fail("tile is " + quote(value) + "; it must be an object", kTileKeys);
  TileConfig tile;
  for (const auto& [key, number] : value.items()) {
    if (key == "schedule") {
      tile.schedule = textOf("tile.schedule", number);
      continue;
    }
    const auto* found = std::ranges::find(kTileNumbers, key, &TileNumber::key);
    if (found == kTileNumbers.end()) fail("tile has no key " + quote(key), kTileKeys);
    tile.*found->member = countOf("tile", key, number, "to let fattn choose");
  }
  tile.validate();
  return tile;
}

void requireKeys(const Json& object, std::initializer_list<std::string_view> legal) {
  std::string known;
  for (const std::string_view key : legal) known.append(known.empty() ? "" : ", ").append(key);
  if (!object.is_object()) fail("it is " + quote(object) + "; it must be a JSON object", "the legal keys are " + known);
  for (const auto& item : object.items())
    if (std::ranges::find(legal, item.key()) == legal.end()) fail("unknown key " + quote(item.key()), "the legal keys are " + known);
}

Parameters::Value parameterOf(const std::string& key, const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return integerOf("parameters." + key, value);
  if (value.is_string()) return value.get<std::string>();
  fail("parameters." + key + " is " + quote(value) + "; it must be true, false, an integer or a string");
}

Json jsonOf(const Parameters& parameters) {
  Json json = Json::object();
  for (const auto& [name, value] : parameters.all()) std::visit([&, &name = name](const auto& held) { json[name] = held; }, value);
  return json;
}

std::vector<std::int64_t> extentsOf(const KernelTemplate& from, const Json& value) {
  std::string known;
  const std::vector<std::string> names = from.allExtents();
  for (const std::string& name : names) known.append(known.empty() ? "" : ", ").append(name);
  if (!value.is_object()) fail("shape is " + quote(value) + "; it must be an object", "the legal keys of shape are " + known);
  std::vector<std::int64_t> extents(names.size(), 0);
  for (const auto& [key, number] : value.items()) {
    const auto found = std::ranges::find(names, key);
    if (found == names.end()) fail("shape has no key " + quote(key), "the legal keys of shape are " + known);
    extents[static_cast<std::size_t>(found - names.begin())] = countOf("shape", key, number, "where it is not known");
  }
  return extents;
}

Json jsonOf(const TileConfig& tile) {
  Json json = Json::object();
  for (const TileNumber& number : kTileNumbers)
    if (tile.*number.member != 0) json[std::string(number.key)] = tile.*number.member;
  if (!tile.schedule.empty()) json["schedule"] = tile.schedule;
  return json;
}

bool flagOf(const char* key, const Json& value) {
  if (!value.is_boolean()) fail(std::string(key) + " is " + quote(value) + "; it must be true or false");
  return value.get<bool>();
}

/// A dimension or a count, which is left out where it is not needed.
void takeExtent(const Json& json, const char* key, std::int64_t& member) {
  const auto found = json.find(key);
  if (found == json.end()) return;
  member = integerOf(key, *found);
  if (member == 0) fail(std::string(key) + " is 0", "leave it out where it is not needed");
}

/// What decode and the backward pass are asked alike.
template <typename Config>
Config commonConfig(const Json& json) {
  for (const char* key : {"dtype", "head_dim"})
    if (!json.contains(key)) fail("the key \"" + std::string(key) + "\" is missing", "dtype and head_dim have to be there");
  const std::optional<DType> dtype = parseDType(textOf("dtype", json["dtype"]));
  if (!dtype) fail("dtype is " + quote(json["dtype"]) + R"(; the legal ones are "f32", "f16" and "bf16")");
  Config config{.dtype = *dtype, .head_dim = integerOf("head_dim", json["head_dim"])};
  takeExtent(json, "head_dim_v", config.head_dim_v);
  if (auto found = json.find("causal"); found != json.end()) config.causal = flagOf("causal", *found);
  if (auto found = json.find("target"); found != json.end()) config.target = textOf("target", *found);
  if (auto found = json.find("tile"); found != json.end()) config.tile = anyTileOf(*found);
  if (auto found = json.find("alignment"); found != json.end())
    config.alignment = static_cast<std::int32_t>(std::clamp<std::int64_t>(integerOf("alignment", *found), -1, 1 << 20));
  return config;
}

/// Of a compiled program all but its arguments.
Json jsonOf(const KernelCode& code) {
  return {{"target", code.target},
          {"tile", jsonOf(code.tile)},
          {"device", code.device},
          {"entry", code.entry},
          {"from_cache", code.from_cache},
          {"compile_ms", code.compile_ms},
          {"binary_bytes", code.binary_bytes},
          {"scratch_bytes", code.scratch_bytes},
          {"shared_bytes", code.shared_bytes},
          {"threads", code.threads},
          {"registers", code.registers},
          {"spill_bytes", code.spill_bytes},
          {"resident", code.resident}};
}

}  // namespace

DecodeConfig parseDecodeConfig(std::string_view text) {
  const Json json = parseJson(text, R"(write for example {"dtype": "bf16", "head_dim": 128, "rows": 4})");
  requireKeys(json, {"dtype", "head_dim", "head_dim_v", "rows", "causal", "page_size", "window", "append", "settled_cache", "balanced",
                     "target", "tile", "alignment"});
  auto config = commonConfig<DecodeConfig>(json);
  takeExtent(json, "rows", config.rows);
  takeExtent(json, "page_size", config.page_size);
  if (auto found = json.find("window"); found != json.end()) config.window = flagOf("window", *found);
  if (auto found = json.find("append"); found != json.end()) config.append = flagOf("append", *found);
  if (auto found = json.find("settled_cache"); found != json.end()) config.settled_cache = flagOf("settled_cache", *found);
  if (auto found = json.find("balanced"); found != json.end()) config.balanced = flagOf("balanced", *found);
  return config;
}

VarlenConfig parseVarlenConfig(std::string_view text) {
  const Json json = parseJson(text, R"(write for example {"dtype": "bf16", "head_dim": 128, "causal": true})");
  requireKeys(json, {"dtype", "head_dim", "head_dim_v", "causal", "target", "tile", "alignment"});
  return commonConfig<VarlenConfig>(json);
}

BackwardConfig parseBackwardConfig(std::string_view text) {
  const Json json = parseJson(text, R"(write for example {"dtype": "bf16", "head_dim": 128, "causal": true})");
  requireKeys(json, {"dtype", "head_dim", "head_dim_v", "causal", "deterministic", "packed", "target", "tile", "tile_dq", "alignment"});
  auto config = commonConfig<BackwardConfig>(json);
  if (auto found = json.find("deterministic"); found != json.end()) config.deterministic = flagOf("deterministic", *found);
  if (auto found = json.find("packed"); found != json.end()) config.packed = flagOf("packed", *found);
  if (auto found = json.find("tile_dq"); found != json.end()) config.tile_dq = anyTileOf(*found);
  return config;
}

CompileFor parseCompileFor(std::string_view text) {
  const Json json = parseJson(text, R"(write for example {"target": "host"})");
  requireKeys(json, {"target", "tile"});
  CompileFor how;
  if (auto found = json.find("target"); found != json.end()) how.target = textOf("target", *found);
  if (auto found = json.find("tile"); found != json.end()) how.tile = anyTileOf(*found);
  return how;
}

TemplateRequest parseTemplateRequest(std::string_view text) {
  const Json json = parseJson(text, R"(write for example {"template": "gemm", "parameters": {"dtype": "bf16", "out": "bf16"}})");
  requireKeys(json, {"template", "parameters", "target", "tile", "shape", "shapes"});
  if (!json.contains("template")) fail("the key \"template\" is missing");
  TemplateRequest request;
  request.from = findTemplate(textOf("template", json["template"]));
  if (auto found = json.find("parameters"); found != json.end()) {
    if (!found->is_object()) fail("parameters is " + quote(*found) + "; it must be an object");
    for (const auto& [key, value] : found->items()) request.parameters.set(key, parameterOf(key, value));
  }
  if (auto found = json.find("target"); found != json.end()) request.how.target = textOf("target", *found);
  if (auto found = json.find("tile"); found != json.end()) request.how.tile = anyTileOf(*found);
  if (auto found = json.find("shape"); found != json.end()) request.how.extents = extentsOf(*request.from, *found);
  if (auto found = json.find("shapes"); found != json.end()) {
    if (!found->is_array()) fail("shapes is " + quote(*found) + "; it must be an array of objects");
    for (const Json& shape : *found) request.shapes.push_back(extentsOf(*request.from, shape));
  }
  return request;
}

std::string toJson(const KernelCode& code, std::span<const dsl::Param> args) {
  Json list = Json::array();
  for (const dsl::Param& param : args)
    list.push_back({{"name", param.name},
                    {"kind", param.isPointer ? "pointer" : "scalar"},
                    {"dtype", name(param.type)},
                    {"divisibility", param.divisibility}});
  Json json = jsonOf(code);
  json["arguments"] = list;
  return dump(json);
}

std::string backwardJson(const BackwardKernel& kernel) { return dump({{"dkdv", jsonOf(kernel.info())}, {"dq", jsonOf(kernel.infoDq())}}); }

std::string toJson(const std::vector<Tuned>& tuned, const KernelTemplate& from) {
  Json list = Json::array();
  const std::vector<std::string> names = from.allExtents();
  for (const Tuned& one : tuned) {
    Json shape = Json::object();
    for (std::size_t i = 0; i < one.extents.size(); ++i)
      if (one.extents[i] > 0) shape[names[i]] = one.extents[i];
    Json json = {
        {"shape", shape}, {"default_us", one.default_us}, {"measured", one.measured}, {"failed", one.failed}, {"pruned", one.pruned}};
    if (one.tile) {
      json["tile"] = jsonOf(*one.tile);
      json["median_us"] = one.median_us;
      json["gain"] = one.gain;
      json["gain_noise"] = one.gain_noise;
    }
    list.push_back(std::move(json));
  }
  return dump(list);
}

std::string templatesJson() {
  Json list = Json::array();
  for (const std::string& name : templateNames()) {
    const auto found = findTemplate(name);
    list.push_back({{"template", name}, {"parameters", jsonOf(found->parameters)}, {"shape", found->allExtents()}});
  }
  return dump(list);
}

}  // namespace fattn::kernels
