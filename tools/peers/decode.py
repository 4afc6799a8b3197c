#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decode, one query row against a long cache, beside PyTorch's scaled_dot_product_attention and beside fattn's own forward.

    tools/peers/decode.py --shape 1,32:8,32768,128 --dtype bf16,f32 --threads 2
    tools/peers/decode.py --shape 16,32:8,8192,128 --page-size 16 --threads 1 --least --processor-time
    tools/peers/decode.py --shape 16,32:8,8192,128 --dtype bf16 --target cuda --graph --ragged --balanced

A shape is B,Hq[:Hkv],KEYS,D. fattn is called through its C interface; results are compared first, and ones that differ end the program with status 1.
Each of the others is measured with ours in rounds of four legs: ours, theirs, theirs, ours. With --page-size ours reads the same keys from pages that
lie in random order; the others read them in one piece. Figures are those of the bytes of K and V. With --graph a leg replays a CUDA graph of
many launches, and a kernel that only reads K and V, 16 bytes a load, is measured beside them. With --ragged sequences have random lengths,
those of the figures: the others still read all keys.
Exit status: 0, 1 a failure or different results, 2 wrong usage, 3 unsupported configuration, 4 no device.
"""
import argparse
import json
import os
import statistics
import sys
import time

import fattn_c

TYPES = ["f32", "f16", "bf16"]


def parse_arguments():
    from peers import list_of

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", action="append", type=parse_shape, help="B,Hq[:Hkv],KEYS,D; may be repeated (1,32:8,8192,128)")
    parser.add_argument("--dtype", type=list_of(TYPES), default=["f32", "bf16"], help="f32, f16, bf16, separated by commas (f32,bf16)")
    parser.add_argument("--page-size", type=int, default=0, help="keys of a page of ours (0: no pages)")
    parser.add_argument("--target", default="host", help="host, host:avx2 ..., cuda[:N][@CHIP] (host)")
    parser.add_argument("--threads", type=int, help="of the host, for all sides (all cores)")
    parser.add_argument("--rounds", type=int, default=5, help="of ours, theirs, theirs, ours (5)")
    parser.add_argument("--leg-ms", type=float, default=100, help="time of one leg (100)")
    parser.add_argument("--least", action="store_true", help="report the least times instead of medians, where the machine has other work")
    parser.add_argument("--processor-time", action="store_true", help="of the calling thread, with --threads 1: what other processes take is not counted")
    parser.add_argument("--backend", type=list_of(["flash", "cudnn", "efficient", "math"]), help="of PyTorch's attention (whichever it takes)")
    parser.add_argument("--graph", action="store_true", help="measure launches in CUDA graphs, with --target cuda")
    parser.add_argument("--ragged", action="store_true", help="sequences of 1 to KEYS keys, uniformly random")
    parser.add_argument("--settled-cache", action="store_true", help="ours may read the cache before the launch in front has ended")
    parser.add_argument("--balanced", action="store_true", help="our kernel that shares all keys evenly")
    parser.add_argument("--library", default=fattn_c.default_library(), help="libfattn_c.so (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args()
    options.shape = options.shape or [parse_shape("1,32:8,8192,128")]
    options.threads = options.threads or len(os.sched_getaffinity(0))
    options.gpu = options.target.startswith("cuda")
    if options.rounds < 1 or options.threads < 1 or options.leg_ms <= 0 or options.page_size < 0:
        parser.error("--rounds, --threads and --leg-ms must be above 0, --page-size not below 0")
    if options.graph and not options.gpu:
        parser.error("--graph is for --target cuda")
    if options.processor_time and (options.gpu or options.threads != 1):
        parser.error("--processor-time is that of one thread of the host: give --threads 1")
    return options


def parse_shape(text):
    try:
        b, heads, keys, d = text.split(",")
        hq, _, hkv = heads.partition(":")
        shape = [int(number) for number in (b, hq, hkv or hq, keys, d)]
    except ValueError:
        shape = [0]
    if min(shape) < 1 or shape[1] % shape[2]:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form B,Hq[:Hkv],KEYS,D with Hq a multiple of Hkv")
    return shape


class Problem:
    """The same keys and values for all contestants."""

    def __init__(self, library, options, torch, shape, dtype):
        import measure

        b, hq, hkv, keys, d = shape
        device = torch.device(fattn_c.device_of(options.target) if options.gpu else "cpu")
        torch.manual_seed(0)
        make = lambda *sizes: torch.randn(sizes, device=device).to(measure.TYPES[dtype])
        self.q, self.k, self.v = make(b, hq, 1, d), make(b, hkv, keys, d), make(b, hkv, keys, d)
        self.o = torch.full_like(self.q, float("nan"))
        lengths = torch.randint(1, keys + 1, (b,)) if options.ragged else torch.full((b,), keys)
        self.mask = (torch.arange(keys) < lengths[:, None])[:, None, None, :].to(device) if options.ragged else None
        self.all_bytes = 2.0 * self.k.numel() * self.k.element_size()
        self.bytes = 2.0 * int(lengths.sum()) * hkv * d * self.k.element_size()
        stream = torch.cuda.current_stream(device).cuda_stream if options.gpu else None
        choices = ({"page_size": options.page_size} if options.page_size else {}) | ({"balanced": True} if options.balanced else {}) | ({"settled_cache": True} if options.settled_cache else {})
        kernel = library.compile_decode(dtype=dtype, head_dim=d, rows=hq // hkv, target=options.target, **choices)
        lengths = lengths.to(dtype=torch.int32, device=device)
        k, v, table = (self.k, self.v, None) if not options.page_size else self.paged(torch, options.page_size)
        self.held = lengths, k, v, table
        views = {"q": self.q, "k": k, "v": v, "o": self.o} | ({"lengths": lengths} if options.ragged or options.page_size and keys % options.page_size else {}) | ({} if table is None else {"pages": table})
        names = {torch.int32: "i32"} | {measure.TYPES[name]: name for name in measure.TYPES}
        args = {name: fattn_c.Tensor.of(t.data_ptr(), names[t.dtype], t.shape, t.stride()) for name, t in views.items()}
        self.workspace = torch.empty(kernel.workspace(**args) // 4 + 1, device=device)
        self.counters = torch.zeros(b * hkv, dtype=torch.int32, device=device)
        counters = {"counters": self.counters.data_ptr(), "counter_bytes": self.counters.numel() * 4} if options.balanced else {}
        self.ours = kernel.prepare(stream, **args, **counters, workspace=self.workspace.data_ptr(), workspace_bytes=self.workspace.numel() * 4)
        self.tile = kernel.info()["tile"]
        forward = library.compile(dtype=dtype, head_dim=d, target=options.target)
        view = lambda t: fattn_c.Tensor.of(t.data_ptr(), dtype, t.shape, t.stride())
        self.result = torch.empty_like(self.o)
        self.forward = forward.prepare(view(self.q), view(self.k), view(self.v), view(self.result), stream)

    def paged(self, torch, size):
        b, hkv, keys, d = self.k.shape
        count = (keys + size - 1) // size
        table = torch.randperm(b * count, dtype=torch.int32).reshape(b, count).to(self.k.device)
        pools = []
        for cache in (self.k, self.v):
            pages = torch.nn.functional.pad(cache, (0, 0, 0, count * size - keys)).reshape(b, hkv, count, size, d).transpose(1, 2)
            pool = torch.empty((b * count, hkv, size, d), dtype=cache.dtype, device=cache.device)
            pool[table.flatten().long()] = pages.reshape(b * count, hkv, size, d)
            pools.append(pool)
        return *pools, table


def compare(library, options, torch, F, measure, shape, dtype):
    problem = Problem(library, options, torch, shape, dtype)
    attention = lambda mask=None: F.scaled_dot_product_attention(problem.q, problem.k, problem.v, attn_mask=mask, enable_gqa=shape[1] != shape[2])

    def theirs():
        with measure.sdpa_kernel([measure.BACKENDS[name] for name in options.backend or measure.BACKENDS]):
            return attention()

    clock = measure.Clock(options.gpu, options.leg_ms, *([time.thread_time] if options.processor_time else []))
    expected = attention(problem.mask)
    problem.ours()
    clock.wait()
    whole, worst = measure.difference(problem.o, expected)
    if whole > measure.TOLERANCE[dtype][0] or worst > measure.TOLERANCE[dtype][1]:
        raise measure.Different(f"{shape} {dtype}: fattn and PyTorch differ by {whole:.1e}, the worst row by {worst:.1e}")
    if options.graph:
        return row(problem, shape, dtype, options, whole, **in_graphs(options, problem, theirs))
    middle = min if options.least else statistics.median
    ours, peer = (middle(times) for times in measure.in_turns(clock, problem.ours, theirs, options.rounds))
    again, forward = (middle(times) for times in measure.in_turns(clock, problem.ours, problem.forward, max(1, options.rounds // 2)))
    return row(problem, shape, dtype, options, whole, ours, peer, forward, ratio_forward=forward / again * problem.bytes / problem.all_bytes)


def in_graphs(options, problem, theirs):
    """Seconds of a launch of each, replayed in turns."""
    import graphs

    functions = {"ours": problem.ours, "peer": theirs, "forward": problem.forward, "read": graphs.reader(problem.k, problem.v)}
    if options.ragged:  # the forward has no lengths
        del functions["forward"]
    seconds = graphs.in_turns({name: function for name, function in functions.items() if function}, problem.all_bytes / 4e12, options.rounds)
    return {"forward": None, "read": None} | seconds


def row(problem, shape, dtype, options, difference, ours, peer, forward, read=None, ratio_forward=None):
    speed = lambda seconds, count=problem.all_bytes: None if seconds is None else count / seconds / 1e9
    speeds = {"ours": speed(ours, problem.bytes), "torch": speed(peer), "forward": speed(forward), "read": speed(read)}
    return {"shape": shape, "dtype": dtype, "page_size": options.page_size, "tile": problem.tile, "difference": difference, "ours_us": ours * 1e6} | {
        f"{name}_gb_per_s": value for name, value in speeds.items()} | {"ratio": speeds["ours"] / speeds["torch"], "ratio_forward": ratio_forward or (forward and forward / ours)}


def copy_speed(torch, options, measure):
    """Bytes read and written by a copy, a second."""
    device = torch.device(fattn_c.device_of(options.target) if options.gpu else "cpu")
    source = torch.ones(1 << 28, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    clock = measure.Clock(options.gpu, options.leg_ms, *([time.thread_time] if options.processor_time else []))
    times, _ = measure.in_turns(clock, lambda: target.copy_(source), lambda: target.copy_(source), options.rounds)
    return 2.0 * source.numel() / (min if options.least else statistics.median)(times) / 1e9


def main():
    options = parse_arguments()
    try:
        import torch
        import torch.nn.functional as F

        import measure
    except ImportError as missing:
        print(f"decode.py measures beside PyTorch, which is not installed here ({missing}); pip install torch, a CPU build will do for --target host",
              file=sys.stderr)
        return 1
    if options.gpu and not torch.cuda.is_available():
        print("decode.py: --target cuda: PyTorch sees no CUDA device", file=sys.stderr)
        return 4
    if options.graph:  # a graph is not captured from the default stream
        torch.cuda.set_stream(torch.cuda.Stream(fattn_c.device_of(options.target)))
    library = fattn_c.Library(options.library)
    torch.set_num_threads(options.threads)
    library.set_host_threads(options.threads)
    copy, rows = copy_speed(torch, options, measure), []
    if not options.json:
        print(f"fattn {library.version}, PyTorch {torch.__version__}, {options.target}, {options.threads} threads, {'least times' if options.least else 'medians'}, "
              f"a copy {copy:.1f} GB/s")
        print(f"{'dtype':>5} {'B':>4} {'heads':>6} {'keys':>6} {'D':>4} {'fattn GB/s':>11} {'PyTorch':>9} {'forward':>9} {'read':>8} {'ratio':>7} {'ratio':>7}  tile")
    for shape in options.shape:
        for dtype in options.dtype:
            try:
                found = compare(library, options, torch, F, measure, shape, dtype)
            except measure.Different as error:
                print(f"decode.py: {error}", file=sys.stderr)
                return 1
            rows.append(found)
            if not options.json:
                b, hq, hkv, keys, d = shape
                tile = ",".join(f"{key}={value}" for key, value in found["tile"].items())
                number = lambda name, form, mark="": "-" if found[name] is None else format(found[name], form) + mark
                print(f"{dtype:>5} {b:>4} {f'{hq}:{hkv}':>6} {keys:>6} {d:>4} {found['ours_gb_per_s']:11.2f} {found['torch_gb_per_s']:9.2f} {number('forward_gb_per_s', '.2f'):>9} "
                      f"{number('read_gb_per_s', '.0f'):>8} {found['ratio']:6.2f}x {number('ratio_forward', '.2f', 'x'):>7}  {tile}", flush=True)
    if options.json:
        print(json.dumps({"fattn": library.version, "torch": torch.__version__, "target": options.target, "threads": options.threads, "copy_gb_per_s": copy, "rows": rows}, indent=1))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except fattn_c.FattnError as error:
        print(f"decode.py: {error}", file=sys.stderr)
        sys.exit({fattn_c.STATUS_UNSUPPORTED: 3, fattn_c.STATUS_NO_DEVICE: 4}.get(error.status, 1))
