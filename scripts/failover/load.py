"""Two kinds of clients of several servers, writers and followers, that send again until they are answered. They know
what was acknowledged, and find what is lost, made twice or out of order."""

import http.client
import json
import os
import random
import subprocess
import threading
import time
import urllib.parse

from distributing.cluster import Broken

SPACES = ["hut", "barn", "mill"]


class Server:
    def __init__(self, bothy, database, folder, number, *options):
        self.log = open(os.path.join(folder, f"server{number}.log"), "a")
        self.process = subprocess.Popen(
            [bothy, "serve", "--port", "0", "--json", "--log-level", "error", "--database", database, *options],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise Broken(f"a server did not start:\n{open(self.log.name).read()[-2000:]}")
        self.port = int(json.loads(line)["url"].rsplit(":", 1)[1])

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Load:
    """Writers and followers, and what was acknowledged to them."""

    def __init__(self, servers, options):
        self.servers, self.options, self.lock = servers, options, threading.Lock()
        self.stopped, self.ended, self.failures, self.refused = threading.Event(), threading.Event(), [], 0
        self.acknowledged = {space: {} for space in SPACES}  # record -> version
        self.counters, self.answers = {}, []  # a push's begin and end

    def request(self, port, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None,
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        finally:
            connection.close()

    def sync(self, choice, space, body):
        """Sends until it is answered, each time to any of the servers. Returns the answer, and when it was sent last."""
        deadline = time.monotonic() + 180
        while True:
            begin = time.monotonic()
            status, answer = self.request(choice.choice(self.servers).port, "POST", f"/v1/spaces/{space}/sync", body)
            if status == 200:
                return answer, begin
            if status != 503 or answer["error"]["code"] != "unavailable":
                raise Broken(f"status {status}: {answer}")
            with self.lock:
                self.refused += 1
            if time.monotonic() > deadline:
                raise Broken("no answer for three minutes")
            time.sleep(choice.uniform(0.05, 0.2))

    def write(self, number):
        choice, count, bases = random.Random(f"{self.options.seed} writer {number}"), 0, {}
        while not self.stopped.is_set():
            space, count = choice.choice(SPACES), count + 1
            counter = f"c{number}"
            operations = [{"id": f"w{number}-{count}-{part}", "kind": "insert", "type": "Item",
                           "record": f"w{number}-{count}-{part}", "fields": {"n": count}} for part in "ab"]
            update = {"base": bases[space], "kind": "update"} if space in bases else {"kind": "insert"}
            operations.append({"id": f"w{number}-{count}-c", "type": "Count", "record": counter, "fields": {"n": count}} | update)
            answer, begin = self.sync(choice, space, {"device": f"d{number}", "operations": operations})
            end = time.monotonic()
            for operation, outcome in zip(operations, answer["outcomes"]):
                if outcome["outcome"] not in ("applied", "duplicate"):
                    raise Broken(f"{operation['id']} was answered with {outcome}")
                self.acknowledged[space][operation["type"], operation["record"]] = outcome["version"]
            bases[space] = outcome["version"]
            with self.lock:
                self.counters[space, counter] = self.counters.get((space, counter), 0) + 1
                self.answers.append((begin, end))
            time.sleep(choice.uniform(0, 0.02))

    def follow(self, space):
        """Pulls all the time: positions grow, and no pull starts over."""
        choice, cursor, last, records = random.Random(f"{self.options.seed} {space}"), None, 0, {}
        while True:
            is_last, more = self.ended.is_set(), True
            while more:
                pull = {"container": "", "children": True, **({"cursor": cursor} if cursor else {})}
                answer, _ = self.sync(choice, space, {"device": "f" + space, "limit": 100, "pulls": [pull], "operations": []})
                page = answer["pages"][0]
                if cursor and page.get("reset"):
                    raise Broken(f"a follower was told to start over at {last}")
                for record in page["changes"]:
                    position = int(record["version"])
                    if position <= last:
                        raise Broken(f"{record['id']} came at {position} after {last}")
                    last = position
                    records[record["type"], record["id"]] = record["version"]
                cursor, more = page["cursor"], page.get("more")
            if is_last:
                return self.followed.append((space, records))
            time.sleep(0.1)

    def guarded(self, body, *arguments):
        try:
            body(*arguments)
        except Exception as error:  # told at the end of the run
            self.failures.append(f"{type(error).__name__}: {error}")
            self.stopped.set()

    def start(self):
        self.followed = []
        self.writers = [threading.Thread(target=self.guarded, args=(self.write, number))
                        for number in range(self.options.writers)]
        self.followers = [threading.Thread(target=self.guarded, args=(self.follow, space)) for space in SPACES]
        for thread in self.writers + self.followers:
            thread.start()

    def wait_for_write(self, moment, seconds):
        """Returns the time from a moment to the first answer to a push that was sent after it."""
        deadline = time.monotonic() + seconds
        while True:
            with self.lock:
                ends = [end for begin, end in self.answers if begin > moment]
            if ends:
                return min(ends) - moment
            if self.failures or time.monotonic() > deadline:
                raise Broken(f"no write was answered for {seconds} s: {self.failures[:2]}")
            time.sleep(0.02)

    def end(self):
        self.stopped.set()
        for thread in self.writers:
            thread.join()
        self.ended.set()
        for thread in self.followers:
            thread.join()

    def history(self, space):
        """The number of changes that the server remembers of each record."""
        counts, before = {}, None
        while True:
            query = urllib.parse.urlencode({"limit": "1000", **({"before": str(before)} if before else {})})
            status, page = self.request(self.servers[0].port, "GET", f"/v1/spaces/{space}/history?{query}")
            if status != 200:
                raise Broken(f"the history was answered with {status}: {page}")
            for change in page["changes"]:
                key = change["type"], change["id"]
                counts[key] = counts.get(key, 0) + 1
            before = page.get("next")
            if not before:
                return counts

    def check(self):
        """Returns what was lost and what was doubled."""
        if self.failures:
            raise Broken("; ".join(self.failures[:3]))
        lost, doubled = [], []
        for space, records in self.followed:
            told, counts = self.acknowledged[space], self.history(space)
            for key, version in told.items():
                expected = self.counters[space, key[1]] if key[0] == "Count" else 1
                if records.get(key) != version or counts.get(key, 0) < expected:
                    lost.append((space, key, version, records.get(key), expected, counts.get(key, 0)))
                if counts.get(key, 0) > expected:
                    doubled.append((space, key, expected, counts[key]))
            doubled += [(space, key) for key in records.keys() - told.keys()]
        return lost, doubled
