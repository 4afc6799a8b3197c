// SPDX-License-Identifier: Apache-2.0
// gpu-tests: GoogleTest's command line; `gpu-tests random ...` runs random programs, see tests/random/RandomMain.cpp.
#include <gtest/gtest.h>

#include <string_view>

#include "tests/random/RandomMain.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "gpu-tests") --argc, ++argv;  // how a worker names this part of the package's program
  if (argc > 1 && std::string_view(argv[1]) == "random")
    return fattn::random::randomMain(argc - 1, argv + 1, {"/proc/self/exe", "gpu-tests", "random"});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
