// SPDX-License-Identifier: Apache-2.0
// The text of source files that locations name.
#ifndef FATTN_TOOLS_FATTN_DUMP_SOURCES_H
#define FATTN_TOOLS_FATTN_DUMP_SOURCES_H

#include <optional>
#include <string>
#include <string_view>

namespace fattn::dump {

/// A file as it was when this program was built: a source of the kernels, or a part of the page. Nothing for other names.
std::optional<std::string_view> embedded(std::string_view file);

/// A kernel's source that is built in, else the file of that name; nothing where there is none, where it has not the name of a source, or
/// where it is no text of at most 4 MiB in a regular file.
std::optional<std::string> sourceText(const std::string& file);

}  // namespace fattn::dump

#endif
