# SPDX-License-Identifier: Apache-2.0
# How lit runs the files below this folder: the tools of this build and FileCheck come first in PATH.
import os

import lit.formats

config.name = "fattn"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
tools = [os.path.join(config.fattn_binary_dir, "bin"), config.filecheck_dir]
config.environment["PATH"] = os.pathsep.join(tools + [config.environment["PATH"]])
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.substitutions.append(("%docs", os.path.join(config.fattn_source_dir, "docs")))
