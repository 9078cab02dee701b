"""Attacks by queries: conditions, orders, texts, places, pages far away."""

import json

from attacking.trial import attack

ARGUMENTS = []
COUNT = 4000
# Each of 100 conditions may hold a text of the largest record, a megabyte, in each of 4 queries; and half as much again.
FOLDED = 600
MEMBERS = ["mallory", "friend1", "friend2", "friend3"]


def fill(site):
    """4000 records with texts, numbers and places, and one of 900 KB."""
    site.fill(site.insert({"text": f"the walk {n} to the hut and back " * 3, "n": n, "m": n % 7, "s": str(n),
                           "place": {"lat": n % 90, "lon": n % 180}, "list": [n, n + 1]}) for n in range(COUNT))
    site.fill([site.insert({"text": "ab" * 450_000})])


def ask(site, queries, threads=4, who="mallory", path=None, timeout=2):
    """Asks each query in turn until the attack is over."""
    texts = [json.dumps({"type": "Item", **query}).encode() for query in queries]
    turns = iter(range(1 << 40))

    def body(caller, number):
        turn = next(turns)
        place = path or ("query" if turn % 2 else "count")
        caller.ask("POST", f"/v1/spaces/arena/{place}", texts[turn % len(texts)])
    site.flood(threads, body, who, timeout)


def either(count, part):
    return {"where": {"or": [part(n) for n in range(count)]}, "limit": 1}


def contains(text, **more):
    return {"field": "text", "op": "contains", "value": text, **more}


@attack("100 alternatives of contained texts", before="/healthz timed out at 20 s", memory=FOLDED)
def alternatives(site):
    """Conditions of 100 texts that no record has, without regard to case; 4 callers."""
    ask(site, [either(100, lambda n: contains(f"Nowhere {n}", ignoringCase=True))])


@attack("2000 alternatives", before="four stopped the server", memory=160)
def many_alternatives(site):
    """Conditions of more parts than are allowed."""
    ask(site, [either(2000, lambda n: contains(f"Nowhere {n}", ignoringCase=True))], threads=8)


@attack("queries of four members", "4 members", before="a pull took 20 s", memory=FOLDED)
def queries_of_friends(site):
    """Four members ask what takes longest at a time, and take all slots of queries."""
    ask(site, [either(100, lambda n: contains(f"Nowhere {n}", ignoringCase=True))], threads=12, who=MEMBERS)


@attack("callers that leave their queries", before="ran on for 48 s", memory=FOLDED)
def left_queries(site):
    """Queries whose callers close the connection after 50 ms."""
    ask(site, [either(100, lambda n: contains(f"Nowhere {n}", ignoringCase=True))], threads=12, timeout=0.05)


@attack("patterns of LIKE and of regular expressions", memory=FOLDED)
def patterns(site):
    """Texts of wildcards and of expressions that take some programs exponential time."""
    ask(site, [either(50, lambda n: contains(text * 50)) for text in
               ["%_", "%a", "_%_", "*?", "(a+)+$", "[a-z]*", "\\%", "ab"]], threads=4)


@attack("needles of a megabyte", memory=FOLDED)
def needles(site):
    """Texts of 70 KB in 100 conditions, and of 5 MB in one, over a record of 900 KB."""
    ask(site, [either(100, lambda n: contains("ab" * 35_000 + "c", ignoringCase=True)),
               {"where": contains("a" * 5_000_000)}, {"where": {"field": "a" * 3_000_000, "op": "=", "value": 1}}])


@attack("nested conditions", memory=160)
def nested(site):
    """Conditions nested 30 levels, 33 levels and 10,000 levels deep."""
    def tree(depth, text="{}"):
        return ('{"not":' * depth + '{"field":"n","op":"=","value":1}' + "}" * depth)
    texts = [f'{{"type":"Item","where":{tree(depth)}}}'.encode() for depth in [20, 30, 33, 60, 100_000]]
    turns = iter(range(1 << 40))
    site.flood(6, lambda caller, _: caller.ask("POST", "/v1/spaces/arena/query", texts[next(turns) % 5]))


