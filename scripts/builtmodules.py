"""What the compiler and its tools have to be told to see the modules of a debug build, and what is public in these.

For scripts/docs, check-docs, check-snippets and check-surface.
"""

import functools
import json
import pathlib
import re
import subprocess
import sys


def folder(given):
    """The folder of the build's products, as `swift build --show-bin-path` prints it; ends the script when nothing is there."""
    path = pathlib.Path(given or subprocess.check_output(["swift", "build", "--show-bin-path"], text=True).strip())
    if not (path / "Modules/Bothy.swiftmodule").exists():
        sys.exit(f"{path} has no module Bothy; build first: swift build --build-tests")
    return path


def flags(build):
    """Where the modules are, and the maps of the C modules that they show to those who import them."""
    checkouts = build.resolve().parent.parent / "checkouts"
    maps = [checkouts / "GRDB.swift/Sources/GRDBSQLite/module.modulemap", *pathlib.Path("Sources").glob("*/module.modulemap")]
    maps += [path for path in build.glob("*.build/module.modulemap") if "-tool.build" not in str(path)]
    maps += [path for path in checkouts.glob("*/Sources/*/include/module.modulemap")
             if path.parts[-3] not in ("GRDBSQLCipher", "CppBenchmarks")]
    plan = build.resolve().parent.parent / "debug.yaml"  # names the folders of system libraries' headers, if there are any
    folders = sorted(set(re.findall(r'"-I(/[^"]+)"', plan.read_text()))) if plan.exists() else []
    found = [flag for path in [str(build / "Modules"), *folders] for flag in ("-I", path)]
    return found + [flag for path in maps for flag in ("-Xcc", f"-fmodule-map-file={path}")]


def macros(build):
    """What the compiler has to be told to expand the macros of `Bothy`."""
    return ["-load-plugin-executable", f"{build}/BothyMacros-tool#BothyMacros"]


def features():
    """The upcoming features that the manifests enable."""
    names = dict.fromkeys(re.findall(r'enableUpcomingFeature\("(\w+)"\)', pathlib.Path("Package.swift").read_text(encoding="utf-8")))
    return [flag for name in names for flag in ("-enable-upcoming-feature", name)]


def libraries():
    """The libraries of the package, and the one that is no product and that products export."""
    manifest = pathlib.Path("Package.swift").read_text(encoding="utf-8")
    return ["BothyCore", *re.findall(r'\.library\(name: "(\w+)"', manifest)]


APPLE = re.compile(r"(?<!!)\bcanImport\((?:Darwin|MapKit|Network|Security|SwiftUI|WebKit)\)|\bos\((?:macOS|iOS)\)")
OTHERS = re.compile(r"!canImport\(Darwin\)|\bos\((?:Linux|Android)\)|\bcanImport\((?:AsyncHTTPClient|FoundationNetworking|Glibc|Musl)\)")
MODIFIERS = r"(?:@\w+(?:\([^)]*\))? |(?:class|convenience|final|mutating|nonisolated|override|static) )*"
PUBLIC = re.compile(rf"^ *{MODIFIERS}public (?:private\(set\) )?{MODIFIERS}"
                    r"(actor|class|enum|func|init|let|protocol|struct|subscript|typealias|var)\b(?: (\w+))?")


def apart(module):
    """The public declarations of a module that are on some platforms alone: those of Apple's, and those of the others.

    Each is a pair of its kind and its name. No build on Linux has the former, so this reads the sources: lines that declare
    something public inside an `#if` for Apple's platforms, or for others. Members of a public enum or protocol have no word
    `public` of their own, so there may be none of these in such a block.
    """
    apple, others = [], []
    for path in sorted(pathlib.Path("Sources", module).rglob("*.swift")):
        open_ = []
        for line in path.read_text(encoding="utf-8").splitlines():
            word = line.lstrip().split(" ", 1)[0]
            if word in ("#if", "#elseif"):
                blocks = (apple,) if APPLE.search(line) else (others,) if OTHERS.search(line) else ()
                open_ = open_ + [blocks] if word == "#if" else open_[:-1] + [blocks]
            elif word == "#else":
                open_[-1] = tuple(others if each is apple else apple for each in open_[-1])
            elif word == "#endif":
                open_.pop()
            elif found := PUBLIC.match(line):
                for blocks in open_:
                    if blocks and found[1] in ("enum", "protocol"):
                        sys.exit(f"{path}: the members of {found[2]} can't be counted. Declare it outside of #if.")
                    for block in blocks:
                        block.append((found[1], found[2]))
    return apple, others


@functools.cache
def target():
    answer = subprocess.run(["swiftc", "-print-target-info"], capture_output=True, text=True, check=True).stdout
    return json.loads(answer)["target"]["unversionedTriple"]


def symbols(module, build, work, is_own=True):
    """The public symbols that are written down in a module's sources, from the compiler's symbol graphs. `work` is a folder.

    With `is_own` false all that the module has: of one that came without its sources.
    """
    command = ["swift", "symbolgraph-extract", "-module-name", module, "-target", target(), *map(str, flags(build)),
               "-output-dir", work, "-minimum-access-level", "public", "-skip-synthesized-members"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    graphs = sorted(pathlib.Path(work).glob(f"{module}.symbols.json"))
    graphs += sorted(pathlib.Path(work).glob(f"{module}@*.symbols.json"))
    if answer.returncode or not graphs:
        sys.exit(f"The compiler did not give the symbols of {module}; after a `swift build` it should:\n{answer.stderr}")
    # Without a place it is made by the compiler; an extension is the block whose members are looked at.
    return [symbol for graph in graphs for symbol in json.loads(graph.read_text(encoding="utf-8"))["symbols"]
            if not is_own
            or symbol.get("location") and symbol["kind"]["identifier"] not in ("swift.extension", "swift.deinit")]
