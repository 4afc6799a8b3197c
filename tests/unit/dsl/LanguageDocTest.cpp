// SPDX-License-Identifier: Apache-2.0
// The code of docs/language.md does what the page says.
#include <gtest/gtest.h>

#include <regex>

#include "tests/unit/dsl/Snippets.h"

namespace {

/// The text with every file and line made alike, as the page invents them.
std::string withoutPlaces(const std::string& text) { return std::regex_replace(text, std::regex(R"([\w./-]+:\d+)"), "PLACE"); }

TEST(LanguageDoc, EveryBlockTracesOrFailsAsThePageSays) {
  ASSERT_GT(kSnippets.size(), 15U);
  for (const Snippet& snippet : kSnippets) {
    SCOPED_TRACE("docs/language.md:" + std::to_string(snippet.line));
    try {
      fattn::dsl::trace("snippet", snippet.kernel);
      EXPECT_EQ(snippet.error, "") << "the page says that this throws";
    } catch (const fattn::Error& error) {
      EXPECT_EQ(withoutPlaces(error.what()), withoutPlaces(snippet.error));
      EXPECT_NE(std::string(error.what()).find("docs/language.md:"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
