#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention of fattn, forward or backward, beside PyTorch's back ends: one process, the same tensors, in turns.

    tools/peers/peers.py --shape 1,8,2048,64 --dtype f32,bf16 --causal both --threads 2
    tools/peers/peers.py --target cuda --shape 4,16,4096,128 --dtype bf16 --peers flash,cudnn --json -
    tools/peers/peers.py --pass backward --shape 1,8,1024,64 --threads 1

fattn is called through its C interface (fattn/c_api.h, libfattn_c.so). A shape is B,Hq[:Hkv],Sq[:Skv],D. First both results are compared;
results that differ end the program with status 1, before anything is timed. Then each peer is measured in rounds of four legs: ours, peer, peer, ours, all hot.
A leg is one call that is not counted (it pays for the switch, such as for the other library's threads that still spin) and then calls
for --leg-ms. Reported: medians over all calls of all rounds (on a GPU: over all legs, between events on the stream, since single calls
are shorter than what a clock on the host resolves); ratio = peer's time / our time, above 1 where fattn is faster. PyTorch allocates its
result in each call, ours is allocated before. PyTorch is used for this measurement only.
Exit status: 0, 1 a failure or different results, 2 wrong usage, 3 unsupported configuration, 4 no device.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import sys

import fattn_c

BACKENDS = ["flash", "cudnn", "efficient", "math"]
TYPES = ["f32", "f16", "bf16"]


class Shape:
    def __init__(self, text):
        found = re.fullmatch(r"(\d+),(\d+)(?::(\d+))?,(\d+)(?::(\d+))?,(\d+)", text)
        if not found:
            raise argparse.ArgumentTypeError(f"'{text}' is not of the form B,Hq[:Hkv],Sq[:Skv],D")
        self.text = text
        b, hq, hkv, sq, skv, d = (int(part) if part else None for part in found.groups())
        self.b, self.hq, self.hkv, self.sq, self.skv, self.d = b, hq, hkv or hq, sq, skv or sq, d
        if min(self.b, self.hq, self.hkv, self.sq, self.skv, self.d) < 1 or self.hq % self.hkv:
            raise argparse.ArgumentTypeError(f"'{text}': sizes must be at least 1, and Hq a multiple of Hkv")

    def flops(self, causal):
        pairs = self.sq * (self.sq + 1) / 2 if causal else self.sq * self.skv
        return 4 * self.b * self.hq * self.d * pairs


def list_of(choices):
    def parse(text):
        names = text.split(",")
        for name in names:
            if name not in choices:
                raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(choices)}")
        return names

    return parse


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", action="append", type=Shape, help="B,Hq[:Hkv],Sq[:Skv],D; may be repeated (1,8,2048,64)")
    parser.add_argument("--dtype", type=list_of(TYPES), default=["f32", "bf16"], help="f32, f16, bf16, separated by commas (f32,bf16)")
    parser.add_argument("--causal", choices=["no", "yes", "both"], default="both")
    parser.add_argument("--layout", choices=["bhsd", "bshd"], default="bhsd", help="order of the dimensions in memory")
    parser.add_argument("--pass", dest="what", choices=["forward", "backward", "deterministic"], default="forward",
                        help="forward, the gradients, or the gradients with the same bits each time (forward)")
    parser.add_argument("--target", default="host", help="host, host:avx2 ..., cuda[:N][@CHIP] (host)")
    parser.add_argument("--peers", type=list_of(BACKENDS), help="of flash, cudnn, efficient, math (host: flash; cuda: flash,cudnn)")
    parser.add_argument("--threads", type=int, help="of the host, for both sides (all cores)")
    parser.add_argument("--rounds", type=int, default=5, help="of ours, peer, peer, ours (5)")
    parser.add_argument("--leg-ms", type=float, default=100, help="time of one leg (100)")
    parser.add_argument("--library", default=fattn_c.default_library(), help="libfattn_c.so (%(default)s)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures as JSON; - is the standard output, the table then goes to standard error")
    options = parser.parse_args()
    options.shape = options.shape or [Shape("1,8,2048,64")]
    options.threads = options.threads or len(os.sched_getaffinity(0))
    if not re.fullmatch(r"host(:.*)?|cuda(:\d+)?(@\w+)?", options.target):
        parser.error(f"--target {options.target}: legal are host, host:INSTRUCTIONS, cuda, cuda:NUMBER, and a chip behind an @: cuda@sm_80")
    if options.rounds < 1 or options.threads < 1 or options.leg_ms <= 0:
        parser.error("--rounds, --threads and --leg-ms must be above 0")
    for shape in options.shape:
        if options.causal != "no" and shape.sq != shape.skv:
            parser.error(f"--shape {shape.text}: causal needs Sq = Skv here, because PyTorch aligns the mask at the top left and fattn at the bottom right")
    options.gpu = options.target.startswith("cuda")
    options.peers = options.peers or (["flash", "cudnn"] if options.gpu else ["flash"])
    return options


