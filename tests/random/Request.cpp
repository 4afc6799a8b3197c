// SPDX-License-Identifier: Apache-2.0
#include "tests/random/Request.h"

#include <nlohmann/json.hpp>

#include "fattn/Error.h"
#include "tests/generator/Text.h"
#include "tests/regressions/Regression.h"

using nlohmann::json;

namespace fattn::random {
namespace {

std::string text(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

json parse(const std::string& line) try { return json::parse(line); } catch (const json::exception& error) {
  throw Error(ErrorCode::Internal, std::string("a line between processes is not as it should be: ") + error.what());
}

}  // namespace

bool hasDraw(const std::string& text) { return text.find("// draw: ") != std::string::npos; }

MakeProgram programOf(const Request& request) {
  if (request.text)
    return [request](mlir::MLIRContext& context, const generator::Draw&) {
      if (hasDraw(*request.text)) return generator::parse(context, *request.text).program;
      return regressions::Regression::parse(*request.text, "the text", context).take();
    };
  if (!request.choices) return [](mlir::MLIRContext& context, const generator::Draw& draw) { return generator::generate(context, draw); };
  return [choices = *request.choices](mlir::MLIRContext& context, const generator::Draw& draw) {
    return generator::replay(context, choices, draw.options());
  };
}

std::string toLine(const Request& request) {
  json value = {{"draw", request.draw.toString()}};
  if (request.choices) value["choices"] = *request.choices;
  if (request.text) value["text"] = *request.text;
  return text(value);
}

std::string toLine(const Result& result) {
  return text({{"draw", result.draw.toString()}, {"verdict", name(result.outcome.verdict)}, {"message", result.outcome.message}});
}

Request requestOf(const std::string& line) {
  json value = parse(line);
  Request request{.draw = generator::Draw::parse(value.at("draw").get<std::string>())};
  if (value.contains("choices")) request.choices = value["choices"].get<std::vector<uint64_t>>();
  if (value.contains("text")) request.text = value["text"].get<std::string>();
  return request;
}

Result resultOf(const std::string& line) {
  json value = parse(line);
  return {generator::Draw::parse(value.at("draw").get<std::string>()),
          {verdictOf(value.at("verdict").get<std::string>()), value.at("message").get<std::string>()},
          {}};
}

}  // namespace fattn::random
