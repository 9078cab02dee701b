"""What is hard to show: huge numbers, other directions, long texts, sixty types, no server, and many rejected changes."""

import json
import urllib.parse

from . import laws

KINDS = [{"name": "title", "type": "string"}, {"name": "aVeryLongFieldNameThatGoesOnAndOn", "type": "string", "optional": True},
         {"name": "count", "type": "int", "default": 0}, {"name": "when", "type": "date", "optional": True},
         {"name": "other", "type": "reference", "to": "Thing", "optional": True}]
TURNED = "bidi-\u202eevil"
THINGS = {"long": {"title": "Lorem ipsum dolor sit amet. " * 80, "count": 9007199254740993}, "least": {"title": "x" * 4000, "count": -9223372036854775808},
          "turned": {"title": "مرحبا بالعالم (1)!"}, "lines": {"title": "one\ntwo\n  three", "when": "2026-01-12T10:11:12.123Z"},
          TURNED: {"title": "safe\u202etxt.exe"}, "i d/with?odd#chars&%20": {"title": "<b>bold</b> & 'quotes'"},
          "refers": {"title": "refers to nothing", "other": "nothing-there"}}
ROWS = "[...document.querySelectorAll('tbody tr')]"


def open_at(browser, address, page, ask):
    """Opens a page by its address, as a bookmark does: nothing was read before."""
    parts = urllib.parse.urlparse(address)
    browser.open("about:blank")
    browser.open(f"{parts.scheme}://{parts.netloc}/#/{page}")
    browser.until(f"the page '{page}' by its address", "document.getElementById('main')?.dataset.ready")
    ask.expect(not browser.run("return document.querySelector('.failure')"), f"the page '{page}' by its address shows no failure: {browser.text()[:300]}")


def began(browser, address):
    browser.open(address)
    browser.until("the overview", "document.getElementById('main')?.dataset.ready")


def ended(browser, process):
    browser.open("about:blank")
    process.terminate()
    process.wait(timeout=120)


def values(browser, estate, ask, pictures):
    """Values as they are, on every page that has them, with a server that is away and sixty types."""
    schema = estate.write("hard.json", {"version": 1, "types": [{"name": "Thing", "fields": KINDS}] + [
        {"name": f"TypeNumber{number:02}OfAnApp", "fields": KINDS} for number in range(59)]})
    estate.tool("db", "create", "hard.bothy", "--schema", schema, "--server", "http://127.0.0.1:9", "--space", "far")
    for id, fields in THINGS.items():
        estate.put("Thing", id, "hard.bothy", **fields)
    process, address = estate.serve("inspect", "hard.bothy")
    began(browser, address)
    for page in ("pending", "records/Thing/long", "timeline"):
        open_at(browser, address, page, ask)
        ask.expect("has no server" not in browser.text(), f"the page '{page}' knows of the server when it is drawn first")
    for page, words in (("records/Thing/long", "9007199254740993"), ("records/Thing/least", "-9223372036854775808"),
                        ("records/Thing/" + urllib.parse.quote(TURNED), "safe⟨U+202E⟩txt.exe"), ("records/Thing/lines", "one\ntwo\n  three")):
        ask.go(browser, page)
        ask.expect(browser.text().count(words) >= 2, f"the page '{page}' shows {words!r} as a field and as a pending change")
    ask.expect(browser.run("return document.querySelector('td.here time')?.innerText") == "2026-01-12 10:11:12.123Z", "a date is compared as a date")
    ask.go(browser, "records/Thing")
    ask.expect("bidi-⟨U+202E⟩evil" in browser.text(), "a character that turns an id is told of")
    ask.expect(browser.run(f"return {ROWS}.some((row) => getComputedStyle(row.querySelector('td bdi') ?? row).unicodeBidi === 'isolate')"),
               "a text has a direction of its own")
    ask.go(browser, "records/Thing/nothing-there")
    ask.expect("It is not on this device" in browser.text(), "what is only referred to has a page that says so")
    ask.expect(browser.text("section[aria-labelledby=referrers] tbody a[title]") == "refers", "and shows the record that refers to it")
    ask.go(browser, "records/Thing/long")
    ask.expect("No record refers to it" in browser.text("section[aria-labelledby=referrers]"), "a record without referrers says so, whatever the number of types")
    browser.gather()
    browser.console = [line for line in browser.console if "id=nothing-there" not in line]
    # A record that is younger than a minute has an age in seconds, which grows with each drawing of the page.
    estate.put("Thing", "ends", "hard.bothy", title="one\r\ntwo\rthree")
    wide(browser, ask, pictures)
    grown_old(browser, ask)
    ends_of_lines(browser, estate, ask)
    ended(browser, process)
    written(browser, estate, ask)


