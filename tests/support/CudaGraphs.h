// SPDX-License-Identifier: Apache-2.0
// Streams that are captured into CUDA graphs, for tests on a GPU: the functions of the driver that the library itself has no need of.
#ifndef FATTN_TESTS_SUPPORT_CUDAGRAPHS_H
#define FATTN_TESTS_SUPPORT_CUDAGRAPHS_H

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <type_traits>

#include "fattn/Device.h"

namespace fattn::test {

class CudaGraphs {
 public:
  CudaGraphs() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    find(begin_, "cuStreamBeginCapture_v2"), find(end_, "cuStreamEndCapture"), find(instantiate_, "cuGraphInstantiateWithFlags");
    find(launch_, "cuGraphLaunch"), find(destroy_, "cuGraphExecDestroy"), find(destroyGraph_, "cuGraphDestroy");
    find(retain_, "cuDevicePrimaryCtxRetain"), find(setCurrent_, "cuCtxSetCurrent");
  }

  /// Whether the driver has them.
  bool known() const { return instantiate_ != nullptr && destroy_ != nullptr; }

  /// Makes the context of the first GPU current, as the driver's functions for graphs need it.
  void enter() {
    void* context = nullptr;
    ASSERT_EQ(retain_(&context, 0), 0);
    ASSERT_EQ(setCurrent_(context), 0);
  }

  /// What `work` launches on the stream, as a graph that can be replayed.
  std::shared_ptr<void> captured(Stream stream, const std::function<void()>& work) const {
    void *graph = nullptr, *executable = nullptr;
    EXPECT_EQ(begin_(stream.native, 0), 0);
    work();
    EXPECT_EQ(end_(stream.native, &graph), 0);
    EXPECT_EQ(instantiate_(&executable, graph, 0), 0);
    EXPECT_EQ(destroyGraph_(graph), 0);
    return {executable, [destroy = destroy_](void* held) { destroy(held); }};
  }

  int launch(const std::shared_ptr<void>& executable, Stream stream) const { return launch_(executable.get(), stream.native); }

 private:
  int (*begin_)(void* stream, int mode) = nullptr;
  int (*end_)(void* stream, void** graph) = nullptr;
  int (*instantiate_)(void** executable, void* graph, unsigned long long flags) = nullptr;
  int (*launch_)(void* executable, void* stream) = nullptr;
  int (*destroy_)(void* executable) = nullptr;
  int (*destroyGraph_)(void* graph) = nullptr;
  int (*retain_)(void** context, int device) = nullptr;
  int (*setCurrent_)(void* context) = nullptr;
};

/// A stream of the device's, which goes with the last owner.
inline std::shared_ptr<void> heldStream(Device& device) {
  return {device.createStream().native, [&device](void* held) { device.destroyStream({.native = held}); }};
}

}  // namespace fattn::test

#endif
