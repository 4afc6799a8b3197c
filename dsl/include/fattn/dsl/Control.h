// SPDX-License-Identifier: Apache-2.0
// Control flow and operations with a body. Values that change from one turn to the next are carried: they go in through
// carry(...), the body gets them as arguments and returns their next values through carry(...), and a std::tuple comes out:
//   auto [sum, count] = for_(0, n, 1, carry(sum0, count0), [&](Scalar i, Tile sum, Scalar count) { return carry(sum + 1, count + 1); });
#ifndef FATTN_DSL_CONTROL_H
#define FATTN_DSL_CONTROL_H

#include <memory>
#include <tuple>
#include <utility>

#include "fattn/dsl/Ops.h"

namespace fattn::dsl {

namespace detail {
template <class T>
using Stored = std::conditional_t<Literal<T>, Scalar, T>;
}  // namespace detail

/// A bundle of values going into or out of a body. (A class, so that it can note the line it is written on.)
template <class... Ts>
struct carry {
  carry(Ts... list, Loc where = Loc::current()) : values(std::move(list)...), loc(where) {}

  std::tuple<Ts...> values;
  Loc loc;
};
template <class... Ts>
carry(Ts...) -> carry<detail::Stored<Ts>...>;

namespace detail {

using Handles = std::vector<Handle>;

/// A region being recorded. Destroyed without finish(), as when an error passes through, it marks the trace as failed.
class Body {
 public:
  struct Impl;
  explicit Body(std::unique_ptr<Impl> impl);
  ~Body();
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  static Body forLoop(const ScalarArg& lo, const ScalarArg& hi, const ScalarArg& step, const Handles& carried, Loc loc);
  static Body whileLoop(const Handles& carried, Loc loc);
  static Body branch(const ScalarArg& condition, bool hasElse, Loc loc);
  static Body combine(const Handles& inputs, int axis, Loc loc);
  static Body selectLazy(const AnyArg& condition, const std::vector<AnyArg>& usual);

  /// The induction variable (loops over a range only) and the values the body starts from.
  const Handles& arguments() const;
  /// Ends the first of two parts (a while's condition, a then-branch) and begins the second.
  void next(const Handles& returned);
  /// Ends the body with what it returned and gives the operation's results.
  Handles finish(const Handles& returned);

