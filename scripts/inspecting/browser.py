"""Chromium through its own driver: the WebDriver protocol as plain HTTP, and the DevTools commands it passes on."""

import base64
import json
import os
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014",
        "Down": "\ue015", "Shift": "\ue008", "End": "\ue010"}
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    """One window. Everything it asks the network for, and all it says on its console, is kept."""

    def __init__(self, driver="chromedriver", chromium=None, takes_pictures=True):
        self.takes_pictures = takes_pictures
        self.profile = tempfile.TemporaryDirectory(prefix="bothy-chromium-", ignore_cleanup_errors=True)
        self.driver = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                       start_new_session=True)
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                self.root = "http://127.0.0.1:" + line.rsplit(" ", 1)[1].strip().rstrip(".")
                break
        else:
            raise SystemExit("The browser's driver did not start.")
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync",
                     "--disable-extensions", "--force-color-profile=srgb", "--lang=en-GB",
                     f"--user-data-dir={self.profile.name}", "--window-size=1280,860"]
        options = {"args": arguments, "perfLoggingPrefs": {"enableNetwork": True, "enablePage": False}}
        if chromium:
            options["binary"] = chromium
        answer = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}}, bare=True)
        self.session = "/session/" + answer["sessionId"]
        self.requests, self.console = [], []

    def ask(self, method, path, body=None, bare=False):
        data = None if method == "GET" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.root + ("" if bare else self.session) + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise AssertionError(f"{path}: {value['error']}: {value['message'].splitlines()[0]}") from None

    def close(self):
        try:
            self.ask("DELETE", "")
        finally:
            os.killpg(self.driver.pid, signal.SIGTERM)
            self.driver.wait()
            self.profile.cleanup()

    def open(self, address):
        self.ask("POST", "/url", {"url": address})

    def run(self, script, *arguments):
        """The value of a script that is the body of a function."""
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def devtools(self, command, **parameters):
        return self.ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def text(self, selector="main"):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def until(self, what, script, *arguments, seconds=60):
        """Waits for a script to give something true, and returns it with how long that took."""
        began = time.monotonic()
        while True:
            found = self.run("return " + script, *arguments)
            if found:
                return found, time.monotonic() - began
            if time.monotonic() - began > seconds:
                raise AssertionError(f"{what}: not within {seconds} s. The page says:\n{self.text('body')[:1500]}")
            time.sleep(0.02)

    def keys(self, *names):
        """Presses keys one after another; a name with + holds the first down."""
        actions = []
        for name in names:
            parts = [KEYS.get(part, part) for part in (name.split("+") if len(name) > 1 else [name])]
            actions += [{"type": "keyDown", "value": part} for part in parts]
            actions += [{"type": "keyUp", "value": part} for part in reversed(parts)]
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def type(self, text):
        self.keys(*text)

    def click(self, selector):
        found = self.ask("POST", "/element", {"using": "css selector", "value": selector})
        self.ask("POST", f"/element/{found[ELEMENT]}/click")

    def point(self, x, y):
        """Clicks at a place of the window."""
        for what in ("mousePressed", "mouseReleased"):
            self.devtools("Input.dispatchMouseEvent", type=what, x=x, y=y, button="left", clickCount=1)

    def drag(self, x, y, right, down):
        """Presses at a place of the window, goes so far, lets go, and goes on."""
        mouse = lambda what, x, y, **more: self.devtools("Input.dispatchMouseEvent", type=what, x=x, y=y, **more)
        mouse("mousePressed", x, y, button="left", clickCount=1)
        for step in (1, 2):
            mouse("mouseMoved", x + right * step / 2, y + down * step / 2, button="left", buttons=1)
        mouse("mouseReleased", x + right, y + down, button="left", clickCount=1)
        mouse("mouseMoved", x, y)

    def look(self, scheme="light", width=1280, height=860, motion="no-preference"):
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme},
                                                              {"name": "prefers-reduced-motion", "value": motion}])
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                      mobile=width < 600)

    def picture(self, path, whole=True):
        # What was laid out anew is painted with the next frame.
        self.devtools("Runtime.evaluate", awaitPromise=True,
                      expression="new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        if not self.takes_pictures:
            return
        # The first picture of a page may be of an earlier frame, so the second is kept.
        for _ in range(2):
            shot = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def gather(self):
        """Takes in what the browser has logged since the last time."""
        for entry in self.ask("POST", "/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
        self.console += [f"{entry['level']}: {entry['message']}" for entry in self.ask("POST", "/se/log", {"type": "browser"})]

    def accessibility(self):
        """The tree that screen readers get, without what they are not told of."""
        nodes = self.devtools("Accessibility.getFullAXTree")["nodes"]
        found = []
        for node in nodes:
            if node.get("ignored"):
                continue
            value = lambda name: (node.get(name) or {}).get("value")
            found.append({"role": value("role"), "name": value("name") or "", "description": value("description") or "", "properties": {
                each["name"]: each["value"].get("value") for each in node.get("properties", [])}})
        return found
