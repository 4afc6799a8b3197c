# SPDX-License-Identifier: Apache-2.0
# cmake -DROOT=DIR -DFILES=a,b -DOUTPUT=x.cpp -P Embed.cmake: a C++ source with fattn::dump::embedded(), which gives the text of each file by
# its name relative to DIR. Literals are cut at line ends, as compilers limit the length of one.
string(REPLACE "," ";" files "${FILES}")
set(code "// SPDX-License-Identifier: Apache-2.0\n// Written by Embed.cmake.\n#include \"tools/fattn-dump/Sources.h\"\n\nnamespace fattn::dump {\n\n")
string(APPEND code "std::optional<std::string_view> embedded(std::string_view file) {\n")
foreach(file ${files})
  file(READ ${ROOT}/${file} hex HEX)
  string(REGEX REPLACE "(................................................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" hex "${hex}")
  string(REPLACE "\n" "\"\n    \"" hex "${hex}")
  string(APPEND code "  static constexpr std::string_view text_${count} =\n    \"${hex}\";\n  if (file == \"${file}\") return text_${count};\n")
  string(APPEND count "x")
endforeach()
string(APPEND code "  return std::nullopt;\n}\n\n}  // namespace fattn::dump\n")
file(WRITE ${OUTPUT} "${code}")
