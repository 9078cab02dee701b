"""A primary and its streaming standby on loopback, and what can be done to them."""

import os
import signal
import subprocess
import time

from distributing.cluster import Node, done

VERSION = "15"


class Postgres(Node):
    """One PostgreSQL of the system's package."""

    def settings(self, *lines):
        done([*self.own, "tee", "-a", os.path.join(self.data, "postgresql.conf")], input="\n".join(lines) + "\n", cwd="/")

    def processes(self):
        with open(os.path.join(self.data, "postmaster.pid")) as file:
            postmaster = int(file.readline())
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(postmaster)], capture_output=True, text=True)
        return [postmaster, *map(int, children.stdout.split())]

    def send(self, what):
        for process in self.processes():
            try:
                os.kill(process, what)
            except ProcessLookupError:
                pass

    def kill(self, pause):
        """Kills all of its processes, and starts it again after a pause."""
        self.send(signal.SIGKILL)
        time.sleep(pause)
        self.start()

    def stall(self, pause):
        """Stops its processes without a word to their clients."""
        self.send(signal.SIGSTOP)
        time.sleep(pause)
        self.send(signal.SIGCONT)


class Primary(Postgres):
    def __init__(self, home):
        super().__init__("/", VERSION, home, "primary", False)

    def set(self, name, value):
        self.sql(f"ALTER SYSTEM SET {name} = {value}", "SELECT pg_reload_conf()")

    def withhold(self, pause):
        """Makes commits wait for a standby that does not come. Others have them meanwhile."""
        self.set("synchronous_standby_names", "'nobody'")
        time.sleep(pause)
        self.set("synchronous_standby_names", "DEFAULT")


class Standby(Postgres):
    def __init__(self, home, primary):
        self.primary = primary
        super().__init__("/", VERSION, home, "standby", False)

    @property
    def address(self):
        return f"postgres://bothy@127.0.0.1:{self.port}/postgres"

    def program(self, name, *arguments):
        """The copy of the primary takes the place of a new cluster."""
        if name != "initdb":
            return super().program(name, *arguments)
        return done([*self.own, os.path.join(self.bin, "pg_basebackup"), "-D", self.data, "-d", self.primary.address,
                     "-c", "fast", "-X", "stream", "-R"], cwd="/")

    def pause(self, seconds):
        """Pauses the replay, while the log still comes."""
        self.sql("SELECT pg_wal_replay_pause()")
        time.sleep(seconds)
        self.sql("SELECT pg_wal_replay_resume()")

    def delay(self, seconds):
        """Applies each commit a little late."""
        self.set("recovery_min_apply_delay", "'60ms'")
        time.sleep(seconds)
        self.set("recovery_min_apply_delay", "DEFAULT")

    def set(self, name, value):
        self.sql(f"ALTER SYSTEM SET {name} = {value}", "SELECT pg_reload_conf()")

    def end_sessions(self):
        self.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'bothy'")
