# SPDX-License-Identifier: Apache-2.0
"""The part of peers.py that needs PyTorch: tensors, comparison, time."""
import statistics
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import fattn_c

BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
}
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
# Largest relative difference of two right results: of the whole tensor, and of its worst row.
TOLERANCE = {"f32": (1e-5, 1e-4), "f16": (2e-3, 1e-2), "bf16": (1.5e-2, 6e-2)}


class Different(Exception):
    """The two results are not the same one."""


class Clock:
    """Times legs: by the host's clock where calls are synchronous, by events where a stream runs them."""

    def __init__(self, gpu, leg_ms, now=time.perf_counter):
        self.gpu, self.leg_s, self.now = gpu, leg_ms / 1e3, now

    def calls(self, functions):
        """How many calls of the slower one fill a leg; also what makes both hot."""
        slowest = 0
        for function in functions:
            function()
            self.wait()
            start, count = time.perf_counter(), 0
            while count < 2 or time.perf_counter() - start < self.leg_s / 2:
                function()
                self.wait()
                count += 1
            slowest = max(slowest, (time.perf_counter() - start) / count)
        return max(1, min(10000, round(self.leg_s / slowest)))

    def wait(self):
        if self.gpu:
            torch.cuda.synchronize()

    def leg(self, function, calls):
        function()
        if self.gpu:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(calls):
                function()
            end.record()
            end.synchronize()
            return [begin.elapsed_time(end) / 1e3 / calls]
        times = []
        for _ in range(calls):
            start = self.now()
            function()
            times.append(self.now() - start)
        return times


def in_turns(clock, ours, theirs, rounds):
    calls = clock.calls([ours, theirs])
    a, b = [], []
    for _ in range(rounds):
        a += clock.leg(ours, calls)
        b += clock.leg(theirs, calls)
        b += clock.leg(theirs, calls)
        a += clock.leg(ours, calls)
    return a, b


def summary(times, flops):
    median = statistics.median(times)
    quarters = statistics.quantiles(times, n=4) if len(times) > 1 else [median] * 3
    return {"median_us": median * 1e6, "least_us": min(times) * 1e6, "quartiles_us": [quarters[0] * 1e6, quarters[2] * 1e6], "samples": len(times), "tflops": flops / median / 1e12}


def difference(ours, theirs):
    """Relative difference of the tensors and of the worst row; infinite where one of them is not finite."""
    a, b = ours.float(), theirs.float()
    if not (torch.isfinite(a).all() and torch.isfinite(b).all()):
        return float("inf"), float("inf")
    whole = torch.linalg.vector_norm(a - b) / torch.linalg.vector_norm(b)
    rows = torch.linalg.vector_norm(a - b, dim=-1) / torch.linalg.vector_norm(b, dim=-1)
    return whole.item(), rows.max().item()


def difference_of_gradients(ours, theirs):
    """The same of the gradient that differs most. Rows are compared with what rows have on average: those that see one key have hardly any."""
    whole, worst = 0.0, 0.0
    for a, b in zip(ours, theirs):
        a, b = a.float(), b.float()
        if not (torch.isfinite(a).all() and torch.isfinite(b).all()):
            return float("inf"), float("inf")
        norms = torch.linalg.vector_norm(b, dim=-1)
        whole = max(whole, (torch.linalg.vector_norm(a - b) / torch.linalg.vector_norm(b)).item())
        worst = max(worst, (torch.linalg.vector_norm(a - b, dim=-1) / torch.maximum(norms, norms.mean())).max().item())
    return whole, worst


