# SPDX-License-Identifier: MIT
"""A client of HTTP/2 by hand, for what a library would not do: announce windows and not read, or
begin messages and not end them. It knows as much of RFC 9113 and 7541 as that takes."""

import socket
import struct

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
ACK, END_STREAM, END_HEADERS = 1, 1, 4
INITIAL_WINDOW_SIZE = 4
SMALLEST_WINDOW, LARGEST_WINDOW = 65535, (1 << 31) - 1  # of a connection
FRAME = 1 << 14  # the largest that needs no consent
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def field(name: bytes, value: bytes) -> bytes:
    """Without Huffman's code and without an index; both shorter than 127 bytes."""
    return bytes([0, len(name)]) + name + bytes([len(value)]) + value


def request(method: str) -> bytes:
    return b"".join(field(name, value) for name, value in (
        (b":method", b"POST"), (b":scheme", b"http"), (b":path", method.encode()), (b":authority", b"localhost"),
        (b"te", b"trailers"), (b"content-type", b"application/grpc")))


class Connection:
    """Sends at once; incoming frames are read only by receive."""

    def __init__(self, path: str, window: int = SMALLEST_WINDOW) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.next = 1
        self.windows: dict[int, int] = {0: SMALLEST_WINDOW}  # what may still be sent, of the connection and each stream
        self.initial = SMALLEST_WINDOW
        self.received: list[tuple[int, int, int, bytes]] = []
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, window)))
        if window > SMALLEST_WINDOW:
            self.socket.sendall(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", window - SMALLEST_WINDOW)))

    def close(self) -> None:
        self.socket.close()

    def exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            some = self.socket.recv(size - len(data))
            if not some:
                raise ConnectionResetError
            data += some
        return bytes(data)

    def receive(self) -> tuple[int, int, int, bytes]:
        """Returns the next frame; answers settings and pings, and updates the windows."""
        head = self.exactly(9)
        kind, flags, stream = struct.unpack(">BBI", head[3:])
        payload = self.exactly(int.from_bytes(head[:3], "big"))
        if kind == SETTINGS and not flags & ACK:
            for at in range(0, len(payload), 6):
                name, value = struct.unpack_from(">HI", payload, at)
                if name == INITIAL_WINDOW_SIZE:
                    for open_stream in self.windows:
                        self.windows[open_stream] += (value - self.initial) if open_stream else 0
                    self.initial = value
            self.socket.sendall(frame(SETTINGS, ACK, 0))
        elif kind == PING and not flags & ACK:
            self.socket.sendall(frame(PING, ACK, 0, payload))
        elif kind == WINDOW_UPDATE and stream in self.windows:
            self.windows[stream] += struct.unpack(">I", payload)[0]
        return kind, flags, stream, payload

    def begin(self, method: str) -> int:
        stream, self.next = self.next, self.next + 2
        self.windows[stream] = self.initial
        self.socket.sendall(frame(HEADERS, END_HEADERS, stream, request(method)))
        return stream

    def send(self, stream: int, data: bytes, end: bool = False) -> None:
        """Sends all of it as the windows allow, and reads while they do not."""
        view = memoryview(data)
        while view:
            size = min(FRAME, len(view), self.windows[0], self.windows[stream])
            if size <= 0:
                kind, _, of, _ = self.receive()
                if kind == GOAWAY or (kind in (RST_STREAM, HEADERS) and of == stream):
                    raise ConnectionResetError
                continue
            self.windows[0] -= size
            self.windows[stream] -= size
            last = end and size == len(view)
            self.socket.sendall(frame(DATA, END_STREAM if last else 0, stream, bytes(view[:size])))
            view = view[size:]

    def call(self, method: str, message: bytes) -> int:
        """A whole call, whose answer nobody reads."""
        stream = self.begin(method)
        self.send(stream, prefix(len(message)) + message, end=True)
        return stream


def prefix(size: int) -> bytes:
    """Of a message of gRPC, not compressed."""
    return struct.pack(">BI", 0, size)
