"""Attacks on connections and headers, mostly by nobody in particular. The server has shorter times than by default, so
that a short run sees their ends, and takes 1000 connections, 400 of them from an address that is not named as a proxy's."""

import socket
import struct
import time

from attacking.servers import Broken
from attacking.trial import BUSY, attack
from attacking.wire import Answers, Caller, Line, head, parallel

ARGUMENTS = ["--header-time", "1s", "--body-time", "1s", "--idle-time", "2s", "--connections", "1000",
             "--address-connections", "400", "--proxy", "127.0.0.1"]


def lines(site, count, first=b"", source=None):
    """So many connections that have sent something."""
    opened = []
    for _ in range(count):
        try:
            line = Line(site.port, source=source)
            line.send(first)
            opened.append(line)
        except OSError:
            site.answers.note("closed")
    return opened


def dribble(site, opened, byte, pause=0.2):
    """Sends a byte on each connection now and then, and counts those that the server closed."""
    while site.is_on:
        for line in opened:
            try:
                line.send(byte)
            except OSError:
                pass
        time.sleep(pause)


def all_closed(site, opened, within):
    """Looks that the server closes all connections in so many seconds, the ones first that were opened first."""
    end = time.monotonic() + within
    left = [line for line in opened if not line.is_closed(end - time.monotonic())]
    for line in opened:
        line.close()
    site.answers.note(f"closed ({len(opened) - len(left)} of {len(opened)})")
    if left:
        raise Broken(f"{len(left)} of {len(opened)} connections are open {within} s later")


def each(site, messages, wanted, who=None, closes=True):
    """Sends each message on a connection of its own until the attack is over, and looks at the status."""
    def one(number):
        while site.is_on:
            message = messages[number % len(messages)]
            number += 8
            with Line(site.port, timeout=3) as line:
                try:
                    line.send(message)
                    status = line.answer()[0]
                except TimeoutError:
                    site.answers.note("no answer in time", len(message))
                    continue
                except (OSError, ValueError, IndexError):
                    site.answers.note("closed", len(message))
                    continue
            site.answers.note(status, len(message))
            if status not in wanted:
                raise Broken(f"{message[:80]!r} was answered {status}")
    parallel(8, one, site.until)


@attack("slow headers", "nobody", "50 of 50 lived past 80 s", memory=32)
def slow_headers(site):
    """300 connections send a byte of a header now and then. Each ends when --header-time is over."""
    yield
    opened = lines(site, 300, b"GET /v1/spaces/arena/changes HTTP/1.1\r\nX: ")
    dribble(site, opened, b"x")
    yield
    all_closed(site, opened, 3)


@attack("idle connections", "nobody", "no limit", memory=32)
def idle_connections(site):
    """600 connections send nothing. Each ends when --header-time is over."""
    yield
    opened = lines(site, 600)
    dribble(site, [], b"")
    yield
    all_closed(site, opened, 3)


@attack("more connections than --connections", "nobody", "up to LimitNOFILE", memory=48)
def too_many_connections(site):
    """1300 connections send nothing. Those that others have go on, and afterwards new ones are taken."""
    yield
    opened = lines(site, 1300)
    dribble(site, [], b"")
    yield
    all_closed(site, opened, 3)
    with Line(site.port) as line:
        line.send(head("GET", "/livez"))
        if line.answer()[0] != 200:
            raise Broken("no connection is taken afterwards")


@attack("more connections than one address may have", "nobody", memory=32)
def too_many_of_one_address(site):
    """1300 connections of 127.0.0.2 send nothing. All but 400 are closed at once, so others still get one."""
    yield
    opened = lines(site, 1300, source="127.0.0.2")
    if site.metric("bothy_connections") > 450:
        raise Broken(f"{site.metric('bothy_connections'):.0f} connections are open")
    with Line(site.port, source="127.0.0.3") as line:
        line.send(head("GET", "/livez"))
        if line.answer()[0] != 200:
            raise Broken("another address gets no connection")
    dribble(site, [], b"")
    yield
    all_closed(site, opened, 3)


@attack("slow bodies without a token", "nobody", "–", memory=32)
def slow_bodies_of_nobody(site):
    """200 requests with a long body send a byte now and then. They are refused before the body."""
    yield
    opened = lines(site, 200, head("POST", "/v1/spaces/arena/sync", Content_Length=1 << 20,
                                   Content_Type="application/json"))
    dribble(site, opened, b" ")
    yield
    all_closed(site, opened, 5)


