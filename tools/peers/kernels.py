#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fattn's kernels beside attention, beside PyTorch's: one process, the same tensors, in turns.

    tools/peers/kernels.py --dtype f32,bf16 --threads 2
    tools/peers/kernels.py --kernel gemm,softmax --size 1024 --tune 10

fattn is called through its C interface (fattn/c_api.h, libfattn_c.so). Both results are compared first; results that differ end the program
with status 1. Then both are measured in rounds of four legs: ours, theirs, theirs, ours, as peers.py explains. PyTorch writes into a tensor
that was allocated before, where its function can (gemm, softmax); its norms allocate theirs. gemm is [N, N] x [N, N]; gemm+gelu adds a bias and
GELU, which is addmm and gelu there; the others take rows, [8192, N], or as many as have --elements elements. On a GPU these stand beside a copy
of the same array as well, which is what memory allows: the last figure is ours as a share of the copy's speed.
Exit status: 0, 1 a failure or different results, 2 wrong usage, 3 unsupported configuration, 4 no device.
"""
import argparse
import json
import os
import statistics
import sys
import time

import fattn_c

KERNELS = ["gemm", "gemm-nt", "gemm+gelu", "softmax", "layer-norm", "rms-norm"]
TYPES = ["f32", "f16", "bf16"]
ROWS = 8192
EPS = 1e-5


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default=",".join(KERNELS), help=f"of {', '.join(KERNELS)}, separated by commas (all)")
    parser.add_argument("--dtype", default="f32,bf16", help="f32, f16, bf16, separated by commas (f32,bf16)")
    parser.add_argument("--size", type=int, action="append", help="N; may be repeated (1024)")
    parser.add_argument("--elements", type=int, help="of the arrays of rows: the rows follow from N (8192 rows)")
    parser.add_argument("--target", default="host", help="host, host:avx2 ..., cuda[:N][@CHIP] (host)")
    parser.add_argument("--tune", type=float, metavar="SECONDS", help="tune each problem for so long before it is measured")
    parser.add_argument("--threads", type=int, help="of the host, for both sides (all cores)")
    parser.add_argument("--rounds", type=int, default=5, help="of ours, theirs, theirs, ours (5)")
    parser.add_argument("--leg-ms", type=float, default=100, help="time of one leg (100)")
    parser.add_argument("--least", action="store_true", help="report the least times instead of medians, where the machine has other work")
    parser.add_argument("--processor-time", action="store_true", help="of the calling thread, with --threads 1: what other processes take is not counted")
    parser.add_argument("--library", default=fattn_c.default_library(), help="libfattn_c.so (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args()
    for name, legal in (("kernel", KERNELS), ("dtype", TYPES)):
        chosen = getattr(options, name).split(",")
        for word in chosen:
            if word not in legal:
                parser.error(f"--{name}: '{word}' is none of {', '.join(legal)}")
        setattr(options, name, chosen)
    options.size = options.size or [1024]
    options.threads = options.threads or len(os.sched_getaffinity(0))
    options.gpu = options.target.startswith("cuda")
    if options.elements and options.elements < max(options.size):
        parser.error(f"--elements: {options.elements} are less than a row of {max(options.size)}")
    if min(options.size) < 1 or options.rounds < 1 or options.threads < 1 or options.leg_ms <= 0:
        parser.error("--size, --rounds, --threads and --leg-ms must be above 0")
    if options.processor_time and (options.gpu or options.threads != 1):
        parser.error("--processor-time is that of one thread of the host: give --threads 1")
    return options


def problem_of(torch, F, kernel, dtype, size, rows, device):
    """Template, parameters, extents, tensors by name, numbers, PyTorch's function into a tensor, operations (or bytes), and their unit."""
    make = lambda *shape: torch.randn(shape, device=device).to(dtype)
    text = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}[dtype]
    if kernel.startswith("gemm"):
        a, b, bias, out = make(size, size), make(size, size), make(size), make(size, size).fill_(float("nan"))
        theirs = torch.empty_like(out)
        parameters, tensors = {"dtype": text, "out": text}, {"a": a, "b": b, "out": out}
        call = lambda: torch.mm(a, b, out=theirs)
        if kernel == "gemm-nt":
            parameters["b_columns"] = True
            call = lambda: torch.mm(a, b.t(), out=theirs)
        if kernel == "gemm+gelu":
            parameters |= {"bias": True, "activation": "gelu"}
            tensors["bias"] = bias
            call = lambda: theirs.copy_(F.gelu(torch.addmm(bias, a, b), approximate="tanh"))
        return "gemm", parameters, {"m": size, "n": size, "k": size}, tensors, {}, call, theirs, 2.0 * size**3, "GFLOP/s"
    x, weight, bias, out = make(rows, size), make(size), make(size), make(rows, size).fill_(float("nan"))
    theirs = torch.empty_like(out)
    moved = 2.0 * x.numel() * x.element_size()
    bytes_of_row = size * x.element_size()
    promise = {"dtype": text, "alignment": min(16, bytes_of_row & -bytes_of_row)}
    extents = {"rows": rows, "columns": size}
    if kernel == "softmax":
        return "row_softmax", promise, extents, {"x": x, "out": out}, {}, lambda: torch.softmax(x, -1, out=theirs), theirs, moved, "GB/s"
    if kernel == "layer-norm":
        call = lambda: F.layer_norm(x, (size,), weight, bias, EPS)
        return "layer_norm", promise, extents, {"x": x, "out": out, "weight": weight, "bias": bias}, {"eps": EPS}, call, None, moved, "GB/s"
    call = lambda: F.rms_norm(x, (size,), weight, EPS)
    return "rms_norm", promise, extents, {"x": x, "out": out, "weight": weight}, {"eps": EPS}, call, None, moved, "GB/s"


