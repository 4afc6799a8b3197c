# SPDX-License-Identifier: Apache-2.0
"""Prints every relative link and every `path/in/code/style` of README.md and docs/ that leads to no file of the repository."""
import pathlib
import re

root = pathlib.Path(__file__).resolve().parent.parent
top_level = {entry.name for entry in root.iterdir() if not entry.name.startswith("build")}
for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
    if not page.exists():
        print(f"{page.relative_to(root)}: missing")
        continue
    text = re.sub(r"^```.*?^```", lambda block: "\n" * block.group().count("\n"), page.read_text(), flags=re.S | re.M)
    for number, line in enumerate(text.splitlines(), 1):
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", line):
            if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
                print(f"{page.relative_to(root)}:{number}: link to {target}")
        for path in re.findall(r"`([\w.-]+/[\w./-]*)`", line):
            if path.split("/")[0] in top_level and not (root / path).exists():
                print(f"{page.relative_to(root)}:{number}: path {path}")
