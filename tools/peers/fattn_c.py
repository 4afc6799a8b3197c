# SPDX-License-Identifier: Apache-2.0
"""fattn/c_api.h through ctypes: a library, its kernels, and launches whose operands are packed once."""
import ctypes
import json
import os
import pathlib

DTYPES = {"f32": 0, "f16": 1, "bf16": 2, "i8": 6, "i32": 7}
STATUS_OK, STATUS_UNSUPPORTED, STATUS_NO_DEVICE = 0, 2, 5


def device_of(target):
    """The device of a target, which may name the code too: cuda@sm_80."""
    return target.split("@")[0]


class FattnError(Exception):
    """A call that failed: its status, and the library's own text."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.c_int64 * 6),
        ("strides", ctypes.c_int64 * 6),
    ]

    @classmethod
    def of(cls, pointer, dtype, shape, strides):
        rank = len(shape)
        return cls(pointer, DTYPES[dtype], rank, (ctypes.c_int64 * 6)(*shape), (ctypes.c_int64 * 6)(*strides))


class ForwardArgs(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("q", Tensor),
        ("k", Tensor),
        ("v", Tensor),
        ("o", Tensor),
        ("lse", Tensor),
        ("scale", ctypes.POINTER(ctypes.c_float)),
    ]


class DecodeArgs(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("q", Tensor),
        ("k", Tensor),
        ("v", Tensor),
        ("o", Tensor),
        ("lse", Tensor),
        ("lengths", Tensor),
        ("pages", Tensor),
        ("scale", ctypes.POINTER(ctypes.c_float)),
        ("keys", ctypes.c_int64),
        ("splits", ctypes.c_int64),
        ("workspace", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_int64),
        ("new_k", Tensor),
        ("new_v", Tensor),
        ("window", ctypes.c_int64),
        ("counters", ctypes.c_void_p),
        ("counter_bytes", ctypes.c_int64),
    ]


class BackwardArgs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t)] + [(name, Tensor) for name in ("q", "k", "v", "o", "lse", "dout", "dlse", "dq", "dk", "dv")] + [
        ("scale", ctypes.POINTER(ctypes.c_float)),
        ("workspace", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_int64),
    ]


class VarlenArgs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t)] + [(name, Tensor) for name in ("q", "k", "v", "o", "lse", "cu_q", "cu_k")] + [
        ("max_q", ctypes.c_int64),
        ("scale", ctypes.POINTER(ctypes.c_float)),
    ]


class PackedBackwardArgs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t)] + [
        (name, Tensor) for name in ("q", "k", "v", "o", "lse", "dout", "dlse", "dq", "dk", "dv", "cu_q", "cu_k")] + [
        ("max_q", ctypes.c_int64),
        ("max_k", ctypes.c_int64),
        ("scale", ctypes.POINTER(ctypes.c_float)),
        ("workspace", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_int64),
    ]


class Value(ctypes.Union):
    _fields_ = [("tensor", ctypes.POINTER(Tensor)), ("pointer", ctypes.c_void_p), ("integer", ctypes.c_int64), ("number", ctypes.c_double)]


class Argument(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int32), ("value", Value)]


TENSOR, NUMBER = 0, 3


def default_library():
    """$FATTN_LIBRARY, else the library of the build or the installation that this file belongs to, else whatever the loader finds."""
    here = pathlib.Path(__file__).resolve().parents  # tools/peers of the sources, or share/fattn/python of an installation
    places = zip(list(here)[2:4], ("build/lib/libfattn_c.so", "lib*/libfattn_c.so.0"))
    built = next((path for folder, name in places for path in folder.glob(name)), None)
    return os.environ.get("FATTN_LIBRARY") or (str(built) if built else "libfattn_c.so.0")


class Library:
    def __init__(self, path):
        self.path = path
        self.c = ctypes.CDLL(path)
        text, out = ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)
        signatures = {
            "fattn_version": (text, []),
            "fattn_last_error": (text, []),
            "fattn_string_free": (None, [ctypes.c_void_p]),
            "fattn_devices": (ctypes.c_int32, [out]),
            "fattn_compile": (ctypes.c_int32, [text, out]),
            "fattn_kernel_release": (None, [ctypes.c_void_p]),
            "fattn_kernel_info": (ctypes.c_int32, [ctypes.c_void_p, out]),
            "fattn_attention_forward": (ctypes.c_int32, [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ForwardArgs)]),
            "fattn_host_set_num_threads": (ctypes.c_int32, [ctypes.c_int32]),
            "fattn_compile_template": (ctypes.c_int32, [text, out]),
            "fattn_tile_kernel_release": (None, [ctypes.c_void_p]),
            "fattn_tile_kernel_info": (ctypes.c_int32, [ctypes.c_void_p, out]),
            "fattn_launch_template": (
                ctypes.c_int32,
                [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64), ctypes.c_size_t, ctypes.POINTER(Argument), ctypes.c_size_t],
            ),
            "fattn_compile_decode": (ctypes.c_int32, [text, out]),
            "fattn_decode_kernel_release": (None, [ctypes.c_void_p]),
            "fattn_decode_kernel_info": (ctypes.c_int32, [ctypes.c_void_p, out]),
            "fattn_decode_workspace": (ctypes.c_int32, [ctypes.c_void_p, ctypes.POINTER(DecodeArgs), ctypes.POINTER(ctypes.c_int64)]),
            "fattn_attention_decode": (ctypes.c_int32, [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(DecodeArgs)]),
            "fattn_compile_backward": (ctypes.c_int32, [text, out]),
            "fattn_backward_kernel_release": (None, [ctypes.c_void_p]),
            "fattn_backward_kernel_info": (ctypes.c_int32, [ctypes.c_void_p, out]),
            "fattn_backward_workspace": (ctypes.c_int32, [ctypes.c_void_p, ctypes.POINTER(BackwardArgs), ctypes.POINTER(ctypes.c_int64)]),
            "fattn_attention_backward": (ctypes.c_int32, [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(BackwardArgs)]),
            "fattn_packed_backward_workspace": (ctypes.c_int32, [ctypes.c_void_p, ctypes.POINTER(PackedBackwardArgs), ctypes.POINTER(ctypes.c_int64)]),
            "fattn_packed_backward": (ctypes.c_int32, [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(PackedBackwardArgs)]),
            "fattn_compile_varlen": (ctypes.c_int32, [text, out]),
            "fattn_varlen_kernel_release": (None, [ctypes.c_void_p]),
            "fattn_varlen_kernel_info": (ctypes.c_int32, [ctypes.c_void_p, out]),
            "fattn_attention_varlen": (ctypes.c_int32, [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(VarlenArgs)]),
            "fattn_tune_template": (ctypes.c_int32, [text, ctypes.c_double, out]),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(self.c, name)
            function.restype, function.argtypes = result, arguments

    @property
    def version(self):
        return self.c.fattn_version().decode()

    def check(self, status):
        if status != STATUS_OK:
            raise FattnError(status, self.c.fattn_last_error().decode())

    def _json(self, function, *arguments):
        text = ctypes.c_void_p()
        self.check(function(*arguments, ctypes.byref(text)))
        try:
            return json.loads(ctypes.string_at(text))
        finally:
            self.c.fattn_string_free(text)

    def devices(self):
        return self._json(self.c.fattn_devices)

    def set_host_threads(self, threads):
        self.check(self.c.fattn_host_set_num_threads(threads))

    def compile(self, **config):
        return Kernel(self, {"op": "attention_forward", **config})

    def compile_template(self, **config):
        return TemplateKernel(self, config)

    def compile_decode(self, **config):
        return DecodeKernel(self, config)

    def compile_varlen(self, **config):
        return VarlenKernel(self, config)

    def compile_backward(self, **config):
        return (PackedBackwardKernel if config.get("packed") else BackwardKernel)(self, config)

    def tune_template(self, seconds, **config):
        return self._json(self.c.fattn_tune_template, json.dumps(config).encode(), seconds)


class Kernel:
    def __init__(self, library, config):
        self.library, self.handle = library, ctypes.c_void_p()
        library.check(library.c.fattn_compile(json.dumps(config).encode(), ctypes.byref(self.handle)))

    def __del__(self):
        if self.handle:
            self.library.c.fattn_kernel_release(self.handle)

    def info(self):
        return self.library._json(self.library.c.fattn_kernel_info, self.handle)

    def prepare(self, q, k, v, o, stream=None, lse=None):
        """A function that launches on these tensors (Tensor), which must outlive it; a call packs nothing."""
        args = ForwardArgs(struct_size=ctypes.sizeof(ForwardArgs), q=q, k=k, v=v, o=o, **({} if lse is None else {"lse": lse}))
        function, handle, reference, check = self.library.c.fattn_attention_forward, self.handle, ctypes.byref(args), self.library.check

        def launch(kernel=self):  # holds the kernel as long as the launch
            status = function(handle, stream, reference)
            if status:
                check(status)

        return launch


class TemplateKernel:
    """A template for parameters, compiled."""

    def __init__(self, library, config):
        self.library, self.handle = library, ctypes.c_void_p()
        library.check(library.c.fattn_compile_template(json.dumps(config).encode(), ctypes.byref(self.handle)))

    def __del__(self):
        if self.handle:
            self.library.c.fattn_tile_kernel_release(self.handle)

    def info(self):
        return self.library._json(self.library.c.fattn_tile_kernel_info, self.handle)

    def prepare(self, extents, tensors, numbers=None, stream=None):
        """A function that launches for a shape on tensors (Tensor) and numbers by name, which live as long as it does."""
        numbers = numbers or {}
        arguments = (Argument * (len(tensors) + len(numbers)))()
        for argument, (name, tensor) in zip(arguments, tensors.items()):
            argument.name, argument.kind, argument.value.tensor = name.encode(), TENSOR, ctypes.pointer(tensor)
        for i, (name, number) in enumerate(numbers.items()):
            arguments[len(tensors) + i] = Argument(name.encode(), NUMBER, Value(number=number))
        shape = (ctypes.c_int64 * len(extents))(*extents)
        function, handle, check = self.library.c.fattn_launch_template, self.handle, self.library.check

        def launch(held=(self, tensors)):
            status = function(handle, stream, shape, len(extents), arguments, len(arguments))
            if status:
                check(status)

        return launch


class PackedKernel:
    """A kernel whose operands are one structure. Its names are those of the C interface."""

    WORKSPACE, LAUNCH = "fattn_{}_workspace", "fattn_attention_{}"

    def __init__(self, library, config):
        self.library, self.handle = library, ctypes.c_void_p()
        library.check(self.function("fattn_compile_{}")(json.dumps(config).encode(), ctypes.byref(self.handle)))

    def __del__(self):
        if self.handle:
            self.function("fattn_{}_kernel_release")(self.handle)

    def function(self, name):
        return getattr(self.library.c, name.format(self.NAME))

    def info(self):
        return self.library._json(self.function("fattn_{}_kernel_info"), self.handle)

    def workspace(self, **args):
        """The bytes that a launch with these arguments (members of ARGS) needs."""
        packed, size = self.ARGS(struct_size=ctypes.sizeof(self.ARGS), **args), ctypes.c_int64()
        self.library.check(self.function(self.WORKSPACE)(self.handle, ctypes.byref(packed), ctypes.byref(size)))
        return size.value

    def prepare(self, stream=None, **args):
        """A function that launches with these arguments, whose memory must outlive it; a call packs nothing."""
        packed = self.ARGS(struct_size=ctypes.sizeof(self.ARGS), **args)
        function, handle, reference, check = self.function(self.LAUNCH), self.handle, ctypes.byref(packed), self.library.check

        def launch(kernel=self):  # holds the kernel as long as the launch
            status = function(handle, stream, reference)
            if status:
                check(status)

        return launch


class DecodeKernel(PackedKernel):
    NAME, ARGS = "decode", DecodeArgs


class VarlenKernel(PackedKernel):
    NAME, ARGS = "varlen", VarlenArgs


class BackwardKernel(PackedKernel):
    NAME, ARGS = "backward", BackwardArgs


class PackedBackwardKernel(BackwardKernel):
    ARGS, WORKSPACE, LAUNCH = PackedBackwardArgs, "fattn_packed_backward_workspace", "fattn_packed_backward"
