"""Attacks by what is in a body: packed bodies, JSON that is deep, wide, wrong or ambiguous, names of every length."""

import gzip
import json
import zlib

from attacking.servers import Broken
from attacking.trial import BUSY, IN_LINE, attack

ARGUMENTS = []
SYNC = "/v1/spaces/arena/sync"


def operation(site, fields='{"a":1}', **more):
    """The text of an insert, with fields that need not be JSON."""
    document = {"id": site.name("o"), "kind": "insert", "type": "Item", "record": site.name("r"), "container": "attack"}
    return (json.dumps({**document, **more})[:-1] + f',"fields":{fields}}}').encode()


def request(*operations):
    return b'{"device":"attacker","operations":[' + b",".join(operations) + b"]}"


def send(site, texts, threads=8, packed=False):
    """Sends each text in turn until the attack is over, packed if wanted; None for texts that are packed. No answer is an
    error of the server."""
    ready = [gzip.compress(text, 6) for text in texts] if packed else texts
    fields = {} if packed is False else {"Content_Encoding": "gzip"}
    turns = iter(range(1 << 40))

    def body(caller, _):
        text = ready[next(turns) % len(ready)]
        status, answer = caller.ask("POST", SYNC, text, **fields)
        if status in (500, 502) or status == 0 and site.is_on:
            raise Broken(f"{len(text)} bytes, {text[:60]!r}, were answered {status} {answer[:200]!r}")
    site.flood(threads, body, timeout=20)


def everybody_reads(site):
    """Looks that a page of the whole space can be read."""
    with site.caller("bob", counted=False) as caller:
        cursor = None
        for _ in range(200):
            pull = {"container": "", "children": True, **({"cursor": cursor} if cursor else {})}
            status, answer = caller.sync("arena", device="reader", pulls=[pull])
            if status != 200 or not answer:
                raise Broken(f"a pull of the space is answered {status}")
            cursor = answer["pages"][0]["cursor"]
            if not answer["pages"][0].get("more"):
                return


@attack("gzip bombs", before="413 in 0.8 s, no growth", memory=64)
def bombs(site):
    """Packed bodies that unpack to 300 MB, to just more than --body-size, and to bombs again."""
    big = gzip.compress(b" " * (300 << 20), 1)
    yield
    send(site, [big, gzip.compress(b"0" * ((8 << 20) + 1)), gzip.compress(big)], packed=None)


@attack("packed bodies just below the limit", memory=192, latency=BUSY)
def full_bodies(site):
    """16 callers send 10 KB that unpack to 8 MB of spaces. --unpacked-size holds for all of them."""
    packed = gzip.compress(b'{"device":"attacker","operations":[' + b" " * 8_000_000 + b"]}", 9)

    def body(caller, _):
        caller.ask("POST", SYNC, packed, Content_Encoding="gzip")
    site.flood(16, body, timeout=20)


@attack("gzip that is broken", memory=64)
def broken_gzip(site):
    """Members cut off, with a wrong checksum or size, 100,000 empty ones, and bytes behind the end."""
    good = gzip.compress(request(operation(site)))
    texts = [good[:-4], good[:-8] + b"\0" * 8, good + b"rest", good * 3, gzip.compress(b"") * 100_000, b"\x1f\x8b",
             zlib.compress(request(operation(site))), b"\x1f\x8b\x08\xff" + b"a" * 100_000]

    def body(caller, number):
        caller.ask("POST", SYNC, texts[number % len(texts)], Content_Encoding="gzip")
    site.flood(8, body)


@attack("deep JSON", before="1.28 GB; nobody could sync", memory=64)
def deep(site):
    """Nesting of 10^6, and of each depth from 20 to 70 in a field, by sync and by PUT. What was taken can be read."""
    yield
    texts = [request(operation(site, '{"a":' + "[" * depth + "]" * depth + "}")) for depth in range(20, 71, 2)]
    texts += [request(operation(site, '{"a":' + '{"b":' * depth + "1" + "}" * depth + "}")) for depth in range(20, 71, 5)]
    send(site, texts + [b"[" * 1_000_000, b'{"a":' * 200_000, request(operation(site, "[" * 500_000))])
    with site.caller() as caller:
        for depth in range(20, 70):
            caller.ask("PUT", f"/v1/spaces/arena/records/Item/{site.name('deep')}",
                       b'{"fields":{"meta":' + b"[" * depth + b"]" * depth + b"}}")
    yield
    everybody_reads(site)


