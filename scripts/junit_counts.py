# SPDX-License-Identifier: Apache-2.0
"""Prints the failed and the skipped cases of JUnit reports, and on the last line how many passed and failed.

A skipped case counts as neither: it is named with its reason, so that nobody takes it for a pass.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree


def skip_reason(case):
    """Of GoogleTest's cases ctest knows only that they were skipped; why is the line after `FILE:LINE: Skipped` of the output."""
    said = re.search(r": Skipped\n(.+)", case.findtext("system-out") or "")
    skipped = case.find("skipped")
    return said.group(1) if said else (skipped.get("message") if skipped is not None else None) or "no reason given"


passed = failed = 0
for path in sys.argv[1:]:
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = ".".join(part for part in (case.get("classname"), case.get("name")) if part)
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
            print(f"    failed: {name}")
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            print(f"    skipped: {name} ({skip_reason(case)})")
        else:
            passed += 1
print(passed, failed)
