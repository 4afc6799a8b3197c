#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention of packed sequences, and its gradients, beside PyTorch.

    tools/peers/varlen.py --shape 8,64 --cu-seqlens 0,100,2148,2200,3500,4096 --pass backward --causal both
    tools/peers/varlen.py --shape 16,128 --cu-seqlens 0,4096,8192,16384 --dtype bf16 --target cuda --pass forward,backward

A shape is Hq[:Hkv],D; queries and keys have the same sequences. The peer is torch.nn.attention.varlen.varlen_attn with --target cuda, and
scaled_dot_product_attention of one sequence after the other on the host, or with --peer sequences. fattn is called through its C interface;
results are compared first, and ones that differ end the program with status 1. Both are measured in rounds of four legs: ours, theirs, theirs,
ours. Figures count 2 (D + Dv) operations for each pair of a query and a key that it sees, 2.5 times as many for gradients.
Exit status: 0, 1 a failure or different results, 2 wrong usage, 3 unsupported configuration, 4 no device.
"""
import argparse
import inspect
import itertools
import json
import os
import statistics
import sys

import fattn_c

TYPES = ["f32", "f16", "bf16"]
PASSES = ["forward", "backward", "deterministic"]


def parse_arguments():
    from peers import list_of

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", action="append", type=parse_shape, help="Hq[:Hkv],D; may be repeated (8,64)")
    parser.add_argument("--cu-seqlens", action="append", type=parse_begins, help="where sequences begin, and the last one ends; may be repeated")
    parser.add_argument("--pass", dest="passes", type=list_of(PASSES), default=["forward"], help="forward, backward, deterministic (forward)")
    parser.add_argument("--dtype", type=list_of(TYPES), default=["f32", "bf16"], help="f32, f16, bf16, separated by commas (f32,bf16)")
    parser.add_argument("--causal", choices=["no", "yes", "both"], default="no", help="mask keys after the query (no)")
    parser.add_argument("--peer", choices=["varlen_attn", "sequences"], help="of PyTorch (varlen_attn on a GPU, else sequences)")
    parser.add_argument("--target", default="host", help="host, host:avx2 ..., cuda[:N][@CHIP] (host)")
    parser.add_argument("--threads", type=int, help="of the host, for both sides (all cores)")
    parser.add_argument("--rounds", type=int, default=5, help="of ours, theirs, theirs, ours (5)")
    parser.add_argument("--leg-ms", type=float, default=100, help="time of one leg (100)")
    parser.add_argument("--library", default=fattn_c.default_library(), help="libfattn_c.so (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args()
    options.shape = options.shape or [parse_shape("8,64")]
    options.cu_seqlens = options.cu_seqlens or [[0, 100, 2148, 2200, 3500, 4096]]
    options.threads = options.threads or len(os.sched_getaffinity(0))
    options.gpu = options.target.startswith("cuda")
    options.peer = options.peer or ("varlen_attn" if options.gpu else "sequences")
    if options.rounds < 1 or options.threads < 1 or options.leg_ms <= 0:
        parser.error("--rounds, --threads and --leg-ms must be above 0")
    if options.peer == "varlen_attn" and not options.gpu:
        parser.error("--peer varlen_attn is for --target cuda")
    return options


def parse_shape(text):
    try:
        heads, d = text.split(",")
        hq, _, hkv = heads.partition(":")
        shape = [int(number) for number in (hq, hkv or hq, d)]
    except ValueError:
        shape = [0]
    if min(shape) < 1 or shape[0] % shape[1]:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form Hq[:Hkv],D with Hq a multiple of Hkv")
    return shape


def parse_begins(text):
    try:
        begins = [int(number) for number in text.split(",")]
    except ValueError:
        begins = []
    if len(begins) < 2 or begins[0] != 0 or sorted(begins) != begins or begins[-1] == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not 0 and then integers that do not fall")
    return begins


class Problem:
    """The same operands for both, and how each computes from them."""

    def __init__(self, library, options, shape, begins, dtype, causal, what):
        import torch

        import measure

        self.torch, self.begins, self.causal, self.peer = torch, begins, causal, options.peer
        hq, hkv, d = shape
        device = torch.device(fattn_c.device_of(options.target) if options.gpu else "cpu")
        torch.manual_seed(0)
        make = lambda heads: torch.randn((begins[-1], heads, d), device=device).to(measure.TYPES[dtype])
        self.q, self.k, self.v, self.dout = make(hq), make(hkv), make(hkv), make(hq)
        self.o = torch.full_like(self.q, float("nan"))
        self.lse = torch.full((begins[-1], hq), float("nan"), device=device)
        self.cu = torch.tensor(begins, dtype=torch.int32, device=device)
        self.longest = max(b - a for a, b in itertools.pairwise(begins))
        self.flops = 4.0 * hq * d * sum((n * (n + 1) / 2 if causal else n * n) for n in (b - a for a, b in itertools.pairwise(begins)))
        stream = torch.cuda.current_stream(device).cuda_stream if options.gpu else None
        names = {torch.int32: "i32"} | {measure.TYPES[name]: name for name in measure.TYPES}
        view = lambda t: fattn_c.Tensor.of(t.data_ptr(), names[t.dtype], t.shape, t.stride())
        args = {name: view(getattr(self, name)) for name in ("q", "k", "v", "o", "lse")} | {"cu_q": view(self.cu), "cu_k": view(self.cu), "max_q": self.longest}
        kernel = library.compile_varlen(dtype=dtype, head_dim=d, causal=causal, target=options.target)
        self.ours, self.tile = kernel.prepare(stream, **args), kernel.info()["tile"]
        self.results, self.theirs, self.differ = [self.o], self.forward, lambda found: measure.difference(self.o, found)
        if what != "forward":
            self.ours()
            self.results = [torch.full_like(t, float("nan")) for t in (self.q, self.k, self.v)]
            kernel = library.compile_backward(dtype=dtype, head_dim=d, causal=causal, target=options.target, packed=True, deterministic=what == "deterministic")
            args |= {"dout": view(self.dout), "max_k": self.longest} | {name: view(t) for name, t in zip(("dq", "dk", "dv"), self.results)}
            self.workspace = torch.empty(kernel.workspace(**args) // 4 + 1, device=device)
            self.ours = kernel.prepare(stream, **args, workspace=self.workspace.data_ptr(), workspace_bytes=self.workspace.numel() * 4)
            self.tile, self.flops = kernel.info()["dkdv"]["tile"], 2.5 * self.flops
            self.leaves = [t.detach().requires_grad_() for t in (self.q, self.k, self.v)]
            self.kept = self.attention(*self.leaves)
            self.theirs = lambda: torch.autograd.grad(self.kept, self.leaves, self.dout, retain_graph=True)
            self.differ = lambda found: measure.difference_of_gradients(self.results, found)

    def forward(self):
        return self.attention(self.q, self.k, self.v)

    def attention(self, q, k, v):
        torch, grouped = self.torch, self.q.shape[1] != self.k.shape[1]
        if self.peer == "sequences":
            row = lambda t, a, b: t[a:b].transpose(0, 1)[None]
            return torch.cat([torch.nn.functional.scaled_dot_product_attention(row(q, a, b), row(k, a, b), row(v, a, b), is_causal=self.causal, enable_gqa=grouped)[0].transpose(0, 1)
                              for a, b in itertools.pairwise(self.begins) if b > a])
        from torch.nn.attention.varlen import varlen_attn

        known = inspect.signature(varlen_attn).parameters
        mask = {"is_causal": self.causal} if "is_causal" in known else {"window_size": (-1, 0) if self.causal else (-1, -1)}
        if grouped and "enable_gqa" not in known:
            k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], dim=1) for t in (k, v))
            grouped = False
        return varlen_attn(q, k, v, self.cu, self.cu, self.longest, self.longest, **mask, **({"enable_gqa": True} if grouped else {}))


def compare(library, options, shape, begins, dtype, causal, what):
    import measure

    problem = Problem(library, options, shape, begins, dtype, causal, what)
    row = {"shape": shape, "cu_seqlens": begins, "dtype": dtype, "causal": causal, "pass": what, "peer": options.peer, "tile": problem.tile}
    clock = measure.Clock(options.gpu, options.leg_ms)
    try:
        expected = problem.theirs()
    except (RuntimeError, ImportError) as error:  # PyTorch has no such kernel for this device or type
        return row | {"unavailable": str(error).splitlines()[0]}
    problem.ours()
    clock.wait()
    whole, worst = problem.differ(expected)
    if whole > measure.TOLERANCE[dtype][0] or worst > measure.TOLERANCE[dtype][1]:
        raise measure.Different(f"{what} {shape} {dtype} causal {causal}: fattn and {options.peer} differ by {whole:.1e}, the worst row by {worst:.1e}")
    ours, theirs = measure.in_turns(clock, problem.ours, problem.theirs, options.rounds)
    return row | {"difference": whole, "ours": measure.summary(ours, problem.flops), "theirs": measure.summary(theirs, problem.flops),
                  "ratio": statistics.median(theirs) / statistics.median(ours)}


def line(row):
    hq, hkv, d = row["shape"]
    head = f"{row['pass']:>13} {row['dtype']:>5} {f'{hq}:{hkv}':>6} {d:>4} {len(row['cu_seqlens']) - 1:>4} {row['cu_seqlens'][-1]:>7} {'yes' if row['causal'] else 'no':>6}"
    if "unavailable" in row:
        return f"{head}  {row['peer']}: {row['unavailable']}"
    tile = ",".join(f"{key}={value}" for key, value in row["tile"].items())
    return f"{head} {row['ours']['median_us']:12.1f} {row['theirs']['median_us']:12.1f} {row['ours']['tflops']:9.3f} {row['ratio']:6.2f}x  {tile}"


def main():
    options = parse_arguments()
    try:
        import torch

        import measure
    except ImportError as missing:
        print(f"varlen.py measures beside PyTorch, which is not installed here ({missing}); pip install torch, a CPU build will do for --target host",
              file=sys.stderr)
        return 1
    if options.gpu and not torch.cuda.is_available():
        print("varlen.py: --target cuda: PyTorch sees no CUDA device", file=sys.stderr)
        return 4
    library = fattn_c.Library(options.library)
    torch.set_num_threads(options.threads)
    library.set_host_threads(options.threads)
    rows = []
    if not options.json:
        print(f"fattn {library.version}, PyTorch {torch.__version__}, {options.target}, {options.threads} threads, medians; peer: {options.peer}")
        print(f"{'pass':>13} {'dtype':>5} {'heads':>6} {'D':>4} {'seqs':>4} {'rows':>7} {'causal':>6} {'fattn us':>12} {'PyTorch us':>12} {'TFLOP/s':>9} {'ratio':>7}  tile")
    masks = {"no": [False], "yes": [True], "both": [False, True]}[options.causal]
    for case in itertools.product(options.shape, options.cu_seqlens, options.dtype, masks, options.passes):
        try:
            rows.append(compare(library, options, *case))
        except measure.Different as error:
            print(f"varlen.py: {error}", file=sys.stderr)
            return 1
        if not options.json:
            print(line(rows[-1]), flush=True)
    if options.json:
        print(json.dumps({"fattn": library.version, "torch": torch.__version__, "target": options.target, "threads": options.threads, "rows": rows}, indent=1))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except fattn_c.FattnError as error:
        print(f"varlen.py: {error}", file=sys.stderr)
        sys.exit({fattn_c.STATUS_UNSUPPORTED: 3, fattn_c.STATUS_NO_DEVICE: 4}.get(error.status, 1))
