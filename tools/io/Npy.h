// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files, versions 1 to 3. Read: f2 f4 b1 i1 i4 i8 of either byte order (swapped to the machine's), C and Fortran order
// (the latter by strides). Refused with the rule: object arrays, structured and other element types. Written: version 1, C order.
#ifndef FATTN_TOOLS_IO_NPY_H
#define FATTN_TOOLS_IO_NPY_H

#include <string>

#include "tools/io/File.h"
#include "tools/io/HostTensor.h"

namespace fattn::io {

/// Reads the array of an .npy file; bytes after it are ignored, as NumPy does. Throws IoError naming the source and the rule.
HostTensor readNpy(const ByteSource& source);

/// Throws InvalidArgument for element types NumPy has not: bf16 and the 8-bit floats.
void writeNpy(const std::string& path, const HostTensor& tensor);

}  // namespace fattn::io

#endif
