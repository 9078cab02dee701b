"""What every page must keep, whatever it shows: axe-core's rules and a few more, in both themes, on a phone, enlarged, with the keyboard.

axe-core is taken from a package of PyPI, which carries it, once for a machine. Its rules of WCAG 2.2, levels A and AA, and
its best practices all hold. Beyond them: focus that can be seen and follows the document, reflow at 400 %, spaced text, and no
motion where none is wanted.
"""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

PACKAGE = "axe-playwright-python==0.1.8"
LOOKS = [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)]


class Axe:
    """The source of axe-core."""

    def __init__(self):
        home = pathlib.Path(tempfile.gettempdir(), "bothy-" + PACKAGE.replace("==", "-"))
        source = home / "axe_playwright_python/axe.min.js"
        if not source.exists():
            if not importlib.util.find_spec("pip"):
                subprocess.run(["bash", "-c", ". scripts/install-dependencies; need python3-pip"], check=True,
                               cwd=pathlib.Path(__file__).resolve().parent.parent.parent)
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", home, PACKAGE], check=True)
        self.source = source.read_text()

    def offences(self, browser):
        """The rules that the page breaks now, each as a line."""
        if not browser.run("return Boolean(window.axe)"):
            browser.run(self.source)
        tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
        found = browser.devtools("Runtime.evaluate", awaitPromise=True, returnByValue=True, expression=f"""
            axe.run(document, {{ preload: false, resultTypes: ['violations'], runOnly: {json.dumps(tags)} }}).then((answer) =>
              JSON.stringify(answer.violations.map((rule) => rule.id + ': ' + rule.nodes.length + ' times, such as ' + rule.nodes[0].html.slice(0, 160))))""")
        if "value" not in found["result"]:
            raise AssertionError(f"axe-core did not run: {found}")
        return json.loads(found["result"]["value"])


# Each offence as a line. Text needs a contrast of 4.5, large text of 3.
RULES = """
const colour = (text) => {
  const found = text.match(/[\\d.]+/g).map(Number), scale = text.startsWith('color(') ? 255 : 1;
  return [found[0] * scale, found[1] * scale, found[2] * scale, found[3] ?? 1];
};
const over = (top, below) => [0, 1, 2].map((part) => top[part] * top[3] + below[part] * (1 - top[3])).concat(1);
const light = (part) => { const value = part / 255; return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; };
const luminance = (one) => 0.2126 * light(one[0]) + 0.7152 * light(one[1]) + 0.0722 * light(one[2]);
const ground = (element) => {
  const layers = [];
  for (let each = element; each; each = each.parentElement) layers.push(colour(getComputedStyle(each).backgroundColor));
  const page = matchMedia('(prefers-color-scheme: dark)').matches ? [0, 0, 0, 1] : [255, 255, 255, 1];
  return layers.reverse().reduce((below, top) => over(top, below), page);
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const element = node.parentElement;
  if (!node.textContent.trim() || element.closest('svg, [disabled], [aria-disabled=true], script, style, option')) continue;
  const box = element.getBoundingClientRect(), style = getComputedStyle(element);
  if (!box.width || !box.height || style.visibility !== 'visible' || box.width < 2) continue;
  const back = ground(element), front = over(colour(style.color), back);
  const [high, low] = [luminance(front), luminance(back)].sort((one, other) => other - one);
  const ratio = (high + 0.05) / (low + 0.05), size = parseFloat(style.fontSize);
  const isLarge = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700;
  if (ratio < (isLarge ? 3 : 4.5)) found.push(`contrast ${ratio.toFixed(2)} of '${node.textContent.trim().slice(0, 30)}' (${element.tagName}.${element.className})`);
}
const ids = [...document.querySelectorAll('[id]')].map((each) => each.id);
for (const id of new Set(ids.filter((each, place) => ids.indexOf(each) !== place))) found.push(`the id '${id}' is there twice`);
let level = 0;
for (const head of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
  const next = Number(head.tagName[1]);
  if (next > level + 1) found.push(`'${head.textContent}' is an h${next} after an h${level}`);
  level = next;
}
if (!document.documentElement.lang) found.push('the page has no language');
if (!document.title) found.push('the page has no title');
for (const each of document.querySelectorAll('[aria-controls], [aria-labelledby], [aria-describedby]')) {
  for (const name of ['aria-controls', 'aria-labelledby', 'aria-describedby']) {
    for (const id of (each.getAttribute(name) || '').split(/\\s+/)) {
      if (id && !document.getElementById(id)) found.push(`${name} names '${id}', which isn't there`);
    }
  }
}
// People who speak to the page say the text of a button.
const spoken = (text) => text.toLowerCase().replace(/[^\\p{L}\\p{N}]+/gu, ' ').trim();
for (const each of document.querySelectorAll('button[aria-label], a[aria-label]')) {
  const [name, shown] = [each.getAttribute('aria-label'), each.innerText];
  if (!spoken(name).includes(spoken(shown))) found.push(`'${name}' is the name of what shows '${shown}'`);
}
for (const each of document.querySelectorAll('button, input, select')) {
  const box = each.getBoundingClientRect();
  if (box.width && box.height && Math.min(box.width, box.height) < 24 && !each.closest('p, li, td, dd, figcaption, label')) {
    found.push(`${each.tagName} '${each.innerText || each.id}' has ${Math.round(box.width)} by ${Math.round(box.height)} px`);
  }
}
return [...new Set(found)];
"""

