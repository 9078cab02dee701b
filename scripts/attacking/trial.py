"""Carries out an attack and compares what it cost the others with its budget."""

import dataclasses
import inspect
import math
import time
import typing

from attacking.servers import Broken, MiB
from attacking.wire import Answers

# What holds for every attack.
LATENCY, LATENCY_RATIO = 250, 5  # milliseconds, and times the latency before
# What holds for requests as large as they may be: they keep all processors busy, longer with a program for debugging.
BUSY = 1500
# What holds for neighbours in the attackers' own space, if the attack writes: one waits for each transaction before.
IN_LINE = 15_000
LIVE = 2000  # milliseconds
AMPLIFICATION = 12  # bytes on disk for a byte sent: record, indexes, history, outcome, and the same in a log
OF_NEIGHBOURS = 40 / 1024  # MiB for each write of a neighbour
LOG_OF_REQUEST = 2048  # bytes


@dataclasses.dataclass
class Attack:
    name: str
    by: str
    before: str
    memory: int  # MiB that the server may grow by
    disk: int  # MiB, beyond what was sent
    run: typing.Callable
    about: str
    group: str
    latency: int  # milliseconds
    same: int  # milliseconds, for neighbours in the attackers' space


ATTACKS = []


def attack(name, by="a member", before="–", memory=96, disk=8, latency=LATENCY, same=0):
    """Declares an attack. Its function may be a generator: up to the first `yield` it prepares, after the second it looks
    at what is left."""
    def declare(run):
        ATTACKS.append(Attack(name, by, before, memory, disk, run, " ".join(run.__doc__.split()),
                              run.__module__.rsplit(".", 1)[1], latency, max(latency, same)))
        return run
    return declare


def percentile(times, share):
    ordered = sorted(times)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.inf


@dataclasses.dataclass
class Result:
    attack: Attack
    p50: float
    p95: float
    memory: float
    disk: float
    answers: str
    breaches: list

    def row(self):
        now = f"{self.p50:.0f} / {self.p95:.0f} ms | {self.memory:+.0f} MiB | {self.disk:+.1f} MiB | {self.answers}"
        return f"| {self.attack.name} | {self.attack.by} | {self.attack.before} | {now} |"


HEADER = ("| attack | by | before | neighbour p50 / p95 | memory | disk | answers |\n|---|---|---|---|---|---|---|")


class Trial:
    """One attack on one site."""

    def __init__(self, site, attack, calm):
        self.site, self.attack, self.calm, self.breaches = site, attack, calm, []

    def run(self):
        site = self.site
        steps = self._steps()
        self._step(steps)
        # What was prepared is written, and its memory counts no more.
        time.sleep(0.15)
        site.answers = Answers()
        disk, log, begin = site.disk(), site.log_size(), time.monotonic()
        memory = site.peak(begin - 0.2)
        site.until = begin + site.seconds
        self._step(steps)
        end = time.monotonic()
        if end - begin < 0.4:
            time.sleep(0.4 - (end - begin))
            end = time.monotonic()
        site.settle(begin, end)
        self._step(steps)
        site.rest()
        grown = site.peak(begin) - memory
        written, logged = (site.disk() - disk) / MiB, site.log_size() - log
        p50, p95 = self._compare(begin, end)
        if grown > self.attack.memory:
            self.breaches.append(f"the server grew by {grown:.0f} MiB; the budget is {self.attack.memory} MiB")
        pushes = sum(name.endswith("push") for _, name, _, _ in site.between(begin, time.monotonic()))
        limit = self.attack.disk + AMPLIFICATION * site.answers.sent / MiB + OF_NEIGHBOURS * pushes
        if written > limit:
            self.breaches.append(f"the disk has {written:.1f} MiB more; the budget is {limit:.1f} MiB")
        if logged > MiB + LOG_OF_REQUEST * site.answers.total:
            self.breaches.append(f"the log grew by {logged} bytes for {site.answers.total} requests")
        if site.process.poll() is not None:
            self.breaches.append(f"the server ended with {site.process.returncode}")
        return Result(self.attack, p50, p95, grown, written, site.answers.text(), self.breaches)

    def _steps(self):
        """The steps before, in and after the attack."""
        if not inspect.isgeneratorfunction(self.attack.run):
            def steps(site):
                yield
                self.attack.run(site)
                yield
            return steps(self.site)
        return self.attack.run(self.site)

    def _step(self, steps):
        try:
            next(steps, None)
        except Broken as problem:
            self.breaches.append(str(problem))

    def _compare(self, begin, end):
        """The latencies of the neighbour that has it worse."""
        worst = (0.0, 0.0)
        for who in ["ann", "bob"]:
            samples = [sample for sample in self.site.between(begin, end) if sample[1].startswith(who)]
            times = [took for _, _, took, _ in samples]
            p95 = percentile(times, 0.95)
            worst = max(worst, (p95, percentile(times, 0.5)))
            own = self.attack.same if who == "bob" else self.attack.latency
            limit = max(own, LATENCY_RATIO * self.calm.get(who, 0))
            if p95 > limit:
                self.breaches.append(f"the p95 of {who} was {p95:.0f} ms; the budget is {limit:.0f} ms")
            wrong = {str(status) for _, _, _, status in samples if status != 200}
            if wrong:
                self.breaches.append(f"{who} was answered {', '.join(sorted(wrong))}")
        for at, name, took, status in self.site.between(begin, end):
            if name == "livez" and (took > LIVE or status != 200):
                self.breaches.append(f"/livez took {took:.0f} ms and answered {status}; the budget is {LIVE} ms")
                break
        return worst[1], worst[0]


def calm(site, seconds):
    """The p95 of each neighbour while nothing happens."""
    time.sleep(0.3)
    begin = time.monotonic()
    time.sleep(seconds)
    samples = site.between(begin, time.monotonic())
    return {who: percentile([took for _, name, took, _ in samples if name.startswith(who)], 0.95)
            for who in ["ann", "bob"]}