def wide(browser, ask, pictures):
    """On a phone: what is looked for is near the top, nothing is beyond the edge, and the section is in view."""
    browser.look("light", 390, 844)
    for page in ("records/Thing", "records/Thing/long", "records/Thing/least", ""):
        ask.go(browser, page)
        ask.expect(browser.run("return document.documentElement.scrollWidth") <= 390, f"the page '{page}' is wider than a phone")
        browser.picture(pictures / f"hard-{page.replace('/', '-') or 'overview'}-phone.png")
    ask.expect(browser.run("""return document.getElementById('needs').getBoundingClientRect().top < document.getElementById('types').getBoundingClientRect().top"""),
               "what needs somebody is above sixty types")
    ask.go(browser, "records/Thing/least")
    height = browser.run("return document.documentElement.scrollHeight")
    ask.expect(height < 3000, f"a text of 4,000 characters is folded, but the page is {height} px high")
    browser.run("document.querySelector('details.long summary').focus()")
    browser.keys("Enter")
    ask.expect("x" * 4000 in browser.text("table.values"), "and unfolds by the keyboard")
    ask.go(browser, "records/Thing/long")
    hidden = browser.run("const box = document.querySelector('table.values').closest('.scroller'); return box.scrollWidth - box.clientWidth")
    ask.expect(hidden <= 1, f"a field's value is beside its name, not {hidden} px beyond the edge")
    ask.go(browser, "records/Thing")
    top = browser.run(f"return {ROWS}[0].getBoundingClientRect().top + scrollY")
    ask.expect(top < 844, f"the first record is on the first screen, below sixty types, not at {top}")
    browser.run("document.querySelector('.types summary').focus()")
    browser.keys("Enter")
    browser.until("the types", "document.querySelector('.types[open] a[href$=\"TypeNumber58OfAnApp\"]')?.checkVisibility()")
    for page in ("packs", "settings", "rejected"):
        ask.go(browser, page)
        ask.expect(browser.run("""const link = document.querySelector('#nav [aria-current]').getBoundingClientRect();
          return link.left >= 0 && link.right <= innerWidth"""), f"the section '{page}' is in view among the sections")
    ask.go(browser, "timeline")
    browser.look()
    ask.lawful(browser, "timeline")
    ask.go(browser, "records/Thing/turned")
    ask.lawful(browser, "records/Thing/turned")


def grown_old(browser, ask):
    """How long ago something was goes on without an event."""
    ask.go(browser, "records/Thing/ends")
    text = browser.text("dl.facts")
    ask.expect("(now)" in text or " ago)" in text, f"the page says how long ago the record was made: {text!r}")
    browser.until("time is seen to pass", "document.querySelector('dl.facts').innerText !== arguments[0]", text, seconds=180)


def ends_of_lines(browser, estate, ask):
    """A text that nobody edits keeps its ends of lines, which the fields of a page can't hold."""
    ask.go(browser, "records/Thing/ends")
    browser.click("#begin-edit")
    browser.until("the form", "document.getElementById('field-count')")
    browser.run("document.getElementById('field-count').focus(); document.getElementById('field-count').select()")
    browser.type("7")
    browser.keys("Enter")
    browser.until("it is saved", "document.getElementById('notice')?.innerText.startsWith('Saved: Thing ends.')")
    fields = json.loads(estate.tool("db", "get", "hard.bothy", "Thing", "ends", "--json"))["fields"]
    ask.expect((fields["title"], fields["count"]) == ("one\r\ntwo\rthree", 7), f"only the edited field is changed: {fields!r}")


