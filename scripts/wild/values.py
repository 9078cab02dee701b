"""Wild values: what a field of each kind may have, and what names may be, at the edges of both."""

import base64
import json
import uuid

# The type of lists of people.
LIST = "bothy_list"
TEXTS = ["", " ", "\u0000", "a\u0000b", "é", "e\u0301", "ﬁ", "ß", "İ", "\u202e\u202d", "\ufeff", "\uffff", "\u2028\u2029", "👩‍👩‍👧‍👦🏳️‍🌈",
         "\U0010ffff", "\r\n", "\t", "\x7f", "\x1b[31m", "'; DROP TABLE record; --", '"\\/\b', "null", "true", "NaN", "-0",
         "1e400", "{}", "[]", "%00%2F", "../..", "<script>", "${x}", "{{x}}", "\\u0000", "ä" * 300, "x" * 4000, "漢字かな交じり文",
         "العربية", "\u0300\u0301\u0302" * 20, "🏴\U000e0067\U000e007f", "0", "007", "2026-02-30", "__proto__", "constructor"]
WHOLE = [0, 1, -1, 2 ** 31, -2 ** 31 - 1, 2 ** 53 - 1, 2 ** 53, 2 ** 53 + 1, -2 ** 53 - 1, 2 ** 63 - 1, -2 ** 63, 10 ** 18]
NUMBERS = [0.0, -0.0, 0.1, 1 / 3, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308, 1e22, 1e-7,
           123456789.123456789, 2 ** 53 + 1, 2 ** 63 - 1, 1e15, 1e16, 4.35, 100.0, float(2 ** 63)]
# Milliseconds since 1970: the years 1, 1970, 9999 and far beyond, a leap day, the end of 32 bits.
TIMES = [0, -1, 1, -62_135_596_800_000, -62_135_596_800_001, 253_402_300_799_999, 253_402_300_800_000, 1_709_164_800_000,
         2_147_483_647_999, 2 ** 53, 2 ** 53 + 1, 2 ** 63 - 1, -2 ** 63, -12_219_292_800_000]
PLACES = [(0, 0), (90, 180), (-90, -180), (90, -180), (-0.0, 180), (59.9138688, 10.7522454), (1e-320, -1e-320), (89.99999999999999, 0)]


class Values:
    """Draws values. What it gives is a pair: as sent, and as it should come back."""

    def __init__(self, random):
        self.random = random

    def text(self):
        drawn = self.random.random()
        if drawn < 0.7:
            return self.random.choice(TEXTS)
        if drawn < 0.85:
            return self.random.choice(TEXTS) + self.random.choice(TEXTS)
        length = self.random.choice([1, 3, 20, 200])
        points = [0x20, 0x7e, 0x7ff, 0xd7ff, 0xffff, 0x10ffff]
        return "".join(chr(point) for point in (self.random.randrange(1, self.random.choice(points)) for _ in range(length))
                       if not 0xd800 <= point < 0xe000)

    def whole(self, values=WHOLE):
        value = self.random.choice(values)
        if self.random.random() < 0.3:
            value = max(-2 ** 63, min(2 ** 63 - 1, value + self.random.randrange(-5, 6)))
        return value

    def number(self):
        return self.random.choice([*NUMBERS, self.random.uniform(-1, 1), 10 ** self.random.uniform(-300, 300)])

    def json(self, depth=0):
        """Any value that JSON has. Names of members differ in more than their Unicode form, as an object has one of these."""
        kind = self.random.randrange(8 if depth < 6 else 5)
        if kind < 5:
            return [None, self.random.random() < 0.5, self.whole(), self.number(), self.text()][kind]
        if kind == 5:
            value = self.random.choice([[], {}, 0, ""])
            for _ in range(self.random.choice([0, 1, 25])):
                value = [value] if self.random.random() < 0.5 else {self.random.choice(["a", "", "0", "é"]): value}
            return value
        count = self.random.choice([0, 1, 2, 5, 30 if depth == 0 else 3])
        if kind == 6:
            return [self.json(depth + 1) for _ in range(count)]
        return {self.random.choice(["", " ", "a", "A", "é", "$", "\u0000", "a.b", "[0]", '"', "id", f"n{number}"]): self.json(depth + 1)
                for number in range(count)}

    def of(self, kind, names):
        """A value of a field of a kind, and what comes back. `names` are ids of records to refer to."""
        if kind == "string":
            sent = self.text()
        elif kind == "int":
            sent = self.whole()
            if abs(sent) < 2 ** 53 and self.random.random() < 0.2:
                return float(sent), sent
        elif kind == "double":
            sent = self.number()
            return sent, float(sent)
        elif kind == "bool":
            sent = self.random.random() < 0.5
        elif kind == "date":
            sent = self.whole(TIMES)
            if self.random.random() < 0.2:
                return self.random.choice([("2024-02-29T23:59:59.999Z", 1_709_251_199_999), ("1969-12-31T23:59:59Z", -1000),
                                           ("2026-01-01T01:00:00+01:00", 1_767_225_600_000)])
        elif kind == "uuid":
            sent = str(uuid.UUID(int=self.random.choice([0, 2 ** 128 - 1, self.random.getrandbits(128)])))
        elif kind == "data":
            data = self.random.randbytes(self.random.choice([0, 1, 2, 3, 100, 3000]))
            sent = base64.b64encode(data).decode()
        elif kind == "coordinate":
            latitude, longitude = self.random.choice(PLACES)
            sent = {"lat": latitude, "lon": longitude}
        elif kind == "reference":
            sent = self.random.choice(names)
        elif kind == "references":
            sent = list(dict.fromkeys(self.random.choice(names) for _ in range(self.random.choice([0, 1, 3, 20]))))
        else:
            sent = self.json()
        return sent, sent

    def misfit(self):
        """A value that may not fit."""
        return self.random.choice([None, True, -1, 1.5, "", "x", [], {}, [[]], {"lat": 91, "lon": 0}, {"lat": "0"}, "2026-13-01",
                                   2 ** 64, 1e308, "A" * 37, "=", [None]])


def same(one, other):
    """True if two values are the same to JSON: a number is one however it is written."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return one == other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def short(value):
    text = json.dumps(value)
    return text if len(text) < 400 else text[:400] + "…"
