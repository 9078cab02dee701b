"""Attacks by operations: floods and fights, chains and groups, devices and outcomes, secrets, sharing, lists."""

import json
import uuid

from attacking.servers import Broken
from attacking.trial import BUSY, IN_LINE, attack

FIELDS = [{"name": "text", "type": "string", "optional": True}, {"name": "n", "type": "int", "optional": True},
          {"name": "any", "type": "json", "optional": True}]
SHARED = {"create": "authenticated", "read": "shared", "update": "shared", "delete": "owner", "share": "owner"}
SCHEMA = {"version": 1, "types": [
    {"name": "Item", "fields": FIELDS},
    {"name": "User", "fields": [*FIELDS, {"name": "email", "type": "string", "optional": True, "unique": True},
                                {"name": "handle", "type": "string", "optional": True, "unique": True}]},
    {"name": "Diary", "fields": [*FIELDS, {"name": "pin", "type": "string", "optional": True, "sensitive": True}],
     "permissions": SHARED},
    {"name": "Link", "fields": [*FIELDS, {"name": "to", "type": "reference", "to": "Link", "optional": True}]}]}
ARGUMENTS = []


def change(site, record, base=None, kind="update", fields=None, type="Item", **more):
    return {"id": uuid.UUID(int=site.random.getrandbits(128)).hex, "kind": kind, "type": type, "record": record,
            **({"base": base} if base else {}), **({} if kind == "delete" else {"fields": fields or {}}), **more}


@attack("many tiny operations", memory=96, latency=BUSY, same=IN_LINE)
def tiny_operations(site):
    """4 callers send a thousand small inserts in each request. A request is one transaction, for which others wait."""
    site.flood(4, lambda caller, _: caller.sync("arena", [site.insert({"n": n}) for n in range(1000)]), timeout=20)


@attack("more operations than are taken", memory=192, latency=BUSY)
def too_many_operations(site):
    """20,000 operations in one request, packed."""
    text = json.dumps({"device": "attacker", "operations": [site.insert({}) for _ in range(20_000)]}).encode()
    yield
    site.flood(4, lambda caller, _: caller.ask("POST", "/v1/spaces/arena/sync", text, packed=True), timeout=20)


@attack("ids that are repeated", before="`duplicate` gave others' records", memory=96, latency=BUSY, same=IN_LINE)
def repeated_ids(site):
    """A thousand operations again and again, and the same ids for other records, kinds and devices."""
    operations = site.fill([site.insert({"n": n}) for n in range(1000)])
    yield

    def body(caller, number):
        again = operations if number % 2 else [{**one, "record": site.name("other")} for one in operations]
        caller.sync("arena", again, device="filler" if number % 3 else "other")
    site.flood(4, body, timeout=20)


@attack("chains of operations", memory=96, latency=BUSY, same=IN_LINE)
def chains(site):
    """A thousand updates each on top of the one before, on top of none, in circles, and of other requests."""
    def body(caller, number):
        first = site.insert({"n": 0})
        chain = [first]
        for n in range(999):
            chain.append(change(site, first["record"], fields={"n": n}, after=chain[-1]["id"]))
        if number % 4 == 1:
            chain.reverse()
        if number % 4 == 2:
            chain[0]["after"] = chain[-1]["id"]
        if number % 4 == 3:
            chain = chain[500:]
        caller.sync("arena", chain)
    site.flood(4, body, timeout=20)


