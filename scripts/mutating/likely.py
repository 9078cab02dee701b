"""The test files that are likely to catch a mutant: those that share the rarest words with its description and place."""

import collections
import math
import re

WORD = re.compile(r"[a-z]{3,}|[A-Z]+(?=[A-Z][a-z])|[A-Z][a-z]{2,}")


def words(text):
    """Counts the words of a text, with names in camel case taken apart."""
    return collections.Counter(word.lower() for word in WORD.findall(text))


class Likely:
    def __init__(self, root, tests):
        self.root = root
        self.files = {test: {path.name: words(path.stem * 3 + path.read_text()) for path in
                             sorted((root / "Tests" / test).rglob("*Tests.swift"))} for test in tests}

    def of(self, mutant, test, count):
        """The names of the files in the folder `test` that are most like the mutant, at most `count`."""
        files = self.files.get(test) or {}
        text = (self.root / mutant.file).read_text()
        at = text.find(mutant.old)
        asked = words(text[max(0, at - 400):at + 400])
        for word, number in words(" ".join([mutant.what, mutant.new, mutant.file.split("/", 1)[1]])).items():
            asked[word] += 4 * number
        spread = collections.Counter(word for found in files.values() for word in found)
        rarity = {word: math.log((1 + len(files)) / (1 + spread[word])) for word in asked}
        score = {name: sum(math.log1p(asked[word]) * math.log1p(found[word]) * rarity[word] ** 2 for word in asked)
                 / math.sqrt(1 + math.log1p(sum(found.values()))) for name, found in files.items()}
        return sorted(sorted(files), key=lambda name: -score[name])[:count]
