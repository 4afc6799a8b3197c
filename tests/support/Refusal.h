// SPDX-License-Identifier: Apache-2.0
// What a call that must fail says.
#ifndef FATTN_TESTS_SUPPORT_REFUSAL_H
#define FATTN_TESTS_SUPPORT_REFUSAL_H

#include <functional>
#include <string>

#include "fattn/Error.h"

namespace fattn {

/// What the call's Error names as broken, without its hint; "no error" where it throws none.
inline std::string refusal(const std::function<void()>& call) {
  try {
    call();
    return "no error";
  } catch (const Error& error) {
    return error.constraint();
  }
}

}  // namespace fattn

#endif
