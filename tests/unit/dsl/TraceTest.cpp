// SPDX-License-Identifier: Apache-2.0
// Whole programs: what a trace records, who owns it, and what happens when it fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "tests/unit/dsl/Support.h"

namespace fattn::dsl::testing {
namespace {

void twoDots(Params& args) {
  const DType dtype = DType::F16;
  Ptr a = args.ptr("a", dtype, 16), b = args.ptr("b", dtype, 16), c = args.ptr("c", dtype, 16), out = args.ptr("out", DType::F32);
  Scalar rows = args.scalar("rows", DType::I32), cols = args.scalar("cols", DType::I32);
  Scalar scale_log2 = args.scalar("scale", DType::F32);
  Scalar m0 = program_id(0) * 128;
  BlockPtr a_ptr = make_block_ptr(a, {rows, 64}, {64, 1}, {m0, 0}, {128, 64});
  BlockPtr b_ptr = make_block_ptr(b, {cols, 64}, {64, 1}, {0, 0}, {64, 64});
  BlockPtr c_ptr = make_block_ptr(c, {cols, 64}, {64, 1}, {0, 0}, {64, 64});
  Tile q = load(a_ptr, {0});
  auto [acc, row_sum, row_max] =
      for_(0, cols, 64, carry(zeros({128, 64}), zeros({128}), full({128}, -infinity, DType::F32)), [&](Scalar n, Tile acc, Tile l, Tile m) {
        Tile s = dot(q, trans(load(advance(b_ptr, {n, 0}), {0}))) * scale_log2;
        Tile m_new = max(m, reduce_max(s, 1));
        Tile p = exp2(s - expand(m_new, 1));
        Tile alpha = exp2(m - m_new);
        return carry(dot(cast(p, dtype), load(advance(c_ptr, {n, 0}), {0}), acc * expand(alpha, 1)), l * alpha + reduce_sum(p, 1), m_new);
      });
  BlockPtr o_ptr = make_block_ptr(out, {rows, 64}, {64, 1}, {m0, 0}, {128, 64});
  store(o_ptr, acc / expand(row_sum, 1), {0});
}

TEST(Trace, RecordsALoopOverTwoDots) {
  const Program program = trace("two_dots", twoDots);
  const std::string text = program.mlir();
  EXPECT_NE(text.find("func.func @two_dots(%arg0: !tile.ptr<f16> {tile.divisibility = 16 : i64, tile.name = \"a\"}"), std::string::npos)
      << text;
  EXPECT_NE(text.find("attributes {tile.kernel}"), std::string::npos) << text;
  EXPECT_NE(text.find("scf.for"), std::string::npos) << text;
  ASSERT_EQ(program.args().size(), 7U);
  EXPECT_EQ(program.args()[6].name, "scale");
  EXPECT_FALSE(program.args()[6].isPointer);
}

TEST(Trace, AnArgumentWithoutAliasSaysSo) {
  const Program program = trace("copy", [](Params& args) {
    Ptr from = args.ptr("from", DType::F32, 1, Aliasing::None), to = args.ptr("to", DType::F32);
    store(to, load(from));
  });
  EXPECT_NE(program.mlir().find("(%arg0: !tile.ptr<f32> {tile.name = \"from\", tile.noalias}, %arg1: !tile.ptr<f32> {tile.name = \"to\"})"),
            std::string::npos)
      << program.mlir();
  EXPECT_EQ(program.args()[0].aliasing, Aliasing::None);
  EXPECT_EQ(program.args()[1].aliasing, Aliasing::Possible);
}

TEST(Trace, LocationsAreRelativeToTheRepository) {
  EXPECT_NE(trace("two_dots", twoDots).mlir(true).find(" loc(\"tests/unit/dsl/TraceTest.cpp\":"), std::string::npos);
}

// Every way an operation learns its line: operators, functions, literals, bodies.
TEST(Trace, EveryOperationNamesItsLine) {
  unsigned first = 0;
  const std::string text = ir(
      [&](Values& v) {
        first = __LINE__;
        Tile x = v.f + v.f;
        x = exp2(x);
        [[maybe_unused]] Scalar one = 1;
        x *= v.s;
        x = 2.0F - x;
        for_(0, v.n, 1, [&](Scalar) { store(v.bp, x); });
        auto [y] = if_(v.t, [&] { return carry(x / v.s); }, [&] { return carry(x); });
        store(v.bp, reduce(expand(y, 0), 0, [](Scalar a, Scalar b) { return min(a, b); }));
      },
      true);
  const auto expectAt = [&](unsigned line, const char* op) {
    const std::string place = "loc(\"tests/unit/dsl/TraceTest.cpp\":" + std::to_string(first + line) + ":";
    const std::size_t at = text.find(op);
    ASSERT_NE(at, std::string::npos) << op << " in\n" << text;
    const std::string rest = text.substr(at, text.find('\n', at) - at);
    EXPECT_NE(rest.find(place), std::string::npos) << rest << "\nis not at " << place;
  };
  expectAt(1, "arith.addf");
  expectAt(2, "math.exp2");
  expectAt(3, "arith.constant 1 : i32");
  expectAt(4, "arith.mulf");
  expectAt(5, "arith.subf");
  expectAt(6, "tile.store");
  expectAt(7, "arith.divf");
  expectAt(8, "arith.minnumf");
  // The bodies' operations are printed with their location behind the closing brace.
  const std::string loop = "TraceTest.cpp\":" + std::to_string(first + 6) + ":";
  EXPECT_NE(text.find("} loc(\"tests/unit/dsl/" + loop), std::string::npos) << text;
}

TEST(Trace, ProgramsAreMovable) {
  Program a = trace("first", [](Params& args) { args.ptr("x", DType::F32); });
  Program b = trace("second", [](Params&) {});
  b = std::move(a);
  const Program c = std::move(b);
  EXPECT_EQ(c.name(), "first");
  EXPECT_EQ(c.args()[0].name, "x");
  EXPECT_EQ(c.args()[0].divisibility, 1);
  EXPECT_NE(c.mlir().find("func.func @first(%arg0: !tile.ptr<f32> {tile.name = \"x\"})"), std::string::npos) << c.mlir();
}

TEST(Trace, ParamErrors) {
  const auto message = [](const std::function<void(Params&)>& kernel, std::string_view name = "kernel") {
    try {
      trace(name, kernel);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::TraceError);
      const std::string& text = error.constraint();
      return text.substr(text.find(": ") + 2);
    }
    return std::string("no error");
  };
  EXPECT_EQ(message([](Params&) {}, "2nd"),
            "trace: \"2nd\" is no name; letters, digits and _ make one, and it does not begin with a digit");
  EXPECT_EQ(message([](Params& args) { args.ptr("", DType::F32); }),
            "ptr: \"\" is no name; letters, digits and _ make one, and it does not begin with a digit");
  EXPECT_EQ(message([](Params& args) { args.ptr("x", DType::F32), args.scalar("x", DType::I32); }),
            "scalar: there already is an argument called x");
  EXPECT_EQ(message([](Params& args) { args.scalar("x", DType::F16); }), "scalar: a scalar argument is i1, i8, i32, i64 or f32; x is f16");
  EXPECT_EQ(message([](Params& args) { args.scalar("x", DType::F32, 4); }), "scalar: only integers have a divisibility; x is f32");
  EXPECT_EQ(message([](Params& args) { args.ptr("x", DType::F32, 0); }), "ptr: the divisibility of x must be at least 1; got 0");
}

TEST(Trace, OutsideOfATraceIsAnError) {
  try {
    program_id(0);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(error.constraint().find("TraceTest.cpp"), std::string::npos);
    EXPECT_NE(error.constraint().find("program_id: no trace is running on this thread"), std::string::npos) << error.what();
    EXPECT_EQ(error.hint(), "call it from a function given to dsl::trace");
  }
}

TEST(Trace, EmptyValuesAreAnError) {
  expectError([](Values& v) { v.f + Tile(); }, "+: an operand holds nothing: it was default-constructed and never assigned");
  expectError([](Values&) { load(BlockPtr()); }, "load: an operand holds nothing: it was default-constructed and never assigned");
  expectError([](Values&) { (void)Tile().shape(); }, "shape: an operand holds nothing: it was default-constructed and never assigned");
}

TEST(Trace, ValuesOfAnotherTraceAreAnError) {
  Tile stale;
  ir([&](Values& v) { stale = v.f; });
  expectError([&](Values&) { exp2(stale); }, "exp2: an operand belongs to another trace");
  expectError([&](Values&) { (void)stale.dtype(); }, "dtype: an operand belongs to another trace");
}

TEST(Trace, ValuesOfAnEndedBodyAreAnError) {
  const std::string hint = "let the body return it through carry(...) and use what the loop or branch gives back";
  unsigned line = 0;
  const auto rule = [&](const char* op) {
    return std::string(op) + ": an operand (f32[16,64], from tests/unit/dsl/TraceTest.cpp:" + std::to_string(line) +
           ") was made inside of a body that has ended, so it may not exist here";
  };
  const Kernel loop = [&](Values& v) {
    Tile inner;
    line = __LINE__ + 1;
    for_(0, v.n, 1, [&](Scalar) { inner = v.f * 2; });
    store(v.bp, inner);
  };
  EXPECT_THROW(ir(loop), Error);  // sets line
  try {
    ir(loop);
  } catch (const Error& error) {
    EXPECT_NE(error.constraint().find(rule("store")), std::string::npos) << error.what();
    EXPECT_EQ(error.hint(), hint);
  }
  // A branch is recorded anew once its results are known; what it made stays out of reach all the same.
  const Kernel branch = [&](Values& v) {
    Tile inner;
    line = __LINE__ + 1;
    if_(v.t, [&] { return carry(inner = v.f * 2); }, [&] { return carry(v.f); });
    exp2(inner);
  };
  try {
    ir(branch);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(error.constraint().find(rule("exp2")), std::string::npos) << error.what();
  }
}

TEST(Trace, ErrorsInsideOfNestedBodiesLeaveTheThreadUsable) {
  for (int round = 0; round < 3; ++round) {
    EXPECT_THROW(ir([](Values& v) {
                   for_(0, v.n, 1, carry(v.f), [&](Scalar i, Tile x) {
                     if_(i > 3, [&] { while_(carry(i), [&](Scalar k) { return k > 1; }, [&](Scalar k) -> Scalar { throw k; }); });
                     return carry(x);
                   });
                 }),
                 Scalar);
    EXPECT_THROW(ir([](Values& v) { reduce(v.f, 1, [&](Scalar a, Scalar) { return a + v.h; }); }), Error);
    EXPECT_THROW(ir([](Values& v) { select_lazy(v.t, [&] { return carry(v.f + v.h); }, v.f); }), Error);
  }
  expectIr([](Values& v) { exp2(v.f); }, {"math.exp2"});
}

TEST(Trace, ASwallowedErrorStillEndsTheTrace) {
  const auto swallow = [](Values& v) {
    try {
      for_(0, v.n, 1, [&](Scalar) { v.f + v.h; });
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::TraceError);
    }
  };
  EXPECT_THROW(ir(swallow), Error);
  expectError(
      [&](Values& v) {
        swallow(v);
        exp2(v.f);
      },
      "exp2: an earlier error ended this trace", "let the first fattn::Error leave the kernel function");
  // Outside of a body nothing is half recorded: asking whether something is legal is fine.
  expectIr(
      [](Values& v) {
        try {
          v.f + v.h;
        } catch (const Error&) {
          v.f + cast(v.h, DType::F32);
        }
      },
      {"arith.extf", "arith.addf"});
}

