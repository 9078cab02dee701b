"""Writes the files of a store as earlier versions wrote them, table for table. Used by scripts/test-hotel.

The definitions are those of the index's formats 1 and 2, of the region list's formats 1 to 4, and of the places' format 1.
The index is made from entries' own files (`EntryFile`), whose form is still that of format 1.
"""

import contextlib
import os
import pathlib
import shutil
import sqlite3
import struct
import tempfile

MASK = (1 << 64) - 1
PRIMES = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)


def xxh64(data, seed=0):
    """XXH64 of fewer than 32 bytes, as the numbers of entries have it."""
    def turned(value, bits):
        return (value << bits | value >> (64 - bits)) & MASK

    def mixed(word):
        return turned(word * PRIMES[1] & MASK, 31) * PRIMES[0] & MASK

    assert len(data) < 32
    value, place = (seed + PRIMES[4] + len(data)) & MASK, 0
    while place + 8 <= len(data):
        value = (turned(value ^ mixed(int.from_bytes(data[place:place + 8], "little")), 27) * PRIMES[0] + PRIMES[3]) & MASK
        place += 8
    if place + 4 <= len(data):
        word = int.from_bytes(data[place:place + 4], "little")
        value = (turned(value ^ word * PRIMES[0] & MASK, 23) * PRIMES[1] + PRIMES[2]) & MASK
        place += 4
    for byte in data[place:]:
        value = turned(value ^ byte * PRIMES[4] & MASK, 11) * PRIMES[0] & MASK
    value = (value ^ value >> 33) * PRIMES[1] & MASK
    value = (value ^ value >> 29) * PRIMES[2] & MASK
    return value ^ value >> 32


def signed(number):
    return number - (1 << 64) if number >> 63 else number


class Entry:
    """A tile in a file of its own: the bytes, the metadata, the source, the key, and a trailer of 48 bytes."""

    def __init__(self, path):
        data = path.read_bytes()
        size, metadata, source, name, kind, checksum = struct.unpack("<QIIIIQ", data[-48:-16])
        self.body, rest = data[:size], data[size:-48]
        self.metadata, rest = rest[:metadata], rest[metadata:]
        self.source, self.name = rest[:source].decode(), signed(int.from_bytes(rest[source:], "little"))
        assert kind & 1 and name == 8, "only tiles are expected here"
        self.variant, self.checksum, self.on_disk = kind >> 1, signed(checksum), (len(data) + 4095) // 4096 * 4096
        self.received = struct.unpack_from("<q", self.metadata, 16)[0]

    def number(self, version):
        """The hash of the key. From format 2 on its lowest bits are the variant."""
        number = xxh64(self.name.to_bytes(8, "little", signed=True), xxh64(self.source.encode()))
        return signed(number if version == 1 else number & ~3 | self.variant)


INDEX = """
    CREATE TABLE state (
      id INTEGER PRIMARY KEY CHECK (id = 0), rank INTEGER NOT NULL, count INTEGER NOT NULL, bytes INTEGER NOT NULL,
      folders INTEGER NOT NULL, complete INTEGER NOT NULL
    ) STRICT;
    INSERT INTO state VALUES (0, 0, 0, 0, 0, 0);
    CREATE TABLE source (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, count INTEGER NOT NULL, bytes INTEGER NOT NULL,
      pinnedCount INTEGER NOT NULL, pinnedBytes INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE entry (
      id INTEGER PRIMARY KEY, source INTEGER NOT NULL, name ANY NOT NULL, bytes INTEGER NOT NULL,
      rank INTEGER NOT NULL, used INTEGER NOT NULL, received INTEGER NOT NULL, pinned INTEGER NOT NULL,
      size INTEGER NOT NULL, checksum INTEGER NOT NULL, body INTEGER, metadata BLOB
    ) STRICT;
    CREATE INDEX entry_rank ON entry (rank) WHERE pinned = 0;
    CREATE TABLE body (id INTEGER PRIMARY KEY, size INTEGER NOT NULL, checksum INTEGER NOT NULL, data BLOB NOT NULL)
      STRICT;
    CREATE INDEX body_checksum ON body (checksum) WHERE size <= 4096;
    CREATE TABLE shared (body INTEGER PRIMARY KEY, uses INTEGER NOT NULL) STRICT;
    CREATE TABLE holder (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
    %s
    CREATE INDEX pin_holder ON pin (holder);
    CREATE TABLE loose (id INTEGER PRIMARY KEY, source INTEGER NOT NULL, name ANY NOT NULL) STRICT;
    PRAGMA application_id = 1114929457;
    """
PINS = {
    1: "CREATE TABLE pin (entry INTEGER NOT NULL, holder INTEGER NOT NULL, PRIMARY KEY (entry, holder)) WITHOUT ROWID, STRICT;",
    2: """CREATE TABLE pin (
      entry INTEGER NOT NULL, holder INTEGER NOT NULL, source INTEGER NOT NULL, name ANY NOT NULL,
      PRIMARY KEY (entry, holder)
    ) WITHOUT ROWID, STRICT;"""}


def remove(path):
    for side in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(path + side)


@contextlib.contextmanager
def database(path):
    """An open database, whose changes are kept at the end."""
    connection = sqlite3.connect(path)
    try:
        with connection:
            yield connection
    finally:
        connection.close()


