"""A program: a neighbour who pulls and pushes at a steady pace, and asks whether the server lives. Prints a line for each
request: when it began, who asked, the milliseconds, and the status.

    neighbour.py PORT WHO TOKEN SPACE PAUSE

Latencies are measured here, as the attackers keep their own process busy.
"""

import itertools
import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from attacking.wire import Answers, Caller  # noqa: E402

lock = threading.Lock()


def told(who, begin, status):
    with lock:
        print(json.dumps([begin, who, (time.monotonic() - begin) * 1000, status]), flush=True)


def live(port, pause):
    """Keeps a connection, as a balancer does."""
    with Caller(port, Answers(), timeout=8) as caller:
        while True:
            begin = time.monotonic()
            told("livez", begin, caller.ask("GET", "/livez")[0])
            time.sleep(5 * pause)


def work(port, who, token, space, pause):
    cursor, mark = None, f"{who}-{os.getpid()}"
    with Caller(port, Answers(), token, timeout=20) as caller:
        for number in itertools.count():
            if number % 2:
                more = {"pulls": [{"container": who, **({"cursor": cursor} if cursor else {})}]}
                operations = []
            else:
                operations = [{"id": f"{mark}-{number:08}", "kind": "insert", "type": "Item", "container": who,
                               "record": f"{mark}-{number}", "fields": {"text": f"the note {number} of {who}"}}]
                more = {}
            begin = time.monotonic()
            status, answer = caller.sync(space, operations, device=who, **more)
            if status == 200 and operations and answer["outcomes"][0]["outcome"] not in ("applied", "duplicate"):
                status = answer["outcomes"][0]["outcome"]
            if status == 200 and not operations:
                cursor = answer["pages"][0]["cursor"]
            told("pull" if number % 2 else "push", begin, status)
            time.sleep(pause)


if __name__ == "__main__":
    port, who, token, space, pause = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], float(sys.argv[5])
    if who == "livez":
        live(port, pause)
    else:
        work(port, who, token, space, pause)
