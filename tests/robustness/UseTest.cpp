// SPDX-License-Identifier: Apache-2.0
// Attention as others use it, hard: between pages that nobody may touch, from many threads, with many kernels.
#include <fmt/format.h>
#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/allocator_interface.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "fattn/fattn.h"
#include "tests/robustness/Attack.h"
#include "tools/io/HostTensor.h"
#include "tools/io/Random.h"

namespace fattn {
namespace {

/// Memory whose neighbouring pages may not be touched; the tensor lies at its beginning or at its end.
class Guarded {
 public:
  Guarded(DType dtype, std::vector<std::int64_t> shape, bool atEnd) {
    io::HostTensor values = io::HostTensor::allocate(dtype, std::move(shape));
    io::fillNormal(values, 7, 1, 1);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), bytes = static_cast<std::size_t>(values.bytes());
    const std::size_t inner = (bytes + page - 1) / page * page;
    size_ = inner + 2 * page;
    map_ = static_cast<std::byte*>(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (map_ == MAP_FAILED || mprotect(map_ + page, inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    std::byte* data = map_ + page + (atEnd ? inner - bytes : 0);
    std::memcpy(data, values.data(), bytes);
    view_ = TensorView(data, dtype, values.shape());
  }
  ~Guarded() { munmap(map_, size_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  const TensorView& view() const { return view_; }

 private:
  std::size_t size_ = 0;
  std::byte* map_ = nullptr;
  TensorView view_;
};

TEST(Use, LaunchesTouchNothingBesideTheirOperands) {
  int launches = 0;
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16})
    for (const bool causal : {false, true})
      for (const auto& [lenQ, lenKv] :
           {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 65}, {63, 64}, {64, 64}, {65, 33}, {129, 7}, {7, 200}})
        for (const bool atEnd : {false, true}) {
          const std::int64_t dim = 8 + 24 * (launches % 3);
          const Kernel kernel = compile({.dtype = dtype, .head_dim = dim, .causal = causal, .target = "host"});
          const Guarded q(dtype, {1, 2, lenQ, dim}, atEnd), k(dtype, {1, 1, lenKv, dim}, atEnd), v(dtype, {1, 1, lenKv, dim}, atEnd);
          const Guarded o(dtype, {1, 2, lenQ, dim}, atEnd), lse(DType::F32, {1, 2, lenQ}, atEnd);
          kernel.launch({}, {.q = q.view(), .k = k.view(), .v = v.view(), .o = o.view(), .lse = lse.view()});
          ++launches;
        }
  EXPECT_EQ(launches, 84);
}

/// One problem and what it has to give, bit by bit.
struct Problem {
  explicit Problem(int number)
      : config{.dtype = number % 2 == 0 ? DType::BF16 : DType::F32, .head_dim = 16, .causal = number % 3 == 0, .target = "host"},
        q(draw(1)),
        k(draw(2)),
        v(draw(3)),
        expected(result()) {}
  io::HostTensor draw(std::uint64_t stream) const {
    io::HostTensor t = io::HostTensor::allocate(config.dtype, {1, 1, 40, 16});
    io::fillNormal(t, 5, stream, 1);
    return t;
  }
  std::vector<std::byte> result() const {
    io::HostTensor o = io::HostTensor::allocate(config.dtype, q.shape());
    auto view = [](const io::HostTensor& t) { return TensorView(t.data(), t.dtype(), t.shape()); };
    compile(config).launch({}, {.q = view(q), .k = view(k), .v = view(v), .o = view(o)});
    return {o.data(), o.data() + o.bytes()};
  }
  AttentionConfig config;
  io::HostTensor q, k, v;
  std::vector<std::byte> expected;
};

TEST(Use, ResultsAreTheSameBitsWithAnyNumberOfThreads) {
  const int before = host::numThreads();
  std::vector<std::unique_ptr<Problem>> problems;
  host::setNumThreads(1);
  for (int i = 0; i < 6; ++i) problems.push_back(std::make_unique<Problem>(i));
  for (const int threads : {2, 3, 8}) {
    host::setNumThreads(threads);
    for (const auto& problem : problems) EXPECT_EQ(problem->result(), problem->expected) << threads << " threads";
  }
  host::setNumThreads(before);
}

// The operands of a launch may be one tensor, have strides of 0 where others step, or be empty.
TEST(Use, OperandsThatAreOneTensorOrHaveStridesOf0OrAreEmptyAreTaken) {
  constexpr std::int64_t heads = 3, rows = 5, dim = 8, size = heads * rows * dim;
  const Kernel kernel = compile({.dtype = DType::F32, .head_dim = dim, .target = "host"});
  std::vector<float> x(size), first(size), o(size), same(size);
  for (std::size_t i = 0; i < size; ++i) {
    x[i] = static_cast<float>(i * 37 % 23) / 16;
    first[i] = x[i % (rows * dim)];
  }
  const auto view = [](std::vector<float>& values) { return TensorView(values.data(), DType::F32, {1, heads, rows, dim}); };
  const TensorView shared(x.data(), DType::F32, {1, heads, rows, dim}, {0, 0, dim, 1});
  kernel.launch({}, {.q = view(x), .k = shared, .v = shared, .o = view(o)});
  kernel.launch({}, {.q = view(x), .k = view(first), .v = view(first), .o = view(same)});
  EXPECT_EQ(o, same);

  std::vector<float> k = x, v = x;
  kernel.launch({}, {.q = view(x), .k = view(x), .v = view(x), .o = view(o)});
  kernel.launch({}, {.q = view(x), .k = view(k), .v = view(v), .o = view(same)});
  EXPECT_EQ(o, same);

  const TensorView none(k.data(), DType::F32, {1, heads, 0, dim});
  kernel.launch({}, {.q = none, .k = view(x), .v = view(x), .o = none});
  EXPECT_EQ(k, x);
  kernel.launch({}, {.q = view(x), .k = none, .v = none, .o = view(o)});
  EXPECT_EQ(o, std::vector<float>(size)) << "rows without keys are 0";
}

/// FATTN_SECONDS: how long.
TEST(Use, ManyThreadsCompileAndLaunchAtOnce) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(test::timesFrom("FATTN_SECONDS", 1));
  std::vector<std::unique_ptr<Problem>> problems;
  for (int i = 0; i < 6; ++i) problems.push_back(std::make_unique<Problem>(i));
  std::atomic<long> calls = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 64; ++t)
    threads.emplace_back([&, t] {
      std::size_t i = t;
      do {  // at least once, however late the thread begins
        const Problem& problem = *problems[i++ % problems.size()];
        wrong += problem.result() == problem.expected ? 0 : 1;
        ++calls;
      } while (std::chrono::steady_clock::now() < until);
    });
  for (std::thread& thread : threads) thread.join();
  fmt::print("{} calls\n", calls.load());
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(calls, 64);
}

#ifdef __SANITIZE_ADDRESS__
/// The address sanitizer keeps up to 256 MB of freed memory resident, so its own count of live bytes is asked for.
long megabytesInUse() { return static_cast<long>(__sanitizer_get_current_allocated_bytes() >> 20); }
#else
long megabytesInUse() {
  std::ifstream file("/proc/self/statm");
  long pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024) / 1024;
}
#endif

/// FATTN_CONFIGURATIONS: how many; there are 384. What a kernel keeps is its code, not its compiler.
TEST(Use, ManyConfigurationsTakeLittleMemory) {
  const int count = std::min(test::timesFrom("FATTN_CONFIGURATIONS", 8), 384);
  std::vector<Kernel> kernels;
  long first = 0;
  for (int i = 0; i < count; ++i) {
    const DType dtype = std::array{DType::F32, DType::F16, DType::BF16}[static_cast<std::size_t>(i % 3)];
    const std::int32_t rows = 8 << (i / 6 % 4), columns = 8 << (i / 24 % 4);
    kernels.push_back(compile({.dtype = dtype,
                               .head_dim = 8 + 8 * (i / 96),
                               .causal = i / 3 % 2 == 1,
                               .target = "host",
                               .tile = TileConfig{.block_m = rows, .block_n = columns}}));
    if (i == 4) first = megabytesInUse();
  }
  const long last = megabytesInUse();
  fmt::print("{} configurations: {} MB after the fifth, {} MB at the end\n", count, first, last);
  EXPECT_LT(last - first, 100);
}

}  // namespace
}  // namespace fattn
