"""Attacks on blobs. The server has room for 32 MB of them in a space, and for 8 MB in one."""

import hashlib
import time

from attacking.servers import Broken, MiB
from attacking.trial import BUSY, attack
from attacking.wire import Line, head, parallel

QUOTA = 32
ARGUMENTS = ["--blob-quota", f"{QUOTA}M", "--blob-size", "8M"]
MEDIA = "application/octet-stream"


def named(data):
    return f"/v1/spaces/arena/blobs/{hashlib.sha256(data).hexdigest()}"


def random_name(site):
    return f"/v1/spaces/arena/blobs/{site.random.getrandbits(256):064x}"


def fill(site):
    """One blob of 7 MB."""
    site.large = site.random.randbytes(7_000_000)
    with site.caller(counted=False, timeout=60) as caller:
        if caller.ask("PUT", named(site.large), site.large, media=MEDIA)[0] != 201:
            raise Broken("a blob was not taken")


@attack("uploads that are broken off", memory=128, latency=BUSY)
def aborted(site):
    """20 callers begin to upload, and leave in the middle."""
    data = b"x" * 1_000_000

    def one(number):
        while site.is_on:
            with Line(site.port, timeout=3) as line:
                name = random_name(site)
                message = head("PATCH" if number % 2 else "PUT", name, "of-mallory", Content_Length=2_000_000,
                               Content_Type=MEDIA, Upload_Offset=0, Upload_Length=2_000_000) + data
                line.send(message)
                site.answers.note("left", len(message))
    parallel(20, one, site.until)


@attack("blobs with wrong digests", memory=128)
def wrong_digests(site):
    """8 callers upload 2 MB under a name that is not its digest."""
    data = site.random.randbytes(2_000_000)

    def body(caller, _):
        status, _ = caller.ask("PUT", random_name(site), data, media=MEDIA)
        if status in (200, 201):
            raise Broken("a blob with a wrong digest was taken")
    site.flood(8, body, timeout=20)


@attack("blobs in the place of others", memory=128)
def replaced(site):
    """Other bytes under the name of a blob that is there, which stays as it is."""
    yield

    def body(caller, number):
        if number % 2:
            caller.ask("PUT", named(site.large), b"other bytes", media=MEDIA)
        else:
            caller.ask("PATCH", named(site.large), b"x", media=MEDIA, Upload_Offset=0, Upload_Length=1)
    site.flood(6, body, timeout=20)
    yield
    with site.caller(counted=False, timeout=60) as caller:
        if caller.ask("GET", named(site.large))[1] != site.large:
            raise Broken("a blob has other bytes now")


@attack("digests of the largest blob", memory=96)
def verified(site):
    """8 callers ask that the bytes of the largest blob are read and checked."""
    def body(caller, _):
        caller.ask("HEAD", named(site.large), Want_Repr_Digest="sha-256=1")
    site.flood(8, body, timeout=20)


@attack("ranges of blobs", memory=96)
def ranges(site):
    """Ranges of one byte, of all, of hundreds, backwards and beyond the end."""
    texts = ["0-0", "0-", "-1", "-0", "5-2", "9999999-", "0-0," * 500 + "0-0", "a-b", f"0-{'9' * 400}", "-" + "9" * 400]

    def body(caller, number):
        caller.ask("GET", named(site.large), Range="bytes=" + texts[site.random.randrange(len(texts))])
    site.flood(8, body, timeout=20)


@attack("blobs that are not read", before="two pieces for each connection", memory=96)
def unread(site):
    """200 connections ask for the largest blob and never read. --transfer-size has room for 128 of one user."""
    message = head("GET", named(site.large), "of-mallory")

    def one(_):
        with Line(site.port, buffer=4096) as line:
            line.send(message)
            site.answers.note("held", len(message))
            while site.is_on:
                site.pause()
    parallel(200, one, site.until + 2)


@attack("blobs that are not there", memory=64)
def wanted(site):
    """Reads of random names, which the server asks devices for. It notes a thousand of them."""
    yield
    site.flood(8, lambda caller, _: caller.ask("GET", random_name(site)))
    yield
    if len(list(site.files("wanted"))) > 1000:
        raise Broken(f"{len(list(site.files('wanted')))} missing blobs are noted")


@attack("uploads that are only begun", memory=64)
def begun(site):
    """Parts of no byte and of one byte, for a new blob each."""
    def body(caller, number):
        caller.ask("PATCH", random_name(site), b"x" * (number % 2), media=MEDIA, Upload_Offset=0,
                   Upload_Length=1_000_000)
    site.flood(8, body)


@attack("parts of one byte", memory=64)
def small_parts(site):
    """A blob that comes byte by byte, by several callers at once, at wrong places."""
    name = random_name(site)

    def body(caller, number):
        status, fields = caller.ask("PATCH", name, b"x", media=MEDIA, Upload_Offset=site.random.choice([0, 1, 5, 2 ** 62]),
                                    Upload_Length=site.random.choice([10, 1000, 2 ** 62, 2 ** 63 - 1]))
        if status == 500:
            raise Broken(f"a part was answered {fields}")
    site.flood(8, body)


@attack("floods of blobs", before="no quota: any member fills the disk", memory=160, disk=QUOTA)
def floods(site):
    """16 callers upload blobs of 1 MB until the space is full. Others write records meanwhile."""
    def body(caller, _):
        data = site.random.randbytes(1_000_000)
        caller.ask("PUT", named(data), data, media=MEDIA)
    yield
    site.flood(16, body, timeout=20)
    yield
    time.sleep(0.2)
    used = sum(len(data) for folder in ["partial", "fresh", "kept"] for data in site.files(folder)) / MiB
    if used > QUOTA + 1:
        raise Broken(f"the blobs have {used:.0f} MiB; the quota is {QUOTA} MiB")
