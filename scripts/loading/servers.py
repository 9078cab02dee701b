"""The servers that are measured: each starts, says its address, and tells places to pull from."""

import base64
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from testing.ports import free_port

SPACES = 1000


class Server:
    """A server of either kind; `kind` is what load.lua calls it."""

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {**self.headers, "Content-Type": "application/json"},
                                         method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
            return answer, json.loads(text) if text else None

    def points(self, size):
        """Places in the space `hot` after which there are at least `size` changes."""
        place, points = None, []
        for _ in range(min(50, (self.count(1) - size) // 100)):
            place, point = self.page(place)
            points.append(point)
        return points

    def distinct_points(self, size, most):
        """Up to `most` places in the space `hot` after which there are at least `size` changes, each another one."""
        total = max(1, self.count(1) - size)
        return self.places(max(1, -(-total // most)), total)

    def restart(self):
        self.stop()
        self.start()

    def ask_text(self, path):
        with urllib.request.urlopen(urllib.request.Request(self.url + path, headers=self.headers), timeout=60) as answer:
            return answer.read().decode()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Bothy(Server):
    kind = "bothy"

    def __init__(self, name, bothy, database, folder):
        self.name = name
        tokens = os.path.join(folder, "tokens.json")
        with open(tokens, "w") as file:
            json.dump([{"token": "load", "principal": "ada", "spaces": ["*"]}], file)
        self.headers = {"Authorization": "Bearer load"}
        self.command = [bothy, "serve", "--port", "0", "--json", "--log-level", "error", "--database", database, "--tokens",
                        tokens, "--streams", "100000", "--connections", "100000"]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = json.loads(self.process.stdout.readline())["url"]

    def prepare(self):
        pass

    def sync(self, space, operations=(), **pull):
        body = {"device": "setup", "operations": list(operations)}
        if pull:
            body |= {"limit": pull.pop("limit"), "pulls": [{"container": "", "children": True, **pull}]}
        return self.ask("POST", f"/v1/spaces/{space}/sync", body)[1]

    def check(self):
        """One push, looked at."""
        outcome = self.sync("check", [{"id": "o" + str(time.time_ns()), "kind": "insert", "type": "Item",
                                       "record": "r" + str(time.time_ns()), "fields": {"n": 1}}])["outcomes"][0]
        assert outcome["outcome"] == "applied", outcome

    def count(self, spaces):
        """The records of a space, or of so many."""
        names = ["hot"] if spaces == 1 else [f"s{number}" for number in range(spaces)]
        return sum(self.ask("POST", f"/v1/spaces/{name}/count", {"type": "Item"})[1]["count"] for name in names)

    def page(self, cursor):
        """A page of a hundred changes of the space `hot`: its end, and what load.lua calls it."""
        cursor = self.sync("hot", limit=100, **({"cursor": cursor} if cursor else {}))["pages"][0]["cursor"]
        return cursor, f"hot {cursor}"

    def places(self, step, total):
        """The places after each `step` changes, up to `total`."""
        cursor, points = None, []
        while len(points) * step < total:
            cursor = self.sync("hot", limit=step, **({"cursor": cursor} if cursor else {}))["pages"][0]["cursor"]
            points.append(f"hot {cursor}")
        return points

    def head(self):
        cursor = None
        while True:
            page = self.sync("hot", limit=1000, **({"cursor": cursor} if cursor else {}))["pages"][0]
            cursor = page["cursor"]
            if not page.get("more"):
                return f"hot {cursor}"


class Kinto(Server):
    """A stock Kinto, by uWSGI with three processes, as its pages on production have it."""

    kind, name = "kinto", "kinto"

    def __init__(self, home, database, folder):
        self.headers = {"Authorization": "Basic " + base64.b64encode(b"ada:secret").decode()}
        address = urllib.parse.urlsplit(database)._replace(scheme="postgresql").geturl()
        ini, port = os.path.join(folder, "kinto.ini"), free_port()
        backends = "".join(
            f"kinto.{part}_backend = kinto.core.{part}.postgresql\nkinto.{part}_url = {address}\n"
            f"kinto.{part}_pool_size = 50\n" for part in ["storage", "cache", "permission"])
        with open(ini, "w") as file:
            file.write(f"""[app:main]
use = egg:kinto
{backends}kinto.userid_hmac_secret = of-the-measurement
kinto.batch_max_requests = 25
multiauth.policies = basicauth
[loggers]
keys = root
[handlers]
keys = console
[formatters]
keys = plain
[logger_root]
level = ERROR
handlers = console
[handler_console]
class = StreamHandler
args = (sys.stderr,)
level = ERROR
formatter = plain
[formatter_plain]
format = %(message)s
""")
        subprocess.run([f"{home}/bin/kinto", "migrate", "--ini", ini], check=True, capture_output=True)
        self.command = [
            f"{home}/bin/uwsgi", "--ini-paste", ini, "--http", f"127.0.0.1:{port}", "--http-keepalive=60",
            "--add-header", "Connection: Keep-Alive", "--http-auto-chunked", "--processes", "3", "--master",
            "--enable-threads", "--lazy-apps", "--single-interpreter", "--buffer-size", "65535", "--post-buffering", "65535",
            "--die-on-term", "--disable-logging", "--need-app"]
        self.url, self.log = f"http://127.0.0.1:{port}", os.path.join(folder, "kinto.log")
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=open(self.log, "w"))
        for _ in range(150):
            try:
                self.ask("GET", "/v1/")
                return
            except (OSError, ValueError):
                time.sleep(0.2)
        raise SystemExit(f"Kinto did not start:\n{open(self.log).read()[-3000:]}")

    def prepare(self):
        self.ask("PUT", "/v1/buckets/load", {})
        names = ["hot", "check"] + [f"s{number}" for number in range(SPACES)]
        for first in range(0, len(names), 25):
            requests = [{"method": "PUT", "path": f"/buckets/load/collections/{name}", "body": {}}
                        for name in names[first:first + 25]]
            answers = self.ask("POST", "/v1/batch", {"requests": requests})[1]["responses"]
            assert all(answer["status"] in (200, 201) for answer in answers), answers

    def check(self):
        path = f"/buckets/load/collections/check/records/r{time.time_ns()}"
        answers = self.ask("POST", "/v1/batch", {"requests": [
            {"method": "PUT", "path": path, "body": {"data": {"n": 1}}}]})[1]["responses"]
        assert [answer["status"] for answer in answers] == [201], answers

    def count(self, spaces):
        names = ["hot"] if spaces == 1 else [f"s{number}" for number in range(spaces)]
        return sum(int(self.ask("HEAD", f"/v1/buckets/load/collections/{name}/records")[0].headers["Total-Objects"])
                   for name in names)

    def page(self, since):
        page = self.ask("GET", "/v1/buckets/load/collections/hot/records?_sort=last_modified&_limit=100"
                        f"&_since={since or 0}")[1]
        return page["data"][-1]["last_modified"], str(page["data"][-1]["last_modified"])

    def places(self, step, total):
        """The places after each `step` changes, up to `total`."""
        since, found = 0, []
        while len(found) < total:
            page = self.ask("GET", "/v1/buckets/load/collections/hot/records?_sort=last_modified&_limit=1000"
                            f"&_since={since}")[1]["data"]
            if not page:
                break
            since = page[-1]["last_modified"]
            found += [record["last_modified"] for record in page]
        return [str(place) for place in found[:total][step - 1::step]]
