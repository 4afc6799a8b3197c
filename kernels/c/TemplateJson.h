// SPDX-License-Identifier: Apache-2.0
// Programs, templates and configurations of decode, packed sequences and the backward pass as JSON, for the C interface.
#ifndef FATTN_KERNELS_C_TEMPLATEJSON_H
#define FATTN_KERNELS_C_TEMPLATEJSON_H

#include <string>
#include <string_view>
#include <vector>

#include "fattn/Backward.h"
#include "fattn/Decode.h"
#include "fattn/Template.h"
#include "fattn/Varlen.h"

namespace fattn::kernels {

/// {"target": ..., "tile": {...}}, both of which may be missing. Throws Error{InvalidArgument}.
CompileFor parseCompileFor(std::string_view text);

/// {"template": ..., "parameters": {...}, "target": ..., "tile": {...}, "shape": {...} or "shapes": [{...}, ...]}.
struct TemplateRequest {
  std::shared_ptr<const KernelTemplate> from;
  Parameters parameters;
  TemplateFor how;
  std::vector<std::vector<std::int64_t>> shapes;
};
TemplateRequest parseTemplateRequest(std::string_view text);

/// {"dtype": ..., "head_dim": ..., ...}; fattn/c_api.h specifies the keys. Checks the form only. Throws Error{InvalidArgument}.
DecodeConfig parseDecodeConfig(std::string_view text);
VarlenConfig parseVarlenConfig(std::string_view text);
BackwardConfig parseBackwardConfig(std::string_view text);

std::string toJson(const KernelCode& code, std::span<const dsl::Param> args);
/// {"dkdv": ..., "dq": ...}.
std::string backwardJson(const BackwardKernel& kernel);
std::string toJson(const std::vector<Tuned>& tuned, const KernelTemplate& from);
/// Every registered template with its parameters and extents.
std::string templatesJson();

}  // namespace fattn::kernels

#endif
