"""A load of known length for a GPU: a kernel of our own through CUDA's driver library, or PyTorch."""
import ctypes
import time

# Multiplies and adds until so many nanoseconds have passed. Any GPU since Maxwell.
PTX = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry burn(.param .u64 ns, .param .u64 out)
{
  .reg .pred %p<3>;
  .reg .f32 %f<3>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [ns];
  ld.param.u64 %rd2, [out];
  cvta.to.global.u64 %rd2, %rd2;
  mov.u64 %rd3, %globaltimer;
  mov.f32 %f1, 0f3F800000;
  mov.f32 %f2, 0f3F7FFFF0;
AGAIN:
""" + b"  fma.rn.f32 %f1, %f1, %f2, %f2;\n" * 64 + b"""
  mov.u64 %rd4, %globaltimer;
  sub.u64 %rd5, %rd4, %rd3;
  setp.lt.u64 %p1, %rd5, %rd1;
  @%p1 bra AGAIN;
  setp.eq.f32 %p2, %f1, 0f00000000;
  @%p2 st.global.f32 [%rd2], %f1;
  ret;
}
\0"""


class CudaLoad:
    """Keeps the first GPU that CUDA sees busy for a given time, through the driver's own library."""
    name = "own kernel"

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context, module, self.out = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
        self.kernel, processors = ctypes.c_void_p(), ctypes.c_int()
        self.call("cuInit", ctypes.c_uint(0))
        self.call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuDeviceGetAttribute", ctypes.byref(processors), ctypes.c_int(16), device)
        self.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(PTX))
        self.call("cuModuleGetFunction", ctypes.byref(self.kernel), module, b"burn")
        self.call("cuMemAlloc_v2", ctypes.byref(self.out), ctypes.c_size_t(4))
        self.blocks = processors.value * 4

    def call(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        if code != 0:
            raise OSError(f"{name} answers {code}")

    def burn(self, seconds):
        ns, one = ctypes.c_uint64(int(seconds * 1e9)), ctypes.c_uint(1)
        parameters = (ctypes.c_void_p * 2)(ctypes.addressof(ns), ctypes.addressof(self.out))
        self.call("cuLaunchKernel", self.kernel, ctypes.c_uint(self.blocks), one, one, ctypes.c_uint(256), one, one, ctypes.c_uint(0), None,
                  parameters, None)
        self.call("cuCtxSynchronize")


class TorchLoad:
    name = "PyTorch"

    def __init__(self):
        import torch
        self.torch = torch
        self.matrix = torch.rand(4096, 4096, device="cuda")

    def burn(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.matrix @ self.matrix
            self.torch.cuda.synchronize()


def find_load():
    reasons = []
    for kind in (CudaLoad, TorchLoad):
        try:
            return kind(), ""
        except Exception as error:
            reasons.append(f"{kind.name}: {error}")
    return None, "; ".join(reasons)
