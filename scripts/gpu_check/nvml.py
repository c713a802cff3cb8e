"""NVIDIA's management library for one GPU, through ctypes alone: what check_gpu compares joulery with."""
import ctypes

FIELDS = {"energy counter": (83, 0), "energy counter, by scope": (191, 0), "power average": (185, 0), "power instant": (186, 0),
          "memory power": (185, 2), "module power": (185, 1), "module energy": (191, 1), "power limit": (190, 0), "least limit": (187, 0),
          "greatest limit": (188, 0), "default limit": (189, 0), "held by power cap": (74, 0), "held by sync boost": (76, 0),
          "held by software heat": (269, 0), "held by hardware heat": (270, 0), "held by power brake": (271, 0), "PCIe sent": (197, 0),
          "PCIe received": (198, 0), "NVLink sent": (138, 0xFFFFFFFF), "NVLink received": (139, 0xFFFFFFFF),
          "NVLink 5 sent": (202, 0xFFFFFFFF), "NVLink 5 received": (204, 0xFFFFFFFF)}
POWERS = {"draw": None, "average": (185, 0), "instant": (186, 0)}


class Value(ctypes.Union):
    _fields_ = [("real", ctypes.c_double), ("number", ctypes.c_uint), ("word", ctypes.c_ulong), ("wide", ctypes.c_ulonglong),
                ("signed_wide", ctypes.c_longlong), ("signed_number", ctypes.c_int), ("small", ctypes.c_ushort)]


class Field(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint), ("scope", ctypes.c_uint), ("time_us", ctypes.c_longlong), ("latency_us", ctypes.c_longlong),
                ("type", ctypes.c_uint), ("code", ctypes.c_int), ("value", Value)]


class MemoryV2(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("total", ctypes.c_ulonglong), ("reserved", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong),
                ("used", ctypes.c_ulonglong)]


class Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("memory", ctypes.c_ulonglong), ("gpu_instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


class Missing(Exception):
    """A function that the library lacks, or a code that is not 0."""


class Nvml:
    """NVIDIA's library for one GPU. Every reading raises Missing, with the library's code, where it has none."""

    def __init__(self, index):
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        self("nvmlInit_v2")
        self.handle = ctypes.c_void_p()
        self("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(self.handle))

    def __call__(self, name, *arguments):
        try:
            function = getattr(self.library, name)
        except AttributeError:
            raise Missing("not in the library") from None
        code = function(*arguments)
        if code != 0:
            raise Missing(f"code {code}")

    def text(self, name, of_device=True):
        text = ctypes.create_string_buffer(96)
        self(name, *([self.handle] if of_device else []), text, ctypes.c_uint(96))
        return text.value.decode()

    def number(self, name, *arguments, kind=ctypes.c_uint):
        number = kind()
        self(name, self.handle, *arguments, ctypes.byref(number))
        return number.value

    def fields(self, wanted):
        """What each (field, scope) answers: a whole number, or Missing."""
        values = (Field * len(wanted))()
        for one, (field, scope) in zip(values, wanted):
            one.id, one.scope, one.code = field, scope, 999
        self("nvmlDeviceGetFieldValues", self.handle, ctypes.c_int(len(wanted)), values)
        names = [name for name, _ in Value._fields_]
        return [Missing(f"code {one.code}") if one.code else getattr(one.value, names[one.type]) for one in values]

    def field(self, field, scope=0):
        value = self.fields([(field, scope)])[0]
        if isinstance(value, Missing):
            raise value
        return value

    def power(self, which):
        where = POWERS[which]
        milliwatts = self.number("nvmlDeviceGetPowerUsage") if where is None else self.field(*where)
        if milliwatts == 0:
            raise Missing("says 0 W")
        return milliwatts * 1e-3

    def energy(self):
        try:
            return self.number("nvmlDeviceGetTotalEnergyConsumption", kind=ctypes.c_ulonglong) * 1e-3
        except Missing:
            return self.field(83) * 1e-3

    def memory(self):
        memory = MemoryV2(version=ctypes.sizeof(MemoryV2) | 2 << 24)
        self("nvmlDeviceGetMemoryInfo_v2", self.handle, ctypes.byref(memory))
        return memory

    def utilisation(self):
        both = (ctypes.c_uint * 2)()
        self("nvmlDeviceGetUtilizationRates", self.handle, both)
        return both[0]

    def processes(self):
        count, room = ctypes.c_uint(256), (Process * 256)()
        self("nvmlDeviceGetComputeRunningProcesses_v3", self.handle, ctypes.byref(count), room)
        return count.value


def tried(function, *arguments):
    try:
        return function(*arguments)
    except Missing as missing:
        return missing
