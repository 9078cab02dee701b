"""What a server has accepted: the records, lists and blobs of each space, from what was sent and what was answered."""

import hashlib
import json

from wild.requests import KINDS
from wild.values import LIST, same, short

DATES = {"2024-02-29T23:59:59.999Z": 1_709_251_199_999, "1969-12-31T23:59:59Z": -1000,
         "2026-01-01T01:00:00+01:00": 1_767_225_600_000}


class Wrong(Exception):
    """Something was accepted and is not given back."""


def comes_back(fields):
    """The fields as the server keeps them: without nulls, dates in milliseconds, numbers of their kind."""
    kept = {}
    for name, value in fields.items():
        if value is None:
            continue
        kind = KINDS.get(name)
        if kind == "date" and isinstance(value, str):
            value = DATES[value]
        elif kind == "double" and not isinstance(value, bool):
            value = float(value)
        elif kind == "int":
            value = int(value)
        kept[name] = value
    return kept


def merged(patch, target):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(value, result.get(name))
    return result


class Model:
    def __init__(self):
        self.spaces, self.blobs, self.names, self.accepted = {}, {}, ["r1", "r2", "x"], 0

    def space(self, name):
        return self.spaces.setdefault(name, {})

    def version(self, space, key):
        entry = self.space(space).get(key)
        return entry["version"] if entry and entry["fields"] is not None else None

    def ids(self, space, type):
        return [key[1] for key, entry in self.space(space).items() if key[0] == type and entry["fields"] is not None]

    def live(self, space, type):
        return {key[1]: entry for key, entry in self.space(space).items() if key[0] == type and entry["fields"] is not None}

    def put(self, space, key, version, fields, container=None):
        """Notes a record; None for the fields of a deleted one."""
        before = self.space(space).get(key, {})
        if fields is not None and key[0] != LIST:
            fields = comes_back(fields)
        self.space(space)[key] = {"version": version, "fields": fields,
                                  "container": before.get("container") if container is None else container}
        self.accepted += 1
        if key[0] != LIST and len(self.names) < 200 and key[1] not in self.names:
            self.names.append(key[1])

    # what a request has changed

    def take(self, operation, names, sent, status, body, answered):
        """Follows an answer."""
        take = getattr(self, f"_{operation.id}", None)
        if take and 200 <= status < 300:
            take(names["space"], names, sent, body, answered)

    def _record(self, space, names, record, fields, container=None):
        key = (names["type"], names["id"])
        self.put(space, key, record["version"], fields, container)
        expect(key, self.space(space)[key], record, "the answer")

    def _putRecord(self, space, names, sent, body, _):
        container = sent.get("container")
        record = json.loads(body)
        known = self.space(space).get((names["type"], names["id"]))
        isNew = known is None or known["fields"] is None
        if container is None:
            container = names["type"] if isNew else known["container"]
        self._record(space, names, record, sent["fields"], container)

    def _patchRecord(self, space, names, sent, body, _):
        known = self.space(space)[names["type"], names["id"]]
        patched = {**known["fields"], **{name: merged(value, known["fields"].get(name)) for name, value in sent.items()}}
        self._record(space, names, json.loads(body), patched)

    def _deleteRecord(self, space, names, *_):
        self.put(space, (names["type"], names["id"]), None, None)

    def _shareRecord(self, space, names, sent, body, _):
        key = names["type"], names["id"]
        self._record(space, names, json.loads(body), self.space(space)[key]["fields"])

    def _list(self, space, body):
        found = json.loads(body)
        self.put(space, (LIST, found["id"]), found["version"], {"name": found["name"], "members": sorted(found["members"])}, LIST)
        return found

    def _createList(self, space, names, sent, body, _):
        found = self._list(space, body)
        if found["name"] != sent["name"] or sorted(found["members"]) != sorted(sent.get("members", [])):
            raise Wrong(f"a list came back as {short(found)} for {short(sent)}")

    _putList = _createList

    def _deleteList(self, space, names, *_):
        self.put(space, (LIST, names["id"]), None, None)

    def _putBlob(self, space, names, sent, body, status):
        if status == 200:
            return  # the space has a blob of this name, and keeps it
        if hashlib.sha256(sent).hexdigest() != names["sha256"]:
            raise Wrong("a blob was taken under a wrong name")
        self.blobs[names["sha256"]] = (space, sent)

    def _uploadBlobPart(self, space, names, sent, body, status):
        if status == 201:
            self._putBlob(space, names, sent, body, status)

    def _sync(self, space, names, sent, body, _):
        answer = json.loads(body)
        operations = {operation["id"]: operation for operation in sent.get("operations", [])}
        for outcome in answer["outcomes"]:
            if outcome["outcome"] != "applied":
                continue
            operation = operations[outcome["id"]]
            key = operation["type"], operation["record"]
            known = self.space(space).get(key)
            container = operation.get("container")
            if operation["kind"] == "delete":
                self.put(space, key, None, None)
                continue
            if operation["kind"] == "insert":
                fields, container = operation.get("fields", {}), operation["type"] if container is None else container
            else:
                fields = {**known["fields"], **operation.get("fields", {})}
            self.put(space, key, outcome["version"], fields, container)
            if "record" in outcome:
                expect(key, self.space(space)[key], outcome["record"], "an outcome")


def expect(key, entry, record, where):
    """Compares a record as it was read with what the model has."""
    container = entry["container"]
    if record["id"] != key[1] or record["type"] != key[0]:
        raise Wrong(f"{where} has {short([record['type'], record['id']])} in place of {short(key)}")
    if record["version"] != entry["version"]:
        raise Wrong(f"{where} has version {record['version']} of {short(key)}, not {entry['version']}")
    if record["container"] != container:
        raise Wrong(f"{where} has {short(key)} in {short(record['container'])}, not in {short(container)}")
    fields = {name: value for name, value in record.get("fields", {}).items()}
    if key[0] != LIST and not same(fields, entry["fields"]):
        names = [name for name in fields.keys() | entry["fields"].keys()
                 if name not in fields or name not in entry["fields"] or not same(fields[name], entry["fields"][name])]
        raise Wrong(f"{where} has other fields of {short(key)}: "
                    + "; ".join(f"{short(name)}: {short(fields.get(name))}, not {short(entry['fields'].get(name))}"
                                for name in names[:3]))
