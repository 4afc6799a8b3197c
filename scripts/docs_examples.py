# SPDX-License-Identifier: Apache-2.0
"""Keeps the examples that docs/kernels.md shows as the files of examples/ are.

Under a link to a file of examples/ on a line of its own stands a block of code. `docs_examples.py` prints the links whose block is not the
file, and the examples that the page does not show; `docs_examples.py --write` writes the blocks anew.
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
page = root / "docs" / "kernels.md"
text = page.read_text()
pattern = re.compile(r"(^\[examples/([\w.-]+)\]\(\.\./examples/[\w.-]+\)\n\n```(\w+)\n)(.*?)(^```$)", re.S | re.M)


def shown(name):
    return "".join(line for line in (root / "examples" / name).read_text().splitlines(True) if "SPDX-License-Identifier" not in line)


found = [match.group(2) for match in pattern.finditer(text)]
if "--write" in sys.argv:
    page.write_text(pattern.sub(lambda match: match.group(1) + shown(match.group(2)) + match.group(5), text))
else:
    for match in pattern.finditer(text):
        if match.group(4) != shown(match.group(2)):
            print(f"examples/{match.group(2)} is not what docs/kernels.md shows; run python3 scripts/docs_examples.py --write")
    for example in sorted((root / "examples").glob("*.c*")):
        if example.name not in found:
            print(f"docs/kernels.md does not show examples/{example.name}")