def written(browser, estate, ask):
    """A text in a field of any JSON stays a text when it is edited, and numbers may be written in each way."""
    schema = estate.write("kinds.json", {"version": 1, "types": [{"name": "Value", "fields": [
        {"name": "any", "type": "json", "optional": True}, {"name": "share", "type": "double", "optional": True}]}]})
    estate.tool("db", "create", "kinds.bothy", "--schema", schema)
    estate.put("Value", "v", "kinds.bothy", any="5")
    process, address = estate.serve("inspect", "kinds.bothy")
    began(browser, address)
    ask.go(browser, "records/Value/v")
    browser.click("#begin-edit")
    browser.until("the form", "document.getElementById('field-share')")
    ask.expect(browser.run("return document.getElementById('field-any').value") == '"5"', "a text has its quotation marks")
    browser.run("document.getElementById('field-any').focus(); document.getElementById('field-any').select()")
    browser.type('"56"')
    browser.run("document.getElementById('field-share').focus()")
    browser.type(".5")
    browser.keys("Enter")
    browser.until("it is saved", "document.getElementById('notice')?.innerText.startsWith('Saved: Value v.')")
    fields = json.loads(estate.tool("db", "get", "kinds.bothy", "Value", "v", "--json"))["fields"]
    ask.expect(fields == {"any": "56", "share": 0.5}, f"both are as they were written: {fields!r}")
    ended(browser, process)


def empties(browser, estate, ask):
    """States of a file in which nothing is."""
    long = "s" * 120 + ".bothy"
    for file in ("empty.bothy", long):
        estate.tool("db", "create", file, "--schema", estate.path("schema.json"))
    process, address = estate.serve("inspect", "empty.bothy", "--settings", long)
    began(browser, address)
    ask.expect("server has everything" not in browser.text(), "without a server it has nothing")
    ask.expect("--server URL" in browser.text(".needs"), "and the page says how to give one")
    for page in ("pending", "rejected", "journal", "map"):
        ask.go(browser, page)
        ask.expect("server has everything" not in browser.text(), f"nor on the page '{page}'")
    ask.go(browser, "rejected")
    ask.expect("retry, keep local, revert, remove local" in browser.text(".empty"), "decisions have the names of their buttons")
    ask.go(browser, "journal")
    ask.expect("Nothing was lost" in browser.text(".empty"), "the journal lists losses at first")
    browser.click("#only-lost")
    browser.until("an empty list of all decisions", "document.querySelector('main .empty')?.innerText.includes('Nothing was decided')")
    ask.go(browser, "settings")
    ask.expect(long in browser.text("main h2"), "a file of settings is named by its path")
    browser.look("light", 320, 256)
    offences = browser.run(laws.REFLOW)
    ask.expect(not offences, f"enlarged to 400 %, a long path: {offences}")
    browser.look()
    ended(browser, process)


def fill_in(browser, ask, pictures):
    """What the server misses is filled in with the keyboard; a record is added; what can't be read is told of."""
    ask.go(browser, "rejected")
    link = "document.activeElement.innerText === 'Fill in country' && document.activeElement.closest('article').innerText.includes('crowd-4')"
    ask.keyboard_to(browser, "filling in the country", link)
    browser.keys("Enter")
    browser.until("the form, at the field", "document.activeElement.id === 'field-country'")
    browser.picture(pictures / "edit.png")
    ask.lawful(browser, "the form of a record")
    browser.run("document.getElementById('field-nights').focus(); document.getElementById('field-nights').select()")
    browser.type("two")
    browser.keys("Enter")
    browser.until("a number is asked for", "document.activeElement.id === 'edit-problem'")
    ask.expect("nights takes a whole number" in browser.text("#edit-problem"), f"it says how: {browser.text('#edit-problem')!r}")
    ask.expect(browser.run("return document.getElementById('field-nights').value") == "two", "what was typed stays")
    browser.keys("Escape")
    browser.until("Escape closes it", "document.activeElement.id === 'begin-edit' && !document.getElementById('edit')")
    browser.keys("Enter")
    browser.until("the form again", "document.activeElement.id === 'field-title'")
    ask.expect(browser.run("return document.getElementById('field-nights').value") == "0", "with what the record has")
    browser.run("document.getElementById('field-country').focus()")
    browser.type("Iceland")
    browser.keys("Enter")
    browser.until("it is saved", "document.getElementById('notice')?.innerText.startsWith('Saved: Trip crowd-4.')")
    browser.until("and shown", "document.querySelector('table.values')?.innerText.includes('Iceland') && document.activeElement.tagName === 'H1'")
    ask.go(browser, "records/Trip")
    browser.click("#begin-edit")
    browser.type("Added here")
    browser.keys("Enter")
    browser.until("the new record", "document.getElementById('range').innerText === '1–6 of 6' && document.querySelector('main').innerText.includes('Added here')")


