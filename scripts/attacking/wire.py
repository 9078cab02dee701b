"""HTTP by hand: requests as bytes, answers read from a socket, connections that misbehave."""

import collections
import gzip
import json
import socket
import threading
import time


class Answers:
    """Counts what a server answered, from many threads."""

    def __init__(self):
        self.counts, self.sent, self.lock = collections.Counter(), 0, threading.Lock()

    def note(self, what, sent=0):
        with self.lock:
            self.counts[str(what)] += 1
            self.sent += sent

    def text(self):
        return ", ".join(f"{count} × {what}" for what, count in self.counts.most_common(5)) or "nothing asked"

    @property
    def total(self):
        return sum(self.counts.values())


def head(method, path, token=None, **fields):
    """A header; names of fields have _ for -."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Line:
    """A connection."""

    def __init__(self, port, timeout=5, buffer=None, source=None):
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(timeout)
        try:
            if source:
                self.socket.bind((source, 0))
            self.socket.connect(("127.0.0.1", port))
        except OSError:
            self.socket.close()
            raise
        self.held = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def _more(self):
        data = self.socket.recv(262_144)
        if not data:
            raise ConnectionError("the server closed the connection")
        self.held += data

    def _take(self, count):
        while len(self.held) < count:
            self._more()
        taken, self.held = self.held[:count], self.held[count:]
        return taken

    def text_line(self):
        while b"\r\n" not in self.held:
            self._more()
        line, _, self.held = self.held.partition(b"\r\n")
        return line

    def answer(self, method="GET"):
        """The status, the fields and the body of the next answer; unpacked if it came as gzip."""
        status, fields = int(self.text_line().split()[1]), {}
        while line := self.text_line():
            name, _, value = line.decode("latin-1").partition(":")
            fields[name.lower()] = value.strip()
        body = b""
        if method == "HEAD" or status in (204, 304):
            pass
        elif fields.get("transfer-encoding", "").lower() == "chunked":
            while size := int(self.text_line().split(b";")[0], 16):
                body += self._take(size)
                self.text_line()
            self.text_line()
        else:
            body = self._take(int(fields.get("content-length", "0")))
        if fields.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        return status, fields, body

    def is_closed(self, within):
        """True if the server closes the connection in so many seconds."""
        self.socket.settimeout(max(0.01, within))
        try:
            while self.socket.recv(65536):
                pass
            return True
        except TimeoutError:
            return False
        except OSError:
            return True


class Caller:
    """Sends requests on one connection, which it opens again when it was closed, and counts the answers."""

    def __init__(self, port, answers, token=None, timeout=10):
        self.port, self.answers, self.token, self.timeout, self.line = port, answers, token, timeout, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.line:
            self.line.close()
        self.line = None

    def ask(self, method, path, body=None, packed=False, media="application/json", **fields):
        """The status and the body; 0 if no answer came."""
        if body is not None:
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
            if packed:
                body, fields = gzip.compress(body, 6), {"Content_Encoding": "gzip", **fields}
            fields = {"Content_Length": len(body), "Content_Type": media, **fields}
        message = head(method, path, self.token, **fields) + (body or b"")
        try:
            if not self.line:
                self.line = Line(self.port, self.timeout)
            self.line.send(message)
            status, fields, answer = self.line.answer(method)
            if fields.get("connection", "").lower() == "close":
                self.close()
        except TimeoutError:
            self.close()
            self.answers.note("no answer in time", len(message))
            return 0, b""
        except (OSError, ValueError, IndexError):
            self.close()
            self.answers.note("closed", len(message))
            return 0, b""
        self.answers.note(status, len(message))
        return status, answer

    def json(self, *arguments, **options):
        """The status and the parsed body, or None without one."""
        status, body = self.ask(*arguments, **options)
        try:
            return status, json.loads(body)
        except ValueError:
            return status, None

    def sync(self, space, operations=(), device="attacker", packed=False, **more):
        return self.json("POST", f"/v1/spaces/{space}/sync", {"device": device, "operations": list(operations), **more},
                         packed=packed)


def parallel(count, body, until):
    """Runs `body(number)` in so many threads. What they raise but errors of connections is raised here."""
    failures = []

    def guarded(number):
        try:
            body(number)
        except OSError:
            pass  # a connection that the server ended
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.1, until + 6 - time.monotonic()))
    if failures:
        raise failures[0]
