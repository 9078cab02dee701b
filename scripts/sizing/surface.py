"""Reads types and public symbols from the text of Swift sources, without a build; the compiler's count differs by a few."""
import re

from sizing.duplicates import tokens

TYPES = {"struct", "class", "enum", "protocol", "actor"}
DECLARATIONS = TYPES | {"func", "var", "let", "init", "subscript", "typealias", "associatedtype", "macro", "extension", "case", "import"}
MODIFIERS = re.compile(r"public|open|package|internal|private|fileprivate|static|final|mutating|nonmutating|indirect|lazy|weak|unowned"
                       r"|override|convenience|required|nonisolated|isolated|prefix|postfix|infix|consuming|borrowing|dynamic|async|[@#].*")


class Scope:
    def __init__(self, kind, name, is_public):
        self.kind, self.name, self.is_public = kind, name, is_public


def declarations(text):
    """Each declaration: (kind, name, True if it is public by itself and its surroundings, the name of the outermost type, depth)."""
    words = [word for word, _ in tokens(text)]
    scopes, pending, modifiers, at = [Scope("file", "", True)], None, set(), 0
    while at < len(words):
        word, before = words[at], words[at - 1] if at else ""
        if word == "{":
            scopes.append(pending or Scope("body", "", False))
            pending = None
        elif word == "}":
            scopes.pop()
            modifiers = set()
        elif scopes[-1].kind == "body" or before in (".", "\\"):
            pass
        elif MODIFIERS.fullmatch(word) and (word != "class"):
            modifiers.add(word)
            if words[at + 1:at + 2] == ["("]:  # such as private(set) and @available(…)
                start, depth = at + 1, 0
                for at in range(start, len(words)):
                    depth += (words[at] == "(") - (words[at] == ")")
                    if not depth:
                        break
                if word in ("private", "fileprivate", "package", "internal"):
                    modifiers.discard(word)
        elif word == "class" and words[at + 1:at + 2] in (["func"], ["var"]):
            pass
        elif word in DECLARATIONS:
            scope, name = scopes[-1], "".join(words[at + 1:at + 2])
            own = bool(modifiers & {"public", "open"})
            implied = scope.kind in ("protocol", "public extension") or word == "case" and scope.kind == "enum"
            seen = scope.is_public and (own or implied and not modifiers & {"private", "fileprivate", "package", "internal"})
            outer = next((each.name for each in scopes[1:]), name)
            if word == "case":
                at, names = cases(words, at)
                yield from (("case", each, seen and scope.kind == "enum", outer, len(scopes) - 1) for each in names)
                modifiers = set()
                continue
            if word not in ("extension", "import"):
                yield word, name, seen, outer, len(scopes) - 1
            if word in TYPES:
                pending = Scope(word, name, seen)
            elif word == "extension":
                pending = Scope("public extension" if own else "extension", name, scope.is_public)
            else:
                pending = None
            modifiers = set()
        at += 1


def cases(words, at):
    """The names of a `case` of an enumeration, and the place after them."""
    names, depth, expects = [], 0, True
    for place in range(at + 1, len(words)):
        word = words[place]
        if not depth and expects:
            names.append(word)
            expects = False
        elif not depth and word == ",":
            expects = True
        elif not depth and (word in DECLARATIONS or word in "{}" or MODIFIERS.fullmatch(word)):
            return place, names
        depth += (word in "([") - (word in ")]")
    return len(words), names


def survey(modules):
    """For {module: {file: text}}: the public symbols of each module, all types, top-level types, and those that one other file names."""
    found = {module: {name: list(declarations(text)) for name, text in files.items()} for module, files in modules.items()}
    every = [each for files in found.values() for declared in files.values() for each in declared]
    hidden = {name for kind, name, seen, _, depth in every if kind in TYPES | {"typealias"} and depth == 0 and not seen}
    hidden -= {name for kind, name, seen, _, depth in every if kind in TYPES | {"typealias"} and depth == 0 and seen}
    public = {module: sum(seen and outer not in hidden for declared in files.values() for _, _, seen, outer, _ in declared)
              for module, files in found.items()}
    words = {name: {word for word, _ in tokens(text)} for files in modules.values() for name, text in files.items()}
    homes = {}
    for files in found.values():
        for file, declared in files.items():
            for kind, name, _, _, depth in declared:
                if kind in TYPES and depth == 0:
                    homes.setdefault(name, set()).add(file)
    users = {}
    for file, named in words.items():
        for name in named & homes.keys():
            users.setdefault(name, set()).add(file)
    once = sum(len(users[name] - files) == 1 for name, files in homes.items())
    return public, sum(kind in TYPES for kind, *_ in every), len(homes), once
