// SPDX-License-Identifier: Apache-2.0
// Links a relocatable object file into this process.
#ifndef FATTN_RUNTIME_HOST_OBJECTLOADER_H
#define FATTN_RUNTIME_HOST_OBJECTLOADER_H

#include <memory>
#include <string>
#include <string_view>

namespace fattn::host {

/// Runs one program; see compiler::Binary.
using Program = void (*)(const void* arguments, const std::int32_t* grid, void* scratch);

/// The linked code of one object file; its memory goes when this does.
class LoadedObject {
 public:
  virtual ~LoadedObject() = default;
  Program program = nullptr;
};

/// Links `bytes` (an ELF object for this machine) against symbols() and finds `entry` in it. Safe from any thread. Throws
/// Error{CompileError} when the bytes are no such object, refer to unknown symbols or lack the entry.
std::unique_ptr<LoadedObject> loadObject(std::string_view bytes, const std::string& entry);

}  // namespace fattn::host

#endif
