"""The servers that are attacked: `bothy serve` with tokens of neighbours and attackers, its memory and its disk."""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid

from attacking.wire import Answers, Caller, parallel
from loading.meters import memory

HERE = os.path.dirname(os.path.abspath(__file__))
MiB = 1 << 20
# The principals by token. `arena` is the attackers' space and bob's, ann has a space of her own.
PEOPLE = {"ann": ["home"], "bob": ["arena"], "mallory": ["arena"], "eve": ["elsewhere"],
          **{f"friend{number}": ["arena"] for number in range(8)}}


class Broken(Exception):
    """A server did what it must not do, whatever it cost."""


def psql(url, statement):
    """What PostgreSQL answers to a statement."""
    program = os.path.join(os.environ.get("BOTHY_POSTGRES_BIN", ""), "psql")
    done = subprocess.run([program, "-AtX", url, "-c", statement], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"psql: {done.stderr}")
    return done.stdout


class Site:
    """A server with two neighbours, and what an attack needs of it."""

    def __init__(self, options, folder, name, arguments=(), schema=None, tokens=True):
        self.options, self.folder = options, os.path.join(folder, name)
        os.makedirs(os.path.join(self.folder, "data"))
        self.seconds, self.random, self.has_tokens = options.seconds, options.random, tokens
        self.answers, self.until, self.names = Answers(), 0.0, itertools.count()
        self.samples, self.memories, self.lock = [], [], threading.Lock()
        self.arguments = [*arguments]
        if options.postgres:
            # Each site has a database of its own, as schemas differ.
            self.database = f"{options.postgres.rsplit('/', 1)[0]}/attack_{name}_{options.mark}"
            psql(options.postgres, f"CREATE DATABASE {self.database.rsplit('/', 1)[1]}")
            self.arguments += ["--blobs", self.path("data/blobs")]
        else:
            self.database = self.path("data/server.sqlite")
        if tokens:
            self.write("tokens.json", [{"token": f"of-{who}", "principal": who, "spaces": spaces,
                                        **({"groups": ["back-ends"]} if who == "friend0" else {})}
                                       for who, spaces in PEOPLE.items()])
            os.chmod(self.path("tokens.json"), 0o600)
            self.arguments += ["--tokens", self.path("tokens.json")]
        if schema:
            self.write("schema.json", schema)
            self.arguments += ["--schema", self.path("schema.json")]
        self.processes = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, value):
        with open(self.path(name), "w") as file:
            file.write(value if isinstance(value, str) else json.dumps(value))

    # the server and its neighbours

    def start(self):
        self.process = subprocess.Popen(
            [os.path.abspath(self.options.bothy), "serve", "--port", "0", "--json", "--log-level", "notice",
             "--database", self.database, *self.arguments],
            stdout=subprocess.PIPE, stderr=open(self.path("log"), "ab"), text=True)
        self.processes.append(self.process)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a server did not start:\n{open(self.path('log')).read()[-2000:]}")
        self.port = int(json.loads(line)["url"].rsplit(":", 1)[1])
        for who, space in [("livez", ""), ("ann", "home"), ("bob", "arena")]:
            self._watch(who, space)
        threading.Thread(target=self._measure, daemon=True).start()

    def _watch(self, who, space):
        child = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "neighbour.py"), str(self.port), who, f"of-{who}", space, "0.04"],
            stdout=subprocess.PIPE, text=True)
        self.processes.append(child)

        def read():
            for line in child.stdout:
                begin, kind, took, status = json.loads(line)
                with self.lock:
                    self.samples.append((begin, f"{who} {kind}".replace("livez livez", "livez"), took, status))

        threading.Thread(target=read, daemon=True).start()

    def _measure(self):
        while self.process.poll() is None:
            try:
                used = memory(self.process.pid)
            except (OSError, StopIteration):
                return
            self.memories.append((time.monotonic(), used))
            time.sleep(0.02)

    def stop(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGKILL if process is not self.process else signal.SIGTERM)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            process.stdout.close()
        if self.options.postgres:
            psql(self.options.postgres, f"DROP DATABASE {self.database.rsplit('/', 1)[1]} WITH (FORCE)")

    # what it costs

    def between(self, begin, end):
        """The neighbours' samples that began in a time."""
        with self.lock:
            return [sample for sample in self.samples if begin <= sample[0] < end]

    def settle(self, begin, end, patience=25):
        """Waits until each neighbour has an answer to what it asked before `end`."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            later = {name.split()[0] for _, name, _, _ in self.between(end, time.monotonic())}
            if {"ann", "bob", "livez"} <= later:
                return
            time.sleep(0.02)

    def peak(self, begin):
        return max(used for at, used in self.memories if at >= begin - 0.05)

    def disk(self):
        """The bytes of the database and of the files beside it."""
        total = 0
        if self.options.postgres:
            total = int(psql(self.database, "SELECT pg_database_size(current_database())"))
        for place, _, files in os.walk(self.path("data")):
            for name in files:
                try:
                    total += os.stat(os.path.join(place, name)).st_blocks * 512
                except FileNotFoundError:
                    pass
        return total

    def log_size(self):
        return os.path.getsize(self.path("log"))

    def metric(self, name):
        """The sum of a metric over its labels."""
        with Caller(self.port, Answers(), timeout=30) as caller:
            text = caller.ask("GET", "/metrics")[1].decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.split("\n")
                   if line.split("{")[0].split(" ")[0] == name)

    def files(self, part):
        """The texts of the files in folders whose name ends so."""
        for place, _, names in os.walk(self.path("data")):
            for name in names:
                if part in place:
                    with open(os.path.join(place, name), errors="replace") as file:
                        yield file.read()

    def rest(self, patience=12):
        """Waits until the attack's requests are over, so that the next one begins in peace."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and self.process.poll() is None:
            if self.metric("bothy_requests_running") + self.metric("bothy_requests_waiting") <= 2:
                return
            time.sleep(0.1)

    # for attacks

    @property
    def is_on(self):
        return time.monotonic() < self.until and self.process.poll() is None

    def name(self, prefix="n"):
        """A name that no run has used."""
        return f"{prefix}{next(self.names)}"

    def caller(self, who="mallory", counted=True, timeout=10):
        token = f"of-{who}" if who and self.has_tokens else None
        return Caller(self.port, self.answers if counted else Answers(), token, timeout)

    def fill(self, operations, space="arena", who="mallory", size=500):
        """Sends operations that are no part of the attack; all have to be applied."""
        operations = list(operations)
        device = self.last_device = self.name("filler")
        with self.caller(who, counted=False, timeout=60) as caller:
            for first in range(0, len(operations), size):
                status, answer = caller.sync(space, operations[first:first + size], device=device)
                wrong = [outcome for outcome in (answer or {}).get("outcomes", []) if outcome["outcome"] != "applied"]
                if status != 200 or wrong:
                    raise Broken(f"records to attack were not taken: {status} {str(wrong or answer)[:500]}")
        return operations

    def insert(self, fields, type="Item", container="attack", record=None, **more):
        return {"id": uuid.UUID(int=self.random.getrandbits(128)).hex, "kind": "insert", "type": type,
                "container": container, "record": record or self.name("r"), "fields": fields, **more}

    def pause(self):
        time.sleep(0.1)

    def flood(self, count, body, who="mallory", timeout=10):
        """Runs `body(caller, number)` again and again in so many threads, until the attack is over. `who` may be a list
        of attackers, by turns."""
        people = who if isinstance(who, list) else [who]

        def one(number):
            with self.caller(people[number % len(people)], timeout=timeout) as caller:
                while self.is_on:
                    body(caller, number)

        parallel(count, one, self.until)
