// SPDX-License-Identifier: Apache-2.0
// Manual pages and completions of a small tool with every kind of option.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "tools/common/Manual.h"

namespace fattn::tool {
namespace {

struct Sample {
  CLI::App app{"Does things, and more of them. Well.", "fattn-x"};
  std::string text;
  bool flag = false;

  Sample() {
    app.add_option("file", text, "what to read")->type_name("FILE")->required();
    app.add_option("--mode", text, "how: [fast] or 'slow'")->type_name("fast|slow")->group("Work");
    app.add_option("-o,--output", text, ".hidden folder\\name")->type_name("DIR")->group("Work");
    app.add_option("--secret", text, "for the build only")->group("");
    app.add_flag("--flag", flag, "a flag");
    app.footer("\nExamples:\n  fattn-x a\n      reads a\n\nExit codes: 0 success.");
  }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Manual, HasTheSectionsOfAManPage) {
  const std::string page = manPage(Sample().app);
  EXPECT_TRUE(page.starts_with(".TH FATTN\\-X 1 \"\" \"fattn ")) << page;
  EXPECT_TRUE(has(page, ".SH NAME\nfattn\\-x \\- does things\n")) << page;
  EXPECT_TRUE(has(page, ".SH SYNOPSIS\n.B fattn\\-x\n[\\fIOPTIONS\\fR]\n\\fIFILE\\fR\n")) << page;
  EXPECT_TRUE(has(page, ".SS Work\n.TP\n\\fB\\-\\-mode\\fR \\fIfast|slow\\fR\n")) << page;
  EXPECT_TRUE(has(page, "\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIDIR\\fR\n\\&.hidden folder\\ename\n")) << "a dot is no request: " << page;
  EXPECT_TRUE(has(page, ".SH EXAMPLES\n.nf\n  fattn\\-x a\n")) << page;
  EXPECT_TRUE(has(page, ".fi\n.SH EXIT STATUS\n0 success.\n")) << page;
  EXPECT_TRUE(has(page, "NO_COLOR")) << page;
  EXPECT_FALSE(has(page, "secret")) << page;
  EXPECT_LT(page.find(".SS Arguments"), page.find(".SS Work"));
  EXPECT_LT(page.find(".SS Work"), page.find(".SS General"));
}

TEST(Completion, OffersOptionsValuesAndPaths) {
  const Sample sample;
  const std::string bash = bashCompletion(sample.app), zsh = zshCompletion(sample.app), fish = fishCompletion(sample.app);
  EXPECT_TRUE(has(bash, "--mode) COMPREPLY=($(compgen -W 'fast slow' -- \"$word\")); return ;;")) << bash;
  EXPECT_TRUE(has(bash, "-o|--output) COMPREPLY=($(compgen -d -- \"$word\")); return ;;")) << bash;
  EXPECT_TRUE(has(bash, "compgen -f -W '-h --help --mode -o --output --flag'")) << bash;
  EXPECT_TRUE(has(zsh, R"('--mode[how\: \[fast\] or '\''slow'\'']:fast|slow:(fast slow)')")) << zsh;
  EXPECT_TRUE(has(zsh, "'*:file:_files'")) << zsh;
  EXPECT_TRUE(has(fish, R"(complete -c fattn-x -l mode -x -a 'fast slow' -d 'how: [fast] or '\''slow'\''')")) << fish;
  EXPECT_TRUE(has(fish, "complete -c fattn-x -l flag -d 'a flag'")) << fish;
  for (const std::string& text : {bash, zsh, fish}) EXPECT_FALSE(has(text, "secret")) << text;
}

TEST(Completion, KnowsCommandsWithinCommands) {
  CLI::App app("Tends.", "fattn-y");
  CLI::App* cache = app.add_subcommand("cache", "looks after the cache");
  bool all = false;
  cache->add_subcommand("ls", "lists it")->add_flag("--all", all, "all of it");
  const std::string bash = bashCompletion(app), zsh = zshCompletion(app), fish = fishCompletion(app);
  EXPECT_TRUE(has(bash, "' cache'|' cache ls') path+=")) << bash;
  EXPECT_TRUE(has(bash, "    ' cache ls')\n")) << bash;
  EXPECT_TRUE(has(zsh, "_fattn_y_cache_ls() {")) << zsh;
  EXPECT_TRUE(has(zsh, "'ls:lists it'")) << zsh;
  EXPECT_TRUE(has(fish, "complete -c fattn-y -n 'not __fish_seen_subcommand_from cache' -a cache -d 'looks after the cache'")) << fish;
  EXPECT_TRUE(has(fish, "-n '__fish_seen_subcommand_from cache; and __fish_seen_subcommand_from ls' -l all -d 'all of it'")) << fish;
  EXPECT_TRUE(has(manPage(app), ".SH FATTN\\-Y CACHE LS\n")) << manPage(app);
}

TEST(Generate, IsTheWholeCommandLineOrNothing) {
  const Sample sample;
  EXPECT_EQ(generate(sample.app, {"--generate", "man"}), manPage(sample.app));
  EXPECT_EQ(generate(sample.app, {"--generate", "bash"}), bashCompletion(sample.app));
  EXPECT_EQ(generate(sample.app, {"--generate", "zsh"}), zshCompletion(sample.app));
  EXPECT_EQ(generate(sample.app, {"--generate", "fish"}), fishCompletion(sample.app));
  EXPECT_FALSE(generate(sample.app, {"--generate", "tcsh"}));
  EXPECT_FALSE(generate(sample.app, {"--generate"}));
  EXPECT_FALSE(generate(sample.app, {"file", "--generate", "man"}));
}

}  // namespace
}  // namespace fattn::tool
