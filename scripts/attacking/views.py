"""Attacks by reading: pulls, pages, cursors, digests, histories."""

import json

from attacking.servers import Broken
from attacking.trial import BUSY, IN_LINE, attack
from attacking.wire import Line, head, parallel

FIELDS = [{"name": "text", "type": "string", "optional": True}, {"name": "n", "type": "int", "optional": True}]
OWNED = {"create": "authenticated", "read": "owner", "update": "owner", "delete": "owner"}
SCHEMA = {"version": 1, "types": [{"name": "Item", "fields": FIELDS}, {"name": "Own", "fields": FIELDS, "permissions": OWNED}]}
ARGUMENTS = []
# Each reader of a SQLite file caches up to 32 MB, so that the first to read much of it grow by that.
LARGE = 24


def fill(site):
    """3000 small records in 300 containers, 24 of 900 KB, 1500 that only bob may see, and one with many versions."""
    site.fill(site.insert({"n": n, "text": f"record {n}"}, container=f"tree/t{n % 300}") for n in range(3000))
    site.fill((site.insert({"text": "x" * 900_000}, container="large") for _ in range(LARGE)), size=6)
    site.fill((site.insert({"n": n}, type="Own", container="own") for n in range(1500)), who="bob")
    first = site.insert({"n": 0}, record="versions")
    chain = [first]
    for n in range(1, 3000):
        before = chain[-1]["id"]
        chain.append({**site.insert({"n": n}, record="versions"), "kind": "update", "after": before})
    with site.caller(counted=False, timeout=60) as caller:
        version = None
        for begin in range(0, len(chain), 500):
            part = chain[begin:begin + 500]
            if version:
                part[0] = {key: value for key, value in part[0].items() if key != "after"} | {"base": version}
            version = caller.sync("arena", part, device="versions")[1]["outcomes"][-1]["version"]


@attack("pulls from the start", memory=160)
def from_start(site):
    """16 callers pull the whole tree of small records from the start, again and again."""
    site.flood(16, lambda caller, _: caller.sync("arena", pulls=[{"container": "tree", "children": True}]), timeout=20)


@attack("the same large page many times", before="1.28 GB for 121 bytes", memory=384)
def large_pages(site):
    """4 callers pull 22 MB of records 64 times in each request. An answer has about 8 MB."""
    pulls = [{"container": "large"}] * 64
    site.flood(4, lambda caller, _: caller.sync("arena", pulls=pulls, packed=True), timeout=20)


@attack("large pages in the request of a write", memory=384, latency=BUSY, same=IN_LINE)
def large_pages_of_writes(site):
    """The same with an operation, so that pages are read in the transaction of the write."""
    pulls = [{"container": "large"}] * 64
    site.flood(4, lambda caller, _: caller.sync("arena", [site.insert({})], pulls=pulls), timeout=20)


@attack("20,000 places to pull from", before="706 MB for 200", memory=160, latency=BUSY)
def many_pulls(site):
    """400 KB with 20,000 pulls, packed and not. More than --pulls are refused."""
    text = json.dumps({"device": "a", "pulls": [{"container": "large"}] * 20_000}).encode()
    site.flood(8, lambda caller, number: caller.ask("POST", "/v1/spaces/arena/sync", text, packed=bool(number % 2)))


@attack("64 trees in one request", before="4.3 s for 1000 trees", memory=160, latency=BUSY)
def many_trees(site):
    """4 callers pull 64 trees, each with its children and from its own position."""
    pulls = [{"container": f"tree/t{n}", "children": True} for n in range(63)] + [{"container": "t", "children": True}]
    site.flood(4, lambda caller, _: caller.sync("arena", pulls=pulls), timeout=20)


@attack("pages of one change", memory=160)
def small_pages(site):
    """The whole space in pages of one change, and with limits below 1 and beyond all numbers."""
    def body(caller, number):
        caller.sync("arena", pulls=[{"container": "", "children": True}], limit=[1, 0, -5, 2 ** 53][number % 4])
    site.flood(8, body)


@attack("pulls that are conditional on nothing", memory=160)
def page_route(site):
    """GET of changes with every mixture of parameters."""
    def body(caller, number):
        limit = site.random.choice(["1", "1000000000", "-1", "0", "9" * 30, "x", ""])
        caller.ask("GET", f"/v1/spaces/arena/changes?container=tree&children={number % 2}&limit={limit}&cursor=")
    site.flood(8, body)


@attack("cursors that are forged", memory=160)
def cursors(site):
    """Cursors of other epochs and people, of positions that will never be, cut, doubled, and of 60 KB."""
    with site.caller(counted=False) as caller:
        right = caller.sync("arena", pulls=[{"container": "tree", "children": True}])[1]["pages"][0]["cursor"]
        others = caller.sync("arena", pulls=[{"container": "own"}])[1]["pages"][0]["cursor"]
    epoch, position, rest = right.split(".", 2)
    forged = [right, others, f"{epoch}.999999999999999999.{rest}", f"{epoch}.-1.{rest}", f"{epoch}.0.{rest}",
              f"x.{position}.{rest}", f".0.{rest}", right[:-3], right + right, f"{epoch}.{position}", "", ".", "..", "...",
              f"{epoch}.{position}.{'-Sx' * 20_000}", f"{epoch}.{2 ** 70}.{rest}", f"{epoch}.{position}.{rest}.99"]
    yield

    def body(caller, number):
        status, answer = caller.sync("arena", pulls=[{"container": "tree", "children": True,
                                                      "cursor": site.random.choice(forged)}])
        if status not in (200, 400, 413, 422, 0):
            raise Broken(f"a forged cursor was answered {status} {answer}")
    site.flood(6, body, timeout=20)


