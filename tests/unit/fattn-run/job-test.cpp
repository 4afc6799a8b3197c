// SPDX-License-Identifier: Apache-2.0
// fattn-run from arguments to exit code, with an engine that computes by the reference or fails as told: files in and out, messages, the
// table, JSON, and the check's verdicts.
#include "tools/fattn-run/Job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/unit/io/TestFiles.h"
#include "tools/io/Metrics.h"
#include "tools/io/Npy.h"
#include "tools/io/Safetensors.h"

namespace fattn::run {
namespace {

using io::data;

/// Rounds the reference to the problem's types; `spoil` changes the results afterwards.
struct FakeEngine final : Engine {
  explicit FakeEngine(std::function<void(Problem&)> spoil) : spoil_(std::move(spoil)) {
    target = "host";
    device = "Test Device, 2 threads";
    config = "BLOCK_M=64,BLOCK_N=64";
    compileMs = 12.25;
  }
  double launch() override { return 1500 - 100.0 * (++launches_ % 3); }
  void fetch(Problem& p) override {
    const std::vector<std::int64_t> rows = io::chooseRows(p.shape, 0, std::numeric_limits<double>::infinity());
    const io::Reference r = io::attentionReference(p.shape, p.scale, p.q.view(p.layout), p.k.view(p.layout), p.v.view(p.layout), rows, 1);
    const io::View4 o = p.o.view(p.layout);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int64_t head = rows[i] / p.shape.lenQ;
      for (std::int64_t d = 0; d < p.shape.dimV; ++d) {
        const float value = static_cast<float>(r.o[i * static_cast<std::size_t>(p.shape.dimV) + static_cast<std::size_t>(d)]);
        io::fromFloat(p.dtype, &value, o.at(head / p.shape.headsQ, head % p.shape.headsQ, rows[i] % p.shape.lenQ, d), 1);
      }
      reinterpret_cast<float*>(p.lse.data())[i] = static_cast<float>(r.lse[i]);
    }
    if (spoil_) spoil_(p);
  }
  std::function<void(Problem&)> spoil_;
  int launches_ = 0;
};

struct Outcome {
  int code;
  std::string out, err;
};

Outcome runWith(const EngineFactory& factory, const std::string& line) {
  std::istringstream words(line);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = runJob({std::istream_iterator<std::string>(words), {}}, factory);
  Outcome outcome{code, "", ""};
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

Outcome run(const std::string& line, std::function<void(Problem&)> spoil = {}) {
  return runWith([&](const Options&, Problem&) { return std::make_unique<FakeEngine>(spoil); }, line);
}

/// The arguments that name the three files.
std::string files(const std::string& q, const std::string& k, const std::string& v) { return "--q " + q + " --k " + k + " --v " + v; }
std::string realFiles() { return files(data("attention-q.npy"), data("attention-k.npy"), data("attention-v.npy")); }

TEST(Job, ComputesRealFilesAndWritesBoth) {
  const io::TemporaryFolder folder;
  const std::string o = folder.file("o.npy"), lse = folder.file("lse.npy");
  const Outcome r = run(realFiles() + " --check --out " + o + " --lse " + lse);
  EXPECT_EQ(r.code, kOk) << r.err;
  EXPECT_EQ(r.err, "");
  const io::HostTensor got = io::readNpy(io::FileSource(o)), want = io::readNpy(io::FileSource(data("attention-o.npy")));
  ASSERT_EQ(got.shape(), want.shape());
  io::ErrorMeter meter;
  for (std::int64_t i = 0; i < got.elements(); ++i)
    meter.add(io::loadFloat(DType::F32, got.data() + 4 * i), io::loadFloat(DType::F32, want.data() + 4 * i));
  EXPECT_LT(meter.relative(), 1e-6);
  EXPECT_EQ(io::readNpy(io::FileSource(lse)).shape(), (std::vector<std::int64_t>{1, 2, 5}));
}

TEST(Job, OneSafetensorsFileGivesAllInputsAndTakesBothOutputs) {
  const io::TemporaryFolder folder;
  const std::string in = data("attention-bf16.safetensors"), out = folder.file("out.safetensors");
  const Outcome r = run(files(in, in, in) + " --check --out " + out + " --lse " + out);
  EXPECT_EQ(r.code, kOk) << r.err;
  const io::FileSource file(out);
  EXPECT_EQ(io::readSafetensors(file, "o", "").dtype(), DType::BF16);
  EXPECT_EQ(io::readSafetensors(file, "lse", "").dtype(), DType::F32);
}

TEST(Job, PrintsATable) {
  const Outcome r = run("--shape 2,4:2,6:9,16:8 --dtype f16 --causal --scale 0.25 --check --bench --seed 3");
  EXPECT_EQ(r.code, kOk) << r.err;
  EXPECT_EQ(
      r.out.substr(0, r.out.find("check")),
      "target   host (Test Device, 2 threads)\n"
      "shape    batch 2, heads 4 for queries, 2 for keys, length 6 queries, 9 keys, head dimension 16 for q and k, 8 for v, layout bhsd\n"
      "type     f16, causal, scale 0.25\n"
      "inputs   standard normal, seed 3\n"
      "config   BLOCK_M=64,BLOCK_N=64\n"
      "compile  12.2 ms\n"
      "time     1.400 ms  (median of 715; fastest 1.300 ms, slowest 1.500 ms)\n"
      "speed    0.0 GFLOP/s\n");
  EXPECT_NE(r.out.find("check    passed  all 48 rows against float64: relative error "), std::string::npos) << r.out;
}

TEST(Job, PrintsJson) {
  const Outcome r = run("--shape 2,4:2,6:9,16:8 --layout bshd --dtype bf16 --causal --check --json");
  EXPECT_EQ(r.code, kOk) << r.err;
  const nlohmann::json j = nlohmann::json::parse(r.out);
  EXPECT_EQ(j["target"], "host");
  EXPECT_EQ(j["device"], "Test Device, 2 threads");
  EXPECT_EQ(j["shape"], nlohmann::json::parse(R"({"batch":2,"heads_q":4,"heads_kv":2,"len_q":6,"len_kv":9,"dim":16,"dim_v":8})"));
  EXPECT_EQ(j["layout"], "bshd");
  EXPECT_EQ(j["dtype"], "bf16");
  EXPECT_EQ(j["causal"], true);
  EXPECT_EQ(j["config"], "BLOCK_M=64,BLOCK_N=64");
  EXPECT_EQ(j["compile_ms"], 12.25);
  EXPECT_EQ(j["from_cache"], false);
  EXPECT_EQ(j["time_us"], 1400.0);
  EXPECT_EQ(j["repetitions"], 1);
  // 2 * (16 + 8) operations for each of the 4 + 5 + ... + 9 pairs in 8 heads.
  EXPECT_DOUBLE_EQ(j["tflops"], 2.0 * 24 * 39 * 8 / 1400 * 1e-6);
  EXPECT_EQ(j["check"]["rows"], 48);
  EXPECT_EQ(j["check"]["rows_total"], 48);
  EXPECT_EQ(j["check"]["reference"], "float64");
  EXPECT_EQ(j["check"]["passed"], true);
  EXPECT_EQ(j["check"]["tolerance"], 5e-3);
  EXPECT_GT(j["check"]["rel_err"], 0.0);
  EXPECT_LT(j["check"]["rel_err"], 5e-3);
  EXPECT_GT(j["check"]["max_abs_err"], 0.0);
}

TEST(Job, WrongResultsFailTheCheck) {
  const Outcome off = run("--shape 1,1,8,8 --check", [](Problem& p) { reinterpret_cast<float*>(p.o.data())[3] += 0.5f; });
  EXPECT_EQ(off.code, kFailure);
  EXPECT_NE(off.out.find("FAILED  all 8 rows against float64"), std::string::npos) << off.out;
  const Outcome nan = run("--shape 1,1,8,8 --check", [](Problem& p) { reinterpret_cast<float*>(p.o.data())[3] = std::nanf(""); });
  EXPECT_EQ(nan.code, kFailure);
  EXPECT_NE(nan.out.find("1 elements are not finite where the reference is, or the other way round"), std::string::npos) << nan.out;
  const Outcome lse = run("--shape 1,1,8,8 --check --json", [](Problem& p) { reinterpret_cast<float*>(p.lse.data())[0] += 0.1f; });
  EXPECT_EQ(lse.code, kFailure);
  EXPECT_EQ(nlohmann::json::parse(lse.out)["check"]["passed"], false);
}

TEST(Job, NonFiniteInputsAreComputedAndSaidSo) {
  const io::TemporaryFolder folder;
  io::HostTensor k = io::readNpy(io::FileSource(data("attention-k.npy")));
  reinterpret_cast<float*>(k.data())[3] = std::numeric_limits<float>::infinity();
  reinterpret_cast<float*>(k.data())[9] = std::nanf("");
  io::writeNpy(folder.file("k.npy"), k);
  const std::string line = files(data("attention-q.npy"), folder.file("k.npy"), data("attention-v.npy")) + " --causal --check";
  const Outcome r = run(line);
  EXPECT_EQ(r.code, kOk) << r.err << r.out;
  EXPECT_NE(r.out.find("inputs hold 1 NaN and 1 infinite values; "), std::string::npos) << r.out;
  const nlohmann::json j = nlohmann::json::parse(run(line + " --json").out);
  EXPECT_EQ(j["check"]["nan_inputs"], 1);
  EXPECT_EQ(j["check"]["inf_inputs"], 1);
  EXPECT_GT(j["check"]["non_finite"], 0);
}

TEST(Job, ConvertsFilesToTheTypeAskedFor) {
  const Outcome r = run(realFiles() + " --dtype bf16 --check --json");
  EXPECT_EQ(r.code, kOk) << r.err;
  const nlohmann::json j = nlohmann::json::parse(r.out);
  EXPECT_EQ(j["dtype"], "bf16");
  EXPECT_TRUE(j["inputs"].get<std::string>().ends_with(" (converted from f32)"));
}

/// The first line of the error, without the program's name.
std::string error(const Outcome& r) {
  const std::string prefix = "fattn-run: error: ";
  EXPECT_EQ(r.err.substr(0, prefix.size()), prefix);
  EXPECT_EQ(r.out, "");
  return r.err.substr(prefix.size(), r.err.find('\n') - prefix.size());
}

TEST(Job, BrokenFilesGetASentenceAndCodeOne) {
  const io::TemporaryFolder folder;
  const std::string k = data("attention-k.npy"), v = data("attention-v.npy"), whole = io::readAll(data("attention-q.npy"));
  const auto text = [&](const std::string& q) {
    const Outcome r = run(files(q, k, v));
    EXPECT_EQ(r.code, kFailure);
    return error(r);
  };
  EXPECT_EQ(text(folder.file("none.npy")), "cannot read " + folder.file("none.npy") + ": No such file or directory");
  const std::string cut = folder.file("cut.npy");
  io::writeAll(cut, whole.substr(0, 300));
  EXPECT_EQ(text(cut), cut + ": has 172 bytes of data, but its header says 1x2x5x8 of f32, 320 bytes");
  EXPECT_EQ(text(data("object.npy")),
            data("object.npy") + ": holds Python objects (dtype object), not numbers; only arrays of numbers can be read");
  const std::string huge = folder.file("huge.npy");
  const auto claim = [&](const std::string& shape) {
    std::string lying = whole;
    lying.replace(lying.find("(1, 2, 5, 8)"), 12, shape);
    io::writeAll(huge, lying);
    return text(huge);
  };
  EXPECT_EQ(claim("(999999999,)"), huge + ": has 320 bytes of data, but its header says 999999999 of f32, 3999999996 bytes");
  EXPECT_EQ(claim("(9999999999, 9999999999)                ").substr(0, huge.size() + 60),
            huge + " of shape 9999999999x9999999999 has more than 2^63 - 1 eleme");
}

TEST(Job, TensorsThatDoNotFitTogetherGetASentenceAndCodeTwo) {
  const io::TemporaryFolder folder;
  const std::string q = data("attention-q.npy"), k = data("attention-k.npy"), v = data("attention-v.npy");
  const auto make = [&](DType dtype, std::vector<std::int64_t> shape) {
    const std::string path = folder.file(fmt::format("{}-{}.npy", name(dtype), io::printShape(shape)));
    io::writeNpy(path, io::HostTensor::allocate(dtype, std::move(shape)));
    return path;
  };
  const auto text = [&](const std::string& a, const std::string& b, const std::string& c) {
    const Outcome r = run(files(a, b, c));
    EXPECT_EQ(r.code, kUsage);
    return error(r);
  };
  EXPECT_EQ(text(q, make(DType::F16, {1, 1, 7, 8}), v), "q is f32, k is f16, v is f32; they must have one type");
  EXPECT_EQ(text(q, make(DType::F32, {2, 1, 7, 8}), v), "the batch of q is 1, of k 2; they must be equal");
  EXPECT_EQ(text(q, k, make(DType::F32, {2, 1, 7, 8})), "the batch of q is 1, of v 2; they must be equal");
  EXPECT_EQ(text(q, make(DType::F32, {1, 2, 7, 8}), v), "the number of heads of k is 2, of v 1; they must be equal");
  EXPECT_EQ(text(q, make(DType::F32, {1, 1, 6, 8}), v), "the length of k is 6, of v 7; they must be equal");
  EXPECT_EQ(text(q, make(DType::F32, {1, 1, 7, 16}), v), "the head dimension of q is 8, of k 16; they must be equal");
  EXPECT_EQ(text(make(DType::F32, {1, 3, 5, 8}), make(DType::F32, {1, 2, 7, 8}), make(DType::F32, {1, 2, 7, 8})),
            "3 query heads cannot share 2 key/value heads; the first must be a multiple of the second");
  EXPECT_EQ(text(q, make(DType::F32, {7, 8}), v),
            "k has 2 dimensions (7x8), needs 4: batch, heads, length, head dimension (--layout bhsd)");
  EXPECT_EQ(text(q, make(DType::F32, {1, 0, 7, 8}), v),
            "k has the shape 1x0x7x8; there must be at least 1 head, and a head dimension of at least 1");
  EXPECT_EQ(text(q, make(DType::I64, {1, 1, 7, 8}), v), "k has elements of type i64; queries, keys and values are f32, f16 or bf16");
  const Outcome hint = run(files(q, make(DType::F32, {1, 2, 7, 8}), v));
  EXPECT_NE(
      hint.err.find("\n  hint: the files are read as --layout bhsd, q is 1x2x5x8, k is 1x2x7x8, v is 1x1x7x8; is it --layout bshd?\n"),
      std::string::npos)
      << hint.err;
}

TEST(Job, Bf16DoesNotFitIntoNpy) {
  const std::string in = data("attention-bf16.safetensors");
  const Outcome r = run(files(in, in, in) + " --out never.npy");
  EXPECT_EQ(r.code, kUsage);
  EXPECT_EQ(error(r), "--out never.npy: an .npy file cannot hold bf16");
}

TEST(Job, FortranOrderFilesGiveTheSameResult) {
  const io::TemporaryFolder folder;
  // The same numbers in Fortran order: the transposed shape in C order, declared to be Fortran's.
  const io::HostTensor q = io::readNpy(io::FileSource(data("attention-q.npy")));
  io::HostTensor reversed = io::HostTensor::allocate(DType::F32, {8, 5, 2, 1});
  for (int h = 0; h < 2; ++h)
    for (int s = 0; s < 5; ++s)
      for (int d = 0; d < 8; ++d)
        reinterpret_cast<float*>(reversed.data())[(d * 5 + s) * 2 + h] = reinterpret_cast<const float*>(q.data())[(h * 5 + s) * 8 + d];
  const std::string path = folder.file("q.npy");
  io::writeNpy(path, reversed);
  std::string bytes = io::readAll(path);
  bytes.replace(bytes.find("False"), 5, "True ");
  bytes.replace(bytes.find("(8, 5, 2, 1)"), 12, "(1, 2, 5, 8)");
  io::writeAll(path, bytes);
  const std::string out = folder.file("o.npy"), plain = folder.file("plain.npy");
  EXPECT_EQ(run(files(path, data("attention-k.npy"), data("attention-v.npy")) + " --check --out " + out).code, kOk);
  EXPECT_EQ(run(realFiles() + " --out " + plain).code, kOk);
  EXPECT_EQ(io::readAll(out), io::readAll(plain));
}

TEST(Job, ErrorsOfTheLibraryBecomeExitCodes) {
  const auto failing = [](ErrorCode code) {
    return runWith([code](const Options&, Problem&) -> std::unique_ptr<Engine> { throw Error(code, "the rule", "the way out"); },
                   "--shape 1,1,8,8");
  };
  EXPECT_EQ(failing(ErrorCode::Unsupported).code, kUnsupported);
  EXPECT_EQ(failing(ErrorCode::NoDevice).code, kNoDevice);
  EXPECT_EQ(failing(ErrorCode::InvalidArgument).code, kUsage);
  EXPECT_EQ(failing(ErrorCode::CompileError).code, kFailure);
  EXPECT_EQ(failing(ErrorCode::NoDevice).err, "fattn-run: error: the rule\n  hint: the way out\n");
  EXPECT_EQ(runWith([](const Options&, Problem&) -> std::unique_ptr<Engine> { throw std::runtime_error("odd"); }, "").err,
            "fattn-run: error: internal error: odd\n");
}

TEST(Job, MoreThanTheMachineHasIsRefused) {
  const Outcome r = run("--shape 1024,1024,65536,128");
  EXPECT_EQ(r.code, kFailure);
  EXPECT_EQ(error(r).substr(0, 70), "q of shape 1024x1024x65536x128 and type f32 takes 32.0 TiB, this machi");
}

TEST(Job, OutputThatCannotBeWrittenIsNamed) {
  const Outcome r = run("--shape 1,1,8,8 --out /dev/null/o.npy");
  EXPECT_EQ(r.code, kFailure);
  EXPECT_EQ(error(r), "cannot write /dev/null/o.npy: Not a directory");
}

TEST(Job, HelpGoesToStandardOutput) {
  const Outcome r = run("--help");
  EXPECT_EQ(r.code, kOk);
  EXPECT_EQ(r.err, "");
  EXPECT_NE(r.out.find("Examples:"), std::string::npos);
  const Outcome usage = run("--nonsense");
  EXPECT_EQ(usage.code, kUsage);
  EXPECT_EQ(usage.err, "fattn-run: error: unknown option \"--nonsense\"\n  hint: fattn-run --help lists the options\n");
}

}  // namespace
}  // namespace fattn::run
