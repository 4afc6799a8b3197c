// SPDX-License-Identifier: Apache-2.0
// Mutants of programs with dots, copies and staged operands, in loops of 0 to 5 trips, and of random programs: which the adversary finds
// wrong. FATTN_COUNT=n FATTN_SEED=s: how many of each program, and which; FATTN_VERBOSE=1 prints each with what was found.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>

#include "mlir/IR/Verifier.h"
#include "tests/adversary/MutantPrograms.h"
#include "tests/adversary/Mutants.h"
#include "tests/support/Environment.h"

using namespace mlir;

namespace fattn::adversary {
namespace {

constexpr const char* kKinds[] = {"drop-wait",  "raise-pending", "drop-barrier", "drop-release", "early-release", "fewer-slots",
                                  "shift-slot", "swap",          "overlap",      "drop-copy",    "drop-turn",     "drop-objects"};

struct Count {
  int faulty = 0, redundant = 0;
};

TEST(Mutants, EveryKindOfDefectIsFoundAndRedundantChangesAreNot) {
  std::map<MutationKind, Count> counts;
  bool verbose = std::getenv("FATTN_VERBOSE") != nullptr;
  generator::Random random(test::fromEnvironment("FATTN_SEED", 1));
  for (MutantProgram& program : mutantPrograms()) {
    std::vector<Mutation> mutations = mutationsOf(*program.block);
    ASSERT_FALSE(mutations.empty()) << program.name;
    for (uint64_t i = test::fromEnvironment("FATTN_COUNT", 12); i > 0; --i) {
      Mutation mutation = drawMutation(mutations, random);
      OwningOpRef<ModuleOp> mutant = mutate(*program.block, mutation);
      ASSERT_TRUE(succeeded(verify(*mutant))) << program.name << ": " << mutation.text;
      std::vector<Fault> faults = program.judge->faults(*mutant);
      ++(faults.empty() ? counts[mutation.kind].redundant : counts[mutation.kind].faulty);
      if (verbose) std::cout << program.name << ": " << mutation.text << "\n    " << (faults.empty() ? "redundant\n" : textOf(faults));
    }
  }
  for (const auto& [kind, count] : counts) {
    if (verbose) std::cout << kKinds[static_cast<int>(kind)] << ": " << count.faulty << " faulty, " << count.redundant << " redundant\n";
    EXPECT_GT(count.faulty, 0) << kKinds[static_cast<int>(kind)];
  }
  EXPECT_EQ(counts.size(), static_cast<size_t>(kMutationKinds));
}

}  // namespace
}  // namespace fattn::adversary
