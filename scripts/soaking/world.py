"""One run of the soak: a server, its devices and the proxies between them; faults; calm; a look at what is left."""

import asyncio
import json
import os
import random
import signal
import time

from testing.ports import free_port

from . import checks
from .proxy import Proxy

SCHEMA = {"version": 1, "types": [
    {"name": "Account", "fields": [{"name": "balance", "type": "int", "merge": "counter"}]},
    {"name": "Counter", "fields": [{"name": "n", "type": "int", "merge": "counter"}]},
    {"name": "Note", "fields": [
        {"name": "title", "type": "int"}, {"name": "tags", "type": "json", "optional": True, "merge": "setUnion"},
        *({"name": f"d{number}", "type": "int", "optional": True} for number in range(8))]},
    {"name": "Element", "fields": [{"name": "value", "type": "int"}]},
    {"name": "Parent", "fields": [{"name": "value", "type": "int"}]},
    {"name": "Child", "fields": [{"name": "parent", "type": "reference", "to": "Parent", "onDelete": "cascade"}]},
    {"name": "Scrap", "fields": [{"name": "value", "type": "int"}]}]}


class Problem(Exception):
    """The run shows a fault of the product, or cannot go on."""


class Process:
    """A child process of one run; ended with the run, whatever happens."""

    def __init__(self, name, log):
        self.name, self.log, self.child = name, log, None

    async def spawn(self, *command, stdin=None):
        self.child = await asyncio.create_subprocess_exec(
            *command, stdin=stdin, stdout=asyncio.subprocess.PIPE, stderr=self.log, limit=1 << 24)

    def send_signal(self, number):
        if self.child is not None and self.child.returncode is None:
            self.child.send_signal(number)

    async def kill(self):
        self.send_signal(signal.SIGKILL)
        if self.child is not None:
            await self.child.wait()


class Device(Process):
    """One device: its file outlives its processes."""

    def __init__(self, world, number):
        super().__init__(f"d{number}", world.log(f"d{number}"))
        self.world, self.number = world, number
        self.path = os.path.join(world.folder, f"d{number}.bothy")
        self.proxy = Proxy(world.random.random(), world.port)
        self.events, self.incarnation, self.reading = [], 0, None
        self.answers = {}

    async def create(self):
        await self.proxy.start()
        await self.world.command("db", "create", self.path, "--schema", self.world.schema, "--server",
                                 f"http://127.0.0.1:{self.proxy.port}", "--space", "soak")

    async def start(self, *more):
        self.incarnation += 1
        self.answers = {}
        await self.spawn(
            self.world.driver, "device", self.path, "--number", str(self.number),
            "--seed", str(self.world.random.getrandbits(63)), "--pause", str(self.world.pause),
            "--start", str(self.number * 10**9 + self.incarnation * 10**6), *self.world.skips, *more, stdin=asyncio.subprocess.PIPE)
        self.reading = asyncio.create_task(self._read(self.child, self.incarnation))

    async def _read(self, child, incarnation):
        while line := await child.stdout.readline():
            if not line.endswith(b"\n"):
                return  # cut by a kill: never said
            event = json.loads(line)
            event["process"] = self.number + 100 * (incarnation - 1)
            if event["type"] in ("ready", "finished", "state", "contents"):
                waiting = self.answers.setdefault(event["type"], asyncio.Queue())
                waiting.put_nowait(event.get("value"))
            else:
                self.events.append(event)

    async def answer(self, kind, limit):
        waiting = self.answers.setdefault(kind, asyncio.Queue())
        try:
            return await asyncio.wait_for(waiting.get(), limit)
        except asyncio.TimeoutError:
            raise Problem(f"{self.name} did not say '{kind}' in {limit} s (its process: "
                          f"{self.child.returncode if self.child else None})") from None

    async def tell(self, command):
        try:
            self.child.stdin.write(command.encode() + b"\n")
            await self.child.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise Problem(f"{self.name} ended by itself ({self.child.returncode})") from None

    async def ask(self, command, kind, limit=60):
        await self.tell(command)
        return await self.answer(kind, limit)

    async def kill(self):
        await super().kill()
        if self.reading:
            await self.reading


