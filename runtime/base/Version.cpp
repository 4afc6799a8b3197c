// SPDX-License-Identifier: Apache-2.0
#include "fattn/Version.h"

namespace fattn {

std::string_view version() { return FATTN_VERSION; }

}  // namespace fattn
