// SPDX-License-Identifier: Apache-2.0
// A stand-in for the CUDA driver's library, in host memory, whose functions do what a test tells them: machines without a GPU see every
// path of runtime/cuda. The library is fake-cuda; its state is reached through the symbol fattnFakeDriver.
#ifndef FATTN_TESTS_UNIT_CUDA_FAKEDRIVER_H
#define FATTN_TESTS_UNIT_CUDA_FAKEDRIVER_H

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime/cuda/DriverApi.h"

namespace fattn::test {

struct FakeLaunch {
  unsigned grid[3], block[3], sharedBytes;
  void* stream;
  bool overlaps;      // cuLaunchKernelEx said that it may start before what is in front of it has ended
  std::size_t bytes;  // of the arguments
  unsigned char arguments[4096];
};

/// What a call of cuTensorMapEncodeTiled was given; lists end where `rank` says.
struct FakeMap {
  int type, interleave, swizzle, promotion, fill;
  unsigned rank;
  const void* address;
  unsigned long sizes[5], strides[4];
  unsigned box[5], steps[5];
};

struct FakeDriver {
  std::mutex mutex;
  std::map<std::string, int, std::less<>> calls;    // by exported name
  std::map<std::string, int, std::less<>> results;  // what a function returns from now on, where it is not success
  std::map<std::string, int, std::less<>> once;     // the same, for one call
  int begun = 0;                                    // calls of all functions
  int failAt = -1, failWith = 2;                    // which of them fails, and how
  bool failOn = false;                              // and all after it
  std::string failed;                               // its name
  int version = 13000, devices = 1;
  std::map<int, int> attributes;
  std::map<int, int> functionAttributes;
  std::size_t freeBytes = 1 << 20;
  int retained = 0;                     // of the primary context
  std::map<void*, std::size_t> memory;  // what is allocated
  std::string infoLog, errorLog;        // of the next link
  std::string ptx;                      // of the last one
  bool endsInZero = false;              // whether it ended as the driver wants
  std::string image;                    // of the last module
  std::set<std::string, std::less<>> entries;
  std::map<std::string, std::string, std::less<>> globals;  // content of modules' symbols, by name
  int modules = 0, streams = 0, events = 0, pools = 0, links = 0;
  int maxDynamicSharedBytes = 0, blocksPerMultiprocessor = 2;
  std::vector<FakeLaunch> launches;
  std::map<const void*, unsigned long> streamIds;  // by handle, 1 where it is not named
  void* capturing = nullptr;                       // the graph into which all streams are captured
  std::vector<std::function<void()>> kept;         // what graphs have to call when they go
  std::vector<FakeMap> maps;                       // those made, up to 64; the object of number i is 128 bytes of i + 1

  std::function<void()> reset;  // back to a machine with one good GPU
  int count(const char* function) { return calls[function]; }
};

}  // namespace fattn::test

extern "C" fattn::test::FakeDriver* fattnFakeDriver();

#endif
