"""Attacks by what is kept open: event streams, long polls, streams that are not read."""

import time

from attacking.servers import Broken
from attacking.trial import attack
from attacking.wire import Line, head, parallel

ARGUMENTS = ["--feed-group", "back-ends"]


def opened(site, count, path, who="mallory", **fields):
    """Opens so many connections, asks for a path on each, and gives those that were answered 200."""
    lines = []
    for _ in range(count):
        try:
            line = Line(site.port, timeout=3, buffer=4096)
            line.send(head("GET", path, f"of-{who}", **fields))
            first = line.text_line()
            site.answers.note(first.split()[1].decode(), 200)
            if b"200" in first:
                lines.append(line)
            else:
                line.close()
        except OSError:
            site.answers.note("closed")
    return lines


def write_until_over(site, space="arena"):
    """Writes as fast as it goes, so that every stream has news."""
    with site.caller("friend1") as caller:
        while site.is_on:
            caller.sync(space, [site.insert({})])


@attack("event streams by the hundred", before="207, then 20 a second, without a limit", memory=64)
def streams(site):
    """400 streams of one member, in a space that is written. --streams are open, and others have room for theirs."""
    yield
    lines = opened(site, 400, "/v1/spaces/arena/events")
    write_until_over(site)
    others = opened(site, 20, "/v1/spaces/arena/events", who="friend2")
    for line in lines + others:
        line.close()
    if len(lines) > 250 or len(others) < 20:
        raise Broken(f"{len(lines)} streams of the attacker and {len(others)} of 20 of a friend were opened")
    yield
    time.sleep(0.3)
    if site.metric("bothy_event_streams") > 50:
        raise Broken(f"{site.metric('bothy_event_streams'):.0f} streams are left")


@attack("event streams that are not read", memory=64)
def unread_streams(site):
    """200 streams are never read while the space is written."""
    yield
    lines = opened(site, 200, "/v1/spaces/arena/events")
    write_until_over(site)
    yield
    for line in lines:
        line.close()


@attack("storms of event streams", memory=64)
def storms(site):
    """16 callers open a stream and leave it, with ids of events of 10 KB."""
    def one(number):
        while site.is_on:
            with Line(site.port, timeout=3) as line:
                line.send(head("GET", "/v1/spaces/arena/events", "of-mallory",
                               Last_Event_ID="x" * (10_000 if number % 2 else 1)))
                site.answers.note(line.text_line().split()[1].decode())
    yield
    parallel(16, one, site.until)
    yield
    time.sleep(0.5)
    if site.metric("bothy_event_streams") > 50:
        raise Broken(f"{site.metric('bothy_event_streams'):.0f} streams are left")


@attack("long polls by the hundred", "a back end", memory=96)
def polls(site):
    """400 requests wait for changes of the feed, whose answers are not read, while the space is written."""
    with site.caller("friend0", counted=False) as caller:
        cursor = ""
        while True:
            page = caller.json("GET", f"/v1/spaces/arena/feed?limit=1000{cursor}")[1]
            cursor = f"&after={page['cursor']}"
            if not page.get("more"):
                break
    yield
    lines = opened(site, 400, f"/v1/spaces/arena/feed?limit=10&wait=30{cursor}", who="friend0")
    write_until_over(site)
    yield
    for line in lines:
        line.close()


@attack("feeds from the start", "a back end", memory=96)
def feeds(site):
    """8 callers read the feed from the start, with forged cursors and limits."""
    def body(caller, number):
        caller.ask("GET", "/v1/spaces/arena/feed?" + ["limit=1000", "limit=1&after=x.0", "limit=999999999", "after=" + "9" * 200,
                                                     "wait=999999&after=.."][number % 5])
    site.flood(8, body, who="friend0")


@attack("a writer whom hundreds follow", "friends", memory=96)
def followed(site):
    """One writes as fast as it goes while 8 members have 100 streams open."""
    lines = [line for number in range(8) for line in opened(site, 12, "/v1/spaces/arena/events", who=f"friend{number}")]
    yield
    write_until_over(site)
    yield
    for line in lines:
        line.close()
