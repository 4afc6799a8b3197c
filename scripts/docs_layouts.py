# SPDX-License-Identifier: Apache-2.0
"""Keeps the printed examples of docs/layouts.md what the tool prints: docs_layouts.py [--check] TOOL [PAGE]

A code block whose first line is `$ fattn-layout ARGUMENTS` holds the output of that command. Without --check the blocks are written
anew; with it the exit status is 1, and the difference is shown, when one is not current."""
import difflib
import pathlib
import re
import shlex
import subprocess
import sys

arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
tool = arguments[0]
page = pathlib.Path(arguments[1]) if len(arguments) > 1 else pathlib.Path(__file__).resolve().parent.parent / "docs" / "layouts.md"
old = page.read_text()
blocks = 0


def current(block):
    global blocks
    blocks += 1
    command = block.group(1)
    done = subprocess.run([tool, *shlex.split(command)[1:]], capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).rstrip().splitlines()
    return "```\n$ " + command + "\n" + "\n".join(line.rstrip() for line in lines) + "\n```"


new = re.sub(r"^```\n\$ (fattn-layout[^\n]*)\n.*?^```", current, old, flags=re.S | re.M)
if blocks == 0:
    sys.exit(f"{page}: no block begins with `$ fattn-layout`")
if "--check" not in sys.argv:
    page.write_text(new)
elif new != old:
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "docs/layouts.md", "what fattn-layout prints"))
    sys.exit("docs/layouts.md is not current: run python3 scripts/docs_layouts.py build/bin/fattn-layout and commit what it writes")
else:
    print(f"{blocks} examples are current")
