# SPDX-License-Identifier: Apache-2.0
"""Launches in CUDA graphs, replayed in turns, and a kernel that only reads two tensors: what a launch costs the host is in none of the times."""
import statistics

import torch

THREADS, AT_ONCE = 512, 8
READ = """
extern "C" __global__ void __launch_bounds__(512) read_all(const uint4* k, const uint4* v, unsigned* sink, int steps) {
  const uint4* from = (blockIdx.y ? v : k) + (size_t)blockIdx.x * 512 * 8 * steps + threadIdx.x;
  unsigned any = 0;
  for (int step = 0; step < steps; ++step) {
    uint4 x[8];
#pragma unroll
    for (int i = 0; i < 8; ++i)
      asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(x[i].x), "=r"(x[i].y), "=r"(x[i].z), "=r"(x[i].w) : "l"(from + (size_t)(step * 8 + i) * 512));
#pragma unroll
    for (int i = 0; i < 8; ++i) any ^= x[i].x ^ x[i].y ^ x[i].z ^ x[i].w;
  }
  if (any == 0x12345677) sink[0] = any;
}
"""


class Graph:
    """So many launches of a function, captured from the current stream, which is not the default one."""

    def __init__(self, function, count):
        self.count, self.graph, self.function = count, torch.cuda.CUDAGraph(), function  # the function holds what it launches
        for _ in range(3):
            function()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph, stream=torch.cuda.current_stream()):
            for _ in range(count):
                function()

    def seconds(self):
        """Of one launch; the replay before keeps the device hot."""
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self.graph.replay()
        begin.record()
        self.graph.replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3 / self.count


def in_turns(functions, seconds, rounds):
    """Medians of seconds a launch by name; `seconds`: about what one takes, so that a graph takes 4 ms."""
    count = max(8, min(100, round(4e-3 / seconds)))
    graphs = {name: Graph(function, count) for name, function in functions.items()}
    times = {name: [] for name in graphs}
    for number in range(rounds):
        for name in list(graphs)[:: 1 if number % 2 == 0 else -1]:
            times[name].append(graphs[name].seconds())
    return {name: statistics.median(values) for name, values in times.items()}


def reader(k, v):
    """Launches a kernel that reads both tensors as a whole; None where this PyTorch cannot compile one, or they are no multiple of what it reads at once."""
    size = k.numel() * k.element_size()
    block = THREADS * AT_ONCE * 16
    steps = next((steps for steps in (8, 4, 2, 1) if size % (block * steps) == 0), 0)
    if steps == 0 or not hasattr(torch.cuda, "_compile_kernel"):
        return None
    kernel, sink = torch.cuda._compile_kernel(READ, "read_all"), torch.zeros(1, dtype=torch.int32, device=k.device)
    grid, arguments = (size // (block * steps), 2, 1), (k.view(-1), v.view(-1), sink, steps)
    return lambda: kernel(grid, (THREADS, 1, 1), arguments, stream=torch.cuda.current_stream())
