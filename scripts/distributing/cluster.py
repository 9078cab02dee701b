"""PostgreSQL and Citus on loopback, from programs of their own: nothing is installed into the system."""

import os
import shutil
import subprocess
import time

from testing.ports import free_port

BASE = "usr/lib/postgresql"


class Broken(Exception):
    """A step failed, or a promise was not kept."""


def done(arguments, **options):
    """Runs a program and returns what it printed."""
    ended = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True, **options)
    if ended.returncode != 0:
        raise Broken(f"{' '.join(map(str, arguments))}: {ended.stderr[-2000:]}{ended.stdout[-2000:]}")
    return ended.stdout


def build(citus, folder, version):
    """Builds Citus for the system's PostgreSQL `version`, once, and returns the folder that has both. PostgreSQL finds
    its files by the place of its program, so a copy of it takes an extension without a change of the system."""
    target, stamp = os.path.join(folder, "programs"), os.path.join(folder, "stamp")
    commit = subprocess.run(["git", "-C", citus, "describe", "--tags", "--always"], capture_output=True, text=True).stdout
    wanted = f"{os.path.realpath(citus)} {commit.strip()} {version} {done(['psql', '--version']).strip()}\n"
    if os.path.exists(stamp) and open(stamp).read() == wanted:
        return target
    shutil.rmtree(folder, ignore_errors=True)
    objects = os.path.join(folder, "objects")
    os.makedirs(objects)
    print("Building Citus; it takes a few minutes …", flush=True)
    config = f"/{BASE}/{version}/bin/pg_config"
    for step in ([os.path.join(citus, "configure"), "--without-libcurl", f"PG_CONFIG={config}"], ["make", "-j1"],
                 ["make", "install", f"DESTDIR={target}"]):
        done(["nice", "-n", "19", *step], cwd=objects)
    for part in (f"{BASE}/{version}", f"usr/share/postgresql/{version}"):
        shutil.copytree(f"/{part}", os.path.join(target, part), dirs_exist_ok=True, symlinks=True)
    with open(stamp, "w") as file:
        file.write(wanted)
    return target


class Node:
    """One PostgreSQL, which belongs to the user `postgres` where the caller is root."""

    def __init__(self, programs, version, home, name, has_citus):
        self.bin, self.data = os.path.join(programs, BASE, version, "bin"), os.path.join(home, name)
        self.name, self.port, self.own = name, free_port(), []
        if os.getuid() == 0:
            self.own = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
        self.program("initdb", "-U", "bothy", "-A", "trust", "-E", "UTF8", "--locale=C")
        lines = [f"port = {self.port}", "listen_addresses = '127.0.0.1'", f"unix_socket_directories = '{home}'",
                 "max_connections = 300", "shared_buffers = 32MB", "logging_collector = off",
                 "max_prepared_transactions = 300"]
        if has_citus:
            lines += ["shared_preload_libraries = 'citus'", "wal_level = logical", "citus.shard_count = 8",
                      "citus.node_conninfo = 'sslmode=disable'"]
        done([*self.own, "tee", "-a", os.path.join(self.data, "postgresql.conf")], input="\n".join(lines) + "\n", cwd="/")
        self.start()

    @property
    def address(self):
        return f"postgres://bothy@127.0.0.1:{self.port}/postgres"

    def program(self, name, *arguments):
        return done([*self.own, os.path.join(self.bin, name), "-D", self.data, *arguments], cwd="/")

    def start(self):
        for _ in range(50):
            try:
                return self.program("pg_ctl", "-l", self.data + ".log", "-w", "start")
            except Broken as error:
                reason = error
                time.sleep(0.2)
        raise reason

    def stop(self):
        subprocess.run([*self.own, os.path.join(self.bin, "pg_ctl"), "-D", self.data, "-m", "immediate", "stop"],
                       cwd="/", capture_output=True)

    def sql(self, *statements):
        """Runs statements in one session and returns their rows, each with its columns separated by `|`."""
        each = [part for statement in statements for part in ("-c", statement)]
        text = done([os.path.join(self.bin, "psql"), "-qAtX", "-v", "ON_ERROR_STOP=1", "-d", self.address, *each])
        return text.splitlines()


class Citus:
    """A coordinator and two workers."""

    def __init__(self, programs, version, home):
        self.nodes = []
        try:
            for name in ("coordinator", "worker1", "worker2"):
                self.nodes.append(Node(programs, version, home, name, True))
            for node in self.nodes:
                node.sql("CREATE EXTENSION citus")
            main = self.nodes[0]
            main.sql(f"SELECT citus_set_coordinator_host('127.0.0.1', {main.port})")
            for worker in self.nodes[1:]:
                main.sql(f"SELECT citus_add_node('127.0.0.1', {worker.port})")
        except BaseException:
            self.stop()
            raise

    @property
    def coordinator(self):
        return self.nodes[0]

    def distribute(self, schema="bothy"):
        """Distributes every table that has a space by it, all beside each other. Returns their names."""
        found = self.coordinator.sql(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
            f"WHERE c.relnamespace = '{schema}'::regnamespace AND c.relkind = 'r' AND a.attname = 'space' "
            "ORDER BY c.relname <> 'space', c.relname")
        for table in found:
            beside = "" if table == "space" else f", colocate_with => '{schema}.space'"
            self.coordinator.sql(f"SELECT create_distributed_table('{schema}.{table}', 'space'{beside})")
        return found

    def stop(self):
        for node in self.nodes:
            node.stop()
