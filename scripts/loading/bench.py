"""Loads on servers that take turns, and what everybody worked for them."""

import json
import os
import subprocess
import sys

from loading import meters
from loading.servers import SPACES

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.run, self.doubts = options, folder, 0, []
        with open(os.path.join(os.environ["BOTHY_POSTGRES_HOME"], "data", "postmaster.pid")) as file:
            self.postmaster = int(file.readline())

    def wrk(self, server, kind, spaces, points=("hot -",), connections=None, seconds=None, delay=0, stored=None):
        """One load on one server: requests a second, latencies, and what everybody worked for it. What was under way when
        wrk stopped is waited for; `stored` tells how many requests were carried out with it."""
        self.run += 1
        path = os.path.join(self.folder, "points")
        with open(path, "w") as file:
            file.write("".join(point + "\n" for point in points))
        connections, seconds = connections or self.options.connections, seconds or self.options.seconds
        before = [meters.processor_seconds(server.process.pid), meters.processor_seconds(self.postmaster)]
        idle, mine = meters.idle_share(), os.times()
        ended = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", f"{HERE}/loading/load.lua",
             server.url, "--", kind, server.kind, f"l{self.run}x{os.getpid()}", str(spaces), path, str(delay)],
            capture_output=True, text=True)
        unused, now = meters.idle_between(idle, meters.idle_share()), os.times()
        line = next((line for line in ended.stdout.splitlines() if line.startswith("RESULT")), None)
        if not line:
            raise SystemExit(f"wrk failed: {ended.stdout}{ended.stderr}")
        result = json.loads(line.removeprefix("RESULT "))
        # Kinto answers 503 to some of several writers of one collection: those were not carried out.
        if result["errors"] or not result["requests"] or (result["refused"] and server.kind != "kinto"):
            raise SystemExit(f"{server.name}, {kind}: {result}")
        result["answered"] = result["requests"] - result["refused"]
        meters.wait_for_rest(server.process.pid)
        after = [meters.processor_seconds(server.process.pid), meters.processor_seconds(self.postmaster)]
        done = stored() if stored else result["answered"]
        result["rate"] = done / result["seconds"]
        result["server"], result["postgres"] = [(new - old) / done * 1e6 for old, new in zip(before, after)]
        result["wrk"] = (now.children_user + now.children_system - mine.children_user - mine.children_system) \
            / result["seconds"]
        result["idle"] = unused
        return result

    def push_and_count(self, server, kind, spaces, batch):
        """As `wrk`, by what is stored afterwards; what was acknowledged must be among it. Kinto refuses some writes inside
        batches that it answers with 200: those are counted, and are not taken for lost."""
        before = server.count(spaces)
        result = self.wrk(server, kind, spaces, stored=lambda: (server.count(spaces) - before) / batch)
        stored, told = result["rate"] * result["seconds"] * batch, result["answered"] * batch
        if result["written"] or result["unwritten"]:
            told = result["written"]
        if not -0.5 <= stored - told <= (self.options.connections + 1) * batch:
            doubt = f"{server.name}, {kind}: {told} writes acknowledged, {stored - told:.0f} more stored"
            if server.kind != "kinto":
                raise SystemExit(doubt)
            self.doubts.append(doubt)
        return result

    def warm_up(self, server):
        """Until there is enough to pull, and for five seconds at least."""
        server.prepare()
        server.check()
        self.wrk(server, "push1", 1, seconds=1)
        self.wrk(server, "push25", SPACES, seconds=4)
        while server.count(1) < 2600:
            self.wrk(server, "push25", 1, seconds=5)

    def loads(self, servers, loads):
        """All loads on all servers, in turns; the results by load and server."""
        results = {(load[0], server.name): [] for load in loads for server in servers}
        for round_ in range(self.options.rounds):
            for name, kind, spaces, batch, _ in loads:
                turn = round_ % len(servers)
                for server in servers[turn:] + servers[:turn]:
                    if kind.startswith("push"):
                        result = self.push_and_count(server, kind, spaces, batch)
                    else:
                        result = self.wrk(server, kind, spaces, server.points(batch))
                    results[name, server.name].append(result)
                    print(f"  round {round_ + 1}, {name}, {server.name}: {result['rate'] * batch:.0f} records/s",
                          file=sys.stderr, flush=True)
        return results
