"""Scalars in the file format that TensorBoard reads: TFRecords of Event messages (tensorflow/core/util/event.proto)."""

import os
import socket
import struct
import time


def _crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)  # CRC-32C, reflected
        table.append(value)
    return table


_TABLE = _crc_table()


def masked_crc(data):
    """The checksum of a TFRecord: CRC-32C, rotated and offset."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _varint(value):
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number, payload):
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _event(body):
    return b"\x09" + struct.pack("<d", time.time()) + body  # wall_time = 1


class EventFile:
    """One file in `folder`, made at the first scalar and kept open; each scalar is in the file when add() returns."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.joulery"
        self._file = open(os.path.join(folder, name), "ab", buffering=0)
        self._write(_event(_field(3, b"brain.Event:2")))  # file_version = 3

    def add(self, name, value, step):
        scalar = _field(1, name.encode()) + b"\x15" + struct.pack("<f", value)  # tag = 1, simple_value = 2
        self._write(_event(b"\x10" + _varint(int(step)) + _field(5, _field(1, scalar))))  # step = 2, summary = 5

    def _write(self, event):
        head = struct.pack("<Q", len(event))
        self._file.write(head + struct.pack("<I", masked_crc(head)) + event + struct.pack("<I", masked_crc(event)))
