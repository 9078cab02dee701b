"""Random requests by the server's OpenAPI document: of valid shapes, with wild values."""

import hashlib
import json
import urllib.parse

from wild.values import LIST, TEXTS, Values

KINDS = {"s": "string", "full": "string", "n": "int", "x": "double", "t": "bool", "d": "date", "u": "uuid", "b": "data",
         "p": "coordinate", "j": "json", "r": "reference", "rs": "references"}
SCHEMA = {"version": 1, "types": [
    {"name": name, "fields": [
        {"name": field, "type": kind, "optional": True, **({"fullText": True} if field == "full" else {}),
         **({"indexed": True} if field in "snxd" else {}), **({"to": name} if "reference" in kind else {})}
        for field, kind in KINDS.items()]}
    for name in ["Thing", "T" * 64]]}
TYPES = [type["name"] for type in SCHEMA["types"]]
SPACES = ["home", "a b+c%", "пространство 👪", "s" * 128, ".hidden", "\u00e9ü"]
# Most requests are about records; of the others a few are enough.
WEIGHTS = {"sync": 40, "putRecord": 25, "patchRecord": 15, "deleteRecord": 5, "shareRecord": 6, "createList": 3, "putList": 3,
           "deleteList": 1, "putBlob": 3, "uploadBlobPart": 2}


class Operation:
    """One operation of the document."""

    def __init__(self, method, path, operation):
        self.method, self.path, self.id = method.upper(), path, operation["operationId"]
        self.parameters = operation.get("parameters", [])
        content = (operation.get("requestBody") or {}).get("content", {})
        self.media, self.body = next(((media, part["schema"]) for media, part in content.items()), (None, None))


