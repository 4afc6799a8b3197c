// SPDX-License-Identifier: Apache-2.0
// What fattn/Device.h promises of every device, tested by the same tests on each kind. LocalTest.cpp and CudaTest.cpp say on which targets.
#ifndef FATTN_TESTS_CONFORMANCE_CONFORMANCE_H
#define FATTN_TESTS_CONFORMANCE_CONFORMANCE_H

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fattn/Device.h"
#include "fattn/Error.h"

namespace fattn::conformance {

#define EXPECT_SAYS(text, part) EXPECT_PRED_FORMAT2(testing::IsSubstring, part, text)

/// A test on the device of a target; skipped, saying why, where this machine has none.
class Conformance : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;
  const std::string& target() const { return GetParam(); }
  Device& device() const { return *device_; }
  bool isHost() const { return device_->kind() == DeviceKind::Host; }

 private:
  Device* device_ = nullptr;
};

/// "simulated_gfx942".
std::string caseName(const testing::TestParamInfo<std::string>& info);

/// What a call that must fail says. Fails the test where it does not fail, or with another code.
std::string refusalOf(ErrorCode code, const std::function<void()>& call);

/// A stream that lives as long as this.
class OwnStream {
 public:
  explicit OwnStream(Device& device) : device_(device), stream_(device.createStream()) {}
  ~OwnStream() { device_.destroyStream(stream_); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  operator Stream() const { return stream_; }

 private:
  Device& device_;
  Stream stream_;
};

/// Memory of a device for so many elements. All that it does by itself is done when a call returns, so that any stream may go on.
template <typename T>
class Array {
 public:
  Array(Device& device, std::size_t count)
      : device_(device), count_(count), memory_(device.allocate(bytes()), [&device](void* memory) { device.free(memory); }) {}
  Array(Device& device, const std::vector<T>& values) : Array(device, values.size()) {
    device.copy(memory_.get(), values.data(), bytes());
    device.synchronize();
  }

  T* data() const { return static_cast<T*>(memory_.get()); }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  std::uint64_t slot() const { return reinterpret_cast<std::uint64_t>(memory_.get()); }
  /// Work of other streams that writes to it has finished.
  std::vector<T> read() const {
    std::vector<T> values(count_);
    device_.synchronize();
    device_.copy(values.data(), memory_.get(), bytes());
    device_.synchronize();
    return values;
  }

 private:
  Device& device_;
  std::size_t count_;
  std::shared_ptr<void> memory_;
};

}  // namespace fattn::conformance

#endif
