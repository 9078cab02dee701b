"""What the compiler and its tools have to be told to see the modules of a debug build. For scripts/docs, check-docs and
check-snippets.
"""

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
