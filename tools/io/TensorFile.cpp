// SPDX-License-Identifier: Apache-2.0
// Chooses the file format by the name's ending.
#include "tools/io/TensorFile.h"

#include <fmt/format.h>

#include "fattn/Error.h"
#include "tools/io/Npy.h"
#include "tools/io/Safetensors.h"

namespace fattn::io {

FileSpec parseFileSpec(const std::string& text) {
  constexpr std::string_view kNamed = ".safetensors:";
  if (const std::size_t at = text.rfind(kNamed); at != std::string::npos) {
    FileSpec spec{text.substr(0, at + kNamed.size() - 1), text.substr(at + kNamed.size()), FileFormat::Safetensors};
    if (spec.tensor.empty())
      throw Error(ErrorCode::InvalidArgument, fmt::format("{} names no tensor after the colon", text),
                  "write FILE.safetensors or FILE.safetensors:NAME");
    return spec;
  }
  if (text.ends_with(".safetensors")) return {text, "", FileFormat::Safetensors};
  if (text.ends_with(".npy")) return {text, "", FileFormat::Npy};
  throw Error(ErrorCode::InvalidArgument, fmt::format("the file name {} ends in neither .npy nor .safetensors", quote(text)),
              "these are the formats that can be read and written");
}

HostTensor readTensor(const FileSpec& spec, const std::string& role) try {
  const FileSource source(spec.path);
  return spec.format == FileFormat::Npy ? readNpy(source) : readSafetensors(source, spec.tensor, role);
} catch (const Error& error) {
  // A size that overflows is the file's fault here, not the caller's.
  if (error.code() != ErrorCode::InvalidArgument) throw;
  throw Error(ErrorCode::IoError, error.constraint(), error.hint());
}

}  // namespace fattn::io
