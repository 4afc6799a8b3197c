// SPDX-License-Identifier: Apache-2.0
// The fattn-run executable as a user starts it: files that NumPy and PyTorch wrote, figures, messages, exit codes.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "fattn/Version.h"
#include "tests/support/Command.h"
#include "tests/unit/io/TestFiles.h"
#include "tools/io/Metrics.h"
#include "tools/io/Npy.h"
#include "tools/io/Safetensors.h"

namespace fattn {
namespace {

using io::data;
using nlohmann::json;

struct Outcome {
  int code = -1;
  std::string out, err;
};

/// Starts the executable through the shell, which splits `arguments` and adds the redirections.
Outcome start(const std::string& arguments) {
  const io::TemporaryFolder folder;
  const std::string out = folder.file("out"), err = folder.file("err");
  const int code = test::runCommand(fmt::format("'{}' {} >'{}' 2>'{}' </dev/null", FATTN_RUN, arguments, out, err)).status;
  return {code, io::readAll(out), io::readAll(err)};
}

/// A terminal: what is written to its path can be read here.
class Terminal {
 public:
  Terminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0) throw std::runtime_error("no terminal to test with");
    path_ = ::ptsname(master_);
    slave_ = ::open(path_.c_str(), O_RDWR | O_NOCTTY);  // held open: what was written stays until it is read
    ::fcntl(master_, F_SETFL, O_NONBLOCK);
  }
  Terminal(const Terminal&) = delete;
  ~Terminal() {
    ::close(slave_);
    ::close(master_);
  }
  const std::string& path() const { return path_; }
  std::string written() const {
    std::string text;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(master_, buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<std::size_t>(n));
    return text;
  }

 private:
  int master_, slave_ = -1;
  std::string path_;
};

std::string numpyFiles() {
  return fmt::format("--q '{}' --k '{}' --v '{}'", data("attention-q.npy"), data("attention-k.npy"), data("attention-v.npy"));
}

double distance(const io::HostTensor& a, const io::HostTensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  if (a.shape() != b.shape()) return std::numeric_limits<double>::infinity();
  io::ErrorMeter meter;
  for (std::int64_t i = 0; i < a.elements(); ++i)
    meter.add(io::loadFloat(a.dtype(), a.data() + i * sizeInBytes(a.dtype())),
              io::loadFloat(b.dtype(), b.data() + i * sizeInBytes(b.dtype())));
  EXPECT_EQ(meter.mismatched(), 0);
  return meter.relative();
}

TEST(FattnRun, GivesPyTorchsResultOnNumPysFiles) {
  const io::TemporaryFolder folder;
  const std::string o = folder.file("o.npy"), lse = folder.file("lse.npy");
  const Outcome r = start(fmt::format("{} --check --out '{}' --lse '{}'", numpyFiles(), o, lse));
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_EQ(r.err, "");
  EXPECT_NE(r.out.find("check    passed  all 10 rows against float64"), std::string::npos) << r.out;
  EXPECT_LT(distance(io::readNpy(io::FileSource(o)), io::readNpy(io::FileSource(data("attention-o.npy")))), 2e-6);
  EXPECT_EQ(io::readNpy(io::FileSource(lse)).shape(), (std::vector<std::int64_t>{1, 2, 5}));
}

TEST(FattnRun, ReadsAndWritesBf16AsSafetensors) {
  const io::TemporaryFolder folder;
  const std::string in = data("attention-bf16.safetensors"), out = folder.file("result.safetensors");
  const Outcome r = start(fmt::format("--q '{0}' --k '{0}:k' --v '{0}' --check --out '{1}' --lse '{1}:logsumexp'", in, out));
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  const io::FileSource file(out);
  EXPECT_LT(distance(io::readSafetensors(file, "o", ""), io::readNpy(io::FileSource(data("attention-o.npy")))), 1e-2);
  EXPECT_EQ(io::readSafetensors(file, "logsumexp", "").dtype(), DType::F32);
}

TEST(FattnRun, PrintsOneJsonObject) {
  const Outcome r = start("--shape 2,4:2,33:65,40:24 --layout bshd --dtype f16 --causal --check --bench --json --seed 5 --threads 1");
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  const json j = json::parse(r.out);
  for (const char* key : {"target", "device", "shape", "dtype", "causal", "config", "compile_ms", "time_us", "tflops", "check"})
    EXPECT_TRUE(j.contains(key)) << key;
  for (const char* key : {"rel_err", "max_abs_err", "rows", "reference"}) EXPECT_TRUE(j["check"].contains(key)) << key;
  EXPECT_EQ(j["target"], "host");
  EXPECT_EQ(j["dtype"], "f16");
  EXPECT_EQ(j["check"]["rows"], 2 * 4 * 33);
  EXPECT_LE(j["check"]["rel_err"], 2e-3);
  EXPECT_GE(j["repetitions"], 5);
  EXPECT_GT(j["time_us"], 0.0);
  EXPECT_LE(j["time_us_min"], j["time_us"]);
  EXPECT_GT(j["tflops"], 0.0);
}

