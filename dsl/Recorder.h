// SPDX-License-Identifier: Apache-2.0
// The trace that runs on this thread, and Step: one operation being recorded in it.
#ifndef FATTN_DSL_RECORDER_H
#define FATTN_DSL_RECORDER_H

#include "fattn/dsl/Dsl.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace fattn::dsl::internal {

class Recorder {
 public:
  /// Makes itself this thread's trace until destroyed.
  Recorder(mlir::func::FuncOp func, std::vector<Param>& params);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  static Recorder* current();

  mlir::func::FuncOp func;
  std::vector<Param>& params;
  mlir::OpBuilder builder;
  const std::uint64_t id;
  /// Set where an error left a body half recorded; nothing can be recorded any more.
  bool failed = false;

 private:
  Recorder* outer_;
};

/// One operation while it is recorded: checks what it is given, creates ops at its location, and words its errors.
class Step {
 public:
  Step(std::string_view op, Loc loc);

  mlir::OpBuilder& builder() { return recorder_.builder; }
  Recorder& recorder() { return recorder_; }
  mlir::Location location() const { return location_; }
  Loc loc() const { return loc_; }

  /// The value behind a handle; an error where it is empty, of another trace or not visible here.
  mlir::Value use(const detail::Handle& handle);
  mlir::Value use(const Value& value) { return use(value.handle()); }

  template <class Op, class... Args>
  Op create(Args&&... args) {
    return Op::create(builder(), location_, std::forward<Args>(args)...);
  }

  detail::Handle wrap(mlir::Value value) const { return {value.getAsOpaquePointer(), recorder_.id}; }
  mlir::Type type(DType type);

  /// A dimension number, negative ones counted from `rank`; an error where there is no such dimension.
  std::int64_t axis(std::int64_t axis, std::int64_t rank);

  enum class Access { Read, Write };
  /// An error where the operation stands in a body that may not touch memory this way.
  void checkAccess(Access access) const;

  [[noreturn]] void fail(std::string rule, std::string hint = "") const;

 private:
  std::string op_;
  Loc loc_;
  Recorder& recorder_;
  mlir::Location location_;
};

/// "file:line: op: rule" as an Error{TraceError}.
[[noreturn]] void failAt(Loc loc, std::string_view op, const std::string& rule, const std::string& hint = "");

mlir::Type toMlir(mlir::MLIRContext* context, DType type);
DType fromMlir(mlir::Type elementType);

/// A type as messages spell it: "f16[128,64]", "i32", "ptr<f32>", "block_ptr<bf16[64,128]>".
std::string spell(mlir::Type type);
/// "[128,64]".
std::string spell(llvm::ArrayRef<int64_t> shape);

/// Brings operands to one element type and shape: numbers take the type they meet, scalars are splat, size-1 dimensions repeated.
llvm::SmallVector<mlir::Value, 3> unify(Step& step, llvm::ArrayRef<const AnyArg*> args);
/// A constant scalar or splat tile of `type` (scalar or tile type) with a C++ number's value; an error where it does not fit.
mlir::Value constant(Step& step, const detail::Number& number, mlir::Type type);
/// A scalar argument as a value of type `type`: numbers become constants, narrower integers are extended.
mlir::Value scalarAs(Step& step, const ScalarArg& arg, mlir::Type type, std::string_view what);
/// `value` broadcast to `shape`; `what` names it in the error.
mlir::Value broadcastTo(Step& step, mlir::Value value, llvm::ArrayRef<int64_t> shape, std::string_view what);
/// Any argument as a value; a number becomes the constant it stands for on its own.
mlir::Value valueOf(Step& step, const AnyArg& arg);

}  // namespace fattn::dsl::internal

#endif
