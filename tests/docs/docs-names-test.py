# SPDX-License-Identifier: Apache-2.0
"""scripts/docs_names.py on a small repository of its own: what is there passes, and each kind of name that is not is reported with its line."""
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import docs_names

PERFORMANCE = """# Performance

| what | how fast | more |
|---|---|---|
| attention | 2.31 to 5.38 times | [table](#the-host) |

## The host

| f32 | 2.31 |
| bf16 | 5.38 |
"""
GOOD = """# Tools

`fattn-dump --emit tile` calls `compile()` and `-tile-fold`; `FATTN_CACHE_DIR`, `random-test`, `Suite.Name`, `x-test --gtest_filter=A`.
It is 2.31 times as fast as [the other](docs/performance.md#the-host), at [the top](#tools).
"""
CODE = {
    "tools/fattn-dump/Options.cpp": 'app.add_option("--emit");',
    "tools/fattn-run/Options.cpp": 'app.add_option("--bench");',
    "kernels/Compile.cpp": 'Kernel compile(); getenv("FATTN_CACHE_DIR"); StringRef pass() { return "tile-fold"; }',
    "tests/CMakeLists.txt": "fattn_test(random-test) fattn_test(x-test)",
    "tests/Test.cpp": "TEST(Suite, Name) {}",
}
# An edit of the good page or of the performance page, and what has to be said of it.
BROKEN = [
    ("--emit tile", "--emits tile", "README.md:3: option --emits of fattn-dump"),
    ("--emit tile", "--bench tile", "README.md:3: option --bench of fattn-dump"),
    ("compile()", "recompile()", "README.md:3: function recompile()"),
    ("-tile-fold", "-tile-unfold", "README.md:3: pass -tile-unfold"),
    ("FATTN_CACHE_DIR", "FATTN_CACHE_FOLDER", "README.md:3: variable FATTN_CACHE_FOLDER"),
    ("random-test", "drawn-test", "README.md:3: test drawn-test"),
    ("Suite.Name", "Suite.Other", "README.md:3: test Suite.Other"),
    ("#the-host", "#the-guest", "README.md:4: section docs/performance.md#the-guest"),
    ("#tools", "#tool", "README.md:4: section #tool"),
    ("It is 2.31", "It is 2.13", "README.md:4: figure 2.13, which the first table of docs/performance.md does not have"),
    ("| bf16 | 5.38 |", "| bf16 | 5.83 |", "docs/performance.md:5: figure 5.38, which its section does not have"),
]


def said(edit=None):
    files = {**CODE, "README.md": GOOD, "docs/performance.md": PERFORMANCE}
    if edit:
        old, new = edit
        changed = "docs/performance.md" if old in PERFORMANCE and old not in GOOD else "README.md"
        assert old in files[changed], old
        files[changed] = files[changed].replace(old, new)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return list(docs_names.Names(folder, list(files)).missing())


failures = 0
for edit, expected in [(None, []), *[((old, new), [message]) for old, new, message in BROKEN]]:
    if (found := said(edit)) != expected:
        print(f"{edit}: expected {expected}, found {found}")
        failures += 1
print(f"{len(BROKEN) + 1 - failures} of {len(BROKEN) + 1} cases as expected")
sys.exit(failures != 0)
