// SPDX-License-Identifier: Apache-2.0
// What a worker does.
#ifndef FATTN_TESTS_RANDOM_SERVE_H
#define FATTN_TESTS_RANDOM_SERVE_H

#include <string>

namespace fattn::random {

/// Answers the requests that come on standard input, on the device of that name, until there are no more; see Worker.h and Request.h.
int serve(const std::string& device);

}  // namespace fattn::random

#endif