def line(row):
    head = f"{row['shape']:>20} {row['dtype']:>5} {'yes' if row['causal'] else 'no':>6} {row['peer']:>9}"
    if "unavailable" in row:
        return f"{head}  unavailable: {row['unavailable']}"
    a, b = row["ours"], row["theirs"]
    return f"{head} {a['median_us']:11.1f} {b['median_us']:11.1f} {a['tflops']:9.3f} {b['tflops']:9.3f} {row['ratio']:6.2f}x {row['difference']:9.1e}"


def main():
    options = parse_arguments()
    try:
        import torch

        import measure
    except ImportError as missing:
        print(f"peers.py measures beside PyTorch, which is not installed here ({missing}); pip install torch, a CPU build will do for --target host",
              file=sys.stderr)
        return 1
    if options.gpu and not torch.cuda.is_available():
        print("peers.py: --target cuda: PyTorch sees no CUDA device", file=sys.stderr)
        return 4
    if options.gpu and ":" in options.target:
        torch.cuda.set_device(fattn_c.device_of(options.target))  # events and streams are those of the current device
    library = fattn_c.Library(options.library)
    torch.set_num_threads(options.threads)
    library.set_host_threads(options.threads)
    device = torch.cuda.get_device_name(fattn_c.device_of(options.target)) if options.gpu else next(d["description"] for d in library.devices() if d["kind"] == "host")
    table = sys.stderr if options.json == "-" else sys.stdout
    print(f"fattn {library.version}, PyTorch {torch.__version__}, {device}, {options.layout}, {options.what}, " +
          f"medians of {options.rounds} rounds of ours, peer, peer, ours", file=table)
    print(f"{'shape':>20} {'dtype':>5} {'causal':>6} {'peer':>9} {'fattn us':>11} {'peer us':>11} {'TFLOP/s':>9} {'peer':>9} {'ratio':>7} {'differ':>9}", file=table)
    clock, rows = measure.Clock(options.gpu, options.leg_ms), []
    for shape in options.shape:
        for dtype in options.dtype:
            for causal in {"no": [False], "yes": [True], "both": [False, True]}[options.causal]:
                kind = measure.Problem if options.what == "forward" else measure.Gradients
                problem = kind(library, options, shape, dtype, causal)
                for peer in options.peers:
                    try:
                        rows.append(problem.compare(clock, peer, options.rounds))
                    except measure.Different as error:
                        print(f"peers.py: {error}", file=sys.stderr)
                        return 1
                    print(line(rows[-1]), file=table, flush=True)
    if options.json:
        result = {"fattn": library.version, "torch": torch.__version__, "device": device, "machine": platform.node(), "target": options.target,
                  "threads": None if options.gpu else options.threads, "layout": options.layout, "pass": options.what, "rounds": options.rounds, "leg_ms": options.leg_ms,
                  "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "rows": rows}
        text = json.dumps(result, indent=1) + "\n"
        if options.json == "-":
            sys.stdout.write(text)
        else:
            pathlib.Path(options.json).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except fattn_c.FattnError as error:
        print(f"peers.py: {error}", file=sys.stderr)
        sys.exit({fattn_c.STATUS_UNSUPPORTED: 3, fattn_c.STATUS_NO_DEVICE: 4}.get(error.status, 1))
