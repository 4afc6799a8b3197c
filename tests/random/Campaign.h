// SPDX-License-Identifier: Apache-2.0
// Many draws on one device, and what became of each.
#ifndef FATTN_TESTS_RANDOM_CAMPAIGN_H
#define FATTN_TESTS_RANDOM_CAMPAIGN_H

#include <functional>
#include <string>
#include <vector>

#include "tests/random/Request.h"
#include "tests/random/Workers.h"

namespace fattn::random {

struct CampaignOptions {
  std::vector<std::string> self = {"/proc/self/exe"};  ///< this command again, for workers
  std::string device = "cuda";                         ///< a target that a device has
  std::vector<std::string> targets = {};               ///< what to compile for; empty: the device's chip
  uint64_t draws = 1000, seed = 0;                     ///< the seeds are seed, seed + 1, ...
  std::string only = {};                               ///< this draw alone, as its text
  std::string programs = {};                           ///< a folder: the programs in it instead, each in every configuration
  int processes = 0;                                   ///< 0: one a core
  double limitSeconds = 15;                            ///< for a draw
  double totalSeconds = 0;                             ///< after which no other draw begins; 0: no limit
  bool inProcess = false;                              ///< all in this process, one after the other, without a time limit; arrays lie apart
  bool allowRefusals = false;                          ///< refusals that are known are no failures
  std::string record = {};                             ///< a file that gets a line for each draw
  int reduce = 5;                                      ///< failures that are run again alone and reduced, at the most
};

/// What a campaign on this machine's device asks for; device, targets and processes are filled in. Throws what openDevice() throws.
CampaignOptions completed(CampaignOptions options);

/// The command of a worker: this program again.
WorkerOptions workerOptions(const CampaignOptions& options, int processes);

/// A reply as a result: a worker that died or hung says nothing of the draw but how.
Result resultOf(const generator::Draw& draw, const Reply& reply);

/// Runs the draws, in order of their completion `done` sees each. Results come in the order of the seeds, without draws that the total time
/// had no room for.
std::vector<Result> runDraws(const CampaignOptions& options, const std::function<void(const Result& result)>& done);

}  // namespace fattn::random

#endif
