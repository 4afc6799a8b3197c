// SPDX-License-Identifier: Apache-2.0
// The reducer: it arrives at small programs that still fail, keeps to its budget, and what it finds is a test that can be read back.
#include <gtest/gtest.h>

#include "compiler/dialect/Tile.h"
#include "fattn/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "tests/generator/Interpret.h"
#include "tests/generator/Reducer.h"
#include "tests/generator/Text.h"

using namespace mlir;

namespace fattn::generator {
namespace {

struct ReducerTest : testing::Test {
  ReducerTest() {
    DialectRegistry registry;
    tile::registerTileDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  static int operations(Program& program) {
    int count = 0;
    program.module->walk([&](Operation*) { ++count; });
    return count;
  }

  /// An implementation that takes one operation for another is compared with the interpreter.
  template <typename Right, typename Wrong>
  static bool isMiscompiled(Program& program) {
    Program broken = clone(program);
    broken.module->walk([](Right op) {
      OpBuilder b(op);
      op.replaceAllUsesWith(Wrong::create(b, op.getLoc(), op.getLhs(), op.getRhs()).getResult());
      op.erase();
    });
    interpret(program);
    interpret(broken);
    for (size_t i = 0; i < program.arguments.size(); ++i)
      if (auto* array = std::get_if<Array>(&program.arguments[i]); array && !compare(*array, std::get<Array>(broken.arguments[i])).empty())
        return true;
    return false;
  }

  /// The first seed for which the predicate holds.
  Program firstThat(const Predicate& fails) {
    for (uint64_t seed = 0;; ++seed) {
      Program program = generate(context, seed), again = clone(program);
      if (fails(again)) return program;
    }
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
};

TEST_F(ReducerTest, FindsAFewOperationsForADotInALoopBesideALazySelection) {
  Predicate fails = [](Program& program) {
    bool dot = false, lazy = false;
    program.module->walk([&](tile::DotOp op) { dot |= op->getParentOfType<scf::ForOp>() != nullptr; });
    program.module->walk([&](tile::SelectLazyOp) { lazy = true; });
    return dot && lazy;
  };
  Program failing = firstThat(fails);
  Reduction small = reduce(context, failing, {}, fails, 1000);
  EXPECT_LE(operations(small.program), 100) << print(small.program, {});
  EXPECT_LT(operations(small.program), operations(failing) / 2) << print(failing, {});
  EXPECT_TRUE(succeeded(verify(*small.program.module)));
  EXPECT_TRUE(fails(small.program));
}

TEST_F(ReducerTest, FindsAMiscompiledOperation) {
  Predicate fails = isMiscompiled<arith::MaxSIOp, arith::MinSIOp>;
  Program failing = firstThat(fails);
  Reduction small = reduce(context, failing, {}, fails, 600);
  EXPECT_LE(operations(small.program), 36) << print(small.program, {});
  int wrong = 0;
  small.program.module->walk([&](arith::MaxSIOp) { ++wrong; });
  EXPECT_EQ(wrong, 1) << print(small.program, {});
  EXPECT_TRUE(fails(small.program));
}

TEST_F(ReducerTest, KeepsToItsBudget) {
  int calls = 0;
  Program failing = generate(context, 3);
  Reduction small = reduce(context, failing, {}, [&](Program&) { return ++calls > 0; }, 3);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(small.attempts, 3);
}

TEST_F(ReducerTest, GivesBackWhatDoesNotFail) {
  Program failing = generate(context, 3);
  Reduction same = reduce(context, failing, {}, [](Program&) { return false; });
  EXPECT_EQ(same.attempts, 1);
  EXPECT_EQ(same.program.choices, failing.choices);
}

TEST_F(ReducerTest, AProgramIsReadBackFromItsText) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Draw draw{.program = seed, .warps = 8, .alignment = Alignment::Unaligned};
    Program program = generate(context, draw);
    Parsed parsed = parse(context, print(program, draw));
    EXPECT_EQ(parsed.draw, draw);
    EXPECT_EQ(parsed.program.grid, program.grid);
    ASSERT_EQ(print(parsed.program, draw), print(program, draw));
    interpret(program);
    interpret(parsed.program);
    for (size_t i = 0; i < program.arguments.size(); ++i) {
      if (auto* array = std::get_if<Array>(&program.arguments[i])) {
        const auto& actual = std::get<Array>(parsed.program.arguments[i]);
        EXPECT_EQ(array->bytes, actual.bytes);
        EXPECT_EQ(array->misalignment, actual.misalignment);
        EXPECT_EQ(array->tolerance, actual.tolerance);
      }
    }
  }
}

TEST_F(ReducerTest, ABadTextIsNamed) {
  auto message = [&](const std::string& text) -> std::string {
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic&) { return success(); });
    try {
      parse(context, text);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message("// argument 1: 40"), "bad line '// argument 1: 40' in a program's text: arguments are described in their order");
  EXPECT_EQ(message("// argument 0: f32 count=many"), "bad line '// argument 0: f32 count=many' in a program's text: 'many' is no number");
  EXPECT_EQ(message("// argument 0: f32 size=3"),
            "bad line '// argument 0: f32 size=3' in a program's text: 'size' is none of count, seed, low, high, coarse, misalignment, "
            "tolerance");
  EXPECT_EQ(message("// argument 0: 40\nmodule {\n  func.func @f() {\n    return\n  }\n}\n"),
            "the function has 0 arguments, but the text describes 1");
  EXPECT_EQ(message("module {}"), "a program's text is a module of one function, but this is none");
}

}  // namespace
}  // namespace fattn::generator
