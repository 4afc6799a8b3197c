// SPDX-License-Identifier: Apache-2.0
// Who is trusted: code of other users is not executed, and files of other users are not deleted.
#include <fcntl.h>
#include <sys/stat.h>

#include "runtime/cache/Shipped.h"
#include "runtime/cache/Verify.h"
#include "tests/robustness/Attack.h"
#include "tests/unit/cache/Support.h"

namespace fattn::cache {
namespace {

using namespace cache::test;
using namespace fattn::test;
namespace fs = std::filesystem;

struct CacheTrust : testing::Test {
  TemporaryFolder folder;
  fs::path root = folder.path() / "cache";
  Digest key = BinaryStore::keyOf("a kernel");
  std::string forged = encodeBinary(key, sampleBinary(666));

  CacheTrust() { fs::permissions(folder.path(), fs::perms(0755)); }

  fs::path file() const { return root / kSchema / BinaryStore::fileOf(key); }
  // Whether a process that starts now would run what is there; and what it says.
  bool loads(Trust trust = Trust::Own, std::string* said = nullptr) const {
    Directory directory(root, trust);
    testing::internal::CaptureStderr();
    const bool loaded = BinaryStore(directory).load(key).has_value();
    const std::string text = testing::internal::GetCapturedStderr();
    if (said != nullptr) *said = text;
    return loaded;
  }
  void save() const {
    Directory directory(root);
    ASSERT_TRUE(BinaryStore(directory).save(key, sampleBinary(1)));
  }
  void mode(const fs::path& path, mode_t bits) const { ASSERT_EQ(chmod(path.c_str(), bits), 0) << path; }
  void forge(mode_t folders) const {
    const mode_t before = umask(0);
    for (const fs::path& part : {root / kSchema, root / kSchema / "binaries", file().parent_path()}) mkdir(part.c_str(), folders);
    umask(before);
    writeFile(file(), forged);
  }
};

TEST_F(CacheTrust, AnotherUsersCodeInAStickyFolderIsNotExecuted) {
  if (!isRoot()) GTEST_SKIP() << "another user is needed, which only root can become";
  ASSERT_EQ(mkdir(root.c_str(), 0700), 0);
  mode(root, 01777);
  ASSERT_EQ(asUser(kMallory, [&] { forge(0755); }), "");
  std::string said;
  EXPECT_FALSE(loads(Trust::Own, &said));
  EXPECT_EQ(said, "fattn: warning: the cache is not used, as what others may have written is not executed: " + root.string() +
                      ": everybody may write to it\n");
  EXPECT_EQ(asUser(kVictim, [&] { EXPECT_FALSE(loads()); }), "");
  EXPECT_EQ(asUser(kMallory, [&] { EXPECT_FALSE(loads()); }), "") << "others may have written there";
  mode(root, 0755);  // what is below it is still not this user's
  EXPECT_FALSE(loads());
  Directory directory(root);
  EXPECT_FALSE(BinaryStore(directory).save(key, sampleBinary(1)));
  EXPECT_EQ(readFile(file()), forged) << "and nothing is written there";
}

TEST_F(CacheTrust, CodeInAnotherUsersHomeIsNotExecuted) {
  if (!isRoot()) GTEST_SKIP() << "another user is needed, which only root can become";
  ASSERT_EQ(mkdir(root.c_str(), 0755), 0);
  ASSERT_EQ(chown(root.c_str(), kMallory, kMallory), 0);
  ASSERT_EQ(asUser(kMallory, [&] { forge(0755); }), "");
  EXPECT_FALSE(loads());
  EXPECT_EQ(asUser(kVictim, [&] { EXPECT_FALSE(loads()); }), "");
  EXPECT_EQ(asUser(kMallory, [&] { EXPECT_TRUE(loads()); }), "") << "it is Mallory's own";
}

TEST_F(CacheTrust, WhatAGroupOrEverybodyMayWriteIsNotExecuted) {
  save();
  ASSERT_TRUE(loads());
  for (mode_t bits : {mode_t{0020}, mode_t{0002}}) {
    mode(file(), 0600 | bits);
    EXPECT_FALSE(loads()) << "the file";
    mode(file(), 0600);
    for (fs::path at = file().parent_path(); at != folder.path(); at = at.parent_path()) {
      mode(at, 0700 | bits);
      std::string said;
      EXPECT_FALSE(loads(Trust::Own, &said)) << at;
      EXPECT_NE(said.find(at.string() + ": " + (bits == 0020 ? "its group" : "everybody") + " may write to it"), std::string::npos) << said;
      mode(at, 0700);
    }
    EXPECT_TRUE(loads());
  }
}

TEST_F(CacheTrust, LinksAreNotFollowedBelowTheRoot) {
  save();
  const fs::path real = folder.path() / "real";
  for (fs::path at = file(); at != root; at = at.parent_path()) {
    fs::rename(at, real);
    fs::create_symlink(real, at);
    EXPECT_FALSE(loads()) << at;
    fs::remove(at);
    fs::rename(real, at);
  }
  EXPECT_TRUE(loads());
  fs::rename(root, real);  // the path of the root is the user's own choice
  fs::create_directory_symlink(real, root);
  EXPECT_TRUE(loads());
}

TEST_F(CacheTrust, OwnFoldersAreForThisUserAloneWhateverTheUmask) {
  for (mode_t mask : {mode_t{0}, mode_t{0022}, mode_t{0277}}) {
    const mode_t before = umask(mask);
    save();
    umask(before);
    for (fs::path at = file().parent_path(); at != folder.path(); at = at.parent_path())
      EXPECT_EQ(fs::status(at).permissions(), fs::perms::owner_all) << at << " with umask " << mask;
    EXPECT_EQ(fs::status(file()).permissions() & ~fs::perms(0600), fs::perms::none);
    fs::remove_all(root);
  }
}

TEST_F(CacheTrust, PruningDeletesNothingThroughLinks) {
  const fs::path elsewhere = folder.path() / "elsewhere", bucket = elsewhere / std::string(32, 'a') / "rows=1";
  const fs::path names[] = {elsewhere / "thesis.tex", elsewhere / file().filename(), bucket / "0123456789abcdef-1.json",
                            bucket / ".tmp-1-2-3"};
  for (const fs::path& name : names) {
    writeFile(name, std::string(10000, 'x'));
    fs::last_write_time(name, fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  fs::permissions(elsewhere, fs::perms(0755));
  save();
  fs::remove_all(file().parent_path());
  fs::create_directory_symlink(elsewhere, file().parent_path());
  fs::create_directory_symlink(elsewhere, root / kSchema / "tuned");
  Directory directory(root);
  BinaryStore(directory, 100000).save(key, sampleBinary(1));
  for (const char* store : {"binaries", "tuned"}) EXPECT_EQ(directory.prune(store, 0), 0u);
  EXPECT_FALSE(directory.remove(BinaryStore::fileOf(key)));
  for (const fs::path& name : names) EXPECT_TRUE(fs::exists(name)) << name;
  EXPECT_EQ(verify(directory).faults.size(), 2u) << "both links are named";
}

TEST_F(CacheTrust, PruningDeletesNothingThatIsNotTheCaches) {
  save();
  TunedStore(*std::make_unique<Directory>(root)).record(sampleKey(), std::vector{samplePoint(1)});
  const fs::path tuned = root / kSchema / "tuned", bucket = root / kSchema / TunedStore::folderOf(sampleKey());
  const fs::path names[] = {tuned / "notes.md",
                            bucket / "notes.json",
                            bucket / "0123456789abcdef-1.json.bak",
                            bucket / ".tmp-mine",
                            file().parent_path() / "mine.bin",
                            root / kSchema / "mine.bin",
                            root / "mine"};
  for (const fs::path& name : names) {
    writeFile(name, "mine");
    fs::last_write_time(name, fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  Directory directory(root);
  for (const char* store : {"binaries", "tuned", ""}) directory.prune(store, 0);
  for (const fs::path& name : names) {
    EXPECT_FALSE(directory.remove(name.lexically_relative(directory.path()))) << name;
    EXPECT_TRUE(fs::exists(name)) << name;
  }
  EXPECT_FALSE(fs::exists(file()));
  EXPECT_TRUE(TunedStore(directory).read(sampleKey()).points.empty());
}

TEST_F(CacheTrust, ASharedCacheIsReadWhereItIsNamedAndNeverWritten) {
  save();
  TunedStore(*std::make_unique<Directory>(root)).record(sampleKey(), std::vector{samplePoint(1)});
  for (const fs::path& name : filesBelow(root)) {
    mode(name, 0644);
    fs::last_write_time(name, fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  for (fs::path at = file().parent_path(); at != folder.path(); at = at.parent_path()) mode(at, 0755);
  if (isRoot()) {
    for (const auto& entry : fs::recursive_directory_iterator(root)) ASSERT_EQ(chown(entry.path().c_str(), kMallory, kMallory), 0);
    ASSERT_EQ(chown(root.c_str(), kMallory, kMallory), 0);
    EXPECT_FALSE(loads(Trust::Own));
  }
  EXPECT_TRUE(loads(Trust::Shared));
  Directory own(folder.path() / "own"), shared(root, Trust::Shared);
  EXPECT_TRUE(BinaryStore(own, BinaryStore::kDefaultBytes, &shared).load(key));
  EXPECT_GT(shared.age(BinaryStore::fileOf(key)), 3600) << "not even the time of use is written";
  EXPECT_FALSE(shared.replace(BinaryStore::fileOf(key), "x", false));
  EXPECT_FALSE(shared.remove(BinaryStore::fileOf(key)));
  EXPECT_EQ(shared.prune("binaries", 0), 0u);
  EXPECT_TRUE(loads(Trust::Shared));
  mode(file().parent_path(), 0775);
  std::string said;
  EXPECT_FALSE(loads(Trust::Shared, &said));
  EXPECT_NE(said.find("the shared cache is not used, as others than its owner may have written it: "), std::string::npos) << said;
  mode(file().parent_path(), 0755);
  if (isRoot()) {
    ASSERT_EQ(chown(file().c_str(), kVictim, kVictim), 0);
    EXPECT_FALSE(loads(Trust::Shared)) << "a third user's";
  }
}

TEST_F(CacheTrust, VerifyNamesFoldersThatCannotBeRead) {
  if (!isRoot()) GTEST_SKIP() << "another user is needed, whom permissions bind";
  save();
  mode(file().parent_path(), 0);
  for (fs::path at = file().parent_path(); at != folder.path(); at = at.parent_path()) ASSERT_EQ(chown(at.c_str(), kVictim, kVictim), 0);
  EXPECT_EQ(asUser(kVictim,
                   [&] {
                     const Inventory found = verify(Directory(root));
                     ASSERT_EQ(found.faults.size(), 1u);
                     EXPECT_EQ(found.faults[0].what, file().parent_path().string() + ": Permission denied");
                   }),
            "");
}

TEST_F(CacheTrust, ShippedFilesThatEverybodyMayWriteAreNotRead) {
  TuneRecord record = sampleRecord();
  const fs::path name = root / shippedFile("host-avx2", "problem", record.key.shape);
  writeFile(name, encodeTuned(record));
  const auto found = [&] {
    return shippedBuckets(std::vector{root}, "host-avx2", "", "problem", [](const TileConfig&) { return true; }).size();
  };
  EXPECT_EQ(found(), 1u);
  mode(name, 0664);
  EXPECT_EQ(found(), 1u) << "its group may write to the library, too";
  mode(name, 0666);
  EXPECT_EQ(found(), 0u);
  mode(name, 0644);
  mode(name.parent_path(), 0777);
  EXPECT_EQ(found(), 0u);
}

}  // namespace
}  // namespace fattn::cache
