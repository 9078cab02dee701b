"""Reads everything back by every route, by `bothy admin export`, and by a device of the tool, and compares."""

import json
import os

import urllib.parse

from wild.model import Wrong, expect
from wild.requests import TYPES
from wild.values import LIST, short


def quoted(text):
    return urllib.parse.quote(text, safe="")


class Reader:
    """Compares the content of one space."""

    def __init__(self, server, model, space):
        self.server, self.model, self.space = server, model, space
        self.path = f"/v1/spaces/{quoted(space)}"
        self.entries = model.space(space)

    def get(self, path, who="wild", method="GET", body=None, status=200):
        found, answer = self.server.ask(method, self.path + path, body, who=who)
        if found != status:
            raise Wrong(f"{method} {path} was answered {found}: {answer[:300]!r}")
        return json.loads(answer) if answer else None

    def compare(self, records, where, lists=True):
        """Compares all live records with the model."""
        found = {(record["type"], record["id"]): record for record in records}
        live = {key: entry for key, entry in self.entries.items()
                if entry["fields"] is not None and (lists or key[0] != LIST)}
        for key in live.keys() ^ found.keys():
            raise Wrong(f"{where} of {short(self.space)} {'has' if key in found else 'lacks'} {short(key)}")
        for key, entry in live.items():
            expect(key, entry, found[key], where)

    def read(self):
        for look in [self.by_id, self.by_sync, self.by_changes, self.by_query, self.by_count, self.by_containers, self.by_stamps,
                     self.by_history, self.by_feed, self.by_lists, self.by_export, self.by_device]:
            look()

    def by_id(self):
        for (type, id), entry in self.entries.items():
            path = f"/lists/{quoted(id)}" if type == LIST else f"/records/{quoted(type)}/{quoted(id)}"
            if entry["fields"] is None:
                self.get(path, status=410)
            elif type == LIST:
                self.expect_list(id, self.get(path))
            else:
                expect((type, id), entry, self.get(path), "GET")

    def expect_list(self, id, found):
        entry = self.entries[LIST, id]
        if found["name"] != entry["fields"]["name"] or sorted(found["members"]) != entry["fields"]["members"]:
            raise Wrong(f"the list {short(id)} is {short(found)}, not {short(entry['fields'])}")

    def pages(self, ask, where):
        cursor, live = None, {}
        while True:
            page = ask(cursor)
            for record in page["changes"]:
                live[record["type"], record["id"]] = record
            cursor = page["cursor"]
            if not page.get("more"):
                break
        self.compare([record for record in live.values() if not record.get("deleted")], where)

    def by_sync(self):
        self.pages(lambda cursor: self.get("/sync", method="POST", body={
            "device": "reader", "limit": 100, "pulls": [{"container": "", "children": True, "cursor": cursor}]})["pages"][0],
            "a pull")

    def by_changes(self):
        self.pages(lambda cursor: self.get("/changes?children=true&limit=333" + (f"&cursor={quoted(cursor)}" if cursor else "")),
                   "/changes")

    def by_query(self):
        found = []
        for type in [*TYPES, LIST]:
            offset = 0
            while True:
                page = self.get("/query", method="POST", body={"type": type, "limit": 500, "offset": offset, "order": ["-id"]})
                found += page["records"]
                offset += len(page["records"])
                if len(page["records"]) < 500 and not page.get("more"):
                    break
        self.compare(found, "/query")

    def by_count(self):
        for type in TYPES:
            count = self.get("/count", method="POST", body={"type": type})["count"]
            if count != len(self.model.live(self.space, type)):
                raise Wrong(f"/count has {count} of {type[:10]}, not {len(self.model.live(self.space, type))}")

    def by_containers(self):
        expected = {}
        for entry in self.entries.values():
            if entry["fields"] is not None:
                expected[entry["container"]] = expected.get(entry["container"], 0) + 1
        listed = self.get("/containers")
        found = {one["container"]: one["count"] for one in listed["containers"] if one["count"]}
        if found != expected:
            raise Wrong(f"/containers has {short(found)}, not {short(expected)}")
        for container, count in expected.items():
            if container and self.get("/containers/" + urllib.parse.quote(container, safe="/"))["count"] != count:
                raise Wrong(f"/containers/{short(container)} has another count than {count}")

    def by_stamps(self):
        expected = {(*key, entry["version"]) for key, entry in self.entries.items() if entry["fields"] is not None}
        self.digest = self.get("/digest?children=true&parts=7")
        # Stamps have no pages, and all of them may be more than one answer holds.
        stamps = [stamp for part in range(16) for stamp in self.get(f"/stamps?children=true&parts=16&in={part}")["records"]]
        if {(stamp["type"], stamp["id"], stamp["version"]) for stamp in stamps} != expected:
            raise Wrong("/stamps has other records")
        if self.digest["count"] != len(expected) or sum(part["count"] for part in self.digest["parts"]) != len(expected):
            raise Wrong(f"/digest counts {self.digest['count']}, not {len(expected)}")

    def by_history(self):
        before, seen = "", set()
        while True:
            page = self.get(f"/history?children=true&limit=1000{before}")
            seen |= {(change["type"], change["id"]) for change in page["changes"]}
            if "next" not in page:
                break
            before = f"&before={page['next']}"
        strange = seen - self.entries.keys()
        if strange:
            raise Wrong(f"/history has {short(strange.pop())}, which was not accepted")
        # A server remembers the last 10,000 changes of a space.
        if self.model.accepted < 9000 and self.entries.keys() - seen:
            raise Wrong(f"/history lacks {short((self.entries.keys() - seen).pop())}")

    def by_feed(self):
        cursor, live = "", {}
        while True:
            page = self.get(f"/feed?limit=500{cursor}", who="back")
            for change in page["changes"]:
                live[change["type"], change["id"]] = change["record"]
            cursor = f"&after={quoted(page['cursor'])}"
            if not page.get("more"):
                break
        self.compare([record for record in live.values() if not record.get("deleted")], "/feed")

    def by_lists(self):
        found = {one["id"]: one for one in self.get("/lists")["lists"]}
        if found.keys() != self.model.live(self.space, LIST).keys():
            raise Wrong("/lists has other lists")
        for id, one in found.items():
            self.expect_list(id, one)

    def by_export(self):
        lines = self.server.tool("admin", "export", *self.server.database, self.space)
        records = [json.loads(line) for line in lines.split("\n") if line]
        self.compare([record for record in records if "fields" in record and not record.get("deleted")], "admin export")

    def by_device(self):
        """A new device, and its digest."""
        file = os.path.join(self.server.folder, f"device{abs(hash(self.space))}.bothy")
        self.server.tool("db", "create", file, "--schema", self.server.schema, "--server", self.server.url, "--space", self.space,
                         "--token", "wild")
        done = json.loads(self.server.tool("sync", file, "--json"))
        if done["failures"] or done["unreadable"] or done["skipped"]:
            raise Wrong(f"a device's sync of {short(self.space)} was {short(done)}")
        found = []
        for type in TYPES:
            found += json.loads(self.server.tool("db", "query", file, type, "--json", "--limit", "1000000"))["records"]
        for record in found:
            record["fields"] = {name: value for name, value in record["fields"].items() if value is not None}
        self.compare(found, "a device", lists=False)
        digests = json.loads(self.server.tool("digest", file, "--json"))["containers"]
        if [(one["digest"], one["count"]) for one in digests] != [(self.digest["digest"], self.digest["count"])]:
            raise Wrong(f"a device of {short(self.space)} has the digest {short(digests)}, the server {self.digest['digest']}")


def blobs(server, model):
    for name, (space, data) in model.blobs.items():
        status, answer = server.ask("GET", f"/v1/spaces/{quoted(space)}/blobs/{name}")
        if status != 200 or answer != data:
            raise Wrong(f"a blob of {len(data)} bytes was answered {status} with {len(answer)} bytes")
