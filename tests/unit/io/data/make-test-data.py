#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Made the files beside it, with numpy 2.x, torch 2.x and safetensors: real files, as users' programs write them. Values are chosen so that
# every type holds them exactly: element n of a tensor is n / 4 - 2.
import os
import numpy as np
import torch
from safetensors.torch import save_file
from numpy.lib import format as npy

os.chdir(os.path.dirname(os.path.abspath(__file__)))


def ramp(shape, dtype=np.float32):
    return (np.arange(int(np.prod(shape))) / 4 - 2).reshape(shape).astype(dtype)


def npy_version(path, array, version):
    with open(path, "wb") as f:
        npy.write_array(f, array, version=version)


np.save("f32.npy", ramp((2, 3, 4)))
np.save("f16.npy", ramp((2, 3, 4), np.float16))
np.save("big-endian.npy", ramp((2, 3, 4), ">f4"))
np.save("fortran.npy", np.asfortranarray(ramp((2, 3, 4))))
np.save("scalar.npy", np.float32(1.5))
np.save("vector.npy", ramp((5,)))
np.save("zero-sized.npy", ramp((2, 0, 4)))
np.save("bool.npy", np.array([True, False, True]))
np.save("i64.npy", np.array([-3, 0, 1 << 40]))
npy_version("version2.npy", ramp((2, 3, 4)), (2, 0))
npy_version("version3.npy", ramp((2, 3, 4)), (3, 0))
np.save("f64.npy", ramp((2, 3), np.float64))
np.save("u2.npy", ramp((2, 3), np.uint16))
np.save("object.npy", np.array([1, "a", None], dtype=object), allow_pickle=True)
np.save("structured.npy", np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")]))
np.savez("archive.npz", q=ramp((2, 2)))

t = torch.from_numpy(ramp((2, 3, 4)))
save_file({"x": t.to(torch.bfloat16)}, "one-bf16.safetensors")
save_file(
    {"q": t.to(torch.bfloat16), "k": t.to(torch.float16), "v": t, "wide": t.to(torch.float64), "e4m3": t.to(torch.float8_e4m3fn),
     "e5m2": t.to(torch.float8_e5m2), "mask": t > 0, "empty": t[:, :0]},
    "many.safetensors", metadata={"format": "pt"})

# Attention inputs for the command line tests: normal numbers, batch 1, 2 query heads, 1 key/value head, lengths 5 and 7, dimension 8.
g = torch.Generator().manual_seed(1)
q, k, v = (torch.randn(s, generator=g) for s in ((1, 2, 5, 8), (1, 1, 7, 8), (1, 1, 7, 8)))
o = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double().expand(1, 2, 7, 8), v.double().expand(1, 2, 7, 8)).float()
for name, x in (("q", q), ("k", k), ("v", v), ("o", o)):
    np.save(f"attention-{name}.npy", x.numpy())
save_file({"q": q.bfloat16(), "k": k.bfloat16(), "v": v.bfloat16()}, "attention-bf16.safetensors")
