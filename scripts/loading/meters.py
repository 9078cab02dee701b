"""What processes have used so far, from /proc: processor time of a whole tree of them, memory of one."""

import os
import time

TICK = os.sysconf("SC_CLK_TCK")


def _stat(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def _children():
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := _stat(name)):
            children.setdefault(int(fields[1]), []).append(int(name))
    return children


def _tree(root):
    children, open_ = _children(), [root]
    while open_:
        process = open_.pop()
        yield process
        open_ += children.get(process, [])


def processor_seconds(root):
    """Of a process, of all below it, and of those that ended and were waited for."""
    return sum(sum(map(int, fields[11:15])) for process in _tree(root) if (fields := _stat(process))) / TICK


def wait_for_rest(root):
    """Until the processes have had next to nothing to do for half a second, a minute at most."""
    for _ in range(120):
        before = processor_seconds(root)
        time.sleep(0.5)
        if processor_seconds(root) - before <= 2 / TICK:
            return


def tree_memory(root):
    """The resident megabytes of a process and of all below it; what they share is counted for each."""
    return sum(map(memory, _tree(root)))


def memory(process):
    """The resident megabytes of one process."""
    with open(f"/proc/{process}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


def idle_share():
    """A reading for `idle_between`."""
    with open("/proc/stat") as file:
        numbers = list(map(int, file.readline().split()[1:9]))
    return numbers[3] + numbers[4], sum(numbers)


def idle_between(before, after):
    """The share of the machine's time that nobody used."""
    return (after[0] - before[0]) / max(1, after[1] - before[1])
