"""Event streams, many at once and idle: bytes are read, and hints counted, nothing more."""

import asyncio
import threading
import time
import urllib.parse


class Streams:
    """Streams on a thread of their own."""

    def __init__(self, url, spaces):
        self.address = urllib.parse.urlsplit(url)
        self.hints, self.opened, self.last = 0, 0, 0.0
        self.loop = asyncio.new_event_loop()
        self.tasks = []
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.failures = []
        self.wanted = 0
        self.add(spaces)

    def add(self, spaces):
        """Opens one for each name of a space and waits until all are open."""
        self.wanted += len(spaces)
        asyncio.run_coroutine_threadsafe(self._start(spaces), self.loop).result(60)
        deadline = time.monotonic() + 60
        while self.opened < self.wanted:
            if self.failures or time.monotonic() > deadline:
                raise SystemExit(f"{self.opened} of {self.wanted} streams opened: {self.failures[:3]}")
            time.sleep(0.01)

    async def _start(self, spaces):
        gate = asyncio.Semaphore(64)
        self.tasks += [asyncio.ensure_future(self._listen(space, gate)) for space in spaces]

    async def _listen(self, space, gate):
        try:
            async with gate:
                reader, writer = await asyncio.open_connection(self.address.hostname, self.address.port)
                writer.write(f"GET /v1/spaces/{space}/events HTTP/1.1\r\nHost: load\r\n"
                             "Authorization: Bearer load\r\n\r\n".encode())
                head = await reader.readuntil(b": open")
                assert b" 200 " in head, head[:200]
            self.opened += 1
            while bytes_ := await reader.read(65536):
                if hints := bytes_.count(b"event: news"):
                    self.hints += hints
                    self.last = time.monotonic()
        except asyncio.CancelledError:
            writer.close()
            raise
        except Exception as error:  # told by whoever waits
            self.failures.append(f"{type(error).__name__}: {error}")

    def close(self):
        async def end():
            for task in self.tasks:
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)
        asyncio.run_coroutine_threadsafe(end(), self.loop).result(60)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
