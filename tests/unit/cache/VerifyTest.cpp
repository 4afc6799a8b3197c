// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Verify.h"
#include "tests/unit/cache/Support.h"

namespace fattn::cache {
namespace {

using namespace test;
namespace fs = std::filesystem;

struct VerifyTest : testing::Test {
  TemporaryFolder folder;
  Directory directory{folder.path()};
  TunedStore tuned{directory};
  BinaryStore binaries{directory};
  Digest key = BinaryStore::keyOf("a binary");

  void fill() {
    ASSERT_TRUE(tuned.record(sampleKey(), sampleRecord().points));
    ASSERT_TRUE(binaries.save(key, sampleBinary(1)));
  }
  std::vector<std::string> faults() const {
    std::vector<std::string> all;
    for (const Fault& fault : verify(directory).faults) all.push_back(fault.file.filename().string() + ": " + fault.what);
    return all;
  }
};

TEST_F(VerifyTest, WholeFilesAreCounted) {
  EXPECT_EQ(verify(Directory("")).tuned, 0u);
  EXPECT_EQ(verify(directory).tuned, 0u);
  fill();
  Inventory found = verify(directory);
  EXPECT_EQ(found.tuned, 1u);
  EXPECT_EQ(found.binaries, 1u);
  EXPECT_GT(found.tunedBytes, 500u);
  EXPECT_GT(found.binaryBytes, 3000u);
  EXPECT_TRUE(found.faults.empty());
}

TEST_F(VerifyTest, EveryKindOfFaultIsNamed) {
  fill();
  fs::path problem = directory.path() / TunedStore::folderOf(sampleKey()), binary = directory.path() / BinaryStore::fileOf(key);
  std::string record = readFile(filesBelow(problem).at(0));
  writeFile(problem / "aaaaaaaaaaaaaaaa-1.json", record.substr(0, record.size() / 2));
  writeFile(problem.parent_path() / "heads=1,seq_k=1,seq_q=1" / "aaaaaaaaaaaaaaaa-2.json", record);
  writeFile(binary.parent_path() / "name.bin", readFile(binary));
  writeFile(binary, readFile(binary) + "x");
  writeFile(problem / ".tmp-1-2-3", "being written");
  writeFile(problem / "aaaaaaaaaaaaaaaa-3.json", record);
  fs::permissions(problem / "aaaaaaaaaaaaaaaa-3.json", fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(faults(), (std::vector<std::string>{
                          binary.filename().string() + ": it is no whole binary of this version for the key in its name",
                          "name.bin: its name is none of the cache's: no reader takes it and nothing removes it",
                          "aaaaaaaaaaaaaaaa-2.json: it is about another problem than its folder",
                          "aaaaaaaaaaaaaaaa-1.json: it is no whole file of tuned configurations of this version",
                          "aaaaaaaaaaaaaaaa-3.json: " + (problem / "aaaaaaaaaaaaaaaa-3.json").string() + ": everybody may write to it",
                      }));
  EXPECT_EQ(verify(directory).tuned, 1u);
  EXPECT_EQ(verify(directory).binaries, 0u);
}

}  // namespace
}  // namespace fattn::cache
