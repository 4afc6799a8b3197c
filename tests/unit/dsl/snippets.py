# SPDX-License-Identifier: Apache-2.0
"""Makes a C++ file of the code blocks of docs/language.md: snippets.py PAGE OUTPUT.

A block that begins with `void`, `Program` or `#include` at the left margin is taken as it is; any other is the inside of a
function with the values that the page lists. `kSnippets` names every kernel among them, and what it throws, if the page says so.
"""
import re
import sys

page, output = sys.argv[1:]
text = open(page).read()
pattern = re.compile(r"^```(cpp|cpp throws)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.S | re.M)
code = ['// Made from docs/language.md by snippets.py.\n#include "tests/unit/dsl/Snippets.h"\n']
table = []
for block in pattern.finditer(text):
    kind, body, error = block.groups()
    line = text.count("\n", 0, block.start()) + 2
    code.append(f'#line {line} "docs/language.md"\n')
    if re.match(r"(void|Program) ", body):
        code.append(body)
        table += [(name, line, "") for name in re.findall(r"^void (\w+)\(Params& args\)", body, re.M)]
        table += [("[](fattn::dsl::Params&) { " + name + "(); }", line, "") for name in re.findall(r"^(?:void|Program) (\w+)\(\)", body, re.M)]
    elif body.startswith("#include"):
        code.append(body)
    else:
        name = f"fragment_{line}"
        code.append(f"static void {name}(fattn::dsl::Params& args) {{ FATTN_SNIPPET_VALUES\n#line {line} \"docs/language.md\"\n{body}}}\n")
        table.append((name, line, error if kind == "cpp throws" else ""))
code.append("const std::vector<Snippet> kSnippets = {\n")
code += [f'    {{{kernel}, {line}, R"({error.strip()})"}},\n' for kernel, line, error in table]
code.append("};\n")
open(output, "w").write("".join(code))