class Requests:
    """Draws requests, about the records and lists that a model has and about others."""

    def __init__(self, document, random, model):
        self.document, self.random, self.model, self.values = document, random, model, Values(random)
        self.operations = [Operation(method, path, operation) for path, methods in document["paths"].items()
                           for method, operation in methods.items() if method in ("get", "put", "post", "patch", "delete")
                           # An event stream has no end, and a wait for changes a late one.
                           and operation["operationId"] not in ("events", "feed")]
        self.weights = [WEIGHTS.get(operation.id, 1) for operation in self.operations]
        self.number = 0

    def draw(self):
        """The operation, what its names in braces stand for, the address, the fields and the body."""
        operation = self.random.choices(self.operations, self.weights)[0]
        names, query, fields = {}, [], {}
        space = names["space"] = self.random.choices(SPACES, [10] + [1] * (len(SPACES) - 1))[0]
        for parameter in operation.parameters:
            name, place = parameter["name"], parameter["in"]
            if not parameter.get("required") and self.random.random() < 0.6:
                continue
            if place == "path":
                names[name] = space if name == "space" else self.named(name, operation, space, names)
            elif place == "query":
                value = self.of(parameter["schema"], name, space)
                query.append((name, value if isinstance(value, str) else json.dumps(value)))
        record = (names.get("type"), names.get("id"))
        if any(parameter["name"] == "If-Match" for parameter in operation.parameters) and self.random.random() < 0.85:
            version = self.model.version(space, record if operation.id.endswith("Record") else (LIST, names.get("id")))
            fields["If-Match"] = self.random.choice([f'"{version}"'] * 8 + ["*", '"1"']) if version else "*"
        body = None
        if operation.body:
            body = self.bytes(operation, names, fields) if "blob" in operation.id.lower() else \
                self.of(operation.body, operation.id, space)
        if operation.id == "putRecord" and self.random.random() < 0.95:
            body |= {name: names[name] for name in ["type", "id"] if name in body}
        if operation.id == "putList" and self.random.random() < 0.95:
            body |= {"id": names["id"]} if "id" in body else {}
        path = operation.path
        for name, value in names.items():
            path = path.replace("{%s}" % name, urllib.parse.quote(value, safe="/" if name == "path" else ""))
        if query:
            path += "?" + urllib.parse.urlencode(query)
        return operation, names, path, fields, body

    # values by the document

    def resolved(self, schema):
        while "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        return schema

    def of(self, schema, name, space, depth=0):
        """A value of a schema. Some names have values that fit the model."""
        schema = self.resolved(schema)
        known = getattr(self, f"_{name}", None)
        if known and self.random.random() < 0.97:
            return known(space)
        for word in ("oneOf", "anyOf"):
            if word in schema:
                return self.of(self.random.choice(schema[word]), name, space, depth)
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        if "const" in schema:
            return schema["const"]
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = self.random.choice(kind)
        if kind == "object":
            return self.object(schema, space, depth)
        if kind == "array":
            if depth > 4:
                return []
            count = self.random.choice([0, 1, 1, 2, 5])
            return [self.of(schema.get("items", {}), name.rstrip("s"), space, depth + 1) for _ in range(count)]
        if kind == "integer":
            low, high = schema.get("minimum", -2 ** 53), schema.get("maximum", 2 ** 53)
            return max(low, min(high, self.random.choice([low, high, 0, 1, 2, 10, 1000, self.values.whole()])))
        if kind == "number":
            low, high = schema.get("minimum", -1e308), schema.get("maximum", 1e308)
            return max(low, min(high, self.values.number()))
        if kind == "boolean":
            return self.random.random() < 0.5
        if kind == "null":
            return None
        if kind == "string":
            return self.string(schema)
        return self.values.json()

    def string(self, schema):
        text = self.values.text()
        if len(text) < schema.get("minLength", 0):
            text += "x"
        return text[:schema.get("maxLength", 4000)]

    def object(self, schema, space, depth):
        value = {}
        for name, part in schema.get("properties", {}).items():
            if name in schema.get("required", []) or self.random.random() < 0.35 and depth < 5:
                value[name] = self.of(part, name, space, depth + 1)
        if schema.get("additionalProperties") not in (None, False) and not value:
            value = {self.values.text(): self.values.json() for _ in range(self.random.choice([0, 1, 3]))}
        return value

    # values that fit the model

    def name(self):
        """A name of 1 to 512 bytes: often one that was used."""
        if self.random.random() < 0.5:
            return f"r{self.random.randrange(40)}"
        text = self.random.choice([self.random.choice(TEXTS), self.values.text(), "n" * 512, "ü" * 256])
        return text.encode()[:512].decode(errors="ignore") or "x"

    def named(self, name, operation, space, names):
        if name == "type":
            return self._type(space)
        if name == "sha256":
            return self.random.choice([*self.model.blobs, f"{self.random.getrandbits(256):064x}"])
        if name == "path":
            return self._container(space) or "x"
        if name == "id":
            lists = "ist" in operation.id
            ids = self.model.ids(space, LIST if lists else names.get("type"))
            return self.random.choice(ids) if ids and self.random.random() < (0.9 if lists else 0.5) else self.name()
        return self.values.text() or "x"

    def _type(self, space):
        return self.random.choices([*TYPES, LIST, "Unknown"], [20, 5, 1, 1])[0]

    def _record(self, space):
        return self.name()

    def _container(self, space):
        return self.random.choice(["", "Thing", "a", "a/b", "a/b/c", "ü/" + "x" * 500, "/".join("a" * 256), " ", "a\u0301", "%2F", "0"])

    def _scope(self, space):
        return self._container(space)

    def _device(self, space):
        return "wild"

    def _principal(self, space):
        return self.random.choice(["wild"] * 9 + ["other"])

    def _schema(self, space):
        return 1

    def _history(self, space):
        return None

    def _cursor(self, space):
        return None

    def _limit(self, space):
        return self.random.choice([1, 2, 100, 5000])

    def _members(self, space):
        return list(dict.fromkeys(self.name() for _ in range(self.random.choice([0, 1, 5, 50]))))

    def _secrets(self, space):
        return {}

    def _fields(self, space):
        return self.drawn(self.random.choice(TYPES))

    def _FieldsPatch(self, space):
        return self._fields(space)

    _patchRecord = _FieldsPatch

    def drawn(self, type):
        """Fields, most of which fit. The model finds out what should come back."""
        names = self.model.names
        fields = {}
        for field, kind in KINDS.items():
            if self.random.random() < 0.4:
                fields[field] = self.values.of(kind, names)[0]
        if self.random.random() < 0.1 and fields:
            fields[self.random.choice(list(fields))] = None
        if self.random.random() < 0.03:
            fields[self.random.choice([*KINDS, "unknown", ""])] = self.values.misfit()
        return fields

    def _operations(self, space):
        """Operations, each about a record of its own; some are made on top of one before or in a group."""
        operations = []
        for _ in range(self.random.choice([1, 1, 2, 5, 20])):
            self.number += 1
            type, id = self._type(space), self.name()
            version = self.model.version(space, (type, id))
            kind = self.random.choices(["insert", "update", "delete"], [1, 6, 1] if version else [9, 1, 1])[0]
            operation = {"id": f"{self.number:012}", "kind": kind, "type": type, "record": id}
            if kind != "insert":
                operation["base"] = version or "1"
            if kind != "delete":
                operation["fields"] = self.drawn(type)
            if self.random.random() < 0.4 and kind != "delete":
                operation["container"] = self._container(space)
            if self.random.random() < 0.2:
                operation["modified"] = self.values.whole([0, 1, -1, 2 ** 53, -2 ** 53, 1_700_000_000_000])
                operation["modified"] = max(-2 ** 53, min(2 ** 53, operation["modified"]))
            if self.random.random() < 0.1 and kind != "delete":
                operation["sharing"] = {"add": {"principals": self._members(space)}}
            if operations and self.random.random() < 0.15 and operations[-1]["kind"] != "delete":
                before = operations[-1]
                operation = {"id": operation["id"], "kind": "update", "type": before["type"], "record": before["record"],
                             "after": before["id"], "fields": self.drawn(before["type"])}
            operations.append(operation)
        if len(operations) > 1 and self.random.random() < 0.1:
            group = {"id": f"g{self.number}", "size": len(operations) + (self.random.random() < 0.1)}
            operations = [{**operation, "group": group} for operation in operations]
        return operations

    def bytes(self, operation, names, fields):
        """Bytes of a blob; mostly under their right name."""
        data = self.random.randbytes(self.random.choice([0, 1, 1000, 70_000]))
        if self.random.random() < 0.9:
            names["sha256"] = hashlib.sha256(data).hexdigest()
        fields |= {"Upload-Offset": "0", "Upload-Length": str(len(data))} if operation.id == "uploadBlobPart" else {}
        return data