TEST(FattnRun, RowsThatSeeNothingAreZeroWithLseMinusInfinity) {
  const io::TemporaryFolder folder;
  const std::string o = folder.file("o.npy"), lse = folder.file("lse.npy");
  const Outcome r = start(fmt::format("--shape 1,1,5:2,8 --causal --check --out '{}' --lse '{}'", o, lse));
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  const io::HostTensor output = io::readNpy(io::FileSource(o)), sums = io::readNpy(io::FileSource(lse));
  for (int i = 0; i < 24; ++i) EXPECT_EQ(io::loadFloat(DType::F32, output.data() + 4 * i), 0.0f);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(io::loadFloat(DType::F32, sums.data() + 4 * i), -std::numeric_limits<float>::infinity());
}

TEST(FattnRun, TheSameSeedGivesTheSameBytesWhateverTheThreads) {
  const io::TemporaryFolder folder;
  const std::string a = folder.file("a.npy"), b = folder.file("b.npy"), c = folder.file("c.npy");
  EXPECT_EQ(start(fmt::format("--shape 1,3,70,64 --seed 9 --threads 1 --out '{}'", a)).code, 0);
  EXPECT_EQ(start(fmt::format("--shape 1,3,70,64 --seed 9 --threads 2 --out '{}'", b)).code, 0);
  EXPECT_EQ(start(fmt::format("--shape 1,3,70,64 --seed 10 --out '{}'", c)).code, 0);
  EXPECT_EQ(io::readAll(a), io::readAll(b));
  EXPECT_NE(io::readAll(a), io::readAll(c));
}

TEST(FattnRun, TakesATileConfiguration) {
  const Outcome r = start("--shape 1,1,40,64 --config BLOCK_M=32,BLOCK_N=32 --check --json");
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  const std::string config = json::parse(r.out)["config"];
  EXPECT_NE(config.find("BLOCK_M=32,BLOCK_N=32"), std::string::npos) << config;
}

