"""PostgreSQL under Patroni with etcd, all on loopback and in one folder."""

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request

from distributing.cluster import BASE, Broken
from testing.ports import free_port


def postgres_user():
    """The words before a command that run it as the user of PostgreSQL, which does not run as root."""
    return ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"] if os.getuid() == 0 else []


def ask(port, path, timeout=3):
    """The JSON at an address, or `None` if there is no answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=timeout) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return json.loads(error.read() or b"null")
    except (OSError, ValueError):
        return None


class Etcd:
    def __init__(self, home):
        self.port, peer = free_port(), free_port()
        own, log = f"http://127.0.0.1:{self.port}", open(os.path.join(home, "etcd.log"), "a")
        self.process = subprocess.Popen(
            [*postgres_user(), "etcd", "--data-dir", os.path.join(home, "etcd"), "--listen-client-urls", own,
             "--advertise-client-urls", own, "--listen-peer-urls", f"http://127.0.0.1:{peer}",
             "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
             "--initial-cluster", f"default=http://127.0.0.1:{peer}"], stdout=log, stderr=log, cwd="/")
        for _ in range(100):
            if (ask(self.port, "/health") or {}).get("health") == "true":
                return
            time.sleep(0.1)
        raise Broken("etcd did not start")

    def stop(self):
        self.process.kill()
        self.process.wait()


class Node:
    """One Patroni and its PostgreSQL."""

    def __init__(self, home, name, etcd, version):
        self.name, self.home, self.data = name, home, os.path.join(home, name)
        self.port, self.rest, self.process = free_port(), free_port(), None
        self.config = os.path.join(home, f"{name}.yml")
        with open(self.config, "w") as file:
            json.dump(self.settings(etcd, f"/{BASE}/{version}/bin"), file, indent=1)  # JSON is YAML too

    def settings(self, etcd, programs):
        trust = [f"{kind} {of} all 127.0.0.1/32 trust" for kind, of in (("host", "all"), ("host", "replication"))]
        return {
            "scope": "bothy", "name": self.name,
            "restapi": {"listen": f"127.0.0.1:{self.rest}", "connect_address": f"127.0.0.1:{self.rest}"},
            "etcd3": {"host": f"127.0.0.1:{etcd.port}"},
            "bootstrap": {
                # The shortest times that Patroni takes.
                "dcs": {"ttl": 20, "loop_wait": 1, "retry_timeout": 3, "maximum_lag_on_failover": 1 << 20,
                        "synchronous_mode": True,
                        "postgresql": {"use_pg_rewind": True, "parameters": {
                            "max_connections": 200, "shared_buffers": "32MB", "wal_log_hints": "on"}}},
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, {"auth": "trust"}]},
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}", "connect_address": f"127.0.0.1:{self.port}", "data_dir": self.data,
                "bin_dir": programs, "pgpass": os.path.join(self.home, f"{self.name}.pgpass"), "pg_hba": trust,
                "authentication": {"superuser": {"username": "bothy", "password": "bothy"},
                                   "replication": {"username": "copier", "password": "copier"}},
                "parameters": {"unix_socket_directories": self.home}},
        }

    def start(self):
        log = open(os.path.join(self.home, f"{self.name}.log"), "a")
        self.process = subprocess.Popen([*postgres_user(), "patroni", self.config], stdout=log, stderr=log, cwd="/",
                                        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})

    def kill(self):
        """Kills Patroni and every process of its PostgreSQL, as when a machine is lost."""
        processes = [self.process.pid]
        try:
            with open(os.path.join(self.data, "postmaster.pid")) as file:
                postmaster = int(file.readline())
            children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(postmaster)], capture_output=True, text=True)
            processes += [postmaster, *map(int, children.stdout.split())]
        except (OSError, ValueError):
            pass
        for process in processes:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.kill()


class Cluster:
    def __init__(self, home, version):
        self.etcd, self.nodes = Etcd(home), []
        try:
            self.nodes = [Node(home, name, self.etcd, version) for name in ("one", "two")]
            self.nodes[0].start()
            self.wait(90, {"leader"})
            self.nodes[1].start()
            self.wait(90)
        except BaseException:
            self.stop()
            raise

    @property
    def address(self):
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"postgres://bothy@{hosts}/postgres?target_session_attrs=read-write"

    def roles(self):
        """The nodes by their roles: `leader`, `sync_standby`, `replica`."""
        for node in self.nodes:
            found = ask(node.rest, "/cluster") if node.process and node.process.poll() is None else None
            if found:
                by_name = {node.name: node for node in self.nodes}
                return {member["role"]: by_name[member["name"]] for member in found.get("members", [])
                        if member.get("state") in ("running", "streaming")}
        return {}

    def wait(self, seconds, roles=frozenset({"leader", "sync_standby"})):
        """Waits until there are nodes of these roles."""
        deadline = time.monotonic() + seconds
        while not set(roles) <= set(self.roles()):
            if time.monotonic() > deadline:
                raise Broken(f"after {seconds} s the cluster has {sorted(self.roles())} only")
            time.sleep(0.2)

    def stop(self):
        for node in self.nodes:
            node.stop()
        self.etcd.stop()
