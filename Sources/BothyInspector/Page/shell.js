// The frame of a page: routes by the address's hash, and one view at a time that follows what happens.

import { get, post } from "./api.js";
import { announce, focusOn, h, patch } from "./dom.js";
import { number } from "./format.js";
import { follow } from "./live.js";

const main = document.getElementById("main");

/** Decodes a part of an address. A badly encoded part, typed by hand, stays as it is. */
function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

/** Draws; where that takes the focused element away, the next key goes on from the title. */
export function keepingFocus(draw) {
  const focused = document.activeElement;
  draw();
  if (focused && !focused.isConnected) focusOn("#main h1");
}

/** The sections as a list of links, with what is counted in them. */
export const navigation = (sections, first, current, counts, bad) => h("ul", null, sections.map(([name, text]) => h("li", { key: name },
  h("a", { href: `#/${name === first ? "" : name}`, "aria-current": current === name ? "page" : null },
    h("span", null, text),
    counts[name] ? h("span", { class: `count ${bad.includes(name) ? "bad" : ""}` }, number(counts[name])) : null))));

/**
 * Shows views, and reads them again when their events come.
 *
 * `first` is the view without a name in the address, `summary` the address of what is read with every view, and
 * `summaryEvents` are the events after which it is read again. `draw(shell)` draws what is around the view.
 */
export class Shell {
  constructor({ views, first, summary, summaryEvents, events, draw, suffix, also = {} }) {
    Object.assign(this, { views, first, summaryPath: summary, summaryEvents, events, drawAround: draw, suffix, also });
    this.summary = null;
    this.isLive = true;
    this.lostAt = null;
    this.notice = null;
    this.current = null;
    this.isSummarizing = false;
    this.isSummaryStale = false;
    this.refreshTimer = null;
    this.heard = new Set();
  }

  start() {
    addEventListener("hashchange", () => { if (location.hash !== "#main") this.navigate(); });
    document.querySelector(".skip").onclick = (event) => { event.preventDefault(); focusOn("#main h1"); };
    this.navigate(true);
    this.refreshSummary();
    follow(["alive", ...this.events], (name) => this.hear(name), (isLive, isFirst) => this.turn(isLive, isFirst));
  }

  drawFrame() { this.drawAround(this); }

  /** `#/records/Note/1?where=…` as parts and parameters. */
  readRoute() {
    const [, path, query] = location.hash.match(/^#?\/?([^?]*)\??(.*)$/);
    const parts = path.split("/").filter(Boolean).map(decoded);
    const name = parts.length && Object.hasOwn(this.views, parts[0]) ? parts[0] : this.first;
    return { name, parts: parts.slice(1), query: new URLSearchParams(query) };
  }

  navigate(isFirst = false) {
    const route = this.readRoute();
    const before = this.current;
    route.isFirst = isFirst;
    // The same page with other parameters keeps what it remembers and where the focus is.
    const isSamePage = before?.route.name === route.name && before.route.parts.join("/") === route.parts.join("/");
    route.isSamePage = isSamePage;
    before?.abort.abort();
    before?.view.leave?.(before.context);
    this.current = new Shown(this, route);
    this.current.memory = isSamePage ? before.memory : {};
    this.current.data = isSamePage ? before.data : undefined;
    delete main.dataset.ready;
    if (!isSamePage) { patch(main, []); scrollTo(0, 0); }
    this.drawFrame();
    // On a phone the sections are a strip that scrolls.
    document.querySelector("#nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    this.current.load(true);
  }

  /** One at a time: while others write fast, a count of everything may take longer than their next event. */
  async refreshSummary() {
    this.isSummaryStale = true;
    if (this.isSummarizing) return;
    this.isSummarizing = true;
    while (this.isSummaryStale) {
      this.isSummaryStale = false;
      try {
        this.summary = await get(this.summaryPath);
        this.drawFrame();
      } catch { /* the stream of events says that the page's program is lost */ }
    }
    this.isSummarizing = false;
  }

  /** Several events of one moment are one look. */
  hear(name) {
    this.heard.add(name);
    this.refreshTimer ??= setTimeout(async () => {
      this.refreshTimer = null;
      const names = new Set(this.heard);
      this.heard.clear();
      const shown = this.current.view.events;
      await Promise.all([
        [...this.summaryEvents, ...shown].some((event) => names.has(event)) ? this.refreshSummary() : null,
        shown.some((event) => names.has(event)) ? this.current.load() : null,
      ]);
    }, 60);
  }

  turn(isLive, isFirst) {
    this.isLive = isLive;
    this.lostAt = isLive ? null : Date.now();
    this.drawFrame();
    if (isLive && !isFirst) { this.refreshSummary(); this.current.load(); }
  }

  /** Says what was done, for those who look and those who listen. */
  note(text) {
    this.notice = text;
    announce(text);
    this.drawFrame();
  }
}

class Shown {
  constructor(shell, route) {
    this.shell = shell;
    this.route = route;
    this.view = shell.views[route.name];
    this.memory = {};
    this.abort = new AbortController();
    this.loading = null;
    this.isStale = false;
  }

  get isCurrent() { return this.shell.current === this; }

  /** What views work with. */
  get context() {
    return {
      route: this.route, summary: this.shell.summary, memory: this.memory, signal: this.abort.signal, get, post,
      announce, redraw: () => this.draw(), reload: () => this.load(), decided: (text) => this.shell.note(text), ...this.shell.also,
    };
  }

  /** Reads and draws. Who asks while it reads gets what is read after that. */
  load(isFirst = false) {
    this.isStale = true;
    this.loading ??= this.read(isFirst).finally(() => { this.loading = null; });
    return this.loading;
  }

  async read(isFirst) {
    const slow = setTimeout(() => { if (isFirst) main.setAttribute("aria-busy", "true"); }, 150);
    try {
      do {
        this.isStale = false;
        this.data = await this.view.load(this.context);
        this.failure = null;
      } while (this.isStale && this.isCurrent);
    } catch (failure) {
      if (failure.name === "AbortError") return;
      if (!failure.code) console.error(failure);
      if (failure.isLost && this.data) return;
      this.failure = failure;
    } finally {
      clearTimeout(slow);
      if (this.isCurrent) main.removeAttribute("aria-busy");
    }
    if (!this.isCurrent) return;
    this.draw();
    if (isFirst) this.arrive();
  }

  draw() {
    if (!this.isCurrent) return;
    main.dataset.view = this.route.name;
    const title = this.view.title(this.context, this.data);
    document.title = `${title} – ${this.shell.suffix}`;
    keepingFocus(() => patch(main, [h("h1", { key: "title", tabindex: "-1" }, title), this.body()]));
  }

  body() {
    if (!this.failure) {
      try { return this.data ? this.view.render(this.context, this.data) : []; } catch (failure) {
        console.error(failure);
        this.failure = new Error(`The page has a fault: ${failure.message}. Please report it.`);
      }
    }
    return [
      this.view.form?.(this.context),
      h("div", { key: "failure", class: "failure", role: "alert" }, h("strong", null, "This could not be shown."),
        h("p", null, this.failure.message),
        h("button", { type: "button", onclick: () => this.load() }, "Try again")),
    ];
  }

  /** The title is read out when it gets the focus; where the focus stays, what was found is. */
  arrive() {
    const { isFirst, isSamePage } = this.route;
    if (isSamePage && document.activeElement !== document.body) announce(this.view.found?.(this.context, this.data) ?? document.title);
    else if (!isFirst) focusOn("#main h1");
    main.dataset.ready = location.hash || "#/";
  }
}