class World:
    def __init__(self, programs, folder, seed, options):
        """`programs` are the tool and the program of a device."""
        (self.bothy, self.driver), self.folder, self.seed = programs, folder, seed
        self.random = random.Random(seed)
        self.seconds, self.pause = options.seconds, options.pause
        self.skips = [word for step in options.skip for word in ("--skip", step)]
        self.cut_base, self.cuts = options.cut_base, 0
        self.port, self.logs, self.notes = free_port(), [], []
        os.makedirs(folder, exist_ok=True)
        self.schema = os.path.join(folder, "schema.json")
        with open(self.schema, "w") as file:
            json.dump(SCHEMA, file)
        self.server = Process("server", self.log("server"))
        self.is_server_down, self.devices, self.count = False, [], options.devices

    def log(self, name):
        file = open(os.path.join(self.folder, f"{name}.log"), "ab")
        self.logs.append(file)
        return file

    def note(self, sentence):
        """Remembers what was done to the run, for whoever looks at a failure."""
        self.notes.append({"time": time.monotonic_ns(), "type": "info", "process": "nemesis", "f": sentence})

    async def command(self, *arguments):
        child = await asyncio.create_subprocess_exec(
            self.bothy, *arguments, "--json", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        out, error = await asyncio.wait_for(child.communicate(), 120)
        if child.returncode != 0:
            raise Problem(f"`bothy {' '.join(arguments)}` ended with {child.returncode}: {error.decode()}")
        return json.loads(out)

    async def start_server(self):
        await self.server.spawn(
            self.bothy, "serve", "--port", str(self.port), "--json", "--log-level", "error", "--database",
            os.path.join(self.folder, "server.sqlite"))
        line = await asyncio.wait_for(self.server.child.stdout.readline(), 120)
        if not line:
            raise Problem("the server did not start; see server.log")
        self.port = int(json.loads(line)["url"].rsplit(":", 1)[1])

    # the run

    async def run(self):
        """What is wrong at the end; nothing is."""
        try:
            await self._set_up()
            await self._chaos()
            await self._calm()
            return await self._look()
        except Problem as problem:
            return [str(problem)]
        finally:
            await self._end()

    async def _set_up(self):
        await self.start_server()
        self.devices = [Device(self, number) for number in range(self.count)]
        await asyncio.gather(*(device.create() for device in self.devices))
        await self.devices[0].start("--seeds")
        await self.devices[0].answer("ready", 120)
        await asyncio.gather(*(device.start() for device in self.devices[1:]))
        await asyncio.gather(*(device.answer("ready", 120) for device in self.devices[1:]))
        await self._until_even(120, "before the run")
        await asyncio.gather(*(device.tell("go") for device in self.devices))

    async def _chaos(self):
        end = time.monotonic() + self.seconds
        under_way = set()
        while time.monotonic() < end:
            await asyncio.sleep(self.random.uniform(0.03, 0.3))
            task = asyncio.create_task(self._fault())
            under_way.add(task)
        for task in under_way:
            await task

    async def _fault(self):
        device = self.random.choice(self.devices)
        lasts = self.random.uniform(0.1, 1.5)
        await self.random.choices(
            [self._partition, self._slow, self._cut, self._copy, self._reset, self._kill_device,
             self._kill_server, self._pause, self._split],
            [20, 10, 30, 10, 8, 10, 5, 8, 4])[0](device, lasts)

    async def _partition(self, device, lasts):
        kind = self.random.choice(["up", "down", "both", "refuse"])
        self.note(f"{device.name}: {kind} cut for {lasts:.2f} s")
        proxy = device.proxy
        if kind in ("up", "both"):
            proxy.up.clear()
        if kind in ("down", "both"):
            proxy.down.clear()
        if kind == "refuse":
            proxy.refuses = True
            proxy.reset()
        await asyncio.sleep(lasts)
        proxy.up.set()
        proxy.down.set()
        proxy.refuses = False

    async def _split(self, _, lasts):
        some = self.random.sample(self.devices, self.random.randint(2, len(self.devices)))
        await asyncio.gather(*(self._partition(device, lasts) for device in some))

    async def _slow(self, device, lasts):
        self.note(f"{device.name}: slow for {lasts:.2f} s")
        device.proxy.delay = (5, self.random.choice([20, 60, 150]))
        await asyncio.sleep(lasts)
        device.proxy.delay = (0, 0)

    async def _cut(self, device, _):
        after = self.cut_base + self.cuts
        self.cuts += 1
        self.note(f"{device.name}: next reply cut after {after % 1024} bytes")
        device.proxy.cuts.append(after % 1024)

    async def _copy(self, device, _):
        self.note(f"{device.name}: next request comes twice")
        device.proxy.copies += 1

    async def _reset(self, device, _):
        self.note(f"{device.name}: connections reset")
        device.proxy.reset()

    async def _kill_device(self, device, lasts):
        if device.child.returncode is not None:
            return
        self.note(f"{device.name}: killed")
        await device.kill()
        await asyncio.sleep(lasts / 5)
        await device.start()
        await device.tell("go")

    async def _kill_server(self, _, lasts):
        if self.is_server_down:
            return  # down or coming up already
        self.is_server_down = True
        self.note("server: killed")
        await self.server.kill()
        await asyncio.sleep(lasts / 3)
        await self.start_server()
        self.is_server_down = False

    async def _pause(self, device, lasts):
        process = self.random.choice([device, self.server])
        child = process.child
        if child is None or child.returncode is not None:
            return
        self.note(f"{process.name}: stopped for {lasts:.2f} s")
        child.send_signal(signal.SIGSTOP)
        await asyncio.sleep(lasts)
        if child.returncode is None:
            child.send_signal(signal.SIGCONT)

    # calm

    async def _calm(self):
        self.note("calm")
        for device in self.devices:
            device.proxy.heal()
        await asyncio.gather(*(device.tell("finish") for device in self.devices))
        await asyncio.gather(*(device.answer("finished", 120) for device in self.devices))
        await self._until_even(120, "after the run")

    async def _until_even(self, limit, when):
        """Waits, with nobody asking for a sync, until nothing is pending and all digests are the server's."""
        end = time.monotonic() + limit
        while True:
            states = await asyncio.gather(*(device.ask("state", "state") for device in self.devices))
            digests = {state["digest"] for state in states} | {state["remote"] for state in states}
            is_even = len(digests) == 1 and not any(state["pending"] for state in states)
            if is_even and states[0]["count"] > 0:
                return
            if time.monotonic() > end:
                named = {device.name: state for device, state in zip(self.devices, states)}
                raise Problem(f"stuck {when}: after {limit} s of calm {json.dumps(named)}")
            await asyncio.sleep(0.1)

    async def _look(self):
        contents = await asyncio.gather(*(device.ask("dump", "contents") for device in self.devices))
        problems = []
        for device, content in zip(self.devices, contents):
            if content["outbox"]:
                problems.append(f"{device.name} still has {content['outbox']}")
            if content["findings"]:
                problems.append(f"the doctor of {device.name} finds {content['findings']}")
            if content["records"] != contents[0]["records"]:
                problems.append(f"{device.name} holds other records than d0")
        return problems + checks.problems(self.history(), contents[0]["records"])

    def history(self):
        """What all processes did, in the order of the machine's clock."""
        return sorted((event for device in self.devices for event in device.events), key=lambda event: event["time"])

    def write_histories(self):
        """The histories for elle-cli, all that was said, and what was done to the run."""
        checks.write_histories(self.folder, self.history())
        everything = sorted(self.history() + self.notes, key=lambda event: event["time"])
        with open(os.path.join(self.folder, "everything.jsonl"), "w") as file:
            for event in everything:
                file.write(json.dumps(event) + "\n")

    async def _end(self):
        for process in [*self.devices, self.server]:
            process.send_signal(signal.SIGCONT)
            await process.kill()
        for device in self.devices:
            if device.proxy.listener:
                await device.proxy.stop()
        for file in self.logs:
            file.close()
