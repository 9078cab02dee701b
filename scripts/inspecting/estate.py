"""What the inspector is shown in its test: a server that rejects some changes, a device, copies, places, settings, packs."""

import http.server
import json
import os
import pathlib
import sqlite3
import subprocess
import threading

from inspecting import sources

FIELDS = [
    {"name": "title", "type": "string", "indexed": True}, {"name": "country", "type": "string", "optional": True},
    {"name": "start", "type": "date", "optional": True, "indexed": True}, {"name": "nights", "type": "int", "default": 0},
    {"name": "rating", "type": "double", "optional": True}, {"name": "done", "type": "bool", "default": False},
    {"name": "place", "type": "coordinate", "optional": True},
]
STOP = {"name": "Stop", "fields": [
    {"name": "name", "type": "string"}, {"name": "trip", "type": "reference", "to": "Trip", "onDelete": "cascade"},
    {"name": "note", "type": "string", "optional": True}]}
LOCAL = {"name": "Draft", "synced": False, "fields": [{"name": "text", "type": "string"}]}
HUTS = [("Kobberhaughytta", "Norway", 60.0267, 10.6611), ("Corrour Bothy", "Scotland", 57.0411, -3.6806),
        ("Rifugio Lagazuoi", "Italy", 46.5278, 12.0083), ("Sandbukta", "Norway", 60.0812, 10.7012),
        ("Shenavall", "Scotland", 57.7782, -5.2478), ("Fuldaer Hütte", "Austria", 47.0142, 10.8123),
        ("Lofsdalen", "Sweden", 62.1129, 13.2773), ("Hutchison Hut", "Scotland", 57.0743, -3.6116)]


def required(fields, *names):
    return [{**field, "optional": False} if field["name"] in names else field for field in fields]


