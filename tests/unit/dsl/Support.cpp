// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/dsl/Support.h"

#include <gtest/gtest.h>

#include <charconv>

namespace fattn::dsl::testing {
namespace {

constexpr std::string_view kMark = "the values end here";

Values makeValues(Params& args) {
  Values v;
  v.p = args.ptr("p", DType::F32, 16);
  v.hp = args.ptr("hp", DType::F16);
  v.ip = args.ptr("ip", DType::I32);
  v.n = args.scalar("n", DType::I32);
  v.w = args.scalar("w", DType::I64);
  v.s = args.scalar("s", DType::F32);
  v.t = args.scalar("t", DType::I1);
  v.c = args.scalar("c", DType::I8);
  v.f = zeros({16, 64});
  v.h = zeros({16, 64}, DType::F16);
  v.i = zeros({16, 64}, DType::I32);
  v.l = zeros({16, 64}, DType::I64);
  v.b = full({16, 64}, true, DType::I1);
  v.e = zeros({16, 64}, DType::F8E4M3);
  v.row = zeros({16});
  v.col = zeros({16, 1});
  v.bp = make_block_ptr(v.p, {v.n, 64}, {64, 1}, {0, 0}, {16, 64});
  v.ptrs = v.p + arange(0, 64);
  device_print(kMark);
  return v;
}

}  // namespace

std::string ir(const Kernel& kernel, bool locations) {
  const Program program = trace("under_test", [&](Params& args) {
    Values values = makeValues(args);
    kernel(values);
  });
  const std::string text = program.mlir(locations);
  return text.substr(text.find('\n', text.find(kMark)) + 1);
}

void expectIr(const Kernel& kernel, std::initializer_list<std::string_view> parts, Loc loc) {
  SCOPED_TRACE(std::string("expected at line ") + std::to_string(loc.line()));
  const std::string text = ir(kernel);
  std::size_t from = 0;
  for (std::string_view part : parts) {
    const std::size_t at = text.find(part, from);
    ASSERT_NE(at, std::string::npos) << "no \"" << part << "\" behind position " << from << " of\n" << text;
    from = at + part.size();
  }
}

void expectError(const Kernel& kernel, std::string_view constraint, std::string_view hint, Loc loc) {
  SCOPED_TRACE(std::string("expected at line ") + std::to_string(loc.line()));
  try {
    ir(kernel);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::TraceError);
    std::string_view text = error.constraint();
    const std::string file = std::string(loc.file_name()) + ":";
    ASSERT_TRUE(text.starts_with(file)) << text;
    text.remove_prefix(file.size());
    unsigned line = 0;
    const char* end = std::from_chars(text.data(), text.data() + text.size(), line).ptr;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    EXPECT_GE(line, loc.line());
    EXPECT_LE(line, loc.line() + 12);
    EXPECT_EQ(text, ": " + std::string(constraint));
    EXPECT_EQ(error.hint(), hint);
    return;
  }
  FAIL() << "no error; expected: " << constraint;
}

}  // namespace fattn::dsl::testing
