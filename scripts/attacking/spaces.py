"""Attacks by users of a right token on a server whose back end says which spaces they may use. The back end knows mallory alone,
hangs for users of the name `slow…`, and counts questions. The neighbours have tokens of the file."""

import http.server
import json
import threading
import time

from attacking.servers import Broken, Site
from attacking.tokens import SECRET, token
from attacking.trial import attack


class BackEnd(http.server.BaseHTTPRequestHandler):
    """The team's back end."""

    questions = []

    def do_POST(self):
        who = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["principal"]
        BackEnd.questions.append(who)
        if who.startswith("slow"):
            time.sleep(2)
        spaces = [{"space": "arena", "rights": "read"}] if who == "mallory" else []
        body = json.dumps({"spaces": spaces}).encode()
        try:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass  # the server has given it up

    def log_message(self, *arguments):
        pass


def site(options, folder, name):
    back_end = http.server.ThreadingHTTPServer(("127.0.0.1", 0), BackEnd)
    back_end.daemon_threads = True
    threading.Thread(target=back_end.serve_forever, daemon=True).start()
    found = Site(options, folder, name)
    found.write("spaces.secret", SECRET.decode())
    found.write("jwt.secret", SECRET.decode())
    found.arguments += [
        "--jwt-secret", found.path("jwt.secret"), "--spaces-from", f"http://127.0.0.1:{back_end.server_port}/",
        "--spaces-secret", found.path("spaces.secret"), "--spaces-time", "500ms"]
    return found


def ask(site, name, space, wanted):
    """Returns the body of a flood: requests with a token for the user that `name` makes."""
    def body(caller, number):
        caller.token = token({"sub": name(number)}, kid=None)
        status = caller.ask("GET", f"/v1/spaces/{space(number)}/changes")[0]
        if status not in wanted:
            raise Broken(f"a request was answered {status}")
    return body


@attack("closed spaces without end", "a member", memory=32)
def closed_spaces(site):
    """A user of one space comes for a thousand others. The back end gets a question in ten seconds at most."""
    BackEnd.questions.clear()
    yield
    site.flood(8, ask(site, lambda _: "mallory", lambda _: f"s{site.random.randrange(1000)}", {403}), who=None)
    yield
    if len(BackEnd.questions) > 3:
        raise Broken(f"the back end got {len(BackEnd.questions)} questions about one user")


@attack("users of whom a back end doesn't say anything", "members elsewhere", memory=64)
def silent_back_end(site):
    """Users without end, for whom the back end hangs. Each waits for half a second at most, and then nobody does."""
    site.flood(8, ask(site, lambda _: f"slow{site.random.getrandbits(64):x}", lambda _: "arena", {503}), who=None)