class Problem:
    """Tensors and a kernel of one shape, element type and mask."""

    OPERATIONS = 1  # of those of the forward

    def __init__(self, library, options, shape, dtype, causal):
        device = torch.device(fattn_c.device_of(options.target) if options.gpu else "cpu")
        torch.manual_seed(0)

        def make(heads, rows, fill=None):
            sizes = (shape.b, heads, rows, shape.d) if options.layout == "bhsd" else (shape.b, rows, heads, shape.d)
            tensor = torch.randn(sizes, device=device).to(TYPES[dtype])
            if fill is not None:
                tensor.fill_(fill)
            return tensor if options.layout == "bhsd" else tensor.transpose(1, 2)

        self.make, self.device = make, device
        self.q, self.k, self.v = make(shape.hq, shape.sq), make(shape.hkv, shape.skv), make(shape.hkv, shape.skv)
        self.o = make(shape.hq, shape.sq, float("nan"))  # what is not written is found
        self.shape, self.dtype, self.causal = shape, dtype, causal
        self.stream = torch.cuda.current_stream(device).cuda_stream if options.gpu else None
        self.bind(library, options)

    def view(self, tensor, dtype=None):
        return fattn_c.Tensor.of(tensor.data_ptr(), dtype or self.dtype, tensor.shape, tensor.stride())

    def bind(self, library, options):
        self.kernel = library.compile(dtype=self.dtype, head_dim=self.shape.d, causal=self.causal, target=options.target)
        self.tile = self.kernel.info()["config"]["tile"]
        self.ours = self.kernel.prepare(self.view(self.q), self.view(self.k), self.view(self.v), self.view(self.o), self.stream)

    def begin(self):
        """What a peer does before what is measured, with its back end chosen."""

    def difference(self, expected):
        return difference(self.o, expected)

    def spoil(self):
        self.o.fill_(float("nan"))

    def theirs(self):
        return F.scaled_dot_product_attention(self.q, self.k, self.v, is_causal=self.causal, enable_gqa=self.shape.hq != self.shape.hkv)

    def compare(self, clock, peer, rounds):
        """One row of the result."""
        row = {"shape": self.shape.text, "dtype": self.dtype, "causal": self.causal, "peer": peer, "tile": self.tile}
        with sdpa_kernel(BACKENDS[peer]):
            try:
                self.begin()
                expected = self.theirs()
            except RuntimeError as error:  # PyTorch has no such kernel for this device, shape or type
                return row | {"unavailable": str(error).splitlines()[0]}
            self.spoil()
            self.ours()
            clock.wait()
            whole, worst = self.difference(expected)
            row |= {"difference": whole, "difference_worst_row": worst}
            if whole > TOLERANCE[self.dtype][0] or worst > TOLERANCE[self.dtype][1]:
                raise Different(f"{self.shape.text} {self.dtype} causal {self.causal}: fattn and {peer} differ by {whole:.1e}, the worst row by "
                                f"{worst:.1e}; the largest legal differences are {TOLERANCE[self.dtype][0]:.1e} and {TOLERANCE[self.dtype][1]:.1e}. Nothing was timed.")
            ours, theirs = in_turns(clock, self.ours, self.theirs, rounds)
        flops = self.shape.flops(self.causal) * self.OPERATIONS
        return row | {"ours": summary(ours, flops), "theirs": summary(theirs, flops), "ratio": statistics.median(theirs) / statistics.median(ours)}


class Gradients(Problem):
    """The backward pass beside autograd's, which allocates its results. Both have run their own forward before."""

    OPERATIONS = 2.5  # five products for two

    def bind(self, library, options):
        shape = self.shape
        self.dout = self.make(shape.hq, shape.sq)
        self.gradients = [torch.full_like(t, float("nan")) for t in (self.q, self.k, self.v)]
        self.lse = torch.empty((shape.b, shape.hq, shape.sq), device=self.device)
        forward = library.compile(dtype=self.dtype, head_dim=shape.d, causal=self.causal, target=options.target)
        forward.prepare(self.view(self.q), self.view(self.k), self.view(self.v), self.view(self.o), self.stream, self.view(self.lse, "f32"))()
        self.kernel = library.compile_backward(dtype=self.dtype, head_dim=shape.d, causal=self.causal, target=options.target,
                                               deterministic=options.what == "deterministic")
        self.tile = self.kernel.info()["dkdv"]["tile"]
        args = {name: self.view(t) for name, t in zip(("q", "k", "v", "o", "dout", "dq", "dk", "dv"), (self.q, self.k, self.v, self.o, self.dout, *self.gradients))}
        args["lse"] = self.view(self.lse, "f32")
        self.workspace = torch.empty(self.kernel.workspace(**args) // 4 + 1, device=self.device)
        self.ours = self.kernel.prepare(self.stream, **args, workspace=self.workspace.data_ptr(), workspace_bytes=self.workspace.numel() * 4)

    def begin(self):
        self.leaves = [t.detach().requires_grad_() for t in (self.q, self.k, self.v)]
        q, k, v = self.leaves
        self.result = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, enable_gqa=self.shape.hq != self.shape.hkv)

    def difference(self, expected):
        return difference_of_gradients(self.gradients, expected)

    def spoil(self):
        for gradient in self.gradients:
            gradient.fill_(float("nan"))

    def theirs(self):
        return torch.autograd.grad(self.result, self.leaves, self.dout, retain_graph=True)
