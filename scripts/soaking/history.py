"""Histories of what processes did, in the JSON that elle-cli reads, and small checkers for the simple models.

A history is a list of {"index", "time", "process", "type": invoke|ok|fail|info, "f", "value"}.
"""

import json


def write(path, operations):
    """One JSON array, one operation a line."""
    for index, operation in enumerate(operations):
        operation["index"] = index
    with open(path, "w") as file:
        file.write("[" + ",\n".join(json.dumps(operation) for operation in operations) + "]\n")


def read(path):
    with open(path) as file:
        return json.load(file)


def check_bank(history, total, count=None):
    """Every read sees all accounts, and the same sum."""
    problems = []
    for operation in history:
        if operation["type"] != "ok" or operation["f"] != "read":
            continue
        balances = operation["value"]
        if count is not None and balances and len(balances) != count:
            problems.append(f"a read of process {operation['process']} saw the accounts {sorted(balances)}")
        elif balances and sum(balances.values()) != total:
            problems.append(f"process {operation['process']} read {balances}, "
                            f"which is {sum(balances.values())} and not {total}, at {operation['time']}")
    if len(problems) > 1:
        return [f"{len(problems)} reads saw part of a transfer; the first: {problems[0]}"]
    return problems


def check_counter(history):
    """The last read lies between what was added for certain and what was tried to add."""
    certain = sum(item["value"] for item in history if item["f"] == "add" and item["type"] == "ok")
    tried = sum(item["value"] for item in history if item["f"] == "add" and item["type"] == "invoke")
    reads = [item["value"] for item in history if item["f"] == "read" and item["type"] == "ok"]
    if not reads:
        return ["there is no read"]
    if certain <= reads[-1] <= tried:
        return []
    return [f"the counter is {reads[-1]}; {certain} were added for certain, {tried} at most"]


def check_set(history):
    """The last read has every element that was added for certain, none that nobody added, and none twice."""
    certain = {item["value"] for item in history if item["f"] == "add" and item["type"] == "ok"}
    tried = {item["value"] for item in history if item["f"] == "add" and item["type"] == "invoke"}
    reads = [item["value"] for item in history if item["f"] == "read" and item["type"] == "ok"]
    if not reads:
        return ["there is no read"]
    found, problems = set(reads[-1]), []
    if certain - found:
        problems.append(f"lost: {sorted(certain - found)}")
    if found - tried:
        problems.append(f"never added: {sorted(found - tried)}")
    if len(found) != len(reads[-1]):
        problems.append(f"twice: {sorted(item for item in found if reads[-1].count(item) > 1)}")
    return problems
