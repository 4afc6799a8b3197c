#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a reference page made of ODS descriptions: `docs_reference.py dialect NAME FILE.td` or `docs_reference.py passes`.

mlir-tblgen writes the text. Here an index is put before it, and what tells a reader nothing is left out: C++ names of operations, and the
traits and interfaces by which MLIR's own passes know them.
"""
import functools
import os
import pathlib
import re
import subprocess
import sys

# The folders of passes in the order in which compilations run them.
PASSES = [
    ("compiler/transforms", "On tiles, for every target"),
    ("compiler/cpu", "For the host"),
    ("compiler/gpu/passes", "On the tiles of a block, for every GPU"),
    ("compiler/gpu/check", "The check of a block's order"),
    ("compiler/gpu/lower", "On the program of a thread, for every GPU"),
    ("compiler/nvidia", "On the program of a thread, for NVIDIA"),
    ("compiler/amd", "On the program of a thread, for AMD"),
]
PASSES_INTRO = """<!-- Written by scripts/docs from the Passes.td of each folder; edit those. -->

# Passes

Every pass of the compiler with its options. `fattn-opt FILE.mlir -PASS="option=value ..."` runs one, `fattn-opt --help` lists them with those of MLIR,
`fattn-dump --after PASS` shows a kernel as a pass leaves it. Passes stand in the order of their pipeline; the pipelines themselves are in
`compiler/cpu/Pipeline.cpp`, `compiler/gpu/pipeline/BlockPipeline.cpp`, `compiler/nvidia/Pipeline.cpp` and `compiler/amd/Pipeline.cpp`. How a pass works, with IR
before and after, stands in its source file.
"""


@functools.cache
def llvm(what):
    return subprocess.run(["llvm-config-22", what], check=True, capture_output=True, text=True).stdout.strip()


def tblgen(*arguments):
    command = [os.path.join(llvm("--bindir"), "mlir-tblgen"), *arguments, "-I", ".", "-I", llvm("--includedir")]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+$", "", text.replace("[TOC]\n", ""), flags=re.M))


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def source_of(folder, name):
    """The file of a pass: its class's name, where that ends in Pass the file may leave it out."""
    found = {path.name: path for path in pathlib.Path(folder).rglob("*.cpp")}
    return found.get(f"{name}.cpp") or found[f"{name.removesuffix('Pass')}.cpp"]


def with_defaults(entry, declared):
    """Options with the defaults that are literals."""
    for name, default in re.findall(r'Option<"\w+", "([\w-]+)", "[\w:]+", "((?:\\.|[^"\\])*)"', declared):
        if literal := re.fullmatch(r'\d+|true|false|\\"(.*)\\"', default):
            entry = re.sub(rf"^(-{name} +: .*)$", rf"\1 ({literal[1] or default})", entry, flags=re.M)
    return entry


def passes():
    index, text = [], []
    for folder, title in PASSES:
        declarations = pathlib.Path(folder, "Passes.td")
        generated = tblgen("-gen-pass-doc", str(declarations))
        entries = {entry[1]: entry[0] for entry in re.findall(r"(### `-([\w-]+)`\n.*?)(?=\n### `-|\Z)", generated, re.S)}
        index.append(f"\n**{title}** (`{folder}`)\n\n| pass | |\n|---|---|\n")
        text.append(f"\n## {title}\n")
        for name, argument, declared in re.findall(r'^def (\w+) : Pass<"([\w-]+)"(.*?)^}$', declarations.read_text(), re.M | re.S):
            entry = with_defaults(entries[argument], declared).replace("#### Options\n", "Options:\n").strip()
            summary = re.search(r"^_(.*)_$", entry, re.M)[1]
            source = source_of(folder, name)
            index.append(f"| [`-{argument}`](#{anchor(f'`-{argument}`')}) | {summary} |\n")
            text.append(f"\n{entry}\n\nSource: [{source.name}](../{source})\n")
    return PASSES_INTRO + "".join(index) + "".join(text)


