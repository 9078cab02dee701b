"""The page of `bothy admin page` in a browser: what it shows of a database and of servers, of which one is away."""

import json
import sqlite3
import time
import urllib.error
import urllib.parse
import urllib.request

PAGES = {"": "Overview", "spaces": "Spaces", "spaces/hut": "Space hut", "refusals": "Refusals", "limits": "Limits",
         "webhooks": "Feed and webhooks", "upkeep": "Upkeep", "storage": "Storage", "servers": "Servers"}
AWAY = "http://127.0.0.1:9"
SPACES = 120


class Hut:
    """A server with tokens, many small spaces, two devices of one space, and things that it refused."""

    def __init__(self, estate):
        self.estate, self.database = estate, estate.path("operator.sqlite")
        made = json.loads(estate.tool("admin", "token", "create", "operator-tokens.json", "--principal", "ada", "--space", "*", "--json"))
        self.token = made["token"]
        self.serve(0)
        for number in range(SPACES):
            self.put(f"space-{number:03}", "t1", "x")
        for name in ("one", "two"):
            estate.tool("db", "create", f"operator-{name}.bothy", "--schema", estate.path("schema.json"), "--server", self.url, "--space", "hut",
                        "--token", self.token)
        estate.put("Trip", "t1", "operator-one.bothy", title="A title that no operator sees", country="Norway")
        estate.tool("sync", "operator-one.bothy")
        estate.tool("sync", "operator-one.bothy")  # with a cursor, so that the server notes how far it is
        for number in range(4):
            estate.put("Trip", f"u{number}", "operator-two.bothy", title="Theirs", country="Norway")
        estate.put("Trip", "refused", "operator-two.bothy", title="Without a country")
        estate.tool("sync", "operator-two.bothy")
        for _ in range(3):
            self.ask("/v1/spaces/hut/changes", token="wrong")

    def serve(self, port):
        self.process, self.url = self.estate.serve(
            "serve", "--port", port, "--database", self.database, "--schema", self.estate.path("server.json"), "--log-level", "critical",
            "--tokens", self.estate.path("operator-tokens.json"), "--connections", "321")

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=120)

    def ask(self, path, method="GET", body=None, token=None):
        request = urllib.request.Request(self.url + path, body and json.dumps(body).encode(), method=method, headers={
            "Authorization": f"Bearer {token or self.token}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def put(self, space, id, title):
        return self.ask(f"/v1/spaces/{space}/records/Trip/{id}", "PUT", {"fields": {"title": title, "country": "Norway"}})


def document(browser, name):
    """What a page has as JSON, asked for with the browser's cookie."""
    found = browser.devtools("Runtime.evaluate", awaitPromise=True, returnByValue=True,
                             expression=f"fetch({json.dumps('/api/operator/' + name)}).then((answer) => answer.text())")
    return json.loads(found["result"]["value"])


def walk(browser, pictures, ask):
    """Every page: its title, landmarks, names, pictures, and that no content of records is on it."""
    for page, title in PAGES.items():
        took = ask.go(browser, page)
        ask.expect(browser.text("main h1") == title, f"the operator's page '{page}' has the title {browser.text('main h1')!r}")
        ask.expect(not browser.run("return document.querySelector('.failure')"), f"the operator's page '{page}' shows no failure")
        ask.expect("no operator sees" not in browser.text("body"), f"no content is on the page '{page}'")
        tree = browser.accessibility()
        roles = {node["role"] for node in tree}
        ask.expect({"banner", "navigation", "main", "heading", "status"} <= roles, f"the page '{page}' lacks landmarks: {sorted(roles)}")
        nameless = [node for node in tree if node["role"] in ("button", "link", "textbox", "searchbox", "table", "region", "meter", "img")
                    and not node["name"].strip()]
        ask.expect(not nameless, f"on the operator's page '{page}' these have no name: {nameless}")
        ask.expect(browser.run("return document.activeElement.tagName") == "H1" or page == "", f"the focus is on the title of '{page}'")
        name = "operator-" + (page or "overview").replace("/", "-")
        browser.picture(pictures / f"{name}.png")
        browser.look("light", 390, 844)
        ask.expect(browser.run("return document.documentElement.scrollWidth") <= 390, f"the operator's page '{page}' is wider than a phone")
        browser.picture(pictures / f"{name}-phone.png")
        ask.lawful(browser, page)
        link = browser.run("return [...document.querySelectorAll('main a')].find((each) => each.innerText === 'This page as JSON')?.pathname")
        ask.expect(link and "now" in document(browser, link.split("/")[-1] + ("?name=hut" if page == "spaces/hut" else "")), f"'{page}' is there as JSON")
        print(f"  {page or 'overview':22} {took:.2f} s")


def contents(browser, hut, ask):
    """What the pages say is what there is."""
    ask.go(browser, "")
    needs = browser.text(".needs")
    ask.expect(f"{AWAY} has not answered since" in needs, f"the overview tells of the server that is away: {needs!r}")
    ask.expect("ready" in browser.text("#states") and "away" in browser.text("#states"), "each server has its state")
    ask.go(browser, "spaces/hut")
    rows = browser.run("return [...document.querySelectorAll('section:has(#devices) tbody tr')].map((row) => row.innerText)")
    ask.expect("\t4\t" in rows[0], f"the first device is four changes behind: {rows}")
    text = browser.text()
    for words in ("ada", "Rejected changes", "No webhook has progress"):
        ask.expect(words in text, f"the page of the space says {words!r}")
    found = document(browser, "space?name=hut")
    ask.expect(found["records"] == 5 and found["principals"] == [{"principal": "ada", "records": 5, "lists": 0}], f"its counts: {found}")
    ask.expect(sum(entry["count"] for entry in found["rejections"]) == 1, f"one change was rejected: {found['rejections']}")
    ask.go(browser, "refusals")
    ask.expect("unknown" in browser.text() and "/v1/spaces/{space}/changes" in browser.text() and "401" in browser.text(), "refusals by reason and route")
    limit = next(each for each in document(browser, "limits")["limits"] if each["name"] == "connections")
    ask.expect(limit["servers"][0]["value"] == 321 and limit["servers"][0]["peak"] >= 1 and limit["servers"][1]["value"] is None,
               f"a limit in force, and how near it was: {limit}")
    ask.go(browser, "limits")
    browser.look("light", 390, 844)
    ask.expect(browser.run("return document.querySelector('tbody td').getBoundingClientRect().left") < 300, "on a phone a limit's value is beside its name")
    browser.look()
    ask.go(browser, "servers")
    row = browser.run("return [...document.querySelectorAll('tbody tr')].find((each) => each.innerText.startsWith('Answers of 500')).innerText.split('\\t')[1]")
    ask.expect(row.strip() == "0", f"a server that answers with no 500 has none, rather than that it is not known: {row!r}")
    ask.go(browser, "storage")
    ask.expect("Database file" in browser.text() and "Short reads" in browser.text(), "files and transactions")
    ask.go(browser, "upkeep")
    ask.expect(f"bothy admin compact --database {hut.database} " in browser.text(), "upkeep has the command that does it now")
    ask.go(browser, "spaces/nowhere")
    ask.expect("no space 'nowhere'" in browser.text(".failure"), "a missing space is told of")
    # The browser itself notes every answer of 400 and above: this one was meant.
    browser.gather()
    browser.console = [line for line in browser.console if "name=nowhere" not in line]


def pages(browser, ask):
    """The list of spaces with the keyboard alone: pages, an order, a search."""
    ask.go(browser, "spaces")
    browser.until("all spaces are counted", "!document.getElementById('counting')")
    ask.expect(browser.text("#range") == f"1–50 of {SPACES + 1}", f"the first page: {browser.text('#range')!r}")
    ask.keyboard_to(browser, "the next page", "document.activeElement.innerText === 'Next'")
    browser.keys("Enter")
    browser.until("the next page", "document.getElementById('range').innerText.startsWith('51–100')")
    ask.expect(browser.text("tbody th") == "space-049", f"pages follow each other by name: {browser.text('tbody th')!r}")
    browser.run("document.querySelector('main h1').focus()")
    ask.keyboard_to(browser, "the order by changes", "document.activeElement.innerText.startsWith('Changes')")
    browser.keys("Enter")
    browser.until("the space with the most changes", "document.querySelector('th[aria-sort=descending]') && document.querySelector('tbody th').innerText === 'hut'")
    browser.run("document.querySelector('input[name=part]').focus()")
    browser.type("-11")
    browser.keys("Enter")
    browser.until("the search", "document.querySelectorAll('tbody tr').length === 10")
    ask.expect("part=-11" in browser.run("return location.hash"), "the search is in the address")


def follow(browser, hut, ask, pictures):
    """The page follows by itself: a new space, a server that ends and one that comes back."""
    ask.go(browser, "spaces?part=zz")
    ask.expect("No space has this in its name" in browser.text(), "a search without a result says so")
    hut.put("zz-new", "t1", "x")
    browser.until("the new space", "document.querySelector('tbody th')?.innerText === 'zz-new'")
    port = urllib.parse.urlparse(hut.url).port
    ask.go(browser, "servers")
    hut.stop()
    browser.until("the server is missed", f"document.getElementById('banners').innerText.includes('{hut.url} has not answered since')")
    ask.expect("2 of 2 servers away" in browser.text("#answering"), "the frame counts them")
    ask.expect(" ago" not in browser.text("#banners"), "what is read out does not change with each look")
    browser.picture(pictures / "operator-away.png")
    ask.lawful(browser, "servers", keyboard=False)
    hut.serve(port)
    browser.until("it is back", f"!document.getElementById('banners').innerText.includes('{hut.url}')")


def many(browser, hut, ask, count=100_000):
    """The list of very many spaces: each order and a search within a second, and none loads them all."""
    with sqlite3.connect(hut.database, timeout=30) as database:
        database.executemany("INSERT INTO space (name, epoch, head, floor, due, rest) VALUES (?, 'e', ?, 0, ?, 0)",
                             ((f"many-{number:06}", number % 97, 1_900_000_000_000 + number) for number in range(count)))
    for page in ("spaces", "spaces?order=head", "spaces?order=due", "spaces?part=099999", "upkeep", ""):
        print(f"  {page or 'overview':22} {ask.go(browser, page):.2f} s with {count:,} spaces")
    found = document(browser, "spaces?limit=50&after=many-050000&number=0")
    ask.expect(len(found["spaces"]) == 50 and found["spaces"][0]["space"] == "many-050001", "a page begins anywhere")


def operate(browser, estate, pictures, ask):
    """All of it. `ask` has the functions of the calling script: go, expect, lawful, door and keyboard_to."""
    hut = Hut(estate)
    command = ["admin", "page", "--database", hut.database, "--server", hut.url, "--server", AWAY]
    first, address = estate.serve(*command)
    ask.door(address)
    first.terminate()
    first.wait(timeout=120)
    process, address = estate.serve(*command)
    browser.open(address)
    browser.until("the overview", "document.getElementById('main')?.dataset.ready")
    browser.until("the first look", "document.getElementById('answering')?.innerText.includes('1 of 2')")
    walk(browser, pictures, ask)
    contents(browser, hut, ask)
    pages(browser, ask)
    follow(browser, hut, ask, pictures)
    many(browser, hut, ask)
    browser.gather()
    said = [line for line in browser.console if "name=nowhere" not in line]
    began = time.monotonic()
    process.terminate()
    process.wait(timeout=120)
    ask.expect(time.monotonic() - began < 15, "with its page open the program ends soon")
    browser.until("the program is missed", "document.getElementById('offline')")
    ask.expect("bothy admin page" in browser.text("#offline"), "and the page says what to do")
    browser.open("about:blank")
    browser.gather()
    browser.console = said  # a lost stream is told of by the browser itself
    alone, address = estate.serve("admin", "page", "--server", AWAY)
    browser.open(address)
    browser.until("the page without a database", "document.getElementById('main')?.dataset.ready")
    ask.go(browser, "spaces")
    ask.expect("No database was named" in browser.text(), "without a database the page says so")
    browser.open("about:blank")
    alone.terminate()
    alone.wait(timeout=120)
    hut.stop()
