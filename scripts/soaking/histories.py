"""Wide random histories in numbers, with optimized code, several processes at a time, on both storages by turns."""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# The tests that are built, in a small package of their own: that takes minutes.
TESTS = ["Histories", "Support/Drafts.swift", "Support/FieldsText.swift", "Support/SeedMinutes.swift"]


def package(work):
    """Makes a package of the histories in `work`, over the sources of this one."""
    dump = subprocess.run(["swift", "package", "dump-package"], cwd=ROOT, check=True, capture_output=True, text=True)
    versions = {}
    for each in json.loads(dump.stdout)["dependencies"]:
        source = each["sourceControl"][0]
        versions[source["identity"]] = (
            source["location"]["remote"][0]["urlString"], source["requirement"]["range"][0]["lowerBound"])

    def needed(name):
        url, version = versions[name]
        return f'.package(url: "{url}", from: "{version}"),'

    work.mkdir(parents=True, exist_ok=True)
    for name in ["Sources", "Tests"]:
        link = work / name
        if not link.is_symlink():
            link.symlink_to(ROOT / name)
    manifest = f"""// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let log = Target.Dependency.product(name: "Logging", package: "swift-log")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let package = Package(
  name: "histories", platforms: [.macOS(.v15)],
  dependencies: [
    {needed("grdb.swift")} {needed("swift-log")} {needed("swift-crypto")} {needed("swift-http-types")}
  ],
  targets: [
    .target(name: "CBothySQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
    .target(name: "CBothyZlib", linkerSettings: [.linkedLibrary("z")]),
    .systemLibrary(name: "CPostgres", pkgConfig: "libpq"),
    .target(name: "BothyCore", dependencies: ["CBothyZlib"], swiftSettings: strict),
    .target(name: "BothyStore", dependencies: ["BothyCore", grdb, sqlite, log, "CBothySQLite"], swiftSettings: strict),
    .target(name: "BothyProtocol", dependencies: ["BothyStore", crypto], swiftSettings: strict),
    .target(name: "BothySync", dependencies: ["BothyProtocol", grdb, log, crypto], swiftSettings: strict),
    .target(
      name: "BothyCache", dependencies: ["BothyStore", grdb, sqlite, httpTypes, log, crypto], swiftSettings: strict),
    .target(name: "BothyLegacy", dependencies: ["BothySync", "BothyCache"], swiftSettings: strict),
    .target(name: "BothySyncService", dependencies: ["BothyProtocol", grdb, log, crypto], swiftSettings: strict),
    .target(name: "BothyPostgres", dependencies: ["BothySyncService", "CPostgres"], swiftSettings: strict),
    .target(name: "BothyTesting", dependencies: ["BothySync", "BothySyncService"], swiftSettings: strict),
    .testTarget(
      name: "BothySyncTests", dependencies: ["BothyPostgres", "BothyTesting", "BothyLegacy", log],
      sources: {json.dumps(TESTS)}, swiftSettings: strict),
  ])
"""
    path = work / "Package.swift"
    if not path.is_file() or path.read_text() != manifest:
        path.write_text(manifest)


def run(first, last, jobs, step=500):
    """Runs the histories of these seeds, so many in a process: a suite of tests has a time limit. Returns the status."""
    work = ROOT / ".build" / "histories"
    package(work)
    subprocess.run(["swift", "build", "-c", "release", "--build-tests"], cwd=work, check=True)
    tests = work / ".build" / "release" / "historiesPackageTests.xctest"
    began = time.monotonic()
    failed = []
    lock = threading.Lock()

    def seeds(start):
        end = min(start + step - 1, last)
        environment = {"BOTHY_FAILURES": "20", "BOTHY_TELL": "3", **os.environ, "BOTHY_SEEDS": f"{start}-{end}"}
        # Two processes that create and remove devices' files on one disk wait for each other.
        if os.path.isdir("/dev/shm"):
            environment.setdefault("TMPDIR", "/dev/shm")
        command = [str(tests), "--testing-library", "swift-testing", "--filter", "WideHistoryTests/histories"]
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        with lock:
            if done.returncode:
                failed.append(f"{start}-{end}")
                print(done.stdout, flush=True)
            state = "FAILED" if done.returncode else "passed"
            print(f"seeds {start}-{end}: {state}, {time.monotonic() - began:.0f} s since the start", flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(seeds, range(first, last + 1, step)))
    seconds = time.monotonic() - began
    print(f"{last - first + 1} histories in {seconds:.0f} s; failed: {', '.join(failed) or 'none'}", flush=True)
    return 1 if failed else 0
