# SPDX-License-Identifier: MIT
"""Tensors from rank to rank: what isend and irecv, send and recv do.

A program of two ranks keeps both cores until the other rank has come. So these pass from the one core's memory to the other's by the host, in a thread of their
own, and meanwhile the core executes whatever comes. A sender offers a tensor, with its number of elements, its type and its tag; the receiver takes offers of a
rank and tag in the order that they were made in, once there is a place for one; then the elements are sent. Each rank connects to those that it has to do with:
the end of a connection tells that a rank has ended.
"""

import asyncio
import contextlib
import ctypes
import datetime
import itertools
import json
import math
import os
import socket
import struct
import threading
import uuid
import weakref
from collections.abc import Callable, Coroutine
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch.futures import Future

FRAME = 1 << 16  # bytes of what is said beside the elements
STOPPING = 10  # seconds for the thread to end
_LENGTH = struct.Struct("<I")
_ENDS = (OSError, ValueError, KeyError, TypeError, AttributeError)  # of a connection: it, or what came by it
_CREDENTIALS = struct.Struct("iII")  # ucred: process, user, group


class Work(dist.Work):
    """What a call that returns before it is done gives: wait() raises what went wrong"""

    def __init__(self, what: str, timeout: float) -> None:
        super().__init__()
        self.what, self.patience, self.source = what, timeout, -1
        self._done, self._future, self._error, self._tensors = threading.Event(), Future(), None, []

    def finish(self, result: object, error: Exception | None = None) -> None:
        """Of several ends the first one counts"""
        if self._done.is_set():
            return
        self._error = error
        self._tensors = [] if error or not isinstance(result, (list, tuple)) else list(result)
        self._done.set()
        if error:
            self._future.set_exception(error)
        else:
            self._future.set_result(result)

    def wait(self, timeout: datetime.timedelta | None = None) -> bool:
        """RuntimeError: it failed, or is not done within that time (without one, the group's), after which it may be waited for again"""
        seconds = timeout.total_seconds() if timeout else self.patience
        if not self._done.wait(min(seconds, threading.TIMEOUT_MAX)):
            raise dist.DistBackendError(f"{self.what}: not done within {seconds:g} s")
        if self._error:
            raise self._error
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        return self._done.is_set()

    def is_success(self) -> bool:
        return self._done.is_set() and not self._error

    def exception(self) -> Exception | None:
        return self._error

    def result(self) -> list[Tensor]:
        self.wait()
        return self._tensors

    def get_future(self) -> Future:
        return self._future

    def source_rank(self) -> int:
        return self.source

    _source_rank = source_rank


def done(result: object) -> Work:
    work = Work("a collective", math.inf)
    work.finish(result)
    return work


class _Connection:
    def __init__(self, channel: socket.socket) -> None:
        self.channel, self.writing, self.replies = channel, asyncio.Lock(), {}

    async def write(self, said: dict, elements: memoryview | None = None) -> None:
        text, loop = json.dumps(said).encode(), asyncio.get_running_loop()
        async with self.writing:
            await loop.sock_sendall(self.channel, _LENGTH.pack(len(text)) + text)
            if elements:
                await loop.sock_sendall(self.channel, elements)

    async def read(self, place: memoryview) -> None:
        """ConnectionError: the other one has closed it"""
        while place:
            count = await asyncio.get_running_loop().sock_recv_into(self.channel, place)
            if not count:
                raise ConnectionError("closed")
            place = place[count:]

    async def said(self) -> dict:
        head = memoryview(bytearray(_LENGTH.size))
        await self.read(head)
        size = _LENGTH.unpack(head)[0]
        if size > FRAME:
            raise ValueError(f"a frame of {size} bytes")
        text = bytearray(size)
        await self.read(memoryview(text))
        return json.loads(text)


class _Receive(NamedTuple):
    """A place that waits for a tensor"""

    work: Work
    source: int | None  # of any rank
    tag: int
    value: Tensor


class _Offer(NamedTuple):
    """A tensor that waits for a place"""

    rank: int
    number: int  # of the sender's tensors
    tag: int
    dtype: str
    shape: list[int]
    connection: _Connection

    def fits(self, receive: _Receive) -> bool:
        return receive.tag == self.tag and receive.source in (None, self.rank)


def _bytes(value: Tensor) -> memoryview:
    """Those of a tensor without gaps, of the CPU's or the device's memory, which is mapped; whoever calls this keeps the tensor"""
    return memoryview((ctypes.c_char * value.nbytes).from_address(value.data_ptr())) if value.nbytes else memoryview(b"")


def _named(dtype: object, shape: list[int]) -> str:
    return f"{math.prod(shape)} elements of {dtype} (shape {shape})"


