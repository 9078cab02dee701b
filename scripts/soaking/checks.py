"""What must hold at the end of a run, from what the processes said and what all devices then hold."""

import os

from . import history as histories

ACCOUNTS, DEPOSIT = 5, 100


def problems(history, records):
    """Sentences; none when all is well. `records` is what every device and the server hold, by type and id."""
    found = [f"process {event['process']} broke: {event['value']}" for event in history if event["type"] == "broken"]
    torn = [event for event in history if event["f"] == "families" and event["type"] == "ok" and event["value"]]
    if torn:
        found.append(f"{len(torn)} reads saw part of a family (10 for a parent, 1 for a child); the first: "
                     f"process {torn[0]['process']} {torn[0]['value']} at {torn[0]['time']}")
    made = models(history, records)
    found += histories.check_bank(made["bank"], ACCOUNTS * DEPOSIT, ACCOUNTS)
    for name, model in made.items():
        if name.startswith("counter"):
            found += [f"{name}: {problem}" for problem in histories.check_counter(model)]
    found += [f"tags: {problem}" for problem in histories.check_set(made["set"])]
    found += _accounts(history, records) + _elements(history, records) + _own(history, records)
    found += _titles(history, records) + _families(history, records)
    return found


def _of(type, records):
    return {id.split("/", 1)[1]: fields for id, fields in records.items() if id.split("/", 1)[0] == type}


def _done(history, name):
    """The values of the operations that are durable for certain, and of those that may be."""
    certain = [event["value"] for event in history if event["f"] == name and event["type"] == "ok"]
    tried = [event["value"] for event in history if event["f"] == name and event["type"] == "invoke"]
    for value in certain:
        tried.remove(value)
    return certain, tried


def _accounts(history, records):
    certain, maybe = _done(history, "transfer")
    balances = [_of("Account", records)[f"a{number}"]["balance"] for number in range(ACCOUNTS)]
    left = list(balances)
    for transfer in certain:
        left[transfer["from"]] += transfer["amount"]
        left[transfer["to"]] -= transfer["amount"]
    explained = {tuple([DEPOSIT] * ACCOUNTS)}
    for transfer in maybe[:14]:
        for state in list(explained):
            state = list(state)
            state[transfer["from"]] -= transfer["amount"]
            state[transfer["to"]] += transfer["amount"]
            explained.add(tuple(state))
    if tuple(left) in explained:
        return []
    return [f"the balances {balances} are not what the {len(certain)} acknowledged transfers make"]


def _elements(history, records):
    added, maybe = _done(history, "add")
    removed, half_removed = _done(history, "remove")
    values = [fields["value"] for fields in _of("Element", records).values()]
    present, found = set(values), []
    lost = set(added) - set(removed) - set(half_removed) - present
    if lost:
        found.append(f"acknowledged adds are lost: {sorted(lost)}")
    if present & set(removed):
        found.append(f"what was removed is back: {sorted(present & set(removed))}")
    if present - set(added) - set(maybe):
        found.append(f"nobody added {sorted(present - set(added) - set(maybe))}")
    if len(values) != len(present):
        found.append(f"twice: {sorted(value for value in present if values.count(value) > 1)}")
    return found


def _own(history, records):
    last, later = {}, {}
    for event in history:
        if event["f"] != "own":
            continue
        place = (event["value"]["note"], event["value"]["field"])
        if event["type"] == "ok":
            last[place] = event["value"]["value"]
            later[place] = set()
        else:
            later.setdefault(place, set()).add(event["value"]["value"])
    found = []
    for (note, field), value in last.items():
        now = _of("Note", records).get(note, {}).get(field)
        if now != value and now not in later[(note, field)]:
            found.append(f"{note}.{field} is {now}; its only writer wrote {value} last")
    return found


def _titles(history, records):
    tried = {0} | {event["value"][0][2] for event in history if event["f"] == "txn" and event["value"][0][0] == "w"}
    return [f"the title of {note} is {fields['title']}, which nobody wrote"
            for note, fields in _of("Note", records).items() if fields["title"] not in tried]


def _families(history, records):
    certain, maybe = _done(history, "family")
    parents = _of("Parent", records)
    children = [fields["parent"] for fields in _of("Child", records).values()]
    values = [fields["value"] for fields in parents.values()]
    found = []
    if set(certain) - set(values):
        found.append(f"acknowledged families are lost: {sorted(set(certain) - set(values))}")
    if len(values) != len(set(values)) or set(values) - set(certain) - set(maybe):
        found.append("a family is there twice, or nobody made it")
    for id in parents:
        if children.count(id) != 2:
            found.append(f"the parent {id} has {children.count(id)} children")
    if set(children) - set(parents):
        found.append(f"children without their parents: {sorted(set(children) - set(parents))}")
    return found


# the models of elle-cli


def models(history, records=None):
    """The history as elle-cli's models see it: each by its own operations, with a last read where one is needed."""
    kept = {"bank": ["transfer", "read"], "rw-register": ["txn"]}
    made = {name: [_plain(event) for event in history if event["f"] in kinds] for name, kinds in kept.items()}
    made["set"] = [_plain(event, "add", event["value"]["tag"]) for event in history if event["f"] == "tag"]
    for counter in ("c0", "c1"):
        made[f"counter-{counter}"] = [
            _plain(event, "add", event["value"]["amount"]) for event in history
            if event["f"] == "count" and event["value"]["counter"] == counter]
    if records is not None:
        tags = [tag for fields in _of("Note", records).values() for tag in fields.get("tags") or []]
        _end_with(made["set"], tags)
        for counter in ("c0", "c1"):
            _end_with(made[f"counter-{counter}"], _of("Counter", records)[counter]["n"])
    return made


def _plain(event, name=None, value=None):
    made = {"type": event["type"], "f": name or event["f"], "process": event["process"], "time": event["time"]}
    if "value" in event:
        made["value"] = event["value"] if value is None else value
    return made


def _end_with(model, value):
    time = model[-1]["time"] + 1 if model else 0
    model.append({"type": "invoke", "f": "read", "process": 99, "time": time})
    model.append({"type": "ok", "f": "read", "process": 99, "time": time + 1, "value": value})


def write_histories(folder, history, records=None):
    for name, model in models(history, records).items():
        histories.write(os.path.join(folder, f"{name}.json"), model)