@attack("slow bodies", before="10 tokens hold 8 MB each", memory=144, latency=BUSY)
def slow_bodies(site):
    """100 requests of one member send most of a body of 4 MB, and then a byte now and then."""
    def one(_):
        with Line(site.port, timeout=3) as line:
            line.send(head("POST", "/v1/spaces/arena/sync", "of-mallory", Content_Length=4 << 20,
                           Content_Type="application/json"))
            line.send(b" " * (4_000_000))
            while site.is_on:
                line.send(b" ")
                time.sleep(0.2)
            line.socket.settimeout(0.05)
            try:
                site.answers.note(line.answer()[0], 4_000_000)
            except TimeoutError:
                site.answers.note("held", 4_000_000)
    parallel(100, one, site.until)


@attack("huge header fields", "nobody", "400 beyond 100 KB", memory=64)
def huge_fields(site):
    """Fields and addresses of a megabyte."""
    big = b"a" * (1 << 20)
    each(site, [b"GET /livez HTTP/1.1\r\nHost: a\r\nX: " + big + b"\r\n\r\n",
                b"GET /" + big + b" HTTP/1.1\r\nHost: a\r\n\r\n", big,
                b"GET /livez?" + big + b" HTTP/1.1\r\nHost: a\r\n\r\n",
                b"GET /livez HTTP/1.1\r\n" + big + b": x\r\n\r\n"], {400, 414, 431})


@attack("floods of header fields", "nobody", memory=48)
def many_fields(site):
    """Headers of 10,000 fields, the same and different ones."""
    each(site, [b"GET /livez HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 10_000 + b"\r\n",
                b"GET /livez HTTP/1.1\r\nHost: a\r\n" + b"".join(b"X%d: y\r\n" % n for n in range(10_000)) + b"\r\n",
                b"GET /livez HTTP/1.1\r\nHost: a\r\n" + b"Cookie: a=b\r\n" * 5_000 + b"\r\n"], {400, 431})


@attack("headers without end", "nobody", memory=48)
def endless_headers(site):
    """100 connections send fields until the server has enough."""
    def one(_):
        with Line(site.port, timeout=2) as line:
            line.send(b"GET /livez HTTP/1.1\r\n")
            while site.is_on:
                line.send(b"X-Field: " + b"y" * 1000 + b"\r\n")
                site.answers.note("fields", 1012)
    parallel(100, one, site.until)


@attack("declared giant bodies", memory=32)
def declared_bodies(site):
    """Bodies of a terabyte by Content-Length, and of more than any number holds."""
    def message(length):
        return head("POST", "/v1/spaces/arena/sync", "of-mallory", Content_Type="application/json",
                    Content_Length=length)
    each(site, [message(1 << 40), message(9 << 20), message(2 ** 63), message("9" * 400)], {400, 408, 413})


@attack("chunked bodies without end", memory=144, latency=BUSY)
def endless_bodies(site):
    """20 bodies in chunks, which end nowhere. They end at --body-size."""
    def one(_):
        with Line(site.port, timeout=2) as line:
            line.send(head("POST", "/v1/spaces/arena/sync", "of-mallory", Content_Type="application/json",
                           Transfer_Encoding="chunked"))
            chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
            try:
                while site.is_on:
                    line.send(chunk)
                    site.answers.sent += len(chunk)
            finally:
                site.answers.note(line.answer()[0])
    parallel(20, one, site.until)


@attack("odd chunks", memory=32)
def odd_chunks(site):
    """Sizes that no number holds, extensions without end, chunks of one byte, trailers."""
    start = head("POST", "/v1/spaces/arena/sync", "of-mallory", Content_Type="application/json",
                 Transfer_Encoding="chunked")
    each(site, [start + b"ffffffffffffffff\r\n", start + b"fffffffffffffffffff\r\nx", start + b"-1\r\n",
                start + b"1;" + b"a=b;" * 100_000, start + b"1\r\n{\r\n" * 20_000 + b"0\r\n\r\n",
                start + b"0\r\n" + b"X: y\r\n" * 20_000 + b"\r\n"], {400, 408, 413, 431})


@attack("half-closed connections", "nobody", memory=32)
def half_closed(site):
    """The caller closes its half after the request, after half of one, and at once."""
    def one(number):
        while site.is_on:
            with Line(site.port, timeout=3) as line:
                line.send([head("GET", "/livez"), b"GET /livez HT", b"",
                           head("POST", "/v1/spaces/arena/sync", "of-mallory", Content_Length=10) + b"{"][number % 4])
                line.socket.shutdown(socket.SHUT_WR)
                try:
                    site.answers.note(line.answer()[0])
                except (OSError, ValueError, IndexError):
                    site.answers.note("closed")
            number += 1
    yield
    parallel(16, one, site.until)
    yield
    time.sleep(1.2)
    if site.metric("bothy_connections") > 40:
        raise Broken(f"{site.metric('bothy_connections'):.0f} connections are left")


