"""A proxy on loopback between one device and the server that impairs what passes, as networks do."""

import asyncio
import random
import socket
import struct


class Proxy:
    """Forwards connections to the server. Each direction can be held (nothing passes, nothing is lost), delayed, or
    refused; a reply can be cut after any number of bytes, and a request can come a second time, later."""

    def __init__(self, seed, server_port):
        self.random, self.server_port = random.Random(seed), server_port
        self.port, self.listener = 0, None
        self.up, self.down = asyncio.Event(), asyncio.Event()  # set: bytes pass
        self.refuses, self.delay = False, (0, 0)  # delay of each piece, in milliseconds
        self.cuts, self.copies = [], 0  # replies to cut, after how many bytes; requests to send again
        self.tasks, self.writers, self.done = set(), set(), {"cut": [], "copied": 0, "refused": 0}
        self.up.set()
        self.down.set()

    async def start(self):
        self.listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self.listener.sockets[0].getsockname()[1]

    async def stop(self):
        self.listener.close()
        self.reset()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def heal(self):
        self.refuses, self.delay, self.cuts, self.copies = False, (0, 0), [], 0
        self.up.set()
        self.down.set()

    def reset(self):
        """Breaks every connection, as a network that goes away."""
        for writer in list(self.writers):
            _abort(writer)

    async def _accept(self, reader, writer):
        task = asyncio.current_task()
        self.tasks.add(task)
        try:
            await self._forward(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # the connection is gone, which is all there is to know
        finally:
            self.tasks.discard(task)

    async def _forward(self, reader, writer):
        if self.refuses:
            self.done["refused"] += 1
            return _abort(writer)
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.server_port)
        except OSError:
            return _abort(writer)
        link = _Link(self, (reader, writer), (far_reader, far_writer))
        ends = {writer, far_writer}
        self.writers |= ends
        try:
            await link.run()
        finally:
            self.writers -= ends
            for end in ends:
                _abort(end)

    async def send_copy(self, request):
        """The same request once more, on a connection of its own, after anything up to half a second."""
        await asyncio.sleep(self.random.uniform(0, 0.5))
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.server_port)
            writer.write(request)
            await asyncio.wait_for(reader.read(65536), 2)
            writer.close()
            self.done["copied"] += 1
        except (OSError, asyncio.TimeoutError):
            pass  # the server is down: the copy is lost


class _Link:
    """One connection through the proxy."""

    def __init__(self, proxy, near, far):
        self.proxy, self.near, self.far = proxy, near, far
        self.request, self.cut, self.replied = b"", None, 0

    async def run(self):
        up = asyncio.create_task(self._pump(self.near[0], self.far[1], self.proxy.up, self._request))
        down = asyncio.create_task(self._pump(self.far[0], self.near[1], self.proxy.down, self._reply))
        try:
            await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            up.cancel()
            down.cancel()
            await asyncio.gather(up, down, return_exceptions=True)

    async def _pump(self, reader, writer, gate, look):
        while True:
            piece = await reader.read(65536)
            if not piece:
                return
            low, high = self.proxy.delay
            if high:
                await asyncio.sleep(self.proxy.random.uniform(low, high) / 1000)
            await gate.wait()
            piece, is_last = look(piece)
            if piece:
                writer.write(piece)
                await writer.drain()
            if is_last:
                await asyncio.sleep(0.01)  # let what was written leave before the reset overtakes it
                return

    def _request(self, piece):
        if piece.startswith(b"POST") and b"/sync" in piece[:200]:
            self.request, self.replied, self.cut = b"", 0, None
            if self.proxy.cuts:
                self.cut = self.proxy.cuts.pop()
        self.request += piece
        if self.proxy.copies and _is_whole(self.request) and self.request.startswith(b"POST"):
            self.proxy.copies -= 1
            task = asyncio.create_task(self.proxy.send_copy(self.request))
            self.proxy.tasks.add(task)
            task.add_done_callback(self.proxy.tasks.discard)
        return piece, False

    def _reply(self, piece):
        if self.cut is None or self.replied + len(piece) < self.cut:
            self.replied += len(piece)
            return piece, False
        self.proxy.done["cut"].append(self.cut)
        return piece[: self.cut - self.replied], True


def _is_whole(request):
    head, separator, body = request.partition(b"\r\n\r\n")
    if not separator:
        return False
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return len(body) >= int(value)
    return False


def _abort(writer):
    """Closes with a reset."""
    connection = writer.get_extra_info("socket")
    if connection is not None:
        try:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass  # closed already
    writer.transport.abort()
