"""Attacks with tokens that are wrong, forged, stale or another's. The server takes JSON Web Tokens too, by a key set at an
address, and counts are kept of how often it is asked for."""

import base64
import hashlib
import hmac
import http.server
import json
import threading
import time

from attacking.door import each
from attacking.servers import Broken, Site
from attacking.trial import attack
from attacking.wire import head

SECRET = b"a secret of forty bytes that nobody knows"


class KeySet(http.server.BaseHTTPRequestHandler):
    """The identity provider's key set, which counts its requests."""

    requests = 0

    def do_GET(self):
        KeySet.requests += 1
        body = json.dumps({"keys": [{"kty": "oct", "kid": "one", "alg": "HS256", "k": coded(SECRET)}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def site(options, folder, name):
    provider = http.server.ThreadingHTTPServer(("127.0.0.1", 0), KeySet)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    return Site(options, folder, name, ["--jwt-keys", f"http://127.0.0.1:{provider.server_port}/keys"])


def coded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(claims=None, secret=SECRET, text=None, **fields):
    """A JSON Web Token; `text` takes the place of the claims."""
    claims = {"sub": "mallory", "spaces": ["arena"], "exp": int(time.time()) + 600, **(claims or {})}
    first = coded(json.dumps({"alg": "HS256", "kid": "one", "typ": "JWT", **fields}).encode())
    signed = f"{first}.{coded(text or json.dumps(claims).encode())}"
    return f"{signed}.{coded(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}"


def read(text):
    return head("GET", "/v1/spaces/arena/changes", text)


@attack("guesses of tokens", "nobody", memory=32)
def guesses(site):
    """Random tokens, some with the beginning of a right one, and other schemes."""
    each(site, [read(text) for text in ["x", "of-mallor", "of-malloryy", "of-mallory of-ann", f"{site.random.random()}"]]
         + [head("GET", "/v1/spaces/arena/changes", Authorization=text) for text in
            ["Basic b2Y6bWFsbG9yeQ==", "Bearer", "Bearer  ", "bearer\tof-mallory", "Digest x", ""]], {400, 401})


@attack("huge tokens", "nobody", memory=32)
def huge_tokens(site):
    """Tokens of 50 KB: of one letter, of points, of Base64, and with a right signature."""
    each(site, [read("a" * 50_000), read("." * 50_000), read(coded(b"{" * 10_000) + "." + coded(b"[" * 20_000) + ".x"),
                read(token({"x": "y" * 30_000}))], {400, 401})


@attack("alg none and others", "nobody", "all refused", memory=32)
def none_tokens(site):
    """Tokens without a signature, by other algorithms, with `crit`, and with half of the signature."""
    right = token()
    unsigned = right.rsplit(".", 1)[0]
    each(site, [read(text) for text in
                [f"{unsigned}.", unsigned, right[:-20], right + "A", token(alg="none"), token(alg="None"), token(alg="HS512"),
                 token(alg="RS256"), token(alg="ES256"), token(crit=["x"], x=1), token(secret=b""), token(alg=["HS256"])]],
         {400, 401})


@attack("unknown keys of tokens", "nobody", memory=32)
def unknown_keys(site):
    """Tokens with a new `kid` each, so that the server might ask for the key set again. It asks once a minute at most."""
    before = KeySet.requests
    yield

    def body(caller, _):
        caller.token = token(kid=f"{site.random.getrandbits(64):x}")
        caller.ask("GET", "/v1/spaces/arena/changes")
    site.flood(8, body, who=None)
    yield
    if KeySet.requests - before > 1:
        raise Broken(f"the key set was asked for {KeySet.requests - before} times")


@attack("expired and early tokens", "nobody", memory=32)
def expired(site):
    """Tokens that ended, begin later, have no end, or an end that is no number."""
    now = int(time.time())
    each(site, [read(token(claims)) for claims in
                [{"exp": now - 100}, {"exp": None}, {"exp": "never"}, {"exp": 1e400}, {"exp": -1}, {"nbf": now + 1000},
                 {"exp": {"$gt": 0}}, {"sub": None}, {"sub": "group:staff"}, {"sub": ["mallory"]}]], {400, 401, 403})


@attack("tokens of another space", "a member elsewhere", memory=32)
def other_spaces(site):
    """A right token of another space, for spaces that there are and that there are not. Both answers are the same."""
    paths = ["/v1/spaces/*/changes", "/v1/spaces/*/records/Item/a", "/v1/spaces/*/containers", "/v1/spaces/*/lists",
             "/v1/spaces/*/joined-lists", "/v1/spaces/*/events", "/v1/spaces/*/history", "/v1/spaces/*/digest", "/v1/spaces/*/feed", "/v1/spaces"]
    each(site, [head("GET", path.replace("*", space), "of-eve") for path in paths for space in ["arena", "nowhere"]], {403})


@attack("tokens with thousands of groups and spaces", memory=32)
def many_groups(site):
    """Right tokens with all the groups and spaces that their size allows, and with claims nested 5000 deep."""
    each(site, [read(token({"groups": [f"g{number}" for number in range(2000)]})),
                read(token({"spaces": ["arena"] + [f"s{number}" for number in range(900)]})),
                read(token(text=b'{"sub":"mallory","spaces":["arena"],"exp":9999999999,"x":' + b"[" * 5000 + b"]" * 5000
                           + b"}"))], {200, 400, 401})
