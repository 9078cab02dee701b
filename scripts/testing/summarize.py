"""Shortens a test run's output: prints failures, a line of progress each half minute, and the last line.

  swift test 2>&1 | python3 scripts/testing/summarize.py LOG     the whole output goes to LOG
"""
import re
import sys
import threading
import time

EVERY_SECONDS = 30
ENDED = re.compile(r'^✔ Test (?!run|case)')


class Progress:
    def __init__(self):
        self.began = time.monotonic()
        self.ended = 0
        self.failed = 0
        self.last = ''
        self.done = threading.Event()

    def tell(self):
        while not self.done.wait(EVERY_SECONDS):
            seconds = time.monotonic() - self.began
            print(f'   {seconds:.0f} s: {self.ended} tests ended, {self.failed} failures; {self.last[:90]}', flush=True)


def main():
    progress = Progress()
    threading.Thread(target=progress.tell, daemon=True).start()
    in_failure = False
    with open(sys.argv[1], 'w', encoding='utf-8') as log:
        for raw in sys.stdin.buffer:
            line = raw.decode('utf-8', 'replace')
            log.write(line)
            if ENDED.match(line):
                progress.ended += 1
                progress.last = line.strip()
            if 'recorded an issue' in line:
                progress.failed += 1
            if line.startswith('✘') or 'error:' in line or 'Fatal' in line:
                in_failure = True
                print(line, end='', flush=True)
            elif in_failure and line.startswith(('↳', ' ')):
                print(line, end='', flush=True)
            else:
                in_failure = False
                if line.startswith('✔ Test run'):
                    print(line, end='', flush=True)
    progress.done.set()


main()
