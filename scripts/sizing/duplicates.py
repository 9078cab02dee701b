"""Finds what Swift sources have twice, by tokens; texts and numbers count by their kind alone.

`equal` and `renamed` are functions of the same tokens, or the same but for names that are exchanged throughout. `block`
is a longest run of equal tokens in two files, outside of such functions. Runs of less than 15 different tokens are lists.
"""
import collections
import re

FUNCTION, BLOCK, KINDS = 40, 60, 15
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|#*""".*?"""#*|"(?:\\.|[^"\\\n])*"|\d[\w.]*|[A-Za-z_@#$]\w*|\n|[^\s\w]', re.S)
WORDS = set("""as async await break case catch class default defer do else enum extension false for func guard if in init is let nil public
    private package static struct return self Self some any super switch throw throws true try var where while mutating""".split())
ASSIGNMENTS = re.compile(r"\{( self \. \w+ = \w+)* \}")


def tokens(text):
    line, found = 1, []
    for word in TOKEN.findall(text):
        if word != "\n" and not word.startswith(("//", "/*")):
            found.append(('""' if '"' in word else "0" if word[0].isdigit() else word, line))
        line += word.count("\n")
    imports = {line for word, line in found if word == "import"}
    return [each for each in found if each[1] not in imports]


def functions(words):
    for at in (place for place, word in enumerate(words) if word in ("func", "init", "subscript") and words[place - 1] not in ".\\"):
        depth, start = 0, None
        for place in range(at + 1, len(words)):
            if start is None and not depth and words[place] in ("{", "}", "func", "init", "subscript", "var", "let"):
                if words[place] != "{":
                    break
                start = place
            depth += (words[place] in "([{") - (words[place] in ")]}")
            if start is not None and not depth:
                yield start, place + 1
                break


def renamed(words):
    names = {}
    return tuple(word if word in WORDS or not re.match(r"[A-Za-z_]", word) else names.setdefault(word, len(names)) for word in words)


def pairs(files):
    """Lists (kind, number of tokens, file, line, other file, its line), the longest first."""
    read = {name: tokens(text) for name, text in files.items()}
    plain = {name: [word for word, _ in each] for name, each in read.items()}
    whole, runs, seen, found = collections.defaultdict(list), collections.defaultdict(list), collections.defaultdict(set), []
    for name, words in sorted(plain.items()):
        for start, end in functions(words):
            if end - start >= FUNCTION and not ASSIGNMENTS.fullmatch(" ".join(words[start:end])):
                whole[renamed(words[start:end])].append((name, start, end))
        for at in range(len(words) - BLOCK + 1):
            if len(set(words[at:at + BLOCK])) >= KINDS:
                runs[hash(tuple(words[at:at + BLOCK]))].append((name, at, at + BLOCK))
    for groups in (whole, runs):
        for one, start, end, other, begin, stop in ((*a, *b) for same in groups.values() for i, a in enumerate(same) for b in same[i + 1:]):
            kind = "equal" if plain[one][start:end] == plain[other][begin:stop] else "renamed"
            if groups is runs:
                if kind != "equal" or one == other or not seen[one, other].isdisjoint((start + n, begin + n) for n in range(BLOCK)):
                    continue
                kind = "block"
                while end < len(plain[one]) and plain[one][end:end + 1] == plain[other][begin + end - start:begin + end - start + 1]:
                    end += 1
            seen[one, other].update((start + n, begin + n) for n in range(end - start))
            found.append((kind, end - start, one, read[one][start][1], other, read[other][begin][1]))
    return sorted(found, key=lambda each: (-each[1], each))
