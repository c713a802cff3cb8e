#!/usr/bin/python3
"""A stand-in for the metrics service that a program on a TPU runs: gRPC on a port of loopback, messages by hand.

    fake_tpu.py [--chips N] [--cores-per-chip N] [--duty PERCENT] [--used BYTES] [--total BYTES] [--delay SECONDS] [--rubbish]

Prints the port that it took, then serves until its standard input ends. Chip N is busy for duty + N per cent, and its
cores use `used` + N bytes each."""
import argparse
import struct
import sys
import time
from concurrent import futures

import grpc

SERVICE = "tpu.monitoring.runtime.RuntimeMetricService"


def varint(value):
    out = b""
    while True:
        out += bytes([value & 0x7F | (0x80 if value > 0x7F else 0)])
        value >>= 7
        if not value:
            return out


def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def metric(device, gauge):
    attribute = field(1, "device-id") + field(2, field(3, device))
    stamp = field(1, 1_700_000_000) + field(2, 5)
    return field(1, attribute) + field(2, stamp) + field(3, field(1 if isinstance(gauge, float) else 2, gauge))


def response(name, values):
    return field(1, field(1, name) + field(2, "as the runtime says it") + b"".join(field(3, metric(d, v)) for d, v in values))


class Service(grpc.GenericRpcHandler):
    def __init__(self, options):
        self.options = options

    def service(self, call):
        if call.method != f"/{SERVICE}/GetRuntimeMetric":
            return None
        return grpc.unary_unary_rpc_method_handler(self.answer)

    def answer(self, request, context):
        o = self.options
        time.sleep(o.delay)
        name = request[2:].decode()
        assert request[:2] == bytes([0x0A, len(name)])
        if o.rubbish:
            return b"\xff\xff\xff"
        cores = range(o.chips * o.cores_per_chip)
        values = {
            "tpu.runtime.tensorcore.dutycycle.percent": [(chip, o.duty + chip) for chip in range(o.chips)],
            "tpu.runtime.hbm.memory.usage.bytes": [(core, o.used + core // o.cores_per_chip) for core in cores],
            "tpu.runtime.hbm.memory.total.bytes": [(core, o.total) for core in cores],
        }.get(name)
        if values is None:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such metric")
        return response(name, values)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--chips", type=int, default=4)
    parser.add_argument("--cores-per-chip", type=int, default=1)
    parser.add_argument("--duty", type=float, default=50)
    parser.add_argument("--used", type=int, default=1 << 30)
    parser.add_argument("--total", type=int, default=16 << 30)
    parser.add_argument("--delay", type=float, default=0)
    parser.add_argument("--rubbish", action="store_true")
    options = parser.parse_args()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
    server.add_generic_rpc_handlers((Service(options),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    sys.stdin.read()
    server.stop(0)


main()
