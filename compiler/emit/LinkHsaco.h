// SPDX-License-Identifier: Apache-2.0
// What makes a code object of a relocatable object.
#ifndef FATTN_COMPILER_EMIT_LINKHSACO_H
#define FATTN_COMPILER_EMIT_LINKHSACO_H

#include <string>

namespace fattn::emit {

/// The shared object of one relocatable object, linked by lld in this process, one at a time. Throws Error{Internal} with what lld says,
/// Error{IoError} where there is no memory for the files.
std::string linkHsaco(const std::string& object);

}  // namespace fattn::emit

#endif