TEST(FattnRun, UnsupportedHeadDimensionsNameTheRuleAndTheNearest) {
  const Outcome r = start("--shape 1,1,16,12 --check");
  EXPECT_EQ(r.code, 3);
  EXPECT_EQ(r.out, "");
  EXPECT_NE(r.err.find("head_dim is 12; it must be a multiple of 8 from 8 to 256"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("the nearest supported head_dim is 16"), std::string::npos) << r.err;
  EXPECT_EQ(start("--shape 1,1,16,264").code, 3);
}

TEST(FattnRun, UnknownDevicesAreNamed) {
  const Outcome r = start("--shape 1,1,16,64 --target nothere");
  EXPECT_EQ(r.code, 4);
  EXPECT_NE(r.err.find("nothere"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("host"), std::string::npos) << r.err;
}

TEST(FattnRun, LengthsAndTheBatchMayBeZero) {
  for (const char* shape : {"1,2,0,64", "1,2,8:0,64", "1,2,0:8,64", "0,2,8,64", "1,2,0,64 --causal", "1,2,8:0,64 --causal"}) {
    const Outcome r = start(fmt::format("--shape {} --target host --check --json", shape));
    EXPECT_EQ(r.code, 0) << shape << r.err;
    EXPECT_NE(r.out.find("\"passed\""), std::string::npos) << r.out;
  }
}

TEST(FattnRun, WrongUsageIsCodeTwoAndBrokenFilesAreCodeOne) {
  const Outcome usage = start("--shape 1,0,1,64");
  EXPECT_EQ(usage.code, 2);
  EXPECT_EQ(usage.err, "fattn-run: error: --shape \"1,0,1,64\": the number of query heads is 0; every size must be at least 1\n");
  const Outcome config = start("--config NONSENSE=1");
  EXPECT_EQ(config.code, 2);
  EXPECT_NE(config.err.find("NONSENSE"), std::string::npos) << config.err;
  const Outcome missing = start("--q /none.npy --k /none.npy --v /none.npy");
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.err, "fattn-run: error: cannot read /none.npy: No such file or directory\n");
}

TEST(FattnRun, RunsTheKernelsBesideAttention) {
  for (const char* command :
       {"gemm --shape 70,90,110 --bias --activation gelu --residual --layout nt", "gemm --shape 33,17,65 --dtype i8",
        "softmax --shape 9,3001 --dtype bf16", "layer-norm --shape 9,100 --dtype f16", "rms-norm --shape 7,1025",
        "decode --shape 3,8:2,2,300,64 --causal --dtype bf16 --pages 16 --ragged --splits 3", "decode --shape 2,3,1,70,40",
        "varlen --shape 4:2,40 --cu-seqlens 0,17,17,160 --cu-seqlens-k 0,30,31,100 --causal --dtype f16",
        "varlen --shape 4:2,40 --cu-seqlens 0,17,17,160 --cu-seqlens-k 0,30,31,100 --causal --dtype bf16 --backward",
        "decode --shape 3,8:2,2,300,64 --causal --pages 5 --ragged --window 50 --append",
        "backward --shape 2,4:2,70,64 --causal --dtype bf16", "backward --shape 1,2,40:70,32:16 --deterministic"}) {
    const Outcome r = start(std::string(command) + " --check --json --target host");
    ASSERT_EQ(r.code, 0) << command << r.err << r.out;
    const json j = json::parse(r.out);
    EXPECT_TRUE(j["check"]["passed"].get<bool>()) << r.out;
    ASSERT_EQ(j.contains("tflops"), !j.contains("gbytes_per_s")) << r.out;
    if (j.contains("tflops")) EXPECT_NEAR(j["tflops"].get<double>() * 1000, j["gflops"].get<double>(), 1e-9 * j["gflops"].get<double>());
  }
  const Outcome table = start("softmax --shape 9,30 --config BLOCK_M=2,BLOCK_N=16 --check --target host");
  EXPECT_NE(table.out.find("config   BLOCK_M=2,BLOCK_N=16\n"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("passed: 9 of 9 rows"), std::string::npos) << table.out;
}

TEST(FattnRun, HelpAndVersionGoToStandardOutput) {
  const Outcome help = start("--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.err, "");
  EXPECT_NE(help.out.find("Examples:"), std::string::npos);
  EXPECT_EQ(start("--version").out, "fattn-run " + std::string(version()) + "\n");
}

TEST(FattnRun, ProgressIsShownOnATerminalAndErased) {
  const Terminal terminal;
  const std::string command = fmt::format("TERM=xterm '{}' --shape 1,1,16,64 --check >/dev/null 2>'{}'", FATTN_RUN, terminal.path());
  ASSERT_EQ(test::runCommand(command).status, 0);
  const std::string text = terminal.written();
  for (const char* step : {"drawing random inputs ...", "compiling ...", "running ...", "checking against float64 ..."})
    EXPECT_NE(text.find(step), std::string::npos) << step;
  EXPECT_TRUE(text.ends_with("\r\x1b[2K")) << text;
}

TEST(FattnRun, ColoursAreForTerminalsAndNotWithNoColor) {
  for (const auto& [environment, colours] :
       {std::pair("env -u NO_COLOR TERM=xterm", true), {"NO_COLOR=1 TERM=xterm", false}, {"TERM=dumb", false}}) {
    const Terminal terminal;
    const std::string command = fmt::format("{} '{}' --shape 1,1,16,64 >'{}' 2>/dev/null", environment, FATTN_RUN, terminal.path());
    ASSERT_EQ(test::runCommand(command).status, 0);
    const std::string text = terminal.written();
    EXPECT_NE(text.find("target"), std::string::npos) << text;
    EXPECT_EQ(text.find('\x1b') != std::string::npos, colours) << environment;
  }
}

/// NaN in a masked-in key spreads as IEEE says, and the check says what the inputs held.
TEST(FattnRun, NonFiniteInputsPassThroughAndAreReported) {
  const io::TemporaryFolder folder;
  io::HostTensor v = io::readNpy(io::FileSource(data("attention-v.npy")));
  reinterpret_cast<float*>(v.data())[2] = std::nanf("");
  reinterpret_cast<float*>(v.data())[5] = std::numeric_limits<float>::infinity();
  const std::string file = folder.file("v.npy"), out = folder.file("o.npy");
  io::writeNpy(file, v);
  const Outcome r =
      start(fmt::format("--q '{}' --k '{}' --v '{}' --check --out '{}'", data("attention-q.npy"), data("attention-k.npy"), file, out));
  EXPECT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_NE(r.out.find("inputs hold 1 NaN and 1 infinite values"), std::string::npos) << r.out;
  const io::HostTensor o = io::readNpy(io::FileSource(out));
  for (int row = 0; row < 10; ++row) {
    const auto at = [&](int d) { return io::loadFloat(DType::F32, o.data() + 4 * (row * 8 + d)); };
    EXPECT_TRUE(std::isnan(at(2)));
    EXPECT_EQ(at(5), std::numeric_limits<float>::infinity());
    EXPECT_TRUE(std::isfinite(at(0)));
  }
}

}  // namespace
}  // namespace fattn
