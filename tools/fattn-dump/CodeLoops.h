// SPDX-License-Identifier: Apache-2.0
// The loops of machine code's text: what branches back to a label that every way there goes through.
#ifndef FATTN_TOOLS_FATTN_DUMP_CODELOOPS_H
#define FATTN_TOOLS_FATTN_DUMP_CODELOOPS_H

#include <string>
#include <vector>

namespace fattn::dump {

/// One line of code: a label, an instruction, or both empty for what is neither.
struct CodeLine {
  std::string label = {};
  std::string target = {};  ///< the label to which the instruction may branch
  bool falls = true;        ///< the next line may follow
};

struct CodeLoop {
  std::string label;       ///< of its head
  std::vector<int> lines;  ///< in the order of the text
};

/// Loops with one head each, the outer ones among them; a loop on a single line is none.
std::vector<CodeLoop> loopsOf(const std::vector<CodeLine>& code);

}  // namespace fattn::dump

#endif
