"""Attacks by small requests about what is large: records, transactions, references, audiences, cursors."""

import json

from attacking.servers import Broken
from attacking.trial import BUSY, IN_LINE, attack
from attacking.writes import SHARED, change

FIELDS = [{"name": "text", "type": "string", "optional": True}, {"name": "m", "type": "int", "optional": True}]
SCHEMA = {"version": 1, "types": [
    {"name": "Item", "fields": FIELDS},
    {"name": "Page", "fields": [*FIELDS, {"name": "n", "type": "int", "optional": True, "indexed": True}]},
    {"name": "Shelf", "fields": [{"name": "pages", "type": "references", "to": "Page", "optional": True}]},
    {"name": "Diary", "fields": FIELDS, "permissions": SHARED}]}
ARGUMENTS = []
# More than --push-size lets one request read, which is 32 MB.
COUNT, SIZE = 60, 700_000


def fill(site):
    """60 records of 700 KB, half of them with each value of an indexed field."""
    site.pages = [site.name("page") for _ in range(COUNT)]
    site.fill([site.insert({"text": "x" * SIZE, "n": n % 2, "m": n}, type="Page", record=page, container="pages")
               for n, page in enumerate(site.pages)], size=10)


def made(site, operations):
    """The versions of operations that are no part of the attack; all have to be applied."""
    versions = []
    with site.caller(counted=False, timeout=60) as caller:
        for first in range(0, len(operations), 500):
            status, answer = caller.sync("arena", operations[first:first + 500], device=site.name("maker"))
            found = [one.get("version") for one in (answer or {}).get("outcomes", []) if one["outcome"] == "applied"]
            if len(found) != len(operations[first:first + 500]):
                raise Broken(f"records to attack were not taken: {status} {str(answer)[:500]}")
            versions += found
    return versions


def questions(site, queries, path=None, threads=4):
    """Asks each query about pages in turn until the attack is over."""
    texts = [json.dumps({"type": "Page", **query}).encode() for query in queries]
    turns = iter(range(1 << 40))

    def body(caller, _):
        turn = next(turns)
        caller.ask("POST", f"/v1/spaces/arena/{path or ('query' if turn % 2 else 'count')}", texts[turn % len(texts)])
    site.flood(threads, body, timeout=20)


# Each request reads up to --push-size and answers with --answer-megabytes of conflicts.
@attack("small changes of many large records", before="a gigabyte for 100 KB", memory=384, latency=BUSY, same=IN_LINE)
def large_changes(site):
    """A change of each of 60 records of 700 KB with a wrong version: 42 MB to read for 10 KB."""
    site.flood(4, lambda caller, _: caller.sync(
        "arena", [change(site, page, "1", type="Page", fields={"m": 1}) for page in site.pages]), timeout=20)


@attack("transactions of large records", before="answered whole, or 503 for ever", memory=384, latency=BUSY, same=IN_LINE)
def large_transactions(site):
    """The same as one transaction, which is larger than a request may be, and with deletions."""
    def body(caller, number):
        group = {"id": site.name("g"), "size": COUNT}
        status, answer = caller.sync("arena", [
            change(site, page, "1", "delete" if number % 2 else "update", {"m": 1}, "Page", group=group)
            for page in site.pages])
        outcomes = {one["outcome"] for one in (answer or {}).get("outcomes", [])}
        if status == 200 and outcomes != {"rejected"}:
            raise Broken(f"a transaction of 42 MB was answered {outcomes}")
    site.flood(4, body, timeout=20)


# A SQLite server has one writer, which looks up at most 30,000 references of a request.
@attack("references by the hundred thousand", before="each looked up under the lock", memory=256, latency=2 * BUSY,
        same=IN_LINE)
def many_references(site):
    """Records that refer to 100,000 missing others, 7 in a request, and one that refers to 25,000."""
    names = [f"n{number}" for number in range(100_000)]

    def body(caller, number):
        count, records = (100_000, 7) if number % 2 else (25_000, 1)
        caller.sync("arena", [site.insert({"pages": names[:count]}, type="Shelf") for _ in range(records)])
    site.flood(2, body, timeout=30)


@attack("references that are all gone", before="each compared with each", memory=192, latency=BUSY, same=IN_LINE)
def gone_references(site):
    """Updates of a record whose 6000 references were deleted, each with all of them."""
    names = [site.name("gone") for _ in range(6000)]
    versions = made(site, [site.insert({}, type="Page", record=name, container="gone") for name in names])
    shelf = site.name("shelf")
    made(site, [site.insert({"pages": names}, type="Shelf", record=shelf)])
    made(site, [change(site, name, version, "delete", type="Page") for name, version in zip(names, versions)])
    yield
    site.flood(4, lambda caller, _: caller.sync(
        "arena", [change(site, shelf, "1", type="Shelf", fields={"pages": names[::-1]}) for _ in range(10)]), timeout=20)


@attack("lists of nobody in audiences", memory=192, latency=BUSY, same=IN_LINE)
def unknown_lists(site):
    """A hundred records in a request, each shared with a thousand lists that are not there."""
    site.flood(4, lambda caller, _: caller.sync(
        "arena", [site.insert({}, type="Diary", sharing={"add": {"lists": [f"l{n}-{k}" for k in range(1000)]}})
                  for n in range(100)]), timeout=20)


@attack("long audiences of small records", before="in no budget of bytes", memory=384, latency=BUSY, same=IN_LINE)
def long_audiences(site):
    """Pulls of 30 records without fields, each shared with a thousand names of 480 bytes."""
    names = [f"{number:04}" + "x" * 476 for number in range(1000)]
    site.fill([site.insert({}, type="Diary", container="wide", sharing={"add": {"principals": names}})
               for _ in range(30)], size=15)
    yield
    site.flood(16, lambda caller, _: caller.sync("arena", pulls=[{"container": "wide"}]), timeout=20)


