// SPDX-License-Identifier: Apache-2.0
// Kernels and devices as JSON: what the C interface takes and gives instead of C++ structs.
#ifndef FATTN_KERNELS_CONFIGJSON_H
#define FATTN_KERNELS_CONFIGJSON_H

#include <span>
#include <string>
#include <string_view>

#include "fattn/Attention.h"

namespace fattn::kernels {

/// Reads {"op": "attention_forward", "dtype": ..., "head_dim": ..., ...}; fattn/c_api.h specifies the keys. Checks the form only; which
/// values there are kernels for is supports()'s to say. Throws Error{InvalidArgument} naming the key and what would be legal.
AttentionConfig parseConfig(std::string_view text);

/// The inverse: every member that is set, so that parseConfig() gives the same configuration.
std::string toJson(const AttentionConfig& config);
std::string toJson(const KernelInfo& info);
std::string toJson(std::span<Device* const> devices);

}  // namespace fattn::kernels

#endif
