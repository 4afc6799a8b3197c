// SPDX-License-Identifier: Apache-2.0
// The tools as processes: any command line, hostile files, full disks and interrupts end with the exit codes of docs/tools.md.
// FATTN_COMMAND_LINES is the number of random command lines.
#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/robustness/Attack.h"

namespace fattn {
namespace {

namespace fs = std::filesystem;

struct Ended {
  int code = -1;    // of exit; 128 + signal
  std::string out;  // both outputs
};

struct Tools : testing::Test {
  Tools() {
    std::string pattern = testing::TempDir() + "fattn-tools-XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  ~Tools() override {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  std::string file(const std::string& name) const { return (folder / name).string(); }
  std::string written(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
    return file(name);
  }

  // A process in a folder of its own that has at most 20 s.
  Ended run(const std::string& program, const std::vector<std::string>& arguments, const std::string& out = "",
            unsigned seconds = 20) const {
    const std::string log = out.empty() ? file("log") : out;
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      alarm(seconds);
      if (chdir(folder.c_str()) != 0 || setenv("HOME", folder.c_str(), 1) != 0 || setenv("FATTN_CACHE_DIR", file("cache").c_str(), 1) != 0)
        _exit(99);
      if (std::freopen("/dev/null", "r", stdin) == nullptr || std::freopen(log.c_str(), "w", stdout) == nullptr || dup2(1, 2) < 0)
        _exit(99);
      std::vector<char*> words = {const_cast<char*>(program.c_str())};
      for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
      words.push_back(nullptr);
      execv(program.c_str(), words.data());
      _exit(98);
    }
    int status = 0;
    waitpid(child, &status, 0);
    Ended ended{.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), .out = ""};
    if (out.empty()) {
      std::ifstream in(log, std::ios::binary);
      ended.out = {std::istreambuf_iterator<char>(in), {}};
    }
    return ended;
  }

