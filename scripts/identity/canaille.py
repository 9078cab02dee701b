"""Canaille, an OpenID Connect provider from PyPI, run as a process of its own: its people and apps, its keys, and the sign-in of
a person by its pages, as a browser sends them."""

import base64
import hashlib
import http.cookiejar
import json
import os
import re
import secrets
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

REDIRECT, PASSWORD = "http://127.0.0.1:1/signed-in", "correct horse battery staple"
# The life of the tokens in seconds. It is long, so that the server's clock can be moved by days.
LIFE = 5 * 86_400


def toml(value):
    """Writes a value as TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(part)}" for key, part in value.items()) + "}"
    return "[" + ", ".join(map(toml, value)) + "]" if isinstance(value, list) else json.dumps(value)


def opener(*handlers):
    """Opens addresses of this machine, past any proxy."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), *handlers)


class StopsAtApp(urllib.request.HTTPRedirectHandler):
    """Follows redirections, but not the one that leads back to the app."""

    def redirect_request(self, request, file, code, message, headers, url):
        return None if url.startswith(REDIRECT) else super().redirect_request(request, file, code, message, headers, url)


class Canaille:
    """A provider with its configuration and database in `folder`. `bin` is the folder of its program."""

    def __init__(self, bin, folder, port):
        self.bin, self.folder, self.port, self.process = bin, folder, port, None
        self.issuer = f"http://127.0.0.1:{port}"
        self.discovery = f"{self.issuer}/.well-known/openid-configuration"
        self.environment = os.environ | {"CANAILLE_CONFIG": self.path("canaille.toml")}

    def path(self, name):
        return os.path.join(self.folder, name)

    def configure(self, active, inactive=[]):
        """Writes the configuration with private keys, of which the inactive ones are published and sign nothing."""
        with open(self.path("canaille.toml"), "w") as file:
            file.write(f"""
SECRET_KEY = "of the tests"
SERVER_NAME = "127.0.0.1:{self.port}"
PREFERRED_URL_SCHEME = "http"
OAUTH2_TOKEN_EXPIRES_IN = {toml({"authorization_code": LIFE, "refresh_token": LIFE})}
[CANAILLE]
DATABASE = "sql"
[CANAILLE_SQL]
DATABASE_URI = "sqlite:///{self.path("canaille.sqlite")}"
[CANAILLE_OIDC]
ACTIVE_JWKS = {toml([key.as_dict(private=True) for key in active])}
INACTIVE_JWKS = {toml([key.as_dict(private=True) for key in inactive])}
""")

    def start(self):
        self.process = subprocess.Popen(
            [os.path.join(self.bin, "canaille"), "run", "--bind", f"127.0.0.1:{self.port}", "--workers", "0",
             "--accesslog", self.path("requests.log")],
            stdout=open(self.path("canaille.log"), "a"), stderr=subprocess.STDOUT, env=self.environment)
        deadline = time.monotonic() + 120
        while True:
            try:
                with opener().open(self.discovery, timeout=10) as response:
                    self.metadata = json.load(response)
                    return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"Canaille did not start:\n{open(self.path('canaille.log')).read()[-3000:]}")
                time.sleep(0.05)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def pause(self):
        """Leaves connections open that nobody answers."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def key_requests(self):
        """The number of requests of the key set so far."""
        with open(self.path("requests.log")) as file:
            return sum("/oauth/jwks.json" in line for line in file)

    def settle(self, people, groups, apps):
        """Adds people, groups with their members, and apps with the algorithm of their tokens and the audience, the
        name of an app too."""
        ids = {name: str(uuid.uuid4()) for name in [*people, *groups, *apps]}
        apps = [{
            "id": ids[name], "client_id": name, "client_name": name, "client_uri": "https://app.example.org",
            "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none", "response_types": ["code"],
            "grant_types": ["authorization_code", "refresh_token"], "scope": ["openid", "profile", "groups"],
            "audience": [ids[audience]], **({"id_token_signed_response_alg": algorithm} if algorithm else {}),
        } for name, (algorithm, audience) in apps.items()]
        models = {
            "user": [{"id": ids[name], "user_name": name, "family_name": name.title(), "formatted_name": name.title(),
                      "emails": [f"{name}@example.org"], "password": PASSWORD} for name in people],
            "group": [{"id": ids[name], "display_name": name, "members": [ids[member] for member in members]}
                      for name, members in groups.items()],
            "client": apps,
        }
        subprocess.run([os.path.join(self.bin, "canaille"), "restore"], input=json.dumps(models), text=True, check=True,
                       env=self.environment, stdout=subprocess.DEVNULL, stderr=open(self.path("canaille.log"), "a"))

    def sign_in(self, name, app):
        """Signs a person in to an app by the authorization code with PKCE. Returns the provider's answer with tokens."""
        browser = opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()), StopsAtApp())
        verifier, state = secrets.token_urlsafe(40), secrets.token_urlsafe(10)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        query = urllib.parse.urlencode({
            "response_type": "code", "client_id": app, "redirect_uri": REDIRECT, "scope": "openid profile groups",
            "state": state, "nonce": secrets.token_urlsafe(10), "code_challenge": challenge,
            "code_challenge_method": "S256"})
        page = browser.open(f"{self.metadata['authorization_endpoint']}?{query}", timeout=60)
        for field, value in [("login", name), ("password", PASSWORD), ("answer", "accept")]:
            text = page.read().decode()
            form = {key: value for key, value in self.fields(text) if key == "csrf_token"}
            try:
                page = browser.open(page.url, urllib.parse.urlencode(form | {field: value}).encode(), timeout=60)
            except urllib.error.HTTPError as answer:
                target = answer.headers.get("Location") or ""
                if not target.startswith(REDIRECT):
                    raise
                found = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(target).query))
                if found.get("state") != state or "code" not in found:
                    raise RuntimeError(f"the provider answered {target}")
                return self.token({"grant_type": "authorization_code", "code": found["code"], "redirect_uri": REDIRECT,
                                   "client_id": app, "code_verifier": verifier})
        raise RuntimeError(f"the provider did not let {name} in:\n{page.read().decode()[-3000:]}")

    def fields(self, text):
        for tag in re.findall(r"<input[^>]*>", text):
            found = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
            yield found.get("name"), found.get("value", "")

    def renew(self, answer, app):
        """Gets a new token by the refresh token of an answer."""
        return self.token({"grant_type": "refresh_token", "refresh_token": answer["refresh_token"], "client_id": app})

    def token(self, form):
        data = urllib.parse.urlencode(form).encode()
        with opener().open(self.metadata["token_endpoint"], data, timeout=60) as response:
            return json.load(response)
