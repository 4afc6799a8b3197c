# SPDX-License-Identifier: Apache-2.0
# Writes HEADER with a hash over the names and contents of the sources below ROOT/compiler. Run as a script by compiler/driver.
file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/compiler/*.cpp ${ROOT}/compiler/*.h ${ROOT}/compiler/*.td)
list(SORT sources)
set(all "")
foreach(source IN LISTS sources)
  file(SHA256 ${ROOT}/${source} digest)
  string(APPEND all "${source} ${digest}\n")
endforeach()
string(SHA256 digest "${all}")
string(SUBSTRING ${digest} 0 16 digest)
file(CONFIGURE OUTPUT ${HEADER} CONTENT "// SPDX-License-Identifier: Apache-2.0
// Generated: stands for the sources of the compiler.
#pragma once
namespace fattn::compiler {
inline constexpr char kCompilerHash[] = \"${digest}\";
}
")