def write_index(path, tree, version, holder, pinned, in_rows):
    """Replaces an index by one of format 1 or 2.

    `tree` has the files of the entries. Those of the source `pinned` belong to the holder. With `in_rows` the index has the
    bytes, else they are in the files.
    """
    entries = [Entry(file) for file in sorted(pathlib.Path(tree).rglob("*")) if file.is_file()]
    if not in_rows:
        folders = sum(each.is_dir() for each in pathlib.Path(tree).rglob("*"))
    remove(path)
    with database(path) as index:
        index.executescript("PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;" + INDEX % PINS[version])
        index.execute(f"PRAGMA user_version = {version}")
        index.execute("INSERT INTO holder VALUES (1, ?)", (holder,))
        sources = {name: number for number, name in enumerate(sorted({entry.source for entry in entries}), 1)}
        for name, number in sources.items():
            own = [entry.on_disk for entry in entries if entry.source == name]
            free, held = ([], own) if name == pinned else (own, [])
            index.execute("INSERT INTO source VALUES (?, ?, ?, ?, ?, ?)", (number, name, len(free), sum(free), len(held), sum(held)))
        for rank, entry in enumerate(entries, 1):
            number, source, is_pinned = entry.number(version), sources[entry.source], entry.source == pinned
            if in_rows:
                index.execute("INSERT INTO body VALUES (?, ?, ?, ?)", (rank, len(entry.body), entry.checksum, entry.body))
            index.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (
                number, source, entry.name, entry.on_disk, rank, entry.received, entry.received, is_pinned, len(entry.body),
                entry.checksum, *((rank, entry.metadata) if in_rows else (None, None))))
            if is_pinned:
                pin = (number, 1) if version == 1 else (number & ~3, 1, source, entry.name)
                index.execute(f"INSERT INTO pin VALUES ({', '.join('?' for _ in pin)})", pin)
        free = [entry.on_disk for entry in entries if entry.source != pinned]
        index.execute("UPDATE state SET rank = ?, count = ?, bytes = ?, folders = ?, complete = 1",
                      (len(entries), len(free), sum(free), 0 if in_rows else folders))


REGIONS = """
    CREATE TABLE region (
      id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, source TEXT NOT NULL, area TEXT NOT NULL,
      lowest INTEGER NOT NULL, highest INTEGER NOT NULL, tiles INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT,
      created INTEGER NOT NULL, completed INTEGER, started INTEGER NOT NULL, refresh INTEGER NOT NULL,
      done INTEGER NOT NULL DEFAULT 0, absent INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0,
      loaded INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0, confirmed INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE failure (
      region TEXT NOT NULL REFERENCES region ON DELETE CASCADE, zoom INTEGER NOT NULL, x INTEGER NOT NULL,
      y INTEGER NOT NULL, message TEXT NOT NULL
    ) STRICT;
    CREATE INDEX failure_region ON failure (region);
    """
STEPS = [
    "ALTER TABLE region ADD COLUMN gone INTEGER NOT NULL DEFAULT 0",
    """ALTER TABLE region ADD COLUMN flipping INTEGER NOT NULL DEFAULT 0; CREATE TABLE part (
      region TEXT NOT NULL REFERENCES region ON DELETE CASCADE, place INTEGER NOT NULL, tiles BLOB NOT NULL,
      PRIMARY KEY (region, place)
    ) WITHOUT ROWID, STRICT;""",
    """ALTER TABLE region ADD COLUMN generation INTEGER NOT NULL DEFAULT 0; CREATE TABLE confirmed (
      region TEXT NOT NULL REFERENCES region ON DELETE CASCADE, part INTEGER NOT NULL, tiles BLOB NOT NULL,
      PRIMARY KEY (region, part)
    ) WITHOUT ROWID, STRICT;""",
]


def write_regions(path, version):
    """Replaces the list of regions by one of format 1 to 4 with the same regions, as far as the format has them."""
    with database(path) as known:
        known.row_factory = sqlite3.Row
        found = {name: known.execute(f"SELECT * FROM {name}").fetchall() for name in ("region", "failure", "part", "confirmed")}
    remove(path)
    with database(path) as earlier:
        earlier.executescript("PRAGMA journal_mode = WAL;" + REGIONS + ";".join(STEPS[:version - 1]))
        for name, rows in found.items():
            columns = [row[1] for row in earlier.execute(f"PRAGMA table_info({name})")]
            for row in rows if columns else []:
                earlier.execute(f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({', '.join('?' for _ in columns)})",
                                [row[column] for column in columns])
        earlier.execute(f"PRAGMA user_version = {version}")


def write_places(path):
    """Takes a file of places back to format 1, which didn't know the use of tiles."""
    with database(path) as places:
        places.executescript("DROP TABLE tile_use; PRAGMA user_version = 1")


def make_newer(path, table):
    """Makes a file one of a later format, with a column and a table that no version knows yet."""
    with database(path) as known:
        known.execute("CREATE TABLE later (id INTEGER PRIMARY KEY)")
        known.execute(f"ALTER TABLE {table} ADD COLUMN later TEXT")
        known.execute("PRAGMA user_version = 99")


def number(path, sql):
    """The first value of a statement, read from a copy, so that a killed process's log stays as it is."""
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "copy")
        for side in ("", "-wal"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(path + side, copy + side)
        with database(copy) as known:
            return known.execute(sql).fetchone()[0]
