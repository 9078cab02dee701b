"""A server of tiles and places that answers as the servers and networks of a hotel do. Used by scripts/test-hotel."""

import hashlib
import http.server
import json
import math
import struct
import threading
import time
import zlib

SIDE = 256


def part(kind, data):
    """A chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


BEGINNING = b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0))
ENDING = part(b"IDAT", zlib.compress((b"\0" + b"\x40\x80\xc0" * SIDE) * SIDE)) + part(b"IEND", b"")


def png(text):
    """A picture of some 10 KB with a text that makes its bytes its own."""
    return BEGINNING + part(b"tEXt", text.encode() + b"\0" + hashlib.shake_128(text.encode()).hexdigest(4800).encode()) + ENDING


def middle(zoom, x, y):
    """The longitude and latitude of a tile's middle."""
    side = 2 ** zoom
    latitude = math.degrees(math.atan(math.sinh(math.pi * (1 - 2 * (y + 0.5) / side))))
    return (x + 0.5) / side * 360 - 180, latitude


def hut(x, y, version):
    return f"Hut {x}-{y} v{version}"


def place(zoom, x, y, version):
    """A tile of GeoJSON with a hut in its middle."""
    feature = {"type": "Feature", "feature_type": "amenity", "feature_value": "cafe", "osm_ids": [x * 100_000 + y],
               "geometry": {"type": "Point", "coordinates": middle(zoom, x, y)},
               "properties": {"amenity": "cafe", "name": hut(x, y, version)}}
    return json.dumps({"type": "FeatureCollection", "features": [feature]}).encode()


class Origin:
    """Serves /{z}/{x}/{y}.png and /walks/{z}/{x}/{y}.json, in the mode and the version that a step wants.

    The modes are good, hangs, drips (a byte a second), gone (404), and those of a network that wants a sign-in: page, text,
    logo (one picture for each tile), elsewhere (a redirect to another host's pictures) and signin (511).
    """

    def __init__(self):
        self.lock, self.answered, self.slow, self.version = threading.Lock(), [], 0, 1
        self.changed, self.kept = threading.Event(), "good"
        origin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Headers and body are two packets; the second one waits 40 ms for the client's acknowledgement otherwise.
            disable_nagle_algorithm = True

            def do_GET(self):
                mode, tag = origin.mode, f'"{origin.version}"'
                if mode == "hangs":
                    origin.changed.wait(600)
                    self.close_connection = True
                    return
                if origin.slow:
                    time.sleep(origin.slow)
                if mode == "good" and self.headers.get("If-None-Match") == tag:
                    return self.answer(304, b"", {"ETag": tag})
                if mode in ("good", "drips"):
                    kind = "application/json" if self.path.endswith(".json") else "image/png"
                    return self.answer(200, origin.body(self.path), {"ETag": tag, "Content-Type": kind}, drips=mode == "drips")
                if mode == "page":
                    return self.answer(200, b"<!doctype html><title>Hotel</title>Log in", {"Content-Type": "text/html"})
                if mode == "text":
                    return self.answer(200, b'{"login": "https://hotel.example"}', {"Content-Type": "application/json"})
                if mode == "logo":
                    return self.answer(200, png("Hotel"), {"Content-Type": "image/png"})
                if mode == "elsewhere" and not self.headers["Host"].startswith("localhost"):
                    place = f"http://localhost:{origin.server.server_port}{self.path}"
                    return self.answer(302, b"", {"Location": place})
                if mode == "elsewhere":
                    return self.answer(200, png("Hotel " + self.path), {"Content-Type": "image/png"})
                self.answer({"gone": 404, "signin": 511}[mode], b"", {})

            def answer(self, status, body, fields, drips=False):
                with origin.lock:
                    origin.answered.append((self.path, status))
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                if status != 304:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if not drips:
                    self.wfile.write(body)
                    return
                changed = origin.changed
                for byte in body:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    if changed.wait(1):
                        self.close_connection = True
                        return

            def log_message(self, *_):
                pass

            def handle(self):
                try:
                    super().handle()
                except (ConnectionError, BrokenPipeError):
                    pass  # the client has gone

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    @property
    def mode(self):
        return self.kept

    @mode.setter
    def mode(self, mode):
        """Changes the answers, and ends those that hang or drip."""
        self.kept = mode
        self.changed.set()
        self.changed = threading.Event()

    def body(self, path, version=None):
        version = version or self.version
        if path.startswith("/walks/"):
            return place(*map(int, path.removeprefix("/walks/").removesuffix(".json").split("/")), version)
        return png(f"{path} v{version}")

    def close(self):
        self.mode = "good"
        self.server.shutdown()
        self.server.server_close()
