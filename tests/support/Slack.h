// SPDX-License-Identifier: Apache-2.0
// How many times as long as in an ordinary build something may take.
#pragma once

namespace fattn::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr double kSlack = 20;
#else
inline constexpr double kSlack = 1;
#endif

}  // namespace fattn::test
