// SPDX-License-Identifier: Apache-2.0
// What a module's warp groups note, as a file: on the fake driver, whose module holds what a kernel would have written.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/cuda/RoleTrace.h"
#include "tests/unit/cuda/Support.h"

namespace fattn {
namespace {

constexpr const char* kNames = "1 2\nbegin wait k\nend wait k\n";
constexpr std::size_t kWords = cuda::kRoleTraceBytes / sizeof(std::uint32_t);

/// Two roles: the first with two marks, the second with more than there is room for.
std::vector<std::uint32_t> words(std::uint32_t first) {
  std::vector<std::uint32_t> all(2 * kWords);
  const std::uint32_t marks[] = {1, first + 10, 2, first + 250, ~0U, 0, 1, 1};  // the last of a longer launch before
  std::ranges::copy(marks, all.begin());
  for (std::uint32_t i = 0; i < kWords / 2; ++i) all[kWords + 2 * i] = 1 + i % 2, all[kWords + 2 * i + 1] = first + i;
  return all;
}

std::string bytesOf(const std::vector<std::uint32_t>& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::uint32_t)};
}

class RoleTrace : public test::Fake {
 protected:
  RoleTrace() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fattn-trace-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    note();
    setenv("FATTN_TRACE", folder.c_str(), 1);
  }
  ~RoleTrace() override {
    unsetenv("FATTN_TRACE");
    std::filesystem::remove_all(folder);
  }
  /// What a kernel would have written.
  void note() {
    std::string& memory = driver.globals["fattn_trace"] = std::string(3 * cuda::kRoleTraceBytes, '\0');
    const std::string marks = bytesOf(words(100));
    const auto from = reinterpret_cast<std::uintptr_t>(memory.data()) % cuda::kRoleTraceBytes;
    memory.replace(from == 0 ? 0 : cuda::kRoleTraceBytes - from, marks.size(), marks);
    driver.globals["fattn_trace_names"] = kNames;
  }
  std::unique_ptr<cuda::CudaModule> kernel(const char* name) {
    compiler::Binary binary = test::ptxBinary();
    binary.entry = name;
    driver.entries.insert(name);
    return load(binary);
  }
  std::string written(const std::string& name) const {
    std::ifstream stream(folder + "/" + name);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
  }
  std::string folder;
};

TEST_F(RoleTrace, ALaunchIsFollowedByAFile) {
  auto module = kernel("traced");
  EXPECT_EQ(written("traced.json"), "");
  gpu().launch(*module, {}, {}, {});
  const std::string text = written("traced.json");
  EXPECT_TRUE(
      text.starts_with("{\"kernel\":\"traced\",\"target\":\"nvidia:sm_90a\",\"device\":\"Fake H200\",\"launch\":1,\"roles\":["
                       "{\"name\":\"group 0\",\"full\":false,\"events\":[[\"begin wait k\",10],[\"end wait k\",250]]},"
                       "{\"name\":\"copies\",\"full\":true,\"events\":[[\"begin wait k\",0],[\"end wait k\",1],"))
      << text.substr(0, 400);
  EXPECT_TRUE(text.ends_with("[\"begin wait k\",4094]]}]}\n")) << text.substr(text.size() - 100);
  for (int i = 0; i < 4; ++i) gpu().launch(*module, {}, {}, {});
  EXPECT_NE(written("traced.json").find("\"launch\":4"), std::string::npos) << "the first, second, fourth ...";
  auto another = kernel("traced");
  gpu().launch(*another, {}, {}, {});
  EXPECT_NE(written("traced-2.json").find("\"launch\":1"), std::string::npos);
}

TEST_F(RoleTrace, ACapturedLaunchIsNotWaitedFor) {
  auto module = kernel("captured");
  int graph = 0;
  driver.capturing = &graph;
  const int waits = driver.count("cuStreamSynchronize");
  gpu().launch(*module, {}, {}, {});
  driver.capturing = nullptr;
  EXPECT_EQ(driver.count("cuStreamSynchronize"), waits);
  EXPECT_EQ(written("captured.json"), "");
}

TEST_F(RoleTrace, OthersNoteNothing) {
  driver.globals.clear();
  EXPECT_EQ(kernel("silent")->roleTrace(), nullptr);
  note();
  unsetenv("FATTN_TRACE");
  EXPECT_EQ(kernel("silent")->roleTrace(), nullptr);
  EXPECT_EQ(driver.count("cuStreamSynchronize"), 0);
}

TEST_F(RoleTrace, AFolderThatIsNotThereIsSaid) {
  setenv("FATTN_TRACE", (folder + "/none").c_str(), 1);
  auto module = kernel("lost");
  testing::internal::CaptureStderr();
  gpu().launch(*module, {}, {}, {});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("FATTN_TRACE has to name a folder that exists"), std::string::npos) << said;
}

TEST_F(RoleTrace, ClocksWrapAndWhatDoesNotFitGivesNoText) {
  const cuda::TracedLaunch head{.kernel = "k", .target = "nvidia:sm_90a", .device = "a GPU", .number = 1};
  const std::string early = cuda::roleTraceText(head, kNames, words(100));
  EXPECT_EQ(cuda::roleTraceText(head, kNames, words(0xffffffff - 50)), early);
  EXPECT_EQ(cuda::roleTraceText(head, "1 3\na\nb\n", words(100)), "") << "other roles than there is memory for";
  EXPECT_EQ(cuda::roleTraceText(head, "1 2\na\n", words(100)), "") << "an event without a name";
}

}  // namespace
}  // namespace fattn
