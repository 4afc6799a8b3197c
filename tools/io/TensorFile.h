// SPDX-License-Identifier: Apache-2.0
// Tensor files by name: "x.npy", "x.safetensors", "x.safetensors:name".
#ifndef FATTN_TOOLS_IO_TENSORFILE_H
#define FATTN_TOOLS_IO_TENSORFILE_H

#include <string>

#include "tools/io/HostTensor.h"

namespace fattn::io {

enum class FileFormat : std::uint8_t { Npy, Safetensors };

/// A path as the command line spells it.
struct FileSpec {
  std::string path;
  std::string tensor;  ///< the part after ".safetensors:"; empty where there is none
  FileFormat format = FileFormat::Npy;
};

/// Throws InvalidArgument for names that end in neither .npy nor .safetensors.
FileSpec parseFileSpec(const std::string& text);

/// Reads the tensor; `role` ("q") is the name looked for in a file of several where the spec names none.
HostTensor readTensor(const FileSpec& spec, const std::string& role);

}  // namespace fattn::io

#endif
