// SPDX-License-Identifier: Apache-2.0
// A stand-in for HIP's library with one GPU, whose kernels the simulator executes: machines without a GPU see runtime/hip load and launch
// real code objects. The library is fake-hip; its state is reached through the symbol fattnFakeHip.
#ifndef FATTN_TESTS_UNIT_HIP_FAKEHIP_H
#define FATTN_TESTS_UNIT_HIP_FAKEHIP_H

#include <map>
#include <string>

namespace fattn::test {

struct FakeHip {
  int devices = 1, version = 60240134;
  std::string architecture = "gfx942:sramecc+:xnack-";
  std::map<std::string, int, std::less<>> results;  ///< what a function returns, by its exported name, where it is not success
  int modules = 0, streams = 0, events = 0, allocations = 0;
  std::string fault;  ///< of the last launch

  int begun = 0;        ///< calls
  int failAt = -1;      ///< this call fails, counted from 0; -1 = none
  int failWith = 2;     ///< with this; 2 is out of memory
  bool failOn = false;  ///< and every one behind it
  std::string failed;   ///< which function was the first
};

}  // namespace fattn::test

extern "C" fattn::test::FakeHip* fattnFakeHip();

#endif