TEST(Trace, TracesNest) {
  const std::string text = ir([](Values& v) {
    const Program inner = trace("inner", [](Params& args) { store(args.ptr("x", DType::I32), program_id(0)); });
    EXPECT_NE(inner.mlir().find("tile.scatter"), std::string::npos);
    store(v.ip, 5);
  });
  EXPECT_EQ(text.find("program_id"), std::string::npos) << text;
  EXPECT_NE(text.find("tile.scatter"), std::string::npos) << text;
}

TEST(Trace, ThreadsTraceIndependently) {
  const std::string expected = trace("two_dots", twoDots).mlir();
  std::vector<std::string> texts(8);
  {
    std::vector<std::jthread> threads;
    for (std::string& text : texts)
      threads.emplace_back([&text] {
        for (int i = 0; i < 5; ++i) text = trace("two_dots", twoDots).mlir();
      });
  }
  for (const std::string& text : texts) EXPECT_EQ(text, expected);
}

TEST(Trace, AProgramMayBeUsedAndDestroyedOnAnotherThread) {
  std::optional<Program> program = trace("two_dots", twoDots);
  const std::string expected = program->mlir();
  std::string text;
  std::jthread([&] {
    text = program->mlir();
    program.reset();
  }).join();
  EXPECT_EQ(text, expected);
}

// A kernel of this size traces well below a millisecond; the bound leaves room for a loaded machine.
TEST(Trace, TracingIsFast) {
  std::vector<double> times(9);
  for (double& time : times) {
    const auto start = std::chrono::steady_clock::now();
    trace("two_dots", twoDots);
    time = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  std::sort(times.begin(), times.end());
  RecordProperty("median_us", static_cast<int>(times[4] * 1000));
  EXPECT_LT(times[4], 20.0);
}

}  // namespace
}  // namespace fattn::dsl::testing