@attack("pipelines that are not read", "nobody", memory=48, latency=BUSY)
def pipelines(site):
    """20 connections send thousands of requests, and never read an answer."""
    message = head("GET", "/openapi.json") * 200

    def one(_):
        with Line(site.port, timeout=0.5, buffer=4096) as line:
            while site.is_on:
                try:
                    line.send(message)
                except TimeoutError:
                    time.sleep(0.05)
                site.answers.note("200 requests", len(message))
    parallel(20, one, site.until)


@attack("pipelines that are read", "nobody", memory=48, latency=BUSY)
def read_pipelines(site):
    """8 connections send hundreds of requests at a time, and read the answers."""
    message = head("GET", "/livez") * 200

    def one(_):
        with Line(site.port, timeout=5) as line:
            while site.is_on:
                line.send(message)
                for _ in range(200):
                    site.answers.note(line.answer()[0])
    parallel(8, one, site.until)


@attack("HTTP/1.0 and older", "nobody", memory=32)
def old_versions(site):
    """Requests of versions 0.9, 1.0, 1.2, 2.0 and of none."""
    each(site, [b"GET /livez HTTP/1.0\r\n\r\n", b"GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
                b"GET /livez\r\n\r\n", b"GET /livez HTTP/1.2\r\nHost: a\r\n\r\n",
                b"GET /livez HTTP/9.9\r\nHost: a\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
         {200, 400, 404, 405, 505})


@attack("request smuggling", "nobody", "all 400", memory=32)
def smuggling(site):
    """Bodies whose length two programs could read differently, with a second request inside. It is never answered."""
    inner = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
    post = b"POST /v1/spaces/arena/sync HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer of-mallory\r\n" \
        b"Content-Type: application/json\r\n"
    shapes = [
        post + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
        post + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n0\r\n\r\n" + inner,
        post + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + inner,
        post + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + inner,
        post + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + inner,
        post + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + inner,
        post + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + inner,
        post + b"Content-Length: -1\r\n\r\n" + inner,
        post + b"Content-Length: +5\r\n\r\n0\r\n\r\n" + inner,
        post + b"Content-Length: 5, 5\r\n\r\n0\r\n\r\n" + inner,
        post + b"Content-Length: 0x5\r\n\r\n0\r\n\r\n" + inner,
        post + b"X: a\nContent-Length: 5\r\n\r\n0\r\n\r\n" + inner,
        post + b"X: a\x00b\r\nContent-Length: 0\r\n\r\n" + inner,
    ]

    def one(number):
        while site.is_on:
            with Line(site.port, timeout=2) as line:
                line.send(shapes[number % len(shapes)])
                try:
                    status, _, body = line.answer()
                    site.answers.note(status)
                    if b"bothy_connections" in body or b"bothy_connections" in line.answer()[2]:
                        raise Broken(f"the shape {number % len(shapes)} has smuggled a request")
                except (OSError, ValueError, IndexError):
                    site.answers.note("closed")
            number += 1
    parallel(4, one, site.until)


@attack("TRACE, CONNECT and other methods", "nobody", memory=32)
def other_methods(site):
    """Methods that the server has not, for its own and for foreign addresses."""
    names = [b"TRACE", b"CONNECT", b"PROPFIND", b"get", b"G" * 5000, b"GET\x0b"]
    each(site, [name + b" " + path + b" HTTP/1.1\r\nHost: a\r\n\r\n" for name in names
                for path in [b"/livez", b"/v1/spaces/arena/changes", b"example.org:443"]], {400, 401, 404, 405, 501})


@attack("path traversal", "nobody", "none found", memory=32)
def traversal(site):
    """Paths that lead out of the folders of tiles and blobs, encoded in several ways."""
    ups = [b"..", b"%2e%2e", b"..%2f..", b"%252e%252e", b"..\\..", b"%c0%ae%c0%ae", b"..%00", b"....//"]
    paths = [prefix + b"/".join([up] * 8) + b"/etc/passwd" for up in ups
             for prefix in [b"/", b"/tiles/", b"/tiles/walks/0/0/", b"/v1/spaces/arena/blobs/", b"/v1/spaces/"]]
    each(site, [head("GET", path.decode("latin-1"), "of-mallory") for path in paths], {400, 401, 403, 404, 405})


@attack("addresses of other servers", "nobody", memory=32)
def foreign_addresses(site):
    """Absolute addresses, Host fields and webhooks for a service of this machine, which is not asked."""
    canary = socket.socket()
    canary.bind(("127.0.0.1", 0))
    canary.listen()
    port = canary.getsockname()[1]
    target = f"http://127.0.0.1:{port}/latest/meta-data"
    yield
    hook = f'{{"url":"{target}","secret":"x"}}'.encode()
    each(site, [f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode(),
                f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode(),
                *[head("POST", path, "of-mallory", Content_Length=len(hook), Content_Type="application/json") + hook
                  for path in ["/v1/webhooks", "/v1/spaces/arena/webhooks", "/webhooks", "/v1/spaces/arena/feed"]],
                head("GET", "/v1/spaces/arena/changes", "of-mallory", X_Forwarded_Host=f"127.0.0.1:{port}",
                     Forwarded=f"host=127.0.0.1:{port}")], {200, 400, 404, 405})
    yield
    canary.settimeout(0.1)
    try:
        canary.accept()
        raise Broken("the server has asked an address that a caller named")
    except TimeoutError:
        canary.close()


def flood_of(path):
    """Declares floods of one address."""
    def flood(site):
        site.flood(16, lambda caller, _: caller.ask("GET", path), who=None)
    flood.__doc__ = f"16 callers ask {path} as fast as they can."
    attack(f"floods of {path}", "nobody", memory=48, latency=BUSY)(flood)


for path in ["/metrics", "/healthz", "/readyz", "/openapi.json"]:
    flood_of(path)


@attack("floods of unknown addresses", "nobody", memory=48)
def unknown_addresses(site):
    """Random paths, methods and queries. The metrics do not grow with them."""
    with Caller(site.port, Answers()) as caller:
        before = len(caller.ask("GET", "/metrics")[1])
    yield

    def body(caller, _):
        name = f"{site.random.getrandbits(64):x}"
        caller.ask(site.random.choice(["GET", "PUT", f"M{name[:6].upper()}"]), f"/{name}/{name}?{name}={name}")
    site.flood(16, body, who=None)
    yield
    with Caller(site.port, Answers()) as caller:
        grown = len(caller.ask("GET", "/metrics")[1]) - before
    if grown > 16_384:
        raise Broken(f"/metrics grew by {grown} bytes")


@attack("reconnect storms", "nobody", memory=48)
def reconnects(site):
    """Connections that are opened and closed or reset at once."""
    def one(number):
        while site.is_on:
            with Line(site.port) as line:
                if number % 2:
                    line.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if number % 4 > 1:
                    line.send(head("GET", "/openapi.json"))
            site.answers.note("opened and closed")
    parallel(16, one, site.until)


@attack("bytes that are not HTTP", "nobody", memory=32)
def garbage(site):
    """Random bytes, a TLS greeting, and only line ends."""
    greeting = bytes.fromhex("160301020001000001fc0303") + b"\0" * 500
    each(site, [site.random.randbytes(4096), greeting, b"\r\n" * 20_000, b"\0" * 5000, b"SSH-2.0-x\r\n"], {400})


@attack("upgrades", "nobody", memory=32)
def upgrades(site):
    """Requests for WebSocket and for HTTP/2 without TLS."""
    each(site, [head("GET", "/livez", Connection="Upgrade", Upgrade="websocket", Sec_WebSocket_Version="13",
                     Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ=="),
                head("GET", "/livez", Connection="Upgrade, HTTP2-Settings", Upgrade="h2c", HTTP2_Settings="AAMAAABk"),
                head("OPTIONS", "*", Upgrade="TLS/1.0", Connection="Upgrade")], {200, 400, 404, 405, 426})


@attack("bodies that are announced and never sent", memory=48)
def expectations(site):
    """100 requests with Expect: 100-continue send no body. They end when --body-time is over."""
    yield
    opened = lines(site, 100, head("POST", "/v1/spaces/arena/sync", "of-mallory", Content_Length=1000,
                                   Content_Type="application/json", Expect="100-continue"))
    dribble(site, [], b"")
    yield
    all_closed(site, opened, 5)


@attack("forged ids of requests and traces", "nobody", memory=32)
def forged_ids(site):
    """Ids of requests and of traces with line ends, of 60 KB, and with quotation marks. The log stays small and whole."""
    each(site, [head("GET", "/v1/spaces/arena/changes", "wrong", X_Request_Id=value, traceparent=value, tracestate=value)
                for value in ["a" * 20_000, 'x" level=error forged', "\x1b[2J\x1b[31m", "é" * 900, "00-" + "0" * 15_000]],
         {400, 401, 431})


@attack("names that are not names", memory=32)
def wrong_names(site):
    """Spaces, types, ids and parameters with zero bytes, invalid UTF-8, half an escape, and 60 KB."""
    bad = ["%00", "%ff%fe", "%", "%zz", "a" * 60_000, "%f0%9f%92%a9" * 400, "%2F", "..", "%0d%0aX:%20y"]
    paths = [path.replace("*", name) for name in bad for path in
             ["/v1/spaces/*/changes", "/v1/spaces/arena/records/*/a", "/v1/spaces/arena/records/Item/*",
              "/v1/spaces/arena/changes?container=*", "/v1/spaces/arena/changes?limit=*&limit=*",
              "/v1/spaces/arena/containers/*", "/v1/spaces/arena/lists/*"]]
    each(site, [head("GET", path, "of-mallory") for path in paths], {200, 400, 403, 404, 414, 431})
