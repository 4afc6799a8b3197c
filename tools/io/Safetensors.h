// SPDX-License-Identifier: Apache-2.0
// .safetensors files: named tensors, row major, little endian; the format PyTorch users store bf16 and 8-bit floats in.
#ifndef FATTN_TOOLS_IO_SAFETENSORS_H
#define FATTN_TOOLS_IO_SAFETENSORS_H

#include <string>
#include <vector>

#include "tools/io/File.h"
#include "tools/io/HostTensor.h"

namespace fattn::io {

/// One line of the table of contents. `dtype` is as the file spells it; a type that cannot be read matters only when it is asked for.
struct SafetensorsEntry {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0, end = 0;  ///< bytes of the file
};

/// The tensors of a file, in the order of their data. Throws IoError where the header breaks a rule of the format: sizes that do not match
/// types and shapes, tensors that overlap, leave holes or end beyond the file, names used twice.
std::vector<SafetensorsEntry> listSafetensors(const ByteSource& source);

/// Reads the tensor called `name`; where `name` is empty, the only one, or else the one called `role` (q, k, v). Throws IoError naming
/// what the file holds where there is no such tensor, or its type is none of ours.
HostTensor readSafetensors(const ByteSource& source, const std::string& name, const std::string& role);

struct NamedTensor {
  std::string name;
  const HostTensor* tensor;
};
void writeSafetensors(const std::string& path, const std::vector<NamedTensor>& tensors);

}  // namespace fattn::io

#endif