@attack("groups that fail at their end", memory=96, latency=BUSY, same=IN_LINE)
def failing_groups(site):
    """Groups of two, of 500 and of wrong sizes, whose last operation can't be applied."""
    def body(caller, number):
        size = [2, 500, 2, 1000][number % 4]
        operations = []
        for _ in range(1000 // size):
            group = {"id": site.name("g"), "size": size + (number % 4 == 2)}
            part = [site.insert({"n": 1}, group=group) for _ in range(size - 1)]
            operations += [*part, change(site, site.name("gone"), base="1", group=group)]
        caller.sync("arena", operations)
    site.flood(4, body, timeout=20)


@attack("fights for unique values", memory=96, latency=BUSY, same=IN_LINE)
def unique_fights(site):
    """A thousand users with the same name, with 2 values each, and trades of values between a hundred."""
    users = site.fill([site.insert({"email": site.name("e"), "handle": site.name("h")}, type="User") for _ in range(100)])
    with site.caller(counted=False) as caller:
        versions = {one["record"]: caller.json("GET", f"/v1/spaces/arena/records/User/{one['record']}")[1]["version"]
                    for one in users}
    yield

    def body(caller, number):
        if number % 2:
            operations = [site.insert({"email": "same", "handle": "same"}, type="User") for _ in range(1000)]
        else:
            operations = [change(site, one["record"], versions[one["record"]], type="User",
                                 fields={"email": users[n - 1]["fields"]["email"], "handle": "same"})
                          for n, one in enumerate(users)]
        caller.sync("arena", operations)
    site.flood(4, body, timeout=20)


@attack("long unique values", memory=192, latency=BUSY, same=IN_LINE)
def long_unique_values(site):
    """Unique values of 100 KB and of other kinds."""
    def body(caller, number):
        caller.sync("arena", [site.insert({"email": f"{n}" + "x" * 100_000, "handle": site.name()}, type="User")
                              for n in range(50)])
    site.flood(3, body, timeout=20)


@attack("fights for one record", memory=64)
def hot_record(site):
    """16 callers update the same record, each with the last version it knows, right or wrong."""
    record = site.name("hot")
    site.fill([site.insert({"n": 0}, record=record)])
    known = {"version": "1"}
    yield

    def body(caller, number):
        status, answer = caller.sync("arena", [change(site, record, known["version"], fields={"n": number})])
        outcome = (answer or {}).get("outcomes", [{}])[0]
        known["version"] = outcome.get("version") or outcome.get("record", {}).get("version") or known["version"]
    site.flood(16, body)


@attack("fights for one large record", memory=192, latency=BUSY, same=IN_LINE)
def hot_large_record(site):
    """Updates of a record of 900 KB with wrong versions, 1000 in a request: each conflict would bring the record."""
    record = site.name("large")
    site.fill([site.insert({"text": "x" * 900_000}, record=record)])
    yield
    site.flood(4, lambda caller, _: caller.sync(
        "arena", [change(site, record, "1", fields={"n": n}) for n in range(1000)]), timeout=20)


@attack("clocks that are wrong", memory=64)
def clocks(site):
    """Times of changes from the beginning to the end of what a number holds."""
    times = [0, -1, 1, 2 ** 53, -2 ** 53, 2 ** 63 - 1, -2 ** 63, 4_102_444_800_000, 1e15, 253_402_300_800_000]
    record = site.name("timed")
    site.fill([site.insert({}, record=record)])
    yield

    def body(caller, _):
        caller.sync("arena", [site.insert({}, modified=time) for time in times])
    site.flood(4, body)
    yield
    with site.caller("bob", counted=False) as caller:
        answer = caller.sync("arena", device="reader", pulls=[{"container": "attack"}])[1]
        late = [one for one in answer["pages"][0]["changes"] if not 0 <= one["modified"] <= answer["serverTime"]]
        if late:
            raise Broken(f"a record has the time {late[0]['modified']}")


@attack("devices by the thousand", before="a row and a transaction each", memory=64)
def devices(site):
    """A new device in each request, with and without a cursor, with names of every length."""
    with site.caller(counted=False) as caller:
        cursor = caller.sync("arena", pulls=[{"container": "none"}])[1]["pages"][0]["cursor"]
    yield

    def body(caller, number):
        name = f"{site.random.getrandbits(100):x}" * (1 + number % 4)
        caller.sync("arena", device=name, pulls=[{"container": "none", **({"cursor": cursor} if number % 2 else {})}])
    site.flood(8, body)


@attack("refusals that are remembered", before="3000 rows for 3 requests, for ever", memory=96, latency=BUSY, same=IN_LINE)
def remembered_refusals(site):
    """A thousand operations that are refused in each request, of a new device each time."""
    site.flood(4, lambda caller, _: caller.sync(
        "arena", [site.insert({"unknown field": n}) for n in range(1000)], device=site.name("d")), timeout=20)


@attack("oldest operations of others", before="others' outcomes were forgotten", memory=64)
def oldest_open(site):
    """`oldestOpen` under the neighbours' names of devices, beyond all ids. Their outcomes stay."""
    operation = site.fill([site.insert({"n": 1})], who="bob")[0]
    own = site.last_device
    yield

    def body(caller, _):
        for device in ["bob", own, ""]:
            caller.sync("arena", device=device, oldestOpen="~~~~")
    site.flood(8, body)
    yield
    with site.caller("bob", counted=False) as caller:
        status, answer = caller.sync("arena", [operation], device=own)
        if answer["outcomes"][0]["outcome"] != "duplicate":
            raise Broken(f"an operation sent again was answered {answer['outcomes'][0]['outcome']}")


# The values of a request are flushed together, outside of the transaction for which others wait.
@attack("secrets by the thousand", before="a flushed file each, others wait 3 to 5 s", memory=96, latency=IN_LINE)
def secrets(site):
    """Requests with 500 values of sensitive fields, new ones and the same again, and with 10,000."""
    def body(caller, number):
        count = 10_000 if number == 3 else 500
        caller.sync("arena", [site.insert({}, type="Diary", record=f"same{n}" if number == 2 else site.name("d"),
                                          secrets={"pin": "1234"}) for n in range(count)][:1000])
    site.flood(4, body, timeout=20)


@attack("secrets of others", before="anybody's were overwritten", memory=64)
def others_secrets(site):
    """A known id of an operation, with secrets for a record of a neighbour. None reaches the folder of secrets."""
    victim, marker = site.name("victim"), f"MARKER{site.random.random()}"
    site.fill([site.insert({}, type="Diary", record=victim, secrets={"pin": "right"})], who="bob")
    first = site.fill([site.insert({}, type="Diary")])[0]
    yield

    def body(caller, number):
        caller.sync("arena", [{**first, "kind": ["update", "insert", "delete"][number % 3], "record": victim,
                               **({} if number % 3 == 2 else {"secrets": {"pin": marker}})}], device="filler")
    site.flood(6, body)
    yield
    if marker in "".join(site.files("secrets")):
        raise Broken("a stranger has overwritten a secret")


@attack("outcomes of others", before="`duplicate` with the private record", memory=64)
def others_outcomes(site):
    """The ids of a neighbour's device and operation, for which the answer would be its record."""
    marker = f"PRIVATE{site.random.random()}"
    secret = site.fill([site.insert({"text": marker}, type="Diary")], who="bob")[0]
    device = site.last_device
    yield

    def body(caller, number):
        answer = caller.ask("POST", "/v1/spaces/arena/sync", {"device": device, "operations": [
            {**secret, "record": secret["record"] if number % 2 else "another"}]})[1]
        if marker.encode() in answer:
            raise Broken("the answer has the private record of a neighbour")
    site.flood(6, body)


@attack("hidden records are guessed", before="tombstones and names of containers", memory=64)
def guessed(site):
    """Reads, conflicts, listings and digests about a neighbour's private record and its container. None names it."""
    record = site.name("hidden")
    site.fill([site.insert({"text": "private"}, type="Diary", record=record, container="private/of-bob")], who="bob")
    yield

    def body(caller, number):
        path = [f"records/Diary/{record}", "containers/private/of-bob", "containers", "history?type=Diary&id=" + record,
                "digest?container=private/of-bob", "changes?container=private&children=true"][number % 6]
        status, answer = caller.ask("GET", f"/v1/spaces/arena/{path}")
        if b"of-bob\"," in answer.replace(b'"container":"private/of-bob"', b"") or record.encode() in answer or status == 500:
            raise Broken(f"{path} is answered {status} {answer[:200]!r}")
        answer = caller.ask("POST", "/v1/spaces/arena/sync", {"device": "a", "operations": [
            change(site, record, "1", type="Diary", kind=["update", "delete", "insert"][number % 3])]})[1]
        if b'"owner"' in answer or b'"fields":{"text"' in answer:
            raise Broken(f"an operation is answered {answer[:300]!r}")
    site.flood(6, body)


@attack("audiences of 10^5 names", before="members bounded, records not", memory=256, latency=BUSY, same=IN_LINE)
def audiences(site):
    """Records shared with a thousand and with 10^5 names, lists of 10^5 members, names of a megabyte."""
    names = [f"p{number}" for number in range(100_000)]

    def body(caller, number):
        size = [1000, 1001, 100_000, 10_000][number % 4]
        caller.sync("arena", [site.insert({}, type="Diary", sharing={"add": {"principals": names[:size]}})])
        caller.ask("POST", "/v1/spaces/arena/lists", {"name": "x", "members": names[:size]})
        caller.ask("POST", "/v1/spaces/arena/lists", {"name": "x" * 1_000_000, "members": ["y" * 1_000_000]})
    site.flood(4, body, timeout=20)


# --sharing-rows refuses a request that changes more, before anything is written.
@attack("audiences that change", before="a row for each name and record", memory=256, disk=64, latency=IN_LINE)
def changing_audiences(site):
    """80 records in a request, each shared with 300 names and then with 300 others: a notice for each that lost it."""
    count, size = 80, 300
    halves = [[f"h{half}{number}" for number in range(size)] for half in range(2)]
    records = [site.name("shared") for _ in range(count)]
    site.fill([site.insert({}, type="Diary", record=record, sharing={"add": {"principals": halves[0]}})
               for record in records], size=100)
    with site.caller(counted=False) as caller:
        versions = {record: caller.json("GET", f"/v1/spaces/arena/records/Diary/{record}")[1]["version"]
                    for record in records}
    turn = iter(range(1 << 30))
    yield

    def body(caller, _):
        number = next(turn)
        new, old = halves[(number + 1) % 2], halves[number % 2]
        status, answer = caller.sync("arena", [
            change(site, record, versions[record], type="Diary",
                   sharing={"add": {"principals": new}, "remove": {"principals": old}}) for record in records])
        for record, outcome in zip(records, (answer or {}).get("outcomes", [])):
            versions[record] = outcome.get("version") or versions[record]
    site.flood(1, body, timeout=30)


@attack("lists that are emptied", before="90,000 rows for one PUT", memory=256, disk=64, latency=IN_LINE)
def emptied_lists(site):
    """Lists of 150 and of 300 members with 300 records lose all of them, and get them back. The larger one only loses
    them."""
    members = [[f"m{number}" for number in range(count)] for count in (150, 300)]
    with site.caller(counted=False) as caller:
        made = [caller.json("POST", "/v1/spaces/arena/lists", {"name": "many", "members": names})[1]["id"]
                for names in members]
    site.fill([site.insert({}, type="Diary", sharing={"add": {"lists": made}}) for _ in range(300)], size=100)
    turn = iter(range(1 << 30))
    yield

    def body(caller, _):
        number = next(turn)
        now = [] if number % 4 < 2 else members[number % 2]
        caller.ask("PUT", f"/v1/spaces/arena/lists/{made[number % 2]}", {"name": "many", "members": now})
    site.flood(1, body, timeout=30)


# --lists refuses more; each request of the named one reads the others.
@attack("lists that name one user", before="all read for each request", memory=96, latency=BUSY, same=IN_LINE)
def naming_lists(site):
    """Lists of a neighbour's name, each shared with a record, as many as are taken: at most an eighth of --lists."""
    taken = []

    def body(caller, _):
        ids = [site.name("list") for _ in range(40)]
        status, answer = caller.sync("arena", [
            site.insert({"name": "x", "members": ["bob"]}, type="bothy_list", record=name) for name in ids])
        if status == 200:
            taken.extend(ids)
            caller.sync("arena", [site.insert({}, type="Diary", sharing={"add": {"lists": [name]}}) for name in ids])
        if status not in (200, 413, 503, 0) or len(taken) > 125:
            raise Broken(f"{len(taken)} lists of one owner name a neighbour, and {status} {answer}")
    site.flood(4, body, timeout=20)


@attack("references that lead nowhere", memory=96, latency=BUSY, same=IN_LINE)
def references(site):
    """A thousand records that refer to missing, to hidden and to each other's records."""
    def body(caller, number):
        names = [site.name("l") for _ in range(1000)]
        caller.sync("arena", [site.insert({"to": names[n - 1] if number % 2 else "gone"}, type="Link", record=name)
                              for n, name in enumerate(names)])
    site.flood(4, body, timeout=20)


@attack("moves to and fro", memory=96, latency=BUSY, same=IN_LINE)
def moves(site):
    """500 records that change their container with each request."""
    records = [site.name("m") for _ in range(500)]
    site.fill([site.insert({}, record=record) for record in records])
    state, turn = {}, iter(range(1 << 30))
    yield

    def body(caller, _):
        place = f"place{next(turn)}"
        answer = caller.sync("arena", [change(site, record, state.get(record, "1"), container=place)
                                       for record in records])[1]
        for record, outcome in zip(records, (answer or {}).get("outcomes", [])):
            state[record] = outcome.get("version") or outcome.get("record", {}).get("version") or "1"
    site.flood(2, body, timeout=20)


@attack("containers by the thousand", memory=128, latency=BUSY, same=IN_LINE)
def containers(site):
    """A container for each record, paths of 255 levels, and the list of all containers."""
    def body(caller, number):
        if number % 2:
            caller.ask("GET", "/v1/spaces/arena/containers")
        else:
            caller.sync("arena", [site.insert({}, container=f"{site.name('c')}/" + "/".join("b" * (n % 240 + 1)))
                                  for n in range(1000)])
    site.flood(4, body, timeout=20)


@attack("deletions and insertions", memory=96, latency=BUSY, same=IN_LINE)
def deletions(site):
    """Records that are inserted, deleted and inserted again in one request, 330 times each."""
    def body(caller, _):
        operations = []
        for _ in range(330):
            first = site.insert({"n": 1})
            gone = change(site, first["record"], kind="delete", after=first["id"])
            operations += [first, gone, {**site.insert({"n": 2}), "record": first["record"]}]
        caller.sync("arena", operations)
    site.flood(4, body, timeout=20)


@attack("spaces by the thousand", "a member", memory=64)
def spaces(site):
    """Writes to spaces that the token does not open. None of them is made."""
    def body(caller, _):
        status, _ = caller.sync(site.name("space"), [site.insert({})])
        if status not in (403, 0):
            raise Broken(f"a space of nobody's token was answered {status}")
    site.flood(8, body)