def compare(library, options, torch, F, measure, kernel, text, size):
    device = torch.device(fattn_c.device_of(options.target) if options.gpu else "cpu")
    torch.manual_seed(0)
    template, parameters, extents, tensors, numbers, call, result, work, unit = problem_of(torch, F, kernel, measure.TYPES[text], size, options.elements // size if options.elements else ROWS, device)
    config = {"template": template, "parameters": parameters, "target": options.target}
    if options.tune:
        library.tune_template(options.tune, **config, shapes=[extents])
    ours = library.compile_template(**config, shape=extents)
    view = lambda t: fattn_c.Tensor.of(t.data_ptr(), text, t.shape, t.stride())
    stream = torch.cuda.current_stream(device).cuda_stream if options.gpu else None
    launch = ours.prepare(list(extents.values()), {name: view(t) for name, t in tensors.items()}, numbers, stream)
    clock = measure.Clock(options.gpu, options.leg_ms, *([time.thread_time] if options.processor_time else []))
    returned = call()
    launch()
    clock.wait()
    whole, worst = measure.difference(tensors["out"], result if result is not None else returned)
    limit = measure.TOLERANCE[text]
    if whole > limit[0] or worst > limit[1]:
        raise measure.Different(f"{kernel} {text} {size}: fattn and PyTorch differ by {whole:.1e}, the worst row by {worst:.1e}")
    a, b = measure.in_turns(clock, launch, call, options.rounds)
    middle = min if options.least else statistics.median
    us, theirs = middle(a) * 1e6, middle(b) * 1e6
    row = {} if not options.gpu or kernel.startswith("gemm") else {"of_copy": share_of_copy(measure, options, clock, launch, tensors, middle)}
    return row | {"kernel": kernel, "dtype": text, "shape": extents, "tile": ours.info()["tile"], "ours_us": us, "theirs_us": theirs, "unit": unit,
            "ours": work / us / 1e3, "theirs": work / theirs / 1e3, "ratio": theirs / us, "difference": whole}


def share_of_copy(measure, options, clock, launch, tensors, middle):
    """The time of a copy of the rows over ours, in turns."""
    target = tensors["x"].clone()
    ours, copies = measure.in_turns(clock, launch, lambda: target.copy_(tensors["x"]), options.rounds)
    return middle(copies) / middle(ours)


def main():
    options = parse_arguments()
    try:
        import torch
        import torch.nn.functional as F

        import measure
    except ImportError as missing:
        print(f"kernels.py measures beside PyTorch, which is not installed here ({missing}); pip install torch, a CPU build will do for --target host",
              file=sys.stderr)
        return 1
    if options.gpu and not torch.cuda.is_available():
        print("kernels.py: --target cuda: PyTorch sees no CUDA device", file=sys.stderr)
        return 4
    torch.backends.cuda.matmul.allow_tf32 = False
    library = fattn_c.Library(options.library)
    torch.set_num_threads(options.threads)
    library.set_host_threads(options.threads)
    rows = []
    if not options.json:
        print(f"fattn {library.version}, PyTorch {torch.__version__}, {options.target}, {options.threads} threads, {'least times' if options.least else 'medians'} of {options.rounds} rounds")
        print(f"{'kernel':>11} {'dtype':>5} {'shape':>18} {'fattn us':>11} {'peer us':>11} {'fattn':>9} {'peer':>9} {'unit':>8} {'ratio':>7} {'of copy':>8}  tile")
    for size in options.size:
        for kernel in options.kernel:
            for text in options.dtype:
                try:
                    row = compare(library, options, torch, F, measure, kernel, text, size)
                except measure.Different as error:
                    print(f"kernels.py: {error}", file=sys.stderr)
                    return 1
                rows.append(row)
                if not options.json:
                    shape = " x ".join(str(extent) for extent in row["shape"].values())
                    tile = ",".join(f"{key}={value}" for key, value in row["tile"].items())
                    share = f"{row['of_copy']:.3f}" if "of_copy" in row else "-"
                    print(f"{kernel:>11} {text:>5} {shape:>18} {row['ours_us']:11.1f} {row['theirs_us']:11.1f} {row['ours']:9.1f} {row['theirs']:9.1f} "
                          f"{row['unit']:>8} {row['ratio']:6.2f}x {share:>8}  {tile}", flush=True)
    if options.json:
        print(json.dumps({"fattn": library.version, "torch": torch.__version__, "target": options.target, "threads": options.threads, "rows": rows}, indent=1))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except fattn_c.FattnError as error:
        print(f"kernels.py: {error}", file=sys.stderr)
        sys.exit({fattn_c.STATUS_UNSUPPORTED: 3, fattn_c.STATUS_NO_DEVICE: 4}.get(error.status, 1))
