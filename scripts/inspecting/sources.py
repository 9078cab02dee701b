"""The pages' files as they are in the sources, in front of a program in which older ones are compiled in."""

import http.client
import http.server
import pathlib
import threading
import urllib.parse

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "Sources/BothyInspector/Page"
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class Passage(http.server.BaseHTTPRequestHandler):
    """Answers for the files of the pages, and passes on everything else, event streams too."""

    def answer(self):
        asset = PAGE / self.path.removeprefix("/assets/")
        if self.path.startswith("/assets/") and asset.suffix in TYPES and asset.parent == PAGE and asset.exists():
            body = asset.read_bytes()
            self.send_response(200)
            self.send_header("Content-Type", TYPES[asset.suffix] + "; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)
            return
        program = self.server.program
        headers = {name: value.replace(self.server.host, program) for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("Content-Length", 0))) or None
        connection = http.client.HTTPConnection(program, timeout=600)
        self.server.connections.add(connection)
        try:
            connection.request(self.command, self.path, body, {**headers, "Connection": "close"})
            answer = connection.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("connection", "transfer-encoding", "date", "server"):
                    self.send_header(name, value)
            self.end_headers()
            while part := answer.read1(1 << 16):
                self.wfile.write(part)
        except (OSError, http.client.HTTPException):
            pass  # The page sees a connection that ends, as without a passage.
        finally:
            self.server.connections.discard(connection)
            connection.close()

    do_GET = do_POST = do_HEAD = answer

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client):
        pass  # A browser that goes away ends its streams.


def before(address):
    """Stands in front of the program at an address; returns the address to open instead."""
    parts = urllib.parse.urlparse(address)
    server = Server(("127.0.0.1", 0), Passage)
    server.program, server.host, server.connections = parts.netloc, f"127.0.0.1:{server.server_port}", set()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return parts._replace(netloc=server.host).geturl()
