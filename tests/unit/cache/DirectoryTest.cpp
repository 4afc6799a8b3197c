// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/unit/cache/Support.h"

namespace fattn::cache {
namespace {

using namespace test;
namespace fs = std::filesystem;

// What the process's directory is with these variables, in a process of its own as it is found once.
std::string pathWith(std::initializer_list<std::pair<const char*, const char*>> variables) {
  int channel[2];
  if (pipe(channel) != 0) return "no pipe";
  pid_t child = startProcess([&] {
    for (const char* name : {"FATTN_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) unsetenv(name);
    for (auto [name, value] : variables) setenv(name, value, 1);
    std::string path = Directory::process().path().string();
    (void)!write(channel[1], path.data(), path.size());
  });
  close(channel[1]);
  waitFor(child);
  std::string path(4096, '\0');
  path.resize(static_cast<std::size_t>(std::max<ssize_t>(read(channel[0], path.data(), path.size()), 0)));
  close(channel[0]);
  return path;
}

TEST(Directory, TheEnvironmentChooses) {
  EXPECT_EQ(pathWith({{"FATTN_CACHE_DIR", "/a"}, {"XDG_CACHE_HOME", "/b"}, {"HOME", "/c"}}), "/a/v1");
  EXPECT_EQ(pathWith({{"FATTN_CACHE_DIR", ""}, {"XDG_CACHE_HOME", "/b"}, {"HOME", "/c"}}), "/b/fattn/v1");
  EXPECT_EQ(pathWith({{"XDG_CACHE_HOME", "relative"}, {"HOME", "/c"}}), "/c/.cache/fattn/v1");
  EXPECT_EQ(pathWith({{"HOME", ""}}), "");
}

// Two failures, one warning.
std::string warningOf(Directory& directory) {
  testing::internal::CaptureStderr();
  EXPECT_FALSE(directory.replace("a/b", "text", false));
  EXPECT_FALSE(directory.replace("a/c", "text", true));
  EXPECT_FALSE(directory.read("a/b", 100));
  return testing::internal::GetCapturedStderr();
}
constexpr const char* kHint = "; every process compiles anew until FATTN_CACHE_DIR names a folder that can be written\n";

TEST(Directory, NoFolderAtAll) {
  Directory none{fs::path()};
  EXPECT_EQ(
      warningOf(none),
      "fattn: warning: there is no folder for the cache, as none of FATTN_CACHE_DIR, XDG_CACHE_HOME and HOME is set" + std::string(kHint));
  EXPECT_TRUE(none.entries("a").empty());
  EXPECT_EQ(none.prune("a", 0), 0u);
}

TEST(Directory, AFileInItsPlace) {
  TemporaryFolder folder;
  writeFile(folder.path() / "file", "x");
  Directory directory(folder.path() / "file");
  EXPECT_EQ(warningOf(directory),
            "fattn: warning: the cache cannot write " + (directory.path() / "a/b").string() + ": Not a directory" + kHint);
}

TEST(Directory, AFullDisk) {
  // The limit on the size of files stands in for the disk's: the write fails midway, and its signal must not end the process.
  TemporaryFolder folder;
  Directory directory(folder.path());
  ASSERT_TRUE(directory.replace("a/b", "old", false));
  pid_t child = startProcess([&] {
    rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT_FALSE(directory.replace("a/b", std::string(5000, 'x'), false));
    EXPECT_TRUE(directory.replace("a/c", std::string(900, 'x'), false));
  });
  EXPECT_EQ(waitFor(child), 0);
  EXPECT_EQ(directory.read("a/b", 100), "old");
  EXPECT_EQ(directory.entries("a"), (std::vector<std::string>{"b", "c"})) << "nothing is left of what failed";
}

TEST(Directory, AReadOnlyFolder) {
  TemporaryFolder folder;
  Directory directory(folder.path());
  ASSERT_TRUE(directory.replace("a/b", "text", false));
  const fs::path mine[] = {folder.path(), directory.path(), directory.path() / "a", directory.path() / "a/b"};
  for (const fs::path& path : mine) {
    ASSERT_EQ(chmod(path.c_str(), 0555), 0);
    if (geteuid() == 0) {
      ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
    }
  }
  pid_t child = startProcess([&] {
    if (geteuid() == 0) {
      ASSERT_EQ(setresuid(65534, 65534, 65534), 0);
    }
    testing::internal::CaptureStderr();
    EXPECT_FALSE(directory.replace("a/c", "text", false));
    EXPECT_FALSE(directory.replace("d/c", "text", false));
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "fattn: warning: the cache cannot write " + (directory.path() / "a/c").string() + ": Permission denied" + kHint);
    EXPECT_EQ(directory.read("a/b", 100), "text");
  });
  EXPECT_EQ(waitFor(child), 0);
  for (const fs::path& path : mine) chmod(path.c_str(), 0755);
}

TEST(Directory, AFolderThatLoops) {
  TemporaryFolder folder;
  fs::create_directory_symlink(folder.path() / "b", folder.path() / "a");
  fs::create_directory_symlink(folder.path() / "a", folder.path() / "b");
  Directory directory(folder.path() / "a");
  EXPECT_EQ(warningOf(directory), "fattn: warning: the cache cannot write " + (directory.path() / "a/b").string() +
                                      ": Too many levels of symbolic links" + kHint);
  EXPECT_TRUE(directory.entries("a").empty());
}

TEST(Directory, ReadsNoMoreThanTheLimit) {
  TemporaryFolder folder;
  Directory directory(folder.path());
  ASSERT_TRUE(directory.replace("a", "12345", false));
  EXPECT_EQ(directory.read("a", 5), "12345");
  EXPECT_EQ(directory.read("a", 4).error().why, (directory.path() / "a").string() + ": it is larger than 4 bytes");
  EXPECT_FALSE(directory.read("a", 4).error().absent());
  EXPECT_TRUE(directory.read("b", 4).error().absent());
}

}  // namespace
}  // namespace fattn::cache
