// SPDX-License-Identifier: Apache-2.0
// A trip of the main loop in the PTX of a kernel.
#ifndef FATTN_TESTS_UNIT_KERNELS_PTXLOOP_H
#define FATTN_TESTS_UNIT_KERNELS_PTXLOOP_H

#include <functional>
#include <string>
#include <vector>

namespace fattn::test {

/// The instructions, an inline assembly a line, of the usual path of one trip: the shortest way from a basic block that has an instruction
/// for which `begins` holds back to itself, counted in instructions, as exact sides are long. The shortest that `accepts` takes: a loop
/// over programs is round the main loop. Empty where there is none.
std::vector<std::string> tripOf(const std::string& ptx, const std::function<bool(const std::string&)>& begins,
                                const std::function<bool(const std::vector<std::string>&)>& accepts);

}  // namespace fattn::test

#endif