@attack("lists of values", memory=192)
def value_lists(site):
    """100 conditions with 9000 values each, and 10^6 values in one."""
    one = {"field": "s", "op": "in", "value": [f"v{n}" for n in range(9000)]}
    ask(site, [either(100, lambda n: one), {"where": {"field": "n", "op": "in", "value": list(range(1_000_000))}},
               {"where": {"and": [one, {"not": one}]}}])


@attack("full text with wildcards", memory=160)
def full_text(site):
    """Words, halves of words, wildcards, operators and 10,000 words at once."""
    ask(site, [{"where": {"matches": text}} for text in
               ["a* b* c* d*", '"the walk" NEAR hut', "* OR *", "-a NOT b", " ".join(f"w{n}*" for n in range(10_000)),
                '"' * 999, "a" * 500_000, "{a}: ^x + y"]])


@attack("places everywhere", memory=160)
def places(site):
    """Distances to everything from everywhere, 100 boxes, and orders by distance."""
    near = {"near": {"field": "place", "lat": 90, "lon": 180, "metres": 1e300}}
    box = {"inside": {"field": "place", "west": -180, "south": -90, "east": 180, "north": 90}}
    origin = {"field": "place", "lat": 1, "lon": 1}
    ask(site, [either(100, lambda n: near), either(100, lambda n: box), {"order": [{"nearest": origin}] * 8},
               {"order": [{"farthest": {**origin, "field": "text"}}]},
               {"where": {"near": {"field": "nothing", "lat": 0, "lon": 0, "metres": 0}}}])


@attack("orders of everything", before="1.35 s for the last page", memory=192)
def orders(site):
    """Everything sorted by 8 keys, by 9, by a field of 900 KB, and by fields that no record has."""
    ask(site, [{"order": ["m", "-n", "text", "s", "list", "place", "-m", "id"]}, {"order": ["n"] * 9},
               {"order": ["-text"], "limit": 5000}, {"order": [f"f{n}" for n in range(8)], "offset": 3999}])


@attack("pages far away", before="0.67 s a query", memory=160)
def far_pages(site):
    """Offsets and limits up to the ends of numbers."""
    ask(site, [{"offset": offset, "limit": limit} for offset in [0, 3999, 10 ** 9, 2 ** 63 - 1]
               for limit in [0, 1, 10 ** 9, 2 ** 63 - 1]] + [{"offset": -1}, {"limit": -1}], path="query")


@attack("counts of everything", memory=160)
def counts(site):
    """16 callers count all records, and those of types that are not there."""
    ask(site, [{}, {"type": "Nothing"}, {"where": {"not": contains("x")}}], threads=16, path="count")


@attack("queries of new shapes", before="63 → 396 MB, for good", memory=160)
def shapes(site):
    """Queries of 30 KB over other fields each time, which could fill a cache of statements."""
    def body(caller, _):
        name = f"f{site.random.getrandbits(60):x}"
        caller.ask("POST", "/v1/spaces/arena/query", {"type": "Item", "limit": 1, "where": {"and": [
            {"field": f"{name}{'x' * 300}{n}", "op": "=", "value": n} for n in range(90)]}})
    site.flood(4, body)


@attack("names of fields that are SQL", "a member", "none found", memory=160)
def injections(site):
    """Quotation marks, brackets and paths of JSON in names of fields, types and orders."""
    bad = ["a'); DROP TABLE record; --", 'a"b', "$.a[0]", "a' OR '1'='1", "a\\", "a.b", "`a`", "a?1", "a\n;", "%s", "json(1)"]
    ask(site, [query for text in bad for query in
               [{"where": {"field": text, "op": "=", "value": text}}, {"order": [text]}, {"type": text, "order": ["-" + text]},
                {"where": contains(text)}, {"container": text, "children": True}]])


@attack("histories of many names of fields", before="a megabyte for each change", memory=160)
def many_names(site):
    """8 callers read the history of 30 records with 40,000 fields each. Only a server without a schema takes them."""
    fields = {f"name{n:06}": 1 for n in range(40_000)}
    site.fill([site.insert(fields, type="Wide", container="wide") for _ in range(30)], size=10)
    yield
    site.flood(8, lambda caller, _: caller.ask("GET", "/v1/spaces/arena/history?container=wide&limit=1000"), timeout=20)