def row(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(entry):
    """Attributes, operands and results of an operation as the rows of one table."""
    rows = []
    for kind, body in re.findall(r"#+ (Attributes|Operands|Results):\n\n(.*?)(?=\n#+ |\Z)", entry, re.S):
        if kind == "Attributes":
            cells = re.findall(r"<tr><td><code>(.*?)</code></td><td>.*?</td><td>(.*?)</td></tr>", body, re.S)
            cells = [(f"`{name}`", re.sub(r"<details>.*?</details>", "", text, flags=re.S)) for name, text in cells]
        else:
            cells = [row(line)[:2] for line in body.strip().splitlines()[2:] if line.startswith("|")]
        rows += [f"| {kind[:-1].lower()} | {name} | {' '.join(text.split())} |" for name, text in cells]
    return "| | | |\n|---|---|---|\n" + "\n".join(rows) + "\n" if rows else ""


def operation(entry, level):
    heading, body = entry.split("\n", 1)
    heading = re.sub(r" \(::.*\)$", "", heading.lstrip("#"))
    parts = re.split(r"^#+ (?:Attributes|Operands|Results):\n", body, maxsplit=1, flags=re.M)
    text = re.sub(r"^(?:Traits|Interfaces|Effects): .*\n+", "", parts[0], flags=re.M).strip()
    return f"{'#' * level}{heading}\n\n{text}\n\n{tables(body)}".rstrip() + "\n"


def topics_of(file):
    """Titles of the topics as the ODS files of the folder declare them, which is the order of the page."""
    text = "".join(path.read_text() for path in sorted(pathlib.Path(file).parent.glob("*.td")))
    return re.findall(r'_Topic<"(.*?)"', text)


def others_of(text, file):
    """Types, attributes and enumerations of this folder: without the C++ types of parameters, the cases of an enumeration in one line."""
    if text.startswith("## Enums"):
        declared = "".join(path.read_text() for path in pathlib.Path(file).parent.glob("*.td"))
        entries = [entry for entry in re.split(r"^(?=### )", text, flags=re.M)[1:]
                   if re.search(rf'EnumAttr<"{re.match("### (.*)", entry)[1]}"', declared)]
        text = "## Enums\n\n" + "".join(entries) if entries else ""
    text = re.sub(r"#### Parameters:\n\n(?:\|.*\n?)+\n*", "", text)
    text = re.sub(r"Syntax:\n\n```\n[^`]*::mlir::[^`]*```\n\n", "", text)

    def cases(table):
        return "Cases: " + ", ".join(f"`{row(line)[2]}`" for line in table[1].strip().splitlines()[2:]) + ".\n"

    return re.sub(r"#### Cases:\n\n((?:\|.*\n?)+)", cases, text)


def dialect(name, file):
    generated = tblgen("-gen-dialect-doc", f"-dialect={name}", file)
    intro, rest = generated.split("\n## Operations\n", 1)
    operations, *others = re.split(r"^(?=## )", rest, maxsplit=1, flags=re.M)
    index, text = [], []
    topics = topics_of(file)
    groups = re.split(r"^(?=### (?!`))", operations, flags=re.M)[1:]
    for group in sorted(groups, key=lambda group: topics.index(re.match("### (.*)", group)[1])):
        title, body = group.removeprefix("### ").split("\n", 1)
        about, *entries = re.split(r"^(?=#### `)", body, flags=re.M)
        names = []
        for entry in entries:
            heading, summary = re.match(r"#### (`.*?`).*\n\n_(.*)_", entry).groups()
            names.append(f"| [{heading}](#{anchor(heading)}) | {summary} |\n")
        index.append(f"\n**[{title}](#{anchor(title)})**\n\n| operation | |\n|---|---|\n{''.join(names)}")
        text.append(f"\n## {title}\n\n{about.strip()}\n\n" + "\n".join(operation(entry, 3) for entry in entries))
    if re.search(r"^### `", operations, re.M):
        sys.exit(f"{file}: an operation belongs to no topic; put it under a `let opDocGroup`")
    intro = intro.replace("<!-- Autogenerated by mlir-tblgen; don't manually edit -->",
                          "<!-- Written by scripts/docs from the descriptions in the ODS files; edit those. -->")
    return f"{intro.strip()}\n\n## Operations by topic\n{''.join(index)}{''.join(text)}\n" + "".join(others_of(text, file) for text in re.split(r"^(?=## )", "".join(others), flags=re.M))


if __name__ == "__main__":
    page = passes() if sys.argv[1] == "passes" else dialect(*sys.argv[2:])
    print(re.sub(r"\n{3,}", "\n\n", page).strip())
