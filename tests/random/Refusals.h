// SPDX-License-Identifier: Apache-2.0
// Programs that the compiler refuses: what is alike among the messages, and which of them are known.
#ifndef FATTN_TESTS_RANDOM_REFUSALS_H
#define FATTN_TESTS_RANDOM_REFUSALS_H

#include <string>
#include <string_view>

namespace fattn::random {

/// The first line of a message without what differs between programs of one fault: shapes, layouts, names and numbers.
std::string kindOf(std::string_view message);

/// Whether it is one of the refusals that are known; each is a defect with an issue of its own, which a test need not report again.
bool isKnownRefusal(std::string_view message);

}  // namespace fattn::random

#endif
