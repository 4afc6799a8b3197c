# SPDX-License-Identifier: Apache-2.0
"""Tests tools/peers. Argument: libfattn_c.so. Ends with 77 (skipped) where only what needs no PyTorch could be tested."""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

LIBRARY = sys.argv.pop(1)
PEERS = pathlib.Path(__file__).resolve().parents[2] / "tools/peers"
HAS_TORCH = importlib.util.find_spec("torch") is not None
sys.path.insert(0, str(PEERS))
sys.dont_write_bytecode = True
import fattn_c  # noqa: E402


def run(*arguments, flags=()):
    command = [sys.executable, *flags, PEERS / "peers.py", "--library", LIBRARY, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Binding(unittest.TestCase):
    def test_errors_carry_status_and_text(self):
        with self.assertRaises(fattn_c.FattnError) as caught:
            fattn_c.Library(LIBRARY).compile(dtype="f32", head_dim=60)
        self.assertEqual(caught.exception.status, fattn_c.STATUS_UNSUPPORTED)
        self.assertTrue(str(caught.exception).startswith("fattn_compile: head_dim is 60;"), str(caught.exception))

    def test_launch_on_plain_memory(self):
        import ctypes

        # Two rows that see two keys each. All queries are 0, so that each result is the mean of the values.
        q, k, o = ((ctypes.c_float * 16)() for _ in range(3))
        v = (ctypes.c_float * 16)(*range(16))
        view = lambda memory: fattn_c.Tensor.of(ctypes.addressof(memory), "f32", (1, 1, 2, 8), (16, 16, 8, 1))
        kernel = fattn_c.Library(LIBRARY).compile(dtype="f32", head_dim=8, target="host")
        kernel.prepare(view(q), view(k), view(v), view(o))()
        self.assertEqual(list(o), 2 * [i + 4.0 for i in range(8)])
        self.assertEqual(kernel.info()["config"]["head_dim_v"], 8)

    def test_a_template_on_plain_memory(self):
        import ctypes

        x, y = (ctypes.c_float * 8)(*[5] * 8), (ctypes.c_float * 8)()
        view = lambda memory: fattn_c.Tensor.of(ctypes.addressof(memory), "f32", (2, 4), (4, 1))
        kernel = fattn_c.Library(LIBRARY).compile_template(template="row_softmax", parameters={"alignment": 4}, target="host")
        kernel.prepare([2, 4], {"x": view(x), "out": view(y)})()
        self.assertEqual(list(y), 8 * [0.25])
        self.assertEqual(kernel.info()["entry"], "row_softmax")

    def test_decode_on_plain_memory(self):
        import ctypes

        # A query of zeros and 3 keys, of a cache of 4: the result is the mean of their values. Pages of 2, the first one behind the second.
        q, o, v = (ctypes.c_float * 8)(), (ctypes.c_float * 8)(), (ctypes.c_float * 32)(*range(32))
        ints = lambda *values: (ctypes.c_int32 * len(values))(*values)
        view = lambda memory, *shape: fattn_c.Tensor.of(ctypes.addressof(memory), "f32", shape, (shape[1] * shape[2] * 8, shape[2] * 8, 8, 1))
        lengths, pages = ints(3), ints(1, 0)
        kernel = fattn_c.Library(LIBRARY).compile_decode(dtype="f32", head_dim=8, rows=1, page_size=2, target="host")
        kernel.prepare(q=view(q, 1, 1, 1, 8), k=view(v, 2, 1, 2, 8), v=view(v, 2, 1, 2, 8), o=view(o, 1, 1, 1, 8), splits=1,
                       lengths=fattn_c.Tensor.of(ctypes.addressof(lengths), "i32", (1,), (1,)),
                       pages=fattn_c.Tensor.of(ctypes.addressof(pages), "i32", (1, 2), (2, 1)))()
        for i, x in enumerate(o):
            self.assertAlmostEqual(x, (16 + 24 + 0) / 3 + i, places=4)
        self.assertEqual(kernel.info()["entry"], "attention_decode")

    def test_backward_on_plain_memory(self):
        import ctypes

        # A query of zeros, 2 keys: both have half the weight. The values are 0 and 1, dout is 1: dp is 0 and 8, delta 4, dS -2 and 2.
        floats = lambda *values: (ctypes.c_float * len(values))(*values)
        q, k, v, o, dout, lse = floats(*8 * [0]), floats(*range(16)), floats(*8 * [0], *8 * [1]), floats(*8 * [0.5]), floats(*8 * [1]), floats(0.6931472)
        dq, dk, dv, workspace = floats(*8 * [7]), floats(*16 * [7]), floats(*16 * [7]), floats(*260 * [7])
        view = lambda memory, rows: fattn_c.Tensor.of(ctypes.addressof(memory), "f32", (1, 1, rows, 8), (rows * 8, rows * 8, 8, 1))
        kernel = fattn_c.Library(LIBRARY).compile_backward(dtype="f32", head_dim=8, target="host")
        args = dict(q=view(q, 1), k=view(k, 2), v=view(v, 2), o=view(o, 1), dout=view(dout, 1), dq=view(dq, 1), dk=view(dk, 2), dv=view(dv, 2),
                    lse=fattn_c.Tensor.of(ctypes.addressof(lse), "f32", (1, 1, 1), (1, 1, 1)))
        self.assertEqual(kernel.workspace(**args), 1024)
        kernel.prepare(**args, workspace=(ctypes.addressof(workspace) + 15) // 16 * 16, workspace_bytes=1024)()
        for i in range(8):
            self.assertAlmostEqual(dq[i], (2 * (i + 8) - 2 * i) / 8**0.5, places=4)
            self.assertEqual((dk[i], dk[8 + i]), (0, 0))
            self.assertAlmostEqual(dv[i], 0.5, places=5)
        self.assertEqual(kernel.info()["dq"]["entry"], "attention_backward_queries")

    def test_devices(self):
        self.assertIn("host", [device["target"] for device in fattn_c.Library(LIBRARY).devices()])


def run_kernels(*arguments, flags=()):
    command = [sys.executable, *flags, PEERS / "kernels.py", "--library", LIBRARY, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Kernels(unittest.TestCase):
    def test_says_that_there_is_no_torch_in_a_sentence(self):
        result = run_kernels(flags=["-S", "-E"])
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stderr.startswith("kernels.py measures beside PyTorch, which is not installed here"), result.stderr)

    def test_refuses_what_it_does_not_know(self):
        for arguments, text in (
            (["--kernel", "conv"], "--kernel: 'conv' is none of gemm, gemm-nt, gemm+gelu, softmax, layer-norm, rms-norm"),
            (["--dtype", "f64"], "--dtype: 'f64' is none of f32, f16, bf16"),
            (["--processor-time", "--threads", "2"], "--processor-time is that of one thread of the host"),
            (["--size", "0"], "must be above 0"),
        ):
            result = run_kernels(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn(text, result.stderr)

    @unittest.skipUnless(HAS_TORCH, "PyTorch is not installed here")
    def test_compares_and_measures_every_kernel(self):
        result = run_kernels("--size", "64", "--rounds", "1", "--leg-ms", "1", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = json.loads(result.stdout)["rows"]
        self.assertEqual(len(rows), 12)
        self.assertTrue(all(row["ratio"] > 0 and row["difference"] < 0.02 for row in rows))


def run_decode(*arguments, flags=()):
    command = [sys.executable, *flags, PEERS / "decode.py", "--library", LIBRARY, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Decode(unittest.TestCase):
    def test_says_that_there_is_no_torch_in_a_sentence(self):
        result = run_decode(flags=["-S", "-E"])
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stderr.startswith("decode.py measures beside PyTorch, which is not installed here"), result.stderr)

    def test_refuses_what_it_does_not_know(self):
        for arguments, text in (
            (["--shape", "1,8:3,64,16"], "'1,8:3,64,16' is not of the form B,Hq[:Hkv],KEYS,D with Hq a multiple of Hkv"),
            (["--dtype", "f64"], "'f64' is none of f32, f16, bf16"),
            (["--page-size", "-1"], "--page-size not below 0"),
        ):
            result = run_decode(*arguments)
            self.assertEqual(result.returncode, 2, (arguments, result.stderr))
            self.assertIn(text, result.stderr)

    @unittest.skipUnless(HAS_TORCH, "PyTorch is not installed here")
    def test_compares_and_measures(self):
        for pages in ("0", "5"):
            result = run_decode("--shape", "2,4:2,70,16", "--rounds", "1", "--leg-ms", "1", "--page-size", pages, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertTrue(all(row["ratio"] > 0 and row["difference"] < 0.02 for row in json.loads(result.stdout)["rows"]))


def run_varlen(*arguments, flags=()):
    command = [sys.executable, *flags, PEERS / "varlen.py", "--library", LIBRARY, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Varlen(unittest.TestCase):
    def test_says_that_there_is_no_torch_in_a_sentence(self):
        result = run_varlen(flags=["-S", "-E"])
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stderr.startswith("varlen.py measures beside PyTorch, which is not installed here"), result.stderr)

    def test_refuses_what_it_does_not_know(self):
        for arguments, text in (
            (["--shape", "8:3,16"], "'8:3,16' is not of the form Hq[:Hkv],D with Hq a multiple of Hkv"),
            (["--cu-seqlens", "0,5,3"], "'0,5,3' is not 0 and then integers that do not fall"),
            (["--pass", "sideways"], "'sideways' is none of forward, backward, deterministic"),
            (["--peer", "varlen_attn"], "--peer varlen_attn is for --target cuda"),
        ):
            result = run_varlen(*arguments)
            self.assertEqual(result.returncode, 2, (arguments, result.stderr))
            self.assertIn(text, result.stderr)

    @unittest.skipUnless(HAS_TORCH, "PyTorch is not installed here")
    def test_compares_and_measures_every_pass(self):
        result = run_varlen("--shape", "4:2,16", "--cu-seqlens", "0,5,5,75", "--pass", "forward,backward,deterministic", "--causal", "both", "--rounds", "1", "--leg-ms", "1", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = json.loads(result.stdout)["rows"]
        self.assertEqual(len(rows), 12)
        self.assertTrue(all(row["ratio"] > 0 and row["difference"] < 0.02 for row in rows))


class WithoutTorch(unittest.TestCase):
    def test_says_so_in_a_sentence(self):
        result = run(flags=["-S", "-E"])  # no site-packages: no PyTorch, whether installed or not
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stderr.startswith("peers.py measures beside PyTorch, which is not installed here"), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)

    def test_refuses_what_it_cannot_compare(self):
        for arguments, text in (
            (["--shape", "1,2,3"], "'1,2,3' is not of the form B,Hq[:Hkv],Sq[:Skv],D"),
            (["--shape", "1,3:2,4,8"], "Hq a multiple of Hkv"),
            (["--shape", "1,1,4:8,8"], "causal needs Sq = Skv here"),
            (["--target", "tpu"], "--target tpu: legal are host, host:INSTRUCTIONS, cuda, cuda:NUMBER, and a chip behind an @: cuda@sm_80"),
            (["--dtype", "f64"], "'f64' is none of f32, f16, bf16"),
            (["--peers", "fa4"], "'fa4' is none of flash, cudnn, efficient, math"),
            (["--rounds", "0"], "--rounds, --threads and --leg-ms must be above 0"),
        ):
            result = run(*arguments)
            self.assertEqual(result.returncode, 2, (arguments, result.stderr))
            self.assertIn(text, result.stderr)


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class WithTorch(unittest.TestCase):
    def test_measures_and_writes_json(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "peers.json"
            result = run("--shape", "1,4:2,40,32", "--shape", "2,1,33,64", "--dtype", "f32,f16,bf16", "--layout", "bshd", "--peers", "flash,math",
                         "--rounds", "2", "--leg-ms", "1", "--threads", "2", "--json", str(file))
            self.assertEqual(result.returncode, 0, result.stderr)
            report = json.loads(file.read_text())
        self.assertEqual((report["target"], report["threads"], report["rounds"]), ("host", 2, 2))
        self.assertEqual(len(report["rows"]), 2 * 3 * 2 * 2)
        self.assertEqual(len(result.stdout.splitlines()), 2 + len(report["rows"]))
        for row in report["rows"]:
            self.assertLess(row["difference"], {"f32": 1e-5, "f16": 2e-3, "bf16": 1.5e-2}[row["dtype"]])
            self.assertEqual(row["ours"]["samples"], row["theirs"]["samples"])
            self.assertAlmostEqual(row["ratio"], row["theirs"]["median_us"] / row["ours"]["median_us"])

    def test_measures_the_backward_pass(self):
        for what in ("backward", "deterministic"):
            result = run("--pass", what, "--shape", "1,4:2,40,32", "--dtype", "f32,bf16", "--rounds", "1", "--leg-ms", "1", "--json", "-")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(len(json.loads(result.stdout)["rows"]), 4)

    def test_json_on_standard_output_is_json_alone(self):
        result = run("--shape", "1,1,16,16", "--dtype", "f32", "--causal", "no", "--rounds", "1", "--leg-ms", "1", "--json", "-")
        self.assertEqual(len(json.loads(result.stdout)["rows"]), 1, result.stderr)
        self.assertIn("ratio", result.stderr)

    def test_different_results_are_not_timed(self):
        import types

        import measure
        import peers

        options = types.SimpleNamespace(gpu=False, layout="bhsd", target="host")
        problem = measure.Problem(fattn_c.Library(LIBRARY), options, peers.Shape("1,1,16,16"), "f16", False)
        problem.theirs = lambda: problem.v + 1
        with self.assertRaises(measure.Different) as caught:
            problem.compare(measure.Clock(False, 1), "flash", 1)
        self.assertRegex(str(caught.exception), r"^1,1,16,16 f16 causal False: fattn and flash differ by \S+, the worst row by \S+; the largest legal "
                         r"differences are 2.0e-03 and 1.0e-02. Nothing was timed.$")

    def test_refuses_what_fattn_refuses(self):
        for arguments, status, text in (
            (["--shape", "1,1,4,12", "--dtype", "f32"], 3, "peers.py: fattn_compile: head_dim is 12; it must be a multiple of 8"),
            (["--target", "host:mmx"], 4, "peers.py: fattn_compile: "),
        ):
            result = run(*arguments)
            self.assertEqual(result.returncode, status, (arguments, result.stderr))
            self.assertIn(text, result.stderr)


if __name__ == "__main__":
    if not unittest.main(exit=False).result.wasSuccessful():
        sys.exit(1)
    if not HAS_TORCH:
        print("skipped: measuring beside PyTorch, which is not installed; the rest passed")
        sys.exit(77)