  fs::path folder;
};

const std::vector<std::string>& programs() {
  static const std::vector<std::string> all = {FATTN_DUMP, FATTN_RUN, FATTN_TUNE, FATTN_BENCH, FATTN_LAYOUT, FATTN_SCHEDULE};
  return all;
}

/// What command lines are drawn from: options, values of all kinds, and words that are nothing.
std::vector<std::string> randomWords() {
  std::istringstream plain(
      "--help --dtype f16 bf16 f32 --head-dim 0 64 -1 99999999999999999999 --causal --target host host:avx2 nvidia:sm_90 cuda "
      "cuda:7 amd:gfx942 --emit tile ptx dsl,tile --config BLOCK_M=64,BLOCK_N=64 BLOCK_M=0 -o out --json --after "
      "tile-split-loops run cache ls show export import verify prune plot explain --older-than 1h --seq-q --seq-k --batch "
      "--heads 1 3 --budget 0.1 --list --suite quick --seconds 0.01 --compare none.json mma.m16n8k8.b --svg - /dev/null "
      "/dev/zero --q x.npy y.safetensors --out o.npy --generate man bash --dry-run -- = --dtype= --head-dim=64 %n%s");
  std::vector<std::string> words(std::istream_iterator<std::string>(plain), {});
  for (const char* odd : {"SCHEDULE=A B", "", "\n", "\xff\xfe"}) words.emplace_back(odd);
  words.emplace_back(5000, 'x');
  return words;
}

TEST_F(Tools, RandomCommandLinesEndWithAnExitCodeOfTheManual) {
  const std::vector<std::string> words = randomWords();
  const int count = test::timesFrom("FATTN_COMMAND_LINES", 120);
  const std::set<int> legal = {0, 1, 2, 3, 4};
  std::map<int, int> codes;
  std::minstd_rand random = test::seeded(20261122);
  for (int i = 0; i < count; ++i) {
    const std::string& program = programs()[random() % programs().size()];
    std::vector<std::string> arguments;
    for (unsigned n = random() % 6; n > 0; --n) arguments.push_back(words[random() % words.size()]);
    // What these begin takes minutes, as it should.
    if (program == FATTN_BENCH && arguments.empty()) arguments = {"--list"};
    const bool measures = program == FATTN_BENCH || program == FATTN_TUNE;
    const Ended ended = run(program, arguments, "", measures ? 1 : 20);
    std::string line = program;
    for (const std::string& argument : arguments) line += " '" + argument.substr(0, 40) + "'";
    const bool measuring = ended.code == 128 + SIGALRM && measures;
    EXPECT_TRUE(legal.contains(ended.code) || measuring) << line << " ended with " << ended.code << "\n" << ended.out.substr(0, 500);
    EXPECT_EQ(ended.out.find("internal error"), std::string::npos) << line << "\n" << ended.out.substr(0, 500);
    ++codes[ended.code];
  }
  for (const auto& [code, times] : codes) std::printf("exit code %d: %d times\n", code, times);
}

// Small sizes, odd ones and those that are none, with options that mostly belong together: what runs has to be right.
// FATTN_KERNEL_LINES: how many.
TEST_F(Tools, RandomArgumentsOfKernelsGiveRightResultsOrAreRefused) {
  using Words = std::vector<std::string>;
  struct Kind {
    Words name, shapes, options;
  };
  const std::string tile = "BLOCK_M=32,BLOCK_N=32", warps = "WARPS=2,STAGES=3", huge = "2147483647,2147483647,2147483647,64";
  const std::vector<Kind> kinds = {
      {{},
       {"1,1,8,16", "2,4:2,7:33,24:40", "1,3,1:100,64", "1,1,40:5,8", "0,1,8,16", "1,1,8,17", "1,1,8", huge},
       {"--causal", "--scale=0", "--scale=1e30", "--scale=nan", "--layout=bshd"}},
      {{"decode"},
       {"1,1,1,8,16", "3,4:2,1,300,64", "2,8:1,2,33,24", "1,1,1,0,16", "1,2:3,1,8,16", "1,1," + huge},
       {"--causal", "--ragged", "--pages=1", "--pages=16", "--pages=1048576", "--splits=1", "--splits=3", "--splits=1024", "--window=1",
        "--window=2147483647", "--append"}},
      {{"backward"},
       {"1,1,8,16", "2,4:2,7:33,24:40", "1,3,1:100,64", "1,1,40:5,8", "1,0,8,16", huge},
       {"--causal", "--deterministic", "--config-dq=" + tile, "--config-dq=BLOCK_M=3"}},
      {{"gemm"},
       {"8,8,8", "1,1,1", "33,7,100", "0,1,1", huge},
       {"--bias", "--residual", "--activation=gelu", "--activation=relu", "--layout=tt", "--layout=nt", "--dtype=i8"}},
      {{"softmax"}, {"1,1", "3,1000", "33,8", "0,8", "2147483647,2147483647"}, {}},
      {{"rms-norm"}, {"1,1", "3,1000", "33,8", "8"}, {}},
      {{"layer-norm"}, {"1,1", "3,1000", "33,8", "8,-1"}, {}}};
  const Words common = {"--dtype=f16",      "--dtype=bf16",      "--dtype=f32",        "--dtype=f64",           "--seed=-1",
                        "--seed=7",         "--threads=1",       "--threads=1024",     "--threads=0",           "--json",
                        "--config=" + tile, "--config=" + warps, "--config=BLOCK_M=8", "--config=BLOCK_N=1024", "--config=STAGES=99"};
  const std::vector<Words> targets = {{"--target=host"},
                                      {"--target=host"},
                                      {"--target=amd:gfx942", "--simulate"},
                                      {"--target=amd:gfx1201", "--simulate"},
                                      {"--target=nvidia:sm_90"},
                                      {"--target=simulated:gfx950"},
                                      {"--target=host", "--simulate"}};
  std::minstd_rand random = test::seeded(static_cast<unsigned>(test::timesFrom("FATTN_SEED", 20261123)));
  std::map<int, int> codes;
  for (int i = test::timesFrom("FATTN_KERNEL_LINES", 8); i > 0; --i) {
    const Kind& kind = kinds[random() % kinds.size()];
    Words line = kind.name;
    line.insert(line.end(), {"--check", "--shape=" + kind.shapes[random() % kind.shapes.size()]});
    const Words& target = targets[random() % targets.size()];
    line.insert(line.end(), target.begin(), target.end());
    for (unsigned n = random() % 3; n > 0 && !kind.options.empty(); --n) line.push_back(kind.options[random() % kind.options.size()]);
    if (random() % 2 == 0) line.push_back(common[random() % common.size()]);
    const Ended ended = run(FATTN_RUN, line, "", 120);
    ++codes[ended.code];
    std::string words;
    for (const std::string& word : line) words += " " + word;
    const bool refused = ended.code == 1 ? ended.out.find("error: the kernel could not be compiled for") != std::string::npos
                                         : ended.code >= 2 && ended.code <= 4;
    EXPECT_TRUE(ended.code == 0 || refused) << words << " ended with " << ended.code << "\n" << ended.out.substr(0, 2000);
    EXPECT_EQ(ended.out.find("internal error"), std::string::npos) << words << "\n" << ended.out.substr(0, 500);
  }
  for (const auto& [code, times] : codes) fmt::print("exit code {}: {} times\n", code, times);
}

TEST_F(Tools, HelpThatDoesNotArriveIsAFailure) {
  for (const std::string& program : programs()) {
    EXPECT_EQ(run(program, {"--help"}, "/dev/full").code, 1) << program;
    EXPECT_EQ(run(program, {"--help"}).code, 0) << program;
  }
}

TEST_F(Tools, SpecialFilesAreRefusedWithASentence) {
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  for (const std::string& path : {std::string("/dev/zero"), file("pipe"), folder.string()})
    for (const std::vector<std::string>& line : {std::vector<std::string>{FATTN_DUMP, path},
                                                 {FATTN_TUNE, "cache", "import", path},
                                                 {FATTN_BENCH, "--compare", path, "--seconds", "0.1"},
                                                 {FATTN_SCHEDULE, path},
                                                 {FATTN_OPT, path}}) {
      const Ended ended = run(line[0], {line.begin() + 1, line.end()});
      EXPECT_EQ(ended.code, 1) << line[0] << " " << path << "\n" << ended.out;
      EXPECT_NE(ended.out.find("cannot read " + path), std::string::npos) << line[0] << "\n" << ended.out;
    }
}

TEST_F(Tools, HostileModulesEndInADiagnostic) {
  const auto repeated = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  std::string doubling = "#a0 = [1]\n";
  for (int i = 1; i <= 60; ++i) doubling += fmt::format("#a{} = [#a{}, #a{}]\n", i, i - 1, i - 1);
  const std::string modules[] = {repeated("module {\n", 10000) + repeated("}\n", 10000),
                                 "module attributes {a = " + std::string(10000, '[') + std::string(10000, ']') + "} {}",
                                 "func.func private @f(" + repeated("tuple<", 100000) + repeated(">", 100000) + ")",
                                 "#m = affine_map<(d0) -> (" + std::string(50000, '(') + "d0" + std::string(50000, ')') + ")>",
                                 "module attributes {a = " + std::string(200000, '9') + "} {}",
                                 doubling + "module attributes {a = #a60} {}",
                                 "#m = affine_map<(d0) -> (d0" + repeated(" + d0", 900) + ")>\nmodule attributes {a = #m} {}",
                                 repeated("module {\n", 90) + repeated("}\n", 90)};
  for (const std::string& module : modules) {
    const std::string path = written("hostile.mlir", module);
    for (const char* program : {FATTN_OPT, FATTN_DUMP}) {
      const auto begin = std::chrono::steady_clock::now();
      const Ended ended = run(program, {path});
      EXPECT_LT(ended.code, 5) << program << " " << module.substr(0, 60) << "\n" << ended.out.substr(0, 300);
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
    }
  }
}

// A module's locations are its author's: a page that one passes on must not hold any file that they name, nor wait for a pipe.
TEST_F(Tools, LocationsOfAModuleNameNoFilesButSources) {
  ASSERT_EQ(mkfifo(file("pipe.cpp").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/zero", file("zero.cpp").c_str()), 0);
  written("large.cpp", std::string(std::size_t{5} << 20, '\n'));
  const auto shown = [&](const std::string& path) {
    return run(FATTN_DUMP, {written("kernel.mlir",
                                    "func.func @f(%x: !tile.ptr<f32>) attributes {tile.kernel} {\n"
                                    "  %id = tile.program_id x : i32 loc(\"" +
                                        path + "\":1:1)\n  return\n}\n"),
                            "--target", "host", "--emit", "dsl"});
  };
  for (const std::string& path : {file("pipe.cpp"), file("zero.cpp"), file("large.cpp"), written("key.pem", "secret\n")}) {
    const Ended ended = shown(path);
    EXPECT_EQ(ended.code, 0) << ended.out;
    EXPECT_NE(ended.out.find("the text is not at hand"), std::string::npos) << path << "\n" << ended.out;
    EXPECT_EQ(ended.out.find("secret"), std::string::npos) << ended.out;
  }
  EXPECT_NE(shown(written("mine.cpp", "// my own source\n")).out.find("my own source"), std::string::npos);
}

// The sequences' lengths were made before the sizes were looked at: 8 GB, and minutes.
TEST_F(Tools, SizesOfDecodeThatAreNoneAreRefusedAtOnce) {
  const Ended ended = run(FATTN_RUN, {"decode", "--target", "host", "--shape", "2147483647,2147483647,1,2147483647,64"});
  EXPECT_EQ(ended.code, 2) << ended.out;
  EXPECT_NE(ended.out.find("has more than 2^63 - 1 elements"), std::string::npos) << ended.out;
}

TEST_F(Tools, AnInterruptedBenchmarkSavesWhatItHasAndEndsWith130) {
  const std::string saved = file("saved.json");
  pid_t child = fork();
  if (child == 0) {
    if (std::freopen(file("log").c_str(), "w", stdout) == nullptr) _exit(99);
    setenv("FATTN_CACHE_DIR", file("cache").c_str(), 1);
    execl(FATTN_BENCH, FATTN_BENCH, "--target", "host", "--suite", "quick", "--dtype", "f32", "--seconds", "300", "--output", saved.c_str(),
          nullptr);
    _exit(98);
  }
  // Time to compile and to measure a little; an interrupt before that ends with the same code.
  std::this_thread::sleep_for(std::chrono::seconds(6));
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  std::ifstream in(file("log"));
  const std::string said{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(fs::exists(saved), said.find("interrupted: measured less") != std::string::npos) << said;
}

TEST_F(Tools, AFolderForStagesThatCannotBeWrittenIsAWarning) {
  setenv("FATTN_DUMP_DIR", "/dev/null/stages", 1);
  const Ended ended = run(FATTN_RUN, {"--target", "host", "--shape", "1,1,8,16"});
  unsetenv("FATTN_DUMP_DIR");
  EXPECT_NE(ended.out.find("fattn: warning: the stages of a compilation cannot be written into /dev/null/stages"), std::string::npos)
      << ended.out;
}

// FATTN_ENVIRONMENTS: how many of the 384 pairs of a variable and a value; the usual ones are spread over them.
TEST_F(Tools, AnyValueOfAVariableEndsWithAnExitCodeOfTheManual) {
  const std::vector<std::string> variables = {
      "FATTN_NUM_THREADS", "FATTN_CUDA_LIBRARY", "FATTN_LOG_LEVEL", "FATTN_TARGET", "FATTN_CACHE_SHARED_DIR",   "FATTN_ALWAYS_COMPILE",
      "FATTN_TUNE",        "FATTN_TUNE_BUDGET",  "FATTN_TUNED_DIR", "TMPDIR",       "FATTN_CACHE_BINARY_BYTES", "FATTN_CACHE_TUNED_BYTES"};
  const std::vector<std::string> values = {"",          "0",
                                           "1",         "-1",
                                           "2",         "99999999999999999999",
                                           "1e9",       "0x10",
                                           "nan",       "1M",
                                           "512MB",     "-5G",
                                           " 1",        "on",
                                           "off",       "cached",
                                           "debug",     "host",
                                           "host:avx2", "host:avx9",
                                           "cuda:7",    "nvidia:sm_90",
                                           "/",         "/dev/null",
                                           "/dev/zero", "/nonexistent/x",
                                           ".",         "~",
                                           "%s%n",      std::string(5000, 'a'),
                                           "\xff\xfe",  "a\nb"};
  const int all = static_cast<int>(variables.size() * values.size()), count = std::min(test::timesFrom("FATTN_ENVIRONMENTS", 32), all);
  std::map<int, int> codes;
  for (int n = 0; n < count; ++n) {
    const auto pair = static_cast<std::size_t>(static_cast<std::int64_t>(n) * all / count);
    const std::string& name = variables[pair / values.size()];
    setenv(name.c_str(), values[pair % values.size()].c_str(), 1);
    const Ended ended = run(FATTN_RUN, {"--shape", "1,1,8,8", "--target", "host"}, "", 60);
    unsetenv(name.c_str());
    ++codes[ended.code];
    EXPECT_TRUE(ended.code >= 0 && ended.code <= 4) << name << "=" << values[pair % values.size()] << ": " << ended.code << "\n"
                                                    << ended.out;
  }
  for (const auto& [code, times] : codes) fmt::print("exit code {}: {} times\n", code, times);
}

}  // namespace
}  // namespace fattn
