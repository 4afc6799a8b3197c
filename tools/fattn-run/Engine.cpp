// SPDX-License-Identifier: Apache-2.0
// Engine on the library's public interface. The host runs on the problem's own memory; other devices get copies.
#include "tools/fattn-run/Engine.h"

#include <chrono>
#include <memory>

#include "fattn/fattn.h"

namespace fattn::run {
namespace {

/// A tensor where the device can use it.
class Operand {
 public:
  Operand(Device& device, io::HostTensor& host) : device_(device), host_(host) {
    if (device.kind() == DeviceKind::Host) {
      data_ = host.data();
      return;
    }
    owned_ = {device.allocate(bytes()), [&device](void* memory) { device.free(memory); }};
    data_ = owned_.get();
    device.copy(data_, host.data(), bytes());
  }

  void fetch() {
    if (owned_) device_.copy(host_.data(), data_, bytes());
  }
  TensorView view(io::Layout layout) const {
    const TensorView stored(data_, host_.dtype(), host_.shape(), host_.strides());
    return layout == io::Layout::BSHD && stored.rank == 4 ? stored.transposed(1, 2) : stored;
  }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(host_.bytes()); }

  Device& device_;
  io::HostTensor& host_;
  std::unique_ptr<void, std::function<void(void*)>> owned_;
  void* data_ = nullptr;
};

class DeviceEngine final : public Engine {
 public:
  DeviceEngine(const AttentionConfig& config, Problem& p)
      : kernel_(compile(config)),
        device_(openDevice(kernel_.info().config.target)),
        q_(device_, p.q),
        k_(device_, p.k),
        v_(device_, p.v),
        o_(device_, p.o),
        lse_(device_, p.lse),
        arguments_{q_.view(p.layout), k_.view(p.layout), v_.view(p.layout), o_.view(p.layout), lse_.view(io::Layout::BHSD), p.scale} {
    const KernelInfo& info = kernel_.info();
    target = info.config.target;
    device = info.device;
    Engine::config = info.tile.toString();
    compileMs = info.compile_ms;
    fromCache = info.from_cache;
    device_.synchronize();
  }

  double launch() override {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    kernel_.launch({}, arguments_);
    device_.synchronize();
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }

  void fetch(Problem&) override {
    o_.fetch();
    lse_.fetch();
    device_.synchronize();
  }

 private:
  Kernel kernel_;
  Device& device_;
  Operand q_, k_, v_, o_, lse_;
  AttentionArgs arguments_;
};

}  // namespace

std::unique_ptr<Engine> makeEngine(const Options& options, Problem& problem) {
  AttentionConfig config;
  config.dtype = problem.dtype;
  config.head_dim = problem.shape.dim;
  config.head_dim_v = problem.shape.dimV;
  config.causal = problem.shape.causal;
  config.target = options.target;
  config.shape =
      ShapeHint{.batch = problem.shape.batch, .heads = problem.shape.headsQ, .seq_q = problem.shape.lenQ, .seq_k = problem.shape.lenKv};
  if (options.config != TileConfig{}) config.tile = options.config;
  if (options.threads > 0) host::setNumThreads(options.threads);
  return std::make_unique<DeviceEngine>(config, problem);
}

}  // namespace fattn::run
