#!/usr/bin/env python3
"""Gets a public repository of github.com at a commit, for tests that read its files, and prints the folder.

    scripts/testing/checkout.py OWNER/NAME COMMIT [--seconds 60]

The folder is below .build/public and is used again. Exits 1 with one sentence if the repository can't be had in time.
"""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

PUBLIC = pathlib.Path(__file__).resolve().parent.parent.parent / ".build" / "public"


class Unreachable(Exception):
    """A repository can't be had, for the reason given."""


def git(folder, seconds, *arguments):
    """Runs git with a limit of time, which ends its helpers too."""
    environment = dict(os.environ, GIT_TERMINAL_PROMPT="0")
    process = subprocess.Popen(["git", "-C", str(folder), *arguments], env=environment, start_new_session=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise Unreachable(f"no answer within {seconds} seconds") from None
    if process.returncode:
        lines = [line for line in output.splitlines() if line.strip()]
        raise Unreachable(lines[0] if lines else f"git ended with {process.returncode}")


def checkout(repository, commit, seconds=60):
    """The folder with the files of a commit. Throws Unreachable."""
    folder = PUBLIC / f"{repository.replace('/', '-')}-{commit[:12]}"
    if folder.exists():
        return folder
    PUBLIC.mkdir(parents=True, exist_ok=True)
    work = tempfile.mkdtemp(dir=PUBLIC)
    try:
        git(work, seconds, "init", "--quiet")
        git(work, seconds, "fetch", "--quiet", "--depth", "1", f"https://github.com/{repository}", commit)
        git(work, seconds, "checkout", "--quiet", "FETCH_HEAD")
        try:
            os.rename(work, folder)
        except OSError:
            if not folder.exists():  # otherwise another run was first
                raise
        return folder
    except Unreachable as reason:
        raise Unreachable(f"github.com/{repository} can't be had: {reason}") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("repository")
    parser.add_argument("commit")
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    try:
        print(checkout(options.repository, options.commit, options.seconds))
    except Unreachable as reason:
        sys.exit(str(reason))


if __name__ == "__main__":
    main()
