// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/WorkCounters.h"

#include <array>

#include "runtime/base/Log.h"

namespace fattn::cuda {
namespace {

constexpr std::size_t kStride = 8;  // an u32 each, and room between
constexpr std::size_t kBytes = (std::size_t{WorkCounters::kStreams} + WorkCounters::kCaptured) * kStride;

}  // namespace

struct WorkCounters::Places {
  // What the driver hands back with a graph.
  struct Captured {
    std::atomic<bool> taken = false;
    std::shared_ptr<Places> owner;  // while it is taken

    // In a thread of the driver's, which must not call it.
    static void giveBack(void* data) {
      auto* captured = static_cast<Captured*>(data);
      const std::shared_ptr<Places> alive = std::move(captured->owner);
      captured->taken.store(false, std::memory_order_release);
    }
  };

  std::array<std::atomic<std::uint64_t>, kStreams> streams{};  // the driver's ids and 1: no two streams of a process have the same; 0: free
  std::array<Captured, kCaptured> captured;
  std::atomic<std::uint32_t> next = 0;  // of these, the one to look at first
};

WorkCounters::WorkCounters(const Driver& driver) : driver_(driver) {}

void WorkCounters::make() {
  const DriverApi& api = driver_.api();
  if (memory_ != 0 || api.StreamGetId == nullptr || api.StreamGetCaptureInfo == nullptr) return;
  Address memory = 0;
  StreamHandle stream = nullptr;
  Result result = api.MemAlloc(&memory, kBytes);
  if (result == kSuccess) result = api.StreamCreate(&stream, kStreamNonBlocking);
  if (result == kSuccess) result = api.MemsetD8Async(memory, 0, kBytes, stream);
  if (result == kSuccess) result = api.StreamSynchronize(stream);
  if (stream != nullptr) api.StreamDestroy(stream);
  if (result == kSuccess) {
    places_ = std::make_shared<Places>();
    memory_.store(memory, std::memory_order_release);
    return;
  }
  log::write(log::Level::Warning,
             "no counters for blocks that take several programs, which are shared out evenly instead: " + driver_.text(result));
  if (memory != 0) api.MemFree(memory);
}

void WorkCounters::free() {
  if (const Address memory = memory_.exchange(0); memory != 0) driver_.api().MemFree(memory);
}

Address WorkCounters::of(StreamHandle stream) {
  constexpr int kCapturing = 1;  // CU_STREAM_CAPTURE_STATUS_ACTIVE
  if (memory_.load(std::memory_order_acquire) == 0) return 0;
  int status = 0;
  Graph graph = nullptr;
  // What the driver does not like about the stream it says of the launch, too.
  if (driver_.api().StreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr) != kSuccess) return 0;
  return status == kCapturing ? ofCapture(graph) : ofStream(stream);
}

// A table with open addressing: a stream's counter has the number of its entry. Streams that are gone keep theirs, as the driver does not
// tell when their last launch has ended.
Address WorkCounters::ofStream(StreamHandle stream) {
  std::uint64_t id = 0;
  if (driver_.api().StreamGetId(stream, &id) != kSuccess) return 0;
  for (std::uint64_t i = 0; i < kStreams; ++i) {
    const std::uint64_t place = (id + i) % kStreams;
    std::uint64_t there = 0;
    if (places_->streams[place].compare_exchange_strong(there, id + 1, std::memory_order_relaxed) || there == id + 1)
      return memory_ + place * kStride;
  }
  return 0;
}

Address WorkCounters::ofCapture(Graph graph) {
  constexpr unsigned kUnsynchronized = 1, kMove = 1;  // CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, CU_GRAPH_USER_OBJECT_MOVE
  const DriverApi& api = driver_.api();
  if (api.UserObjectCreate == nullptr || api.UserObjectRelease == nullptr || api.GraphRetainUserObject == nullptr) return 0;
  const std::uint32_t first = places_->next.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < kCaptured; ++i) {
    const std::uint32_t place = (first + i) % kCaptured;
    Places::Captured& captured = places_->captured[place];
    if (captured.taken.exchange(true, std::memory_order_acquire)) continue;
    captured.owner = places_;
    UserObject object = nullptr;
    if (api.UserObjectCreate(&object, &captured, &Places::Captured::giveBack, 1, kUnsynchronized) != kSuccess) {
      Places::Captured::giveBack(&captured);
      return 0;
    }
    if (api.GraphRetainUserObject(graph, object, 1, kMove) == kSuccess) return memory_ + (kStreams + place) * kStride;
    api.UserObjectRelease(object, 1);  // its last owner: the counter goes back
    return 0;
  }
  return 0;
}

}  // namespace fattn::cuda