@attack("other servers' histories", memory=160)
def histories(site):
    """What a device says that it knows: other servers, other epochs, positions beyond all."""
    with site.caller(counted=False) as caller:
        right = caller.sync("arena", pulls=[{"container": "none"}])[1]["history"]
    yield

    def body(caller, number):
        said = {**right, **[{"server": "x"}, {"epoch": "x"}, {"position": 2 ** 53}, {"position": -5}, {"space": "home"},
                            {"epoch": ""}][number % 6]}
        status, answer = caller.sync("arena", history=said, pulls=[{"container": "none"}])
        if status not in (200, 400, 409, 0):
            raise Broken(f"{said} was answered {status} {answer}")
    site.flood(6, body)


@attack("a view that shows little", before="20 requests for nothing", memory=160)
def hidden_pulls(site):
    """Pulls of 1500 records that the caller may not see, from the start and in pages of one."""
    site.flood(8, lambda caller, number: caller.sync(
        "arena", pulls=[{"container": "own"}], limit=1 if number % 2 else 5000))


@attack("histories of one record", memory=160)
def record_history(site):
    """Pages of the history of a record with 3000 versions, and of the space, from the newest and from anywhere."""
    def body(caller, number):
        before = site.random.randrange(1, 10_000)
        caller.ask("GET", "/v1/spaces/arena/history?" + ["type=Item&id=versions", f"before={before}&limit=1000",
                                                        "limit=999999999&container=tree&children=true",
                                                        f"type=Item&id=versions&limit=1&before={before}"][number % 4])
    site.flood(8, body)


@attack("digests of everything", before="a hash of each record", memory=160)
def digests(site):
    """8 callers ask for digests of the space with 4096 parts, and for the stamps of all parts."""
    every = ",".join(map(str, range(4096)))

    def body(caller, number):
        caller.ask("GET", "/v1/spaces/arena/" + [
            "digest?children=true&parts=4096", "digest?children=true&parts=999999999",
            f"stamps?children=true&parts=4096&in={every}", "stamps?children=true&parts=1&in=0,0,0,0,-1"][number % 4])
    site.flood(8, body, timeout=20)


@attack("digests of four members", "4 members", before="a hash of each record", memory=160)
def digests_of_friends(site):
    """The same by four members together, who take all slots of queries."""
    site.flood(8, lambda caller, _: caller.ask("GET", "/v1/spaces/arena/digest?children=true&parts=4096"),
               who=["mallory", "friend1", "friend2", "friend3"], timeout=20)


@attack("listings and validators", memory=160)
def listings(site):
    """The containers of the space, with validators that fit, that do not, and 5000 of them."""
    many = ", ".join(f'W/"{n}"' for n in range(3000))

    def body(caller, number):
        fields = [{}, {"If_None_Match": many}, {"If_None_Match": "*"}, {"If_None_Match": '"' + "x" * 20_000}][number % 4]
        caller.ask("GET", "/v1/spaces/arena/containers" + ("/tree?children=true" if number % 2 else ""), **fields)
    site.flood(8, body, timeout=20)


@attack("answers of 8 MB that are not read", memory=192, latency=BUSY)
def unread_answers(site):
    """100 connections ask for 8 MB each and never read."""
    body = json.dumps({"device": "a", "pulls": [{"container": "large"}]}).encode()
    message = head("POST", "/v1/spaces/arena/sync", "of-mallory", Content_Type="application/json",
                   Content_Length=len(body)) + body

    def one(_):
        with Line(site.port, buffer=4096) as line:
            line.send(message)
            site.answers.note("held", len(message))
            while site.is_on:
                site.pause()
    parallel(100, one, site.until + 2)


@attack("answers of 8 MB of many members that are not read", "8 members", before="722 MB", memory=640,
        latency=BUSY)
def many_unread_answers(site):
    """8 members ask for 8 MB on 12 connections each and never read. Together they have --transfer-size, 512 MB."""
    body = json.dumps({"device": "a", "pulls": [{"container": "large"}]}).encode()

    def one(number):
        message = head("POST", "/v1/spaces/arena/sync", f"of-friend{number % 8}", Content_Type="application/json",
                       Content_Length=len(body)) + body
        with Line(site.port, buffer=4096) as line:
            line.send(message)
            site.answers.note("held", len(message))
            while site.is_on:
                site.pause()
    parallel(96, one, site.until + 2)


@attack("the feed without its group", "a member", memory=160)
def feed(site):
    """The feed and the list of spaces, for which only back ends may ask."""
    def body(caller, number):
        status, _ = caller.ask("GET", "/v1/spaces" + ("" if number % 2 else "/arena/feed?limit=1000&wait=30"))
        if status not in (403, 0):
            raise Broken(f"the feed was answered {status}")
    site.flood(8, body)
