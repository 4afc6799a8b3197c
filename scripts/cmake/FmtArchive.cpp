// SPDX-License-Identifier: Apache-2.0
// Debian's fmt comes as a shared library only. Where nothing shared may remain (FATTN_STATIC_LLVM), this file takes its place: the
// functions of format-inl.h, and the templates that fmt's headers expect to be instantiated elsewhere. So all other sources compile as
// they do against the shared library, and what was compiled for one build serves the other.
#include <fmt/format-inl.h>

template fmt::detail::locale_ref::locale_ref(const std::locale&);
template std::locale fmt::detail::locale_ref::get<std::locale>() const;
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl(locale_ref);
template char fmt::detail::decimal_point_impl(locale_ref);
template fmt::detail::dragonbox::decimal_fp<float> fmt::detail::dragonbox::to_decimal(float) noexcept;
template fmt::detail::dragonbox::decimal_fp<double> fmt::detail::dragonbox::to_decimal(double) noexcept;