# A value of two bytes takes some fifty in memory while its array grows, and four bodies of 8 MB are read at a time.
@attack("wide JSON", memory=1024, latency=BUSY)
def wide(site):
    """8 MB of zeros in an array, of empty arrays, of members and of names of fields, packed to a few KB. A value takes
    more room in memory than in text."""
    texts = [request(operation(site, '{"a":[' + "0," * 3_900_000 + "0]}")),
             request(operation(site, '{"a":[' + "[]," * 2_500_000 + "0]}")),
             request(operation(site, "{" + ",".join(f'"f{number}":0' for number in range(500_000)) + "}")),
             b'{"device":"attacker","operations":[' + b"{}," * 2_000_000 + b"{}]}",
             b'{"device":"attacker","operations":[],"pulls":[' + b"{}," * 2_000_000 + b"{}]}"]
    texts = [gzip.compress(text, 1) for text in texts]
    yield
    send(site, texts, threads=4, packed=None)


@attack("huge numbers", before="400", memory=64)
def numbers(site):
    """Numbers that no type holds, with 10^6 digits, and with exponents of 10^5 digits."""
    texts = ["1e400", "-1e400", "9" * 1_000_000, "0." + "1" * 1_000_000, "1e" + "9" * 100_000, "1e-" + "9" * 100_000,
             "9223372036854775808", "-9223372036854775809", "1e308", "-0", "0e0", "01", "+1", ".5", "1.", "NaN", "Infinity",
             "0x10", "1_000"]
    yield
    send(site, [request(operation(site, f'{{"a":{text}}}')) for text in texts])
    yield
    everybody_reads(site)


@attack("names that come twice", memory=96, latency=BUSY)
def duplicates(site):
    """Members with the same name: a field 10^5 times, operations, ids, device and cursors twice."""
    send(site, [request(operation(site, "{" + '"a":1,' * 100_000 + '"a":2}')),
                b'{"device":"a","device":"b","operations":[],"operations":[' + operation(site) + b"]}",
                b'{"device":"a","pulls":[{"container":"a","container":"","children":true,"children":false}]}',
                request(operation(site)[:-1] + b',"id":"again","kind":"delete"}'),
                b'{"device":"a",' + b'"operations":[],' * 300_000 + b'"limit":1}'])


@attack("text that is not Unicode", before="400", memory=64)
def wrong_text(site):
    """Invalid UTF-8, lone surrogates, zero bytes and byte order marks in values, names and ids."""
    bad = [b"\xff\xfe", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\x80", b"\\ud800", b"\\udc00\\ud800", b"\\u0000",
           b"\0", b"\x1f", b"\\x41", b"\\", "\u202e\ufeff\u2028".encode(), b"\xef\xbf\xbf"]
    yield
    send(site, [request(operation(site, '{"*":"*"}', record="*-" + site.name()).replace(b"*", text)) for text in bad]
         + [b"\xef\xbb\xbf{}", "{}".encode("utf-16"), b"", b"null", b"[]", b"\0" * 1000])
    yield
    everybody_reads(site)


@attack("zero bytes beside right operations")
def zero_bytes(site):
    """A zero byte in the id, type or container of one operation, which is refused. The others of the request are applied."""
    def body(caller, number):
        bad = site.insert({})
        bad[["record", "type", "container"][number % 3]] = "a\0b"
        status, answer = caller.sync("arena", [site.insert({}), bad, site.insert({})])
        found = [outcome["outcome"] for outcome in (answer or {}).get("outcomes", [])]
        if status == 200 and found != ["applied", "rejected", "applied"] or status == 422:
            raise Broken(f"one bad name was answered {status} {found}")
    site.flood(3, body)


@attack("names of every length", memory=96)
def long_names(site):
    """Ids, types, containers, fields, devices and groups with a megabyte, and just below and above their limits."""
    big = "n" * 1_000_000
    texts = []
    for length in [0, 64, 65, 128, 129, 512, 513]:
        name = "n" * length
        texts += [request(operation(site, record=name + site.name() if length == 513 else name)),
                  request(operation(site, type=name)), request(operation(site, container=name)),
                  request(operation(site, id=name)), request(operation(site, json.dumps({name: 1}))),
                  request(operation(site, group={"id": name, "size": 1}))]
    texts += [request(operation(site, **{member: big})) for member in ["record", "type", "container", "id"]]
    texts += [request(operation(site, json.dumps({big[:900_000]: 1}))), json.dumps({"device": big}).encode(),
              request(operation(site, container="/".join("a" * 256))), request(operation(site, group={"id": big, "size": 1})),
              json.dumps({"device": "a", "pulls": [{"container": big, "children": True}]}).encode(),
              json.dumps({"device": "a", "oldestOpen": big, "operations": []}).encode()]
    yield
    send(site, texts)
    yield
    everybody_reads(site)


@attack("records at the limit", memory=192, latency=BUSY, same=IN_LINE)
def full_records(site):
    """4 callers send records of a megabyte, 7 in a request, and read the last page."""
    text = "x" * 1_000_000

    def body(caller, _):
        caller.sync("arena", [site.insert({"text": text}) for _ in range(7)])
    yield
    site.flood(4, body, timeout=20)
    yield
    everybody_reads(site)
