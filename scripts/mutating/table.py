"""The table of mutants, table.toml, and what is wrong with it."""

import pathlib
import re
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
LEAST = 150
KEYS = {"number", "file", "what", "old", "new", "tests"}


class Mutant:
    def __init__(self, entry):
        self.number, self.file, self.what = entry["number"], entry["file"], entry["what"]
        self.old, self.new, self.tests = entry["old"], entry["new"], entry["tests"]

    @property
    def module(self):
        return self.file.split("/")[1]


def load():
    """The mutants in the order of their numbers. Raises ValueError for an entry of another shape."""
    entries = tomllib.loads((HERE / "table.toml").read_text())["mutant"]
    for entry in entries:
        if set(entry) != KEYS:
            raise ValueError(f"The mutant {entry.get('number')} has other members than {', '.join(sorted(KEYS))}.")
    return sorted(map(Mutant, entries), key=lambda mutant: mutant.number)


def problems(mutants, root):
    """A sentence for each mutant that can't be made in the tree at `root`."""
    found, seen, places = [], set(), {}
    if len(mutants) < LEAST:
        found.append(f"There are {len(mutants)} mutants; at least {LEAST} are wanted.")
    for mutant in mutants:
        name = f"Mutant {mutant.number} ({mutant.file}: {mutant.what})"
        if mutant.number in seen:
            found.append(f"{name}: the number is taken by another. Give it one of its own.")
        seen.add(mutant.number)
        if set(re.findall(r"\bmutant\((\d+)\)", mutant.new)) != {str(mutant.number)}:
            found.append(f"{name}: what replaces the text names no mutant({mutant.number}), or another one.")
        for test in mutant.tests:
            if not ((root / test).is_file() if test.startswith("scripts/") else (root / "Tests" / test).is_dir()):
                found.append(f"{name}: there is no {test} to catch it.")
        if not mutant.tests:
            found.append(f"{name}: nothing is named that is to catch it.")
        path = root / mutant.file
        text = path.read_text() if path.is_file() else ""
        count = text.count(mutant.old)
        if count != 1:
            found.append(f"{name}: its text is found {count} times in place of once. Make it fit the source again:\n"
                         f"    {mutant.old}")
            continue
        start = text.index(mutant.old)
        places.setdefault(mutant.file, []).append((start, start + len(mutant.old), mutant.number))
    for file, ranges in places.items():
        ranges.sort()
        for (_, end, first), (start, _, second) in zip(ranges, ranges[1:]):
            if start < end:
                found.append(f"Mutants {first} and {second} change the same text of {file}.")
    return found


def mutated(text, mutants):
    """The text of a file with each of its mutants behind its number."""
    for start, mutant in sorted(((text.index(mutant.old), mutant) for mutant in mutants), key=lambda pair: -pair[0]):
        text = text[:start] + mutant.new + text[start + len(mutant.old):]
    return text


SWITCH = '''import Foundation

/// The mutant of scripts/mutants that is switched on.
private let chosen = ProcessInfo.processInfo.environment["BOTHY_MUTANT"].flatMap { Int($0) }

func mutant(_ number: Int) -> Bool { chosen == number }
'''
