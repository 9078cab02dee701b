#!/usr/bin/env python3
"""A small origin for tests of the cache: files of a folder with ETags, answered with 304 where they did not change.

    scripts/cache-origin.py FOLDER LOG [PORT]

Prints its port. Writes a line for each request to LOG: method, path with its query, status, who asked. Answers say
`max-age=60` unless the query has max-age=N; what lies below /absent/ never exists.
"""

import hashlib
import http.server
import pathlib
import sys
import urllib.parse

folder, log = pathlib.Path(sys.argv[1]), sys.argv[2]


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body are two packets; the second one waits 40 ms for the client's acknowledgement otherwise.
    disable_nagle_algorithm = True

    def do_GET(self):
        path, query = self.path.split("?")[0], urllib.parse.parse_qs(self.path.partition("?")[2])
        file = folder / path.lstrip("/")
        if not file.is_file():
            return self.answer(404, b"")
        body = file.read_bytes()
        tag = '"' + hashlib.sha256(body).hexdigest()[:16] + '"'
        fields = {"ETag": tag, "Cache-Control": f"max-age={query.get('max-age', ['60'])[0]}",
                  "Content-Type": "application/octet-stream"}
        if self.headers.get("If-None-Match") == tag:
            return self.answer(304, None, fields)
        self.answer(200, body, fields)

    def answer(self, status, body, fields={}):
        with open(log, "a") as lines:
            print(self.command, self.path, status, self.headers.get("User-Agent"), file=lines, flush=True)
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        if body is not None:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if body:
            self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[3]) if len(sys.argv) > 3 else 0), Origin)
print(server.server_port, flush=True)
server.serve_forever()