# What runs or would run on its own, with motion reduced.
MOTION = """
const found = [];
for (const each of document.querySelectorAll('*')) {
  for (const part of ['', '::before', '::after']) {
    const style = getComputedStyle(each, part);
    const lasts = (text) => text.split(',').some((time) => parseFloat(time) > 0);
    if (style.animationName !== 'none' && lasts(style.animationDuration)) found.push(`${each.tagName}.${each.className}${part} is animated`);
    if (lasts(style.transitionDuration)) found.push(`${each.tagName}.${each.className}${part} has a transition`);
  }
}
return [...new Set(found)];
"""

# Parts that are wider than the page, or that lose text, but for boxes that scroll by themselves.
REFLOW = """
const found = [], wide = document.documentElement.scrollWidth;
if (wide > document.documentElement.clientWidth) found.push(`the page is ${wide} px wide`);
for (const each of document.querySelectorAll('main *, #top *, #nav *')) {
  const style = getComputedStyle(each), box = each.getBoundingClientRect();
  if (!box.width || style.overflowY !== 'hidden' || style.clipPath !== 'none' || each.closest('svg')) continue;
  if (each.scrollHeight > each.clientHeight + 2) found.push(`${each.tagName}.${each.className} cuts its text`);
}
return [...new Set(found)];
"""

# What the keyboard can come to, in the order of the document; each with a number.
STOPS = """
const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')].filter((each) =>
  each.tabIndex >= 0 && !each.disabled && each.checkVisibility({ visibilityProperty: true }) && each.getClientRects().length);
all.forEach((each, place) => { each.dataset.stop = place; });
return all.filter((each) => each.tabIndex > 0).length ? -1 : all.length;
"""

# Where the focus is, and what is wrong with how it shows.
FOCUS = """
const each = document.activeElement;
if (!each || each === document.body) return null;
const style = getComputedStyle(each), box = each.getBoundingClientRect(), name = (each.innerText || each.getAttribute('aria-label') || each.id).slice(0, 40);
const faults = [];
const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
if (!outlined && style.boxShadow === 'none') faults.push(`the focus on '${name}' can't be seen`);
const x = Math.min(Math.max(box.x + box.width / 2, box.x + 1), innerWidth - 1), y = box.y + box.height / 2;
if (box.bottom <= 0 || box.top >= innerHeight) faults.push(`the focus on '${name}' is outside of the window`);
else if (!each.closest('svg')) {
  const top = document.elementFromPoint(x, Math.min(Math.max(y, 0), innerHeight - 1));
  if (top && !each.contains(top) && !top.contains(each)) faults.push(`the focus on '${name}' is below ${top.tagName}.${top.className}`);
}
return { stop: each.dataset.stop === undefined ? -1 : Number(each.dataset.stop), faults };
"""


def walk_by_keyboard(browser, page, expect):
    """Comes to everything by Tab, in the order of the document, and sees where the focus is."""
    count = browser.run(STOPS)
    expect(count >= 0, f"on the page '{page}' a tabindex changes the order")
    browser.run("document.activeElement.blur(); getSelection().removeAllRanges(); scrollTo(0, 0); document.body.tabIndex = -1; document.body.focus()")
    last = -1
    for _ in range(count):
        browser.keys("Tab")
        at = browser.run(FOCUS)
        expect(at and at["stop"] == last + 1, f"on the page '{page}' Tab goes from stop {last} of {count} to {at}")
        expect(not at["faults"], f"on the page '{page}': {'; '.join(at['faults'])}")
        last = at["stop"]
    browser.run("document.body.removeAttribute('tabindex'); document.querySelectorAll('[data-stop]').forEach((each) => { delete each.dataset.stop; })")


def lawful(browser, page, expect, axe, keyboard=True):
    """Holds a page against the rules."""
    for scheme, width in LOOKS:
        browser.look(scheme, width, 844)
        offences = browser.run(RULES) + axe.offences(browser)
        expect(not offences, f"in {scheme} and {width} px wide, the page '{page}' has: " + "; ".join(offences[:12]))
    browser.look("light", 320, 256)  # 1280 by 1024, enlarged four times
    offences = browser.run(RULES) + browser.run(REFLOW)
    expect(not offences, f"enlarged to 400 %, the page '{page}' has: " + "; ".join(offences[:12]))
    browser.run("""const sheet = new CSSStyleSheet();
      sheet.replaceSync('* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important } p { margin-bottom: 2em !important }');
      document.adoptedStyleSheets.push(sheet)""")
    offences = browser.run(REFLOW)
    browser.run("document.adoptedStyleSheets.pop()")
    expect(not offences, f"with spaced text, the page '{page}' has: " + "; ".join(offences[:12]))
    browser.look(motion="reduce")
    offences = browser.run(MOTION)
    expect(not offences, f"with motion reduced, on the page '{page}': " + "; ".join(offences[:12]))
    browser.look()
    if keyboard:
        walk_by_keyboard(browser, page, expect)