 private:
  std::unique_ptr<Impl> impl_;
};

template <class T>
struct Returned;  // what a body may return: nothing, one value, a carry or a tuple
template <class T>
  requires std::derived_from<T, Value>
struct Returned<T> {
  using Tuple = std::tuple<T>;
  static Handles handles(const T& value) { return {value.handle()}; }
};
template <class... Ts>
struct Returned<std::tuple<Ts...>> {
  using Tuple = std::tuple<Ts...>;
  static Handles handles(const Tuple& values) {
    return std::apply([](const Ts&... each) { return Handles{each.handle()...}; }, values);
  }
};
template <class... Ts>
struct Returned<carry<Ts...>> : Returned<std::tuple<Ts...>> {
  static Handles handles(const carry<Ts...>& bundle) { return Returned<std::tuple<Ts...>>::handles(bundle.values); }
};
template <>
struct Returned<void> {
  using Tuple = void;
};

template <class Fn>
Handles run(Fn&& fn) {
  using Result = std::invoke_result_t<Fn>;
  if constexpr (std::is_void_v<Result>) {
    fn();
    return {};
  } else {
    return Returned<std::remove_cvref_t<Result>>::handles(fn());
  }
}

template <class... Ts, std::size_t... I>
std::tuple<Ts...> unpack(const Handles& handles, std::size_t first, std::index_sequence<I...>) {
  return std::tuple<Ts...>(Ts(handles[first + I])...);
}
template <class... Ts>
std::tuple<Ts...> unpack(const Handles& handles, std::size_t first = 0) {
  return unpack<Ts...>(handles, first, std::index_sequence_for<Ts...>{});
}
template <class Tuple>
struct UnpackAs;
template <class... Ts>
struct UnpackAs<std::tuple<Ts...>> {
  static std::tuple<Ts...> from(const Handles& handles) { return unpack<Ts...>(handles); }
};

}  // namespace detail

/// for (i = lo; i < hi; i += step), step > 0, with carried values. body(Scalar i, carried...) -> carry(next...).
template <class... Ts, class Fn>
  requires std::invocable<Fn&, Scalar, Ts...>
std::tuple<Ts...> for_(ScalarArg lo, ScalarArg hi, ScalarArg step, const carry<Ts...>& init, Fn&& body, Loc loc = Loc::current()) {
  detail::Body loop = detail::Body::forLoop(lo, hi, step, detail::Returned<carry<Ts...>>::handles(init), loc);
  const detail::Handles arguments = loop.arguments();
  auto call = [&] {
    return std::apply([&](const Ts&... carried) { return body(Scalar(arguments[0]), carried...); }, detail::unpack<Ts...>(arguments, 1));
  };
  return detail::unpack<Ts...>(loop.finish(detail::run(call)));
}

/// The same with nothing carried: the body works through stores.
template <class Fn>
  requires std::invocable<Fn&, Scalar>
void for_(ScalarArg lo, ScalarArg hi, ScalarArg step, Fn&& body, Loc loc = Loc::current()) {
  detail::Body loop = detail::Body::forLoop(lo, hi, step, {}, loc);
  const Scalar i(loop.arguments()[0]);
  loop.finish(detail::run([&] { return body(i); }));
}

/// Repeats the body while condition(carried...) gives true (i1). body(carried...) -> carry(next...).
template <class... Ts, class Condition, class Fn>
  requires(std::invocable<Condition&, Ts...> && std::invocable<Fn&, Ts...>)
std::tuple<Ts...> while_(const carry<Ts...>& init, Condition&& condition, Fn&& body, Loc loc = Loc::current()) {
  detail::Body loop = detail::Body::whileLoop(detail::Returned<carry<Ts...>>::handles(init), loc);
  loop.next(detail::run([&] { return std::apply(condition, detail::unpack<Ts...>(loop.arguments())); }));
  return detail::unpack<Ts...>(loop.finish(detail::run([&] { return std::apply(body, detail::unpack<Ts...>(loop.arguments())); })));
}

/// Records both branches; one of them runs. Branches that return values return the same number and types of them.
template <class Then, class Else>
  requires(std::invocable<Then&> && std::invocable<Else&>)
auto if_(ScalarArg condition, Then&& then, Else&& otherwise, Loc loc = Loc::current()) {
  using Tuple = typename detail::Returned<std::remove_cvref_t<std::invoke_result_t<Then&>>>::Tuple;
  detail::Body branch = detail::Body::branch(condition, true, loc);
  branch.next(detail::run(then));
  const detail::Handles results = branch.finish(detail::run(otherwise));
  if constexpr (!std::is_void_v<Tuple>) return detail::UnpackAs<Tuple>::from(results);
}

template <class Then>
  requires std::invocable<Then&>
void if_(ScalarArg condition, Then&& then, Loc loc = Loc::current()) {
  detail::Body branch = detail::Body::branch(condition, false, loc);
  branch.finish(detail::run(then));
}

/// Combines all elements along a dimension, in any order: combine(Scalar a, Scalar b) -> Scalar, associative and commutative.
template <class Fn>
  requires std::invocable<Fn&, Scalar, Scalar>
Tile reduce(const Tile& x, int axis, Fn&& combine, Loc loc = Loc::current()) {
  detail::Body body = detail::Body::combine({x.handle()}, axis, loc);
  const detail::Handles arguments = body.arguments();
  return Tile(body.finish(detail::run([&] { return combine(Scalar(arguments[0]), Scalar(arguments[1])); }))[0]);
}

/// Several tiles of one shape combined together: combine(a0, a1, ..., b0, b1, ...) -> carry(c0, c1, ...).
template <class... Ts, class Fn>
std::tuple<Ts...> reduce(const carry<Ts...>& inputs, int axis, Fn&& combine, Loc loc = Loc::current()) {
  static_assert((std::same_as<Ts, Tile> && ...), "reduce combines tiles");
  detail::Body body = detail::Body::combine(detail::Returned<carry<Ts...>>::handles(inputs), axis, loc);
  const detail::Handles arguments = body.arguments();
  auto call = [&]<std::size_t... I>(std::index_sequence<I...>) { return combine(Scalar(arguments[I])...); };
  return detail::unpack<Ts...>(body.finish(detail::run([&] { return call(std::make_index_sequence<2 * sizeof...(Ts)>{}); })));
}

/// Where the condition (i1) holds: what `exact` returns. Elsewhere either side is right, which is the author's promise,
/// so the compiler may branch as coarsely as it likes. For what is almost never needed: `exact` costs nothing until it is.
template <class Fn, class... Usual>
  requires(std::invocable<Fn&> && sizeof...(Usual) > 0)
auto select_lazy(AnyArg condition, Fn&& exact, const Usual&... usual) {
  detail::Body body = detail::Body::selectLazy(condition, {AnyArg(usual, condition.loc)...});
  const detail::Handles results = body.finish(detail::run(exact));
  if constexpr (sizeof...(Usual) == 1)
    return (detail::Stored<Usual>(results[0]), ...);
  else
    return detail::unpack<detail::Stored<Usual>...>(results);
}

}  // namespace fattn::dsl

#endif
