// The frame of a page: routes by the address's hash, and one view at a time that follows what happens.

import { get, post } from "./api.js";
import { announce, focusOn, h, patch } from "./dom.js";
import { clock, number } from "./format.js";
import { follow } from "./live.js";

const main = document.getElementById("main");
/** The time after which ages such as "2 min ago" are drawn again, in milliseconds. */
const TICK = 15_000;

/** The name of the page, as a link to its first view where it has views. */
export const brand = (text, label) => h(label ? "a" : "span", { class: "brand", ...(label ? { href: "#/", "aria-label": label } : {}) },
  h("img", { src: "/assets/icon.svg", alt: "", width: "26", height: "26" }), h("span", null, text));

/** A state that is well, not well, or unknown (`null`), with its text. */
export const status = (isOn, text, more = {}) => h("span", { class: `status ${isOn === null ? "" : isOn ? "on" : "off"}`, ...more },
  h("i", { "aria-hidden": "true" }), text);

/** Says if the page follows what happens. */
export const liveness = (isLive) => status(isLive, isLive ? "Live" : "Lost", { id: "liveness" });

/** Says that the program of the page is gone, since when, and the command that starts it. */
export const lost = (shell, program, command) => shell.isLive ? null
  : h("div", { key: "lost", class: "banner bad", role: "alert", id: "offline" },
    h("strong", null, `${program} does not answer. `),
    `What you see is as it was at ${clock(shell.lostAt)}. It is followed again as soon as it is back; if it was stopped, run `,
    h("code", null, command), " again and open the address that it prints.");

/** Decodes a part of an address. A badly encoded part, typed by hand, stays as it is. */
function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

/** Draws; where that takes the focused element away, the next key continues from the title. */
export function keepingFocus(draw) {
  const focused = document.activeElement;
  draw();
  if (focused && !focused.isConnected) focusOn("#main h1");
}

/** The sections as a list of links, with their counts. */
export const navigation = (sections, first, current, counts, bad) => h("ul", null, sections.map(([name, text]) => h("li", { key: name },
  h("a", { href: `#/${name === first ? "" : name}`, "aria-current": current === name ? "page" : null },
    h("span", null, text),
    counts[name] ? h("span", { class: `count ${bad.includes(name) ? "bad" : ""}` }, number(counts[name])) : null))));

/**
 * Shows views, and reads them again when their events come.
 *
 * `first` is the view without a name in the address, `summary` the address that is read with every view, and
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
    this.summarizing = null;
    this.isSummaryStale = false;
    this.clockOffset = 0;
    this.refreshTimer = null;
    this.heard = new Set();
  }

  start() {
    addEventListener("hashchange", () => { if (location.hash !== "#main") this.navigate(); });
    document.querySelector(".skip").onclick = (event) => { event.preventDefault(); focusOn("#main h1"); };
    addEventListener("resize", () => this.showSection());
    setInterval(() => this.tick(), TICK);
    this.navigate(true);
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
    // A page with other parameters keeps its memory and the focus.
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
    this.showSection();
    this.current.load(true);
  }

  /** On a phone the sections are a strip that scrolls. */
  showSection() {
    const nav = document.getElementById("nav"), link = nav.querySelector("[aria-current]");
    // Only the strip scrolls, not the page.
    if (link) nav.scrollLeft += link.getBoundingClientRect().left - (nav.clientWidth - link.offsetWidth) / 2;
  }

  /** One at a time: while others write fast, a count of everything may take longer than their next event. */
  refreshSummary() {
    this.isSummaryStale = true;
    this.summarizing ??= this.readSummary().finally(() => { this.summarizing = null; });
    return this.summarizing;
  }

  async readSummary() {
    while (this.isSummaryStale) {
      this.isSummaryStale = false;
      try {
        const isFirst = !this.summary;
        this.summary = await get(this.summaryPath);
        this.clockOffset = this.summary.now - Date.now();
        this.drawFrame();
        if (isFirst) this.showSection();
        // Views show parts of the summary too.
        if (this.current.data) this.current.draw();
      } catch { /* the stream of events says that the page's program is lost */ }
    }
  }

  /** Ages such as "2 min ago" grow by themselves. */
  tick() {
    const now = Date.now() + this.clockOffset, { data } = this.current;
    if (!this.summary || !this.isLive || document.hidden) return;
    this.summary.now = now;
    if (data?.now) data.now = now;
    this.drawFrame();
    if (data) this.current.draw();
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

  /** Says what was done, for those who look and those who listen; a link leads to where more can be done. */
  note(text, link = null) {
    this.notice = { text, link };
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

  /** The context of views. */
  get context() {
    return {
      route: this.route, summary: this.shell.summary, memory: this.memory, signal: this.abort.signal, get, post,
      announce, redraw: () => this.draw(), reload: () => this.load(), decided: (text, link) => this.shell.note(text, link), ...this.shell.also,
    };
  }

  /** Reads and draws. A call during a read gets the result of the next one. */
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
        if (!this.shell.summary) await this.shell.refreshSummary();
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
    this.view.arrived?.(this.context, this.data);
    main.dataset.ready = location.hash || "#/";
  }
}