def many(browser, estate, ask, pictures):
    """Several rejected changes are decided about at once, with the keyboard; what is undone is found in the journal."""
    estate.tool("db", "create", "crowd.bothy", "--schema", estate.path("schema.json"), "--server", estate.url, "--space", "crowd")
    for number in range(5):
        estate.put("Trip", f"crowd-{number}", "crowd.bothy", title=f"Trip {number}")
    estate.tool("sync", "crowd.bothy")
    process, address = estate.serve("inspect", "crowd.bothy")
    began(browser, address)
    fill_in(browser, ask, pictures)
    ask.go(browser, "rejected")
    cards = "document.querySelectorAll('main article').length"
    ask.expect(browser.run("return document.getElementById('many-revert').getAttribute('aria-disabled')") == "true", "nothing is decided about nothing")
    for number in (1, 2):
        ask.keyboard_to(browser, "the box of a card", f"document.activeElement.closest('label')?.innerText === 'Choose Trip crowd-{number}'")
        browser.keys(" ")
    browser.until("two are chosen", "document.getElementById('ticked').innerText === '2 chosen'")
    ask.lawful(browser, "rejected", keyboard=False)
    browser.run("document.querySelector('main h1').focus()")
    ask.keyboard_to(browser, "reverting many", "document.activeElement.id === 'many-revert'")
    browser.keys("Enter")
    browser.until("the question", "document.querySelector('dialog[open]')")
    browser.picture(pictures / "rejected-many.png")
    ask.expect("Revert: 2 changes?" in browser.text("dialog") and browser.text(":focus") == "Cancel", "it asks first")
    ask.expect("can't be brought back" not in browser.text("dialog") and "journal" in browser.text("dialog"), "and says what becomes of them")
    browser.keys("Escape")
    browser.until("the question is gone", "!document.querySelector('dialog[open]')")
    ask.expect(browser.run("return document.activeElement.id") == "many-revert", "Escape goes back to the button")
    browser.keys("Enter")
    browser.until("the question again", "document.querySelector('dialog[open]')")
    ask.keyboard_to(browser, "the answer", "document.activeElement.id === 'confirm'", limit=6)
    browser.keys("Enter")
    browser.until("two are left", f"{cards} === 2")
    ask.expect(browser.text("#notice").startswith("Revert: 2 changes."), f"what was done is told: {browser.text('#notice')!r}")
    browser.click("#notice a")
    browser.until("the journal, by the notice", "document.getElementById('main').dataset.ready === '#/journal'")
    ask.expect("crowd-1" in browser.text() and "crowd-2" in browser.text() and "Restore" in browser.text(), "both can be restored")
    ask.go(browser, "rejected")
    browser.click("#all")
    browser.click("#many-retry")
    browser.until("retrying needs no question", "document.getElementById('notice').innerText.startsWith('Retry: 2 changes.')")
    ended(browser, process)


def story(browser, estate, ask, address, pictures):
    """Why a title was replaced is on the record's own page, and no other record's decisions are."""
    open_at(browser, address, "records/Trip/trip-6", ask)
    text = browser.text("section[aria-labelledby=story]")
    ask.expect("title was replaced by another device's" in text and "Mine" in text and "Theirs" in text, f"the record tells what replaced its title: {text!r}")
    ask.expect("fieldByField" not in text, "a policy is told by what it does")
    others = browser.run("return [...document.querySelectorAll('main article h3 a')].filter((each) => each.innerText !== 'trip-6').length")
    ask.expect(others == 0, "only decisions about this record are on its page")
    browser.picture(pictures / "record-story.png")
    ask.lawful(browser, "records/Trip/trip-6")


def hard(browser, estate, ask, pictures):
    values(browser, estate, ask, pictures)
    empties(browser, estate, ask)
    many(browser, estate, ask, pictures)
