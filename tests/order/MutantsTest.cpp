// SPDX-License-Identifier: Apache-2.0
// Programs with one thing changed: the check reports those that the adversary gets wrong in some order, and no others. FATTN_COUNT=n
// FATTN_SEED=s: how many mutants of each program, and which; FATTN_VERBOSE=1 prints each on which the two differ.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "tests/adversary/MutantPrograms.h"
#include "tests/order/Emitted.h"
#include "tests/support/Environment.h"

using namespace mlir;

namespace fattn::order {
namespace {

TEST(Mutants, FaultyOnesAreReportedAndRedundantOnesAreNot) {
  generator::Random random(test::fromEnvironment("FATTN_SEED", 1));
  bool verbose = std::getenv("FATTN_VERBOSE") != nullptr;
  int faulty = 0, redundant = 0, missed = 0, overdone = 0;
  for (adversary::MutantProgram& program : adversary::mutantPrograms()) {
    EXPECT_EQ(judge(*program.order, *program.block).faults, "") << program.name;
    std::vector<adversary::Mutation> mutations = adversary::mutationsOf(*program.block);
    for (uint64_t i = test::fromEnvironment("FATTN_COUNT", 12); i > 0; --i) {
      adversary::Mutation mutation = adversary::drawMutation(mutations, random);
      OwningOpRef<ModuleOp> mutant = adversary::mutate(*program.block, mutation);
      std::vector<adversary::Fault> wrong = program.judge->faults(*mutant);
      std::string reported = judge(*program.order, *mutant).faults;
      ++(wrong.empty() ? redundant : faulty);
      missed += !wrong.empty() && reported.empty();
      overdone += wrong.empty() && !reported.empty();
      if (verbose && wrong.empty() != reported.empty())
        std::cout << program.name << ": " << mutation.text << "\nadversary: " << adversary::textOf(wrong) << "check: " << reported << "\n";
    }
  }
  std::cout << faulty << " faulty mutants, of which the check misses " << missed << "; " << redundant
            << " redundant ones, of which it reports " << overdone << "\n";
  EXPECT_EQ(missed, 0);
  EXPECT_EQ(overdone, 0);
  EXPECT_GT(faulty, 0);
  EXPECT_GT(redundant, 0);
}

}  // namespace
}  // namespace fattn::order
