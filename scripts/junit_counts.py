# SPDX-License-Identifier: Apache-2.0
"""Prints the failed and the skipped cases of JUnit reports, and on the last line how many passed and failed.

A skipped case counts as neither: it is named with its reason, so that nobody takes it for a pass.
"""
import sys
import xml.etree.ElementTree as ElementTree

passed = failed = 0
for path in sys.argv[1:]:
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = ".".join(part for part in (case.get("classname"), case.get("name")) if part)
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
            print(f"    failed: {name}")
        elif skipped is not None or case.get("status") in ("notrun", "disabled"):
            reason = (skipped.get("message") if skipped is not None else None) or "no reason given"
            print(f"    skipped: {name} ({reason})")
        else:
            passed += 1
print(passed, failed)