class Origin(http.server.BaseHTTPRequestHandler):
    """Tiles, of which some may be kept for an hour and some not at all."""

    def do_GET(self):
        x = int(self.path.split("/")[-2])
        self.send_response(200)
        body = b"\x89PNG\r\n\x1a\n" + f"tile {self.path}".encode()
        self.send_header("Cache-Control", "max-age=3600" if x % 3 else "max-age=1, stale-if-error=60" if x % 2 else "max-age=0, must-revalidate")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Estate:
    def __init__(self, bothy, folder, from_sources=False):
        """With `from_sources`, pages have the files of the sources rather than those compiled into the program."""
        self.from_sources = from_sources
        self.bothy, self.folder = str(pathlib.Path(bothy).resolve()), pathlib.Path(folder)
        self.processes = []
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, name):
        return str(self.folder / name)

    def tool(self, *arguments, code=0, text=None):
        done = subprocess.run([self.bothy, *map(str, arguments)], capture_output=True, text=True, cwd=self.folder, input=text)
        if done.returncode != code:
            raise AssertionError(f"bothy {' '.join(map(str, arguments))} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def tool_fails(self, *arguments):
        """What a command that fails says."""
        done = subprocess.run([self.bothy, *map(str, arguments)], capture_output=True, text=True, cwd=self.folder)
        if done.returncode == 0:
            raise AssertionError(f"bothy {' '.join(map(str, arguments))} did not fail.")
        return done.stderr

    def write(self, name, value):
        (self.folder / name).write_text(json.dumps(value))
        return self.path(name)

    def serve(self, *arguments):
        """Starts a command that says its address; returns the process and the address."""
        process = subprocess.Popen([self.bothy, *map(str, arguments), "--json"], stdout=subprocess.PIPE, text=True, cwd=self.folder)
        self.processes.append(process)
        line = process.stdout.readline()
        if not line:
            raise AssertionError(f"bothy {arguments[0]} did not start.")
        address = json.loads(line)["url"]
        return process, sources.before(address) if self.from_sources and "token=" in address else address

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            process.wait(timeout=120)

    def put(self, type, id, database="trips.bothy", container=None, **fields):
        more = ["--container", container] if container else []
        self.tool("db", "put", database, type, json.dumps({"id": id, **fields}), *more)

    def trips(self):
        """A device with synced trips, changes that are pending for several reasons, and rejected ones."""
        here = self.write("schema.json", {"version": 1, "types": [{"name": "Trip", "fields": FIELDS}, STOP, LOCAL]})
        there = self.write("server.json", {"version": 1, "types": [{"name": "Trip", "fields": required(FIELDS, "country")}, STOP]})
        self.server, self.url = self.serve("serve", "--port", 0, "--database", self.path("server.sqlite"), "--schema", there,
                                           "--log-level", "error")
        self.tool("db", "create", "trips.bothy", "--schema", here, "--server", self.url, "--space", "hut")
        for index, (title, country, latitude, longitude) in enumerate(HUTS):
            self.put("Trip", f"trip-{index}", title=title, country=country, nights=index % 4 + 1, rating=3 + index / 4,
                     start=f"2026-{index % 9 + 1:02}-12", done=index % 3 == 0, place={"lat": latitude, "lon": longitude})
        self.put("Stop", "stop-0", name="The bridge", trip="trip-0", note="Wood is stored under the floor.")
        self.put("Draft", "draft-0", text="Only here")
        self.tool("sync", "trips.bothy")
        # The server wants a country: two that are new, two that are changed.
        self.put("Trip", "rejected-retry", title="Without a country", nights=2)
        self.put("Trip", "rejected-evict", title="Nowhere at all", nights=1)
        for index in (3, 5):
            self.put("Trip", f"trip-{index}", country=None, title=f"{HUTS[index][0]}, renamed")
        self.tool("sync", "trips.bothy")
        # Each rejected once; and what is pending for other reasons.
        self.put("Stop", "stop-1", name="The ford", trip="rejected-retry")
        self.put("Trip", "trip-1", nights=9)
        self.tool("db", "put", "trips.bothy", "Trip", json.dumps({"id": "draft-trip", "title": "Some day", "country": "Iceland"}), "--draft")
        self.tool("db", "delete", "trips.bothy", "Trip", "trip-7")
        # The app's last syncs fail: it asks where no server is.
        self.fail_to_sync("http://127.0.0.1:9")

    def fail_to_sync(self, address):
        self.tool("sync", "trips.bothy", "--scope", "pull", "--server", address, code=1)

    def copies(self):
        """A cache with tiles in three states and a region, places, settings, packs."""
        self.origin = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
        threading.Thread(target=self.origin.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{self.origin.server_port}"
        self.tool("source", "add", "hills", place + "/t/{z}/{x}/{y}", "--allow-bulk", "--attribution", "© Hills", "--store", "cache")
        self.tool("source", "add", "summits", place + "/s/{z}/{x}/{y}", "--freshness", "7d", "--store", "cache")
        self.tool("cache", "limits", "--bytes", "8M", "--store", "cache")
        self.tool("region", "create", "Oslo", "hills", "--box", "10.55,59.95,10.85,60.12", "--zooms", "8-12", "--store", "cache")
        for x in (0, 1, 2, 3, 1, 2):
            self.tool("tile", "get", "summits", "8", str(134 + x), "74", "--store", "cache")
        self.places()
        with sqlite3.connect(self.folder / "trips.bothy") as database:
            database.execute("""CREATE TABLE IF NOT EXISTS bothy_settings (name TEXT PRIMARY KEY NOT NULL, version INTEGER NOT NULL,
              generation INTEGER NOT NULL, writer TEXT NOT NULL, schema TEXT NOT NULL, content TEXT NOT NULL) STRICT, WITHOUT ROWID""")
            schema = {"version": 2, "types": [{"name": "Locale", "synced": False, "fields": [
                {"name": "timeFormat", "type": "string", "default": "12"}, {"name": "volume", "type": "int", "default": 3},
                {"name": "seen", "type": "date", "optional": True}]}]}
            database.execute("INSERT INTO bothy_settings VALUES ('Locale', 2, 1, 'app', ?, ?)",
                             (json.dumps(schema), json.dumps({"timeFormat": "12", "volume": 7, "seen": None})))
        (self.folder / "times.csv").write_text("id,city,day,fajr\n" + "".join(
            f"{city}{day},{city},{day},04:{day:02}\n" for city in ("Oslo", "Bergen", "Kuwait City") for day in range(1, 29)))
        os.makedirs(self.folder / "packs", exist_ok=True)
        self.tool("pack", "build", "packs/times.pack", "Time=times.csv", "--shard-by", "city")

    def places(self):
        features = []
        for number in range(60):
            features.append({"type": "Feature", "feature_type": "amenity", "feature_value": ["cafe", "bench", "shelter"][number % 3],
                             "osm_ids": [100 + number], "properties": {"amenity": "cafe", "name": f"Hut {number}"},
                             "geometry": {"type": "Point", "coordinates": [10.6602 + number % 10 * 0.0005, 60.0252 + number // 10 * 0.0004]}})
        tile = json.loads(self.tool("tile", "locate", "--lat", "60.0262", "--lon", "10.6611", "--zoom", "16", "--json"))
        name = self.folder / f"maps/{tile['zoom']}/{tile['x']}"
        name.mkdir(parents=True, exist_ok=True)
        (name / f"{tile['y']}.json").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
        self.tool("places", "load", "oslo.places", self.path("maps"))

    def many(self, count):
        """Another device with so many records, all of them pending: its server was never there."""
        here = self.path("schema.json")
        self.tool("db", "create", "many.bothy", "--schema", here)
        lines = "".join(json.dumps({"id": f"{number:06}", "title": f"Trip {number}", "country": HUTS[number % 8][1],
                                    "nights": number % 30, "done": number % 2 == 0}) + "\n" for number in range(count))
        (self.folder / "many.jsonl").write_text(lines)
        self.tool("db", "import", "many.bothy", "Trip", "many.jsonl")
