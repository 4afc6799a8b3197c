// SPDX-License-Identifier: Apache-2.0
// The version of the library a program runs with.
#ifndef FATTN_VERSION_H
#define FATTN_VERSION_H

#include <string_view>

namespace fattn {

/// "major.minor.patch".
std::string_view version();

}  // namespace fattn

#endif
