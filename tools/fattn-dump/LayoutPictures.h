// SPDX-License-Identifier: Apache-2.0
// Pictures of the layouts that modules name: #tilegpu.regs<"..."> and #tilegpu.shared<"...">.
#ifndef FATTN_TOOLS_FATTN_DUMP_LAYOUTPICTURES_H
#define FATTN_TOOLS_FATTN_DUMP_LAYOUTPICTURES_H

#include <map>
#include <string>
#include <string_view>

#include "compiler/layout/Draw.h"

namespace fattn::dump {

/// Adds the layouts to which a module gives aliases (`#regs3 = ...`), by their text. Tiles of more than two dimensions and layouts with
/// too many holders have no picture; of the others the first rows and columns are drawn. A layout of shared memory is drawn for the
/// element type of the first buffer that has it.
void addLayouts(std::string_view module, std::map<std::string, layout::Drawing>& pictures);

}  // namespace fattn::dump

#endif