class Messages:
    """A rank's, in a group. All but the public functions is the thread's"""

    def __init__(self, store: dist.Store, rank: int, ranks: int, timeout: float) -> None:
        self.store, self.rank, self.ranks, self.timeout = store, rank, ranks, timeout
        self.listener, self.places, self.loop, self.thread, self.lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), {}, None, None, threading.Lock()
        self.channels = weakref.WeakSet([self.listener])
        place = f"neuron-torch-{uuid.uuid4().hex}"
        self.listener.bind(f"\0{place}")
        self.listener.listen(max(ranks, 128))
        self.listener.setblocking(False)
        store.set(f"neuron_messages/{rank}", place)
        self.numbers, self.tasks, self.works = itertools.count(), set(), set()
        self.outgoing: dict[int, asyncio.Task[_Connection]] = {}
        self.incoming: dict[int, _Connection] = {}
        self.ended: dict[int, str] = {}  # why
        self.posted: list[_Receive] = []
        self.offered: list[_Offer] = []
        self.taken: dict[tuple[int, int], _Receive] = {}  # offers whose elements are on their way, by rank and number
        _all.add(self)

    def send(self, value: Tensor, to: int, tag: int) -> Work:
        work = Work(f"isend of {_named(value.dtype, list(value.shape))} from rank {self.rank} to rank {to} of {self.ranks}, tag {tag}", self.timeout)
        value = value.detach().resolve_neg().contiguous()
        self._begin(work, [to], lambda: self._spawn(self._send(work, to, tag, value)))
        return work

    def receive(self, value: Tensor, source: int | None, tag: int) -> Work:
        where = "any rank" if source is None else f"rank {source}"
        work = Work(f"irecv of {_named(value.dtype, list(value.shape))} by rank {self.rank} of {self.ranks} from {where}, tag {tag}", self.timeout)
        value, others = value.detach(), [rank for rank in range(self.ranks) if rank != self.rank]
        self._begin(work, others if source is None else [source], lambda: self._post(_Receive(work, source, tag, value)))
        return work

    def close(self) -> None:
        """What is under way fails"""
        with self.lock:
            thread, self.thread, self.store = self.thread, None, None
            if thread:
                self.loop.call_soon_threadsafe(self.stopping.set)
            else:
                self.listener.close()
        if thread:
            thread.join(STOPPING)

    def forget(self) -> None:
        """In a forked process, which has neither the thread nor the connections: the other ranks must not see that one go on"""
        self.lock, self.thread, self.store = threading.Lock(), None, None
        for channel in self.channels:
            channel.close()

    def _begin(self, work: Work, ranks: list[int], first: Callable[[], object]) -> None:
        """Has the thread begin with a call that has to do with ranks"""
        with self.lock:
            if self.store is None:
                raise RuntimeError(f"{work.what}: the process group was shut down")
            for rank in ranks:
                if not 0 <= rank < self.ranks:
                    raise ValueError(f"{work.what}: there is no such rank")
                if rank not in self.places:
                    self.places[rank] = self.store.get(f"neuron_messages/{rank}").decode()
            if self.thread is None:
                ready = threading.Event()
                self.thread = threading.Thread(target=lambda: asyncio.run(self._main(ready)), name="neuron-messages", daemon=True)
                self.thread.start()
                ready.wait()
            self.loop.call_soon_threadsafe(lambda: (self.works.add(work), first()))

    async def _main(self, ready: threading.Event) -> None:
        self.loop, self.stopping = asyncio.get_running_loop(), asyncio.Event()
        ready.set()
        self._spawn(self._accept())
        await self.stopping.wait()
        for work in list(self.works):
            self._finish(work, error=RuntimeError(f"{work.what}: the process group was shut down"))
        under_way = list(self.tasks)
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        for channel in list(self.channels):
            channel.close()

    def _spawn(self, what: Coroutine) -> asyncio.Task:
        task = self.loop.create_task(what)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def _finish(self, work: Work, result: object = None, error: Exception | None = None) -> None:
        self.works.discard(work)
        work.finish(result, error)

    def _gone(self, work: Work, rank: int) -> None:
        self._finish(work, error=dist.DistBackendError(f"{work.what}: rank {rank} has ended, or left the group ({self.ended[rank]})"))

    def _lost(self, rank: int, why: Exception) -> None:
        """A connection with a rank has ended. What it has sent before is still to be read"""
        self.ended.setdefault(rank, str(why))
        if rank in self.incoming:
            return
        for key in [key for key in self.taken if key[0] == rank]:
            self._gone(self.taken.pop(key).work, rank)
        self.offered = [offer for offer in self.offered if offer.rank != rank]
        alone = len(self.ended) >= self.ranks - 1
        for receive in [receive for receive in self.posted if receive.source == rank or (receive.source is None and alone)]:
            self.posted.remove(receive)
            self._gone(receive.work, rank)

    def _connection(self, channel: socket.socket) -> _Connection:
        """ConnectionError: the other one is of another user"""
        if _CREDENTIALS.unpack(channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[1] != os.geteuid():
            channel.close()
            raise ConnectionError("another user's")
        self.channels.add(channel)
        return _Connection(channel)

    # To others: what this rank sends, and their answers

    def _to(self, rank: int) -> asyncio.Task[_Connection]:
        if rank not in self.outgoing:
            self.outgoing[rank] = self._spawn(self._connect(rank))
        return self.outgoing[rank]

    async def _connect(self, rank: int) -> _Connection:
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        channel.setblocking(False)
        self.channels.add(channel)
        try:
            await self.loop.sock_connect(channel, f"\0{self.places[rank]}")
            connection = self._connection(channel)
            await connection.write({"rank": self.rank})
        except OSError:
            channel.close()
            raise
        self._spawn(self._answered(rank, connection))
        return connection

    async def _watch(self, rank: int) -> None:
        try:
            await self._to(rank)
        except OSError as error:
            self._lost(rank, error)

    async def _answered(self, rank: int, connection: _Connection) -> None:
        try:
            while True:
                said = await connection.said()
                connection.replies.pop(said["number"]).set_result(said.get("refused"))
        except _ENDS as error:
            why = error
        connection.channel.close()
        replies, connection.replies = connection.replies, None
        for reply in replies.values():
            reply.set_exception(ConnectionError("closed"))
        self._lost(rank, why)

    async def _send(self, work: Work, to: int, tag: int, value: Tensor) -> None:
        number = next(self.numbers)
        try:
            connection = await self._to(to)
            if connection.replies is None:
                raise ConnectionError("closed")
            reply = connection.replies[number] = self.loop.create_future()
            reply.add_done_callback(lambda reply: reply.cancelled() or reply.exception())
            await connection.write({"number": number, "tag": tag, "dtype": str(value.dtype), "shape": list(value.shape)})
            if refused := await reply:
                self._finish(work, error=RuntimeError(refused))
                return
            await connection.write({"number": number}, _bytes(value))
        except OSError as error:
            self._lost(to, error)
            self._gone(work, to)
        else:
            self._finish(work, [value])

    # From others: what they send, and this rank's answers

    async def _accept(self) -> None:
        while True:
            try:
                channel, _ = await self.loop.sock_accept(self.listener)
                self._spawn(self._served(self._connection(channel)))
            except ConnectionError:
                pass
            except OSError:  # too many files, at the moment
                await asyncio.sleep(0.1)

    async def _served(self, connection: _Connection) -> None:
        rank = None
        try:
            rank = (await connection.said())["rank"]
            if rank not in range(self.ranks) or self.incoming.setdefault(rank, connection) is not connection:
                rank = None
            while rank is not None:
                said = await connection.said()
                if "tag" in said:
                    self._offered(_Offer(rank, said["number"], said["tag"], said["dtype"], said["shape"], connection))
                else:
                    await self._elements(rank, said["number"], connection)
        except _ENDS as error:
            why = error
        connection.channel.close()
        if rank is not None:
            del self.incoming[rank]
            self._lost(rank, why)

    def _offered(self, offer: _Offer) -> None:
        receive = next((receive for receive in self.posted if offer.fits(receive)), None)
        if receive:
            self.posted.remove(receive)
            self._spawn(self._answer(receive, offer))
        else:
            self.offered.append(offer)

    def _post(self, receive: _Receive) -> None:
        offer = next((offer for offer in self.offered if offer.fits(receive)), None)
        if offer:
            self.offered.remove(offer)
            self._spawn(self._answer(receive, offer))
            return
        self.posted.append(receive)
        for rank in range(self.ranks) if receive.source is None else [receive.source]:
            if rank in self.ended:
                self._lost(rank, ConnectionError("closed"))
            elif rank != self.rank or receive.source is not None:
                self._spawn(self._watch(rank))

    async def _answer(self, receive: _Receive, offer: _Offer) -> None:
        place, said = receive.value, {"number": offer.number}
        if (math.prod(offer.shape), offer.dtype) == (place.numel(), str(place.dtype)):
            self.taken[offer.rank, offer.number] = receive
        else:
            said["refused"] = (f"rank {offer.rank} sends {_named(offer.dtype, offer.shape)}, rank {self.rank} receives {_named(place.dtype, list(place.shape))}, "
                               f"tag {offer.tag}")
        with contextlib.suppress(OSError):  # then all from that rank ends
            await offer.connection.write(said)
        if "refused" in said:
            self._finish(receive.work, error=RuntimeError(said["refused"]))

    async def _elements(self, rank: int, number: int, connection: _Connection) -> None:
        receive = self.taken[rank, number]
        place = receive.value
        plain = place.is_contiguous() and not place.is_neg()
        made = place if plain else torch.empty(place.shape, dtype=place.dtype)
        await connection.read(_bytes(made))
        del self.taken[rank, number]
        receive.work.source = rank
        try:
            if not plain:
                place.copy_(made)
        except RuntimeError as error:
            self._finish(receive.work, error=error)
        else:
            self._finish(receive.work, [place])


_all: weakref.WeakSet[Messages] = weakref.WeakSet()
os.register_at_fork(after_in_child=lambda: [messages.forget() for messages in list(_all)])