@attack("large records by their ids", before="all of them at once", memory=384, latency=BUSY)
def by_ids(site):
    """Queries and counts that list the ids of 60 records of 700 KB, in the order of a number and of their texts."""
    where = {"where": {"field": "id", "op": "in", "value": site.pages}}
    questions(site, [{**where, "order": [order]} for order in ["-m", "m", "text", "-text"]])


@attack("large records by an index", before="all of them at once", memory=384, latency=BUSY)
def by_index(site):
    """The same by a condition that an index answers, and with offsets."""
    where = {"where": {"field": "n", "op": "=", "value": 1}}
    questions(site, [{**where, "order": ["-m"]}, {**where, "order": ["text", "m"]},
                     {**where, "order": ["m"], "offset": 25}, {"order": ["n", "-m"]}])


@attack("counts of large records", before="all of them at once", memory=256, latency=BUSY)
def large_counts(site):
    """Counts by an index, by ids and by neither."""
    questions(site, [{"where": {"field": "n", "op": "=", "value": 0}}, {"where": {"field": "m", "op": ">", "value": 3}},
                     {"where": {"field": "id", "op": "in", "value": site.pages}}], path="count", threads=8)


@attack("digests of large records", before="a hash of each record", memory=192, latency=BUSY)
def large_digests(site):
    """Digests and stamps of 42 MB, of which an answer has a few hundred bytes."""
    site.flood(8, lambda caller, number: caller.ask("GET", "/v1/spaces/arena/" + [
        "digest?container=pages&parts=1", "stamps?container=pages&parts=1&in=0"][number % 2]), timeout=20)


@attack("stamps and containers of long names", before="an answer of any size", memory=192, latency=BUSY)
def long_lists(site):
    """Lists of 20,000 records with names of 480 bytes, each in a container of its own. They have no pages."""
    site.fill(site.insert({}, type="Page", record=f"{number:05}" + "r" * 475, container=f"long/{number:05}" + "c" * 470)
              for number in range(20_000))
    yield

    def body(caller, number):
        path = ["stamps?container=long&children=true&parts=1&in=0", "containers/long?children=true"][number % 2]
        status, _ = caller.ask("GET", f"/v1/spaces/arena/{path}")
        if status == 200:
            raise Broken("a list of 10 MB was put into one answer")
    site.flood(8, body, timeout=20)


@attack("histories of large records", memory=192, latency=BUSY)
def large_history(site):
    """The history of a container, whose readers are decided by records of 700 KB."""
    site.flood(8, lambda caller, _: caller.ask("GET", "/v1/spaces/arena/history?container=pages&limit=1000"), timeout=20)


@attack("cursors of many megabytes", before="256 MB for 8 KB", memory=256, latency=BUSY)
def long_cursors(site):
    """Cursors of 7 MB of periods, and of a right cursor with 3 million marks, packed."""
    with site.caller(counted=False) as caller:
        right = caller.sync("arena", pulls=[{"container": "none"}])[1]["pages"][0]["cursor"]
    texts = [json.dumps({"device": "a", "pulls": [{"container": "none", "cursor": cursor}]}).encode()
             for cursor in ["." * 7_000_000, right + "-a" * 3_000_000]]
    yield

    def body(caller, number):
        status, answer = caller.ask("POST", "/v1/spaces/arena/sync", texts[number % 2], packed=True)
        if status == 200 or len(answer) > 10_000:
            raise Broken(f"a cursor of 7 MB was answered {status} with {len(answer)} bytes")
    site.flood(4, body, timeout=20)


@attack("changes that change nothing", memory=96, latency=BUSY, same=IN_LINE)
def unchanged(site):
    """A thousand updates of a record to the values that it has, in each request."""
    record = site.name("same")
    version = made(site, [site.insert({"m": 1}, record=record)])[0]
    yield
    site.flood(4, lambda caller, _: caller.sync(
        "arena", [change(site, record, version, fields={"m": 1}) for _ in range(1000)]), timeout=20)


@attack("patches of large records", memory=256, latency=BUSY, same=IN_LINE)
def patches(site):
    """PATCH and PUT of records of 700 KB under conditions that don't hold, and under thousands of them."""
    many = ", ".join(f'"{number}"' for number in range(6000))

    def body(caller, number):
        path = f"/v1/spaces/arena/records/Page/{site.random.choice(site.pages)}"
        if number % 2:
            status, _ = caller.ask("PATCH", path, {"m": 1, "text": "y" * SIZE}, media="application/merge-patch+json",
                                   If_Match='"1"')
        else:
            status, _ = caller.ask("PUT", path, {"fields": {"m": 1}}, If_None_Match=many)
        if status == 500 or status == 200:
            raise Broken(f"a change under a wrong condition was answered {status}")
    site.flood(6, body, timeout=20)


@attack("names that differ in form alone", memory=96)
def forms(site):
    """Operations, devices, records and users whose names look alike and have other bytes, side by side."""
    forms = ["\u00e9", "e\u0301", "\u212b", "\u00c5", "A\u030a"]

    def body(caller, number):
        operations = [{**site.insert({"m": 1}, record=f"{form}{number}"), "id": f"{site.name('o')}{form}"} for form in forms]
        status, answer = caller.sync("arena", operations, device=forms[number % 5])
        made = [one for one in (answer or {}).get("outcomes", []) if one["outcome"] == "applied"]
        if status == 500 or len({one.get("version") for one in made}) != len(made):
            raise Broken(f"names of several forms were answered {status} {str(answer)[:300]}")
        caller.sync("arena", [site.insert({}, type="Diary", sharing={"add": {"principals": forms}})])
    site.flood(4, body)
