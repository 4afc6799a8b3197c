# SPDX-License-Identifier: Apache-2.0
"""Reads the repository's files from standard input, one a line, and prints what README.md and docs/ name that is not there: options of tools
and scripts, functions, passes, tests, environment and build variables, sections that links lead to, and figures of the table that
docs/performance.md begins with which their sections do not have. Files and examples have checks of their own (docs_links.py,
docs_examples.py)."""
import pathlib
import re
import sys

# What the pages name of other people's programs and libraries.
FOREIGN_OPTIONS = ("--benchmark_", "--gtest_")  # how those of Google Benchmark and GoogleTest begin
FOREIGN_FUNCTIONS = {"vfork"}
SHORT_TABLE = "docs/performance.md"


def anchor(heading):
    """A heading's anchor as GitHub makes it."""
    text = re.sub(r"[^\w\- ]", "", heading.strip().lower().replace("`", ""))
    return text.replace(" ", "-")


class Names:
    def __init__(self, root, files):
        self.root = pathlib.Path(root)
        self.pages = {f: (self.root / f).read_text() for f in files if f == "README.md" or re.fullmatch(r"docs/.*\.md", f)}
        sources = [f for f in files if not f.startswith("docs/") and not f.endswith((".md", "docs_names.py", "docs-names-test.py"))]
        self.code = {f: (self.root / f).read_text(errors="ignore") for f in sources if (self.root / f).is_file()}
        self.text = "\n".join(self.code.values())
        self.words = set(re.findall(r"[\w-]+", self.text))

    def has_option(self, option, tool):
        if option.startswith(FOREIGN_OPTIONS):
            return True
        text = self.text
        if tool and tool != "fattn-opt":  # most of fattn-opt's come with MLIR
            folders = (f"tools/{tool}/", f"tools/{tool}-", "tools/common/", "tools/io/")
            text = "\n".join(code for file, code in self.code.items() if file.startswith(folders)) or text
        return re.search(re.escape(option) + r"(?![\w-])", text) is not None

    def has_test(self, suite, name):
        if "*" in suite + name:
            return True
        return re.search(rf"TEST\w*\(\s*{suite},\s*{name}\s*\)", self.text) is not None

    def in_code(self, span):
        """What one piece in code style names."""
        for function in re.findall(r"([A-Za-z_][\w:]*)\(\)", span):
            name = function.split("::")[-1]
            if name not in FOREIGN_FUNCTIONS and not re.search(rf"\b{name}\s*\(", self.text):
                yield f"function {function}()"
        if (test := re.fullmatch(r"([A-Z]\w+)\.([A-Z]\w+)", span)) and not self.has_test(*test.groups()):
            yield f"test {span}"
        for variable in re.findall(r"\bFATTN_[A-Z0-9_]+", span):
            if variable not in self.words:
                yield f"variable {variable}"
        if (found := re.fullmatch(r"-?-?((?:tile|tilegpu|nvidia|amd|cpu)-[a-z0-9-]+)", span)) and f'"{found[1]}"' not in self.text:
            yield f"pass {span}"
        for program in re.findall(r"(?<![\w/.-])([a-z][a-z0-9]*(?:-[a-z0-9]+)*-tests?)(?![\w.-])", span):
            if program not in self.words:
                yield f"test {program}"

    def in_line(self, line):
        for command in re.split(r"`", line):  # pieces in code style and between them
            tool = re.match(r"(?:\S*/)?(fattn-[a-z]+)(?= )", command.lstrip("$ "))
            for option in re.findall(r"(?<![\w-])--[a-z][a-z0-9_-]*[a-z0-9]", command):
                if not self.has_option(option, tool and tool[1]):
                    yield f"option {option}" + (f" of {tool[1]}" if tool else "")
        for span in re.findall(r"`([^`]+)`", line):
            yield from self.in_code(span)

    def anchors(self, page):
        text = re.sub(r"^```.*?^```", "", self.pages[page], flags=re.S | re.M)
        return {anchor(heading) for heading in re.findall(r"^#+ (.*)", text, re.M)}

    def in_links(self, page, line):
        for target, section in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", line):
            where = page if not target else str((pathlib.Path(page).parent / target).as_posix())
            if re.match(r"[a-z]+:", target) or where not in self.pages:
                continue
            if section not in self.anchors(where):
                yield f"section {target}#{section}"

    def sections(self, page):
        found, current = {}, ""
        for line in self.pages[page].splitlines():
            if heading := re.match(r"#+ (.*)", line):
                current = anchor(heading[1])
            found[current] = found.get(current, "") + line + "\n"
        return found

    def in_short_table(self):
        """Each figure of a row stands in the section that the row links to; each of README's in the table."""
        if SHORT_TABLE not in self.pages:
            return
        table = ""
        for number, line in enumerate(self.pages[SHORT_TABLE].splitlines(), 1):
            if table and not line.startswith("|"):
                break
            if link := re.search(r"\]\(([\w.-]*)#([^)]+)\)", line) if line.startswith("|") else None:
                table += line
                page = str((pathlib.Path(SHORT_TABLE).parent / link[1]).as_posix()) if link[1] else SHORT_TABLE
                section = self.sections(page).get(link[2], "") if page in self.pages else ""
                figures = re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)", "", line)
                for figure in re.findall(r"(?<![\w.,-])\d(?:[\d,]*\d)?(?:\.\d+)?(?![\w-])", figures):
                    if not re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d])", section):
                        yield SHORT_TABLE, number, f"figure {figure}, which its section does not have"
        for number, line in enumerate(self.pages.get("README.md", "").splitlines(), 1):
            for low, high in re.findall(r"(\d+\.\d+)(?: to (\d+\.\d+))? times", line):
                for figure in filter(None, (low, high)):
                    if not re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d])", table):
                        yield "README.md", number, f"figure {figure}, which the first table of {SHORT_TABLE} does not have"

    def missing(self):
        for page, text in self.pages.items():
            for number, line in enumerate(text.splitlines(), 1):
                for what in [*self.in_line(line), *self.in_links(page, line)]:
                    yield f"{page}:{number}: {what}"
        for page, number, what in self.in_short_table():
            yield f"{page}:{number}: {what}"


if __name__ == "__main__":
    for line in Names(pathlib.Path(__file__).resolve().parent.parent, sys.stdin.read().split()).missing():
        print(line)
