// The page: sections, routes by the address's hash, and one view at a time that follows what happens.

import { get, post } from "./api.js";
import { acts, announce, focusOn, h, patch } from "./dom.js";
import { clock, number, plural } from "./format.js";
import { follow } from "./live.js";
import overview from "./overview.js";
import records from "./records.js";
import pending from "./pending.js";
import inbox from "./inbox.js";
import journal from "./journal.js";
import timeline from "./timeline.js";
import containers from "./containers.js";
import cache from "./cache.js";
import map from "./map.js";
import settings from "./settings.js";
import packs from "./packs.js";

const views = { overview, records, pending, inbox, journal, timeline, containers, cache, map, settings, packs };
const sections = [
  ["overview", "Overview"], ["records", "Records"], ["pending", "Waiting"], ["inbox", "Inbox"],
  ["journal", "Journal"], ["timeline", "Timeline"], ["containers", "Containers"], ["cache", "Caches"], ["map", "Map"],
  ["settings", "Settings"], ["packs", "Packs"],
];
const main = document.getElementById("main");
const state = { summary: null, isLive: true, lostAt: null, isSyncing: false, notice: null };
let current = null;

/** `#/records/Note/1?where=…` as parts and parameters. */
function readRoute() {
  const [, path, query] = location.hash.match(/^#?\/?([^?]*)\??(.*)$/);
  const parts = path.split("/").filter(Boolean).map(decoded);
  const name = parts.length && Object.hasOwn(views, parts[0]) ? parts[0] : "overview";
  return { name, parts: parts.slice(1), query: new URLSearchParams(query) };
}

/** What is not well encoded, in an address that somebody wrote by hand, stays as it is. */
function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

class Shown {
  constructor(route) {
    this.route = route;
    this.view = views[route.name];
    this.memory = {};
    this.abort = new AbortController();
    this.loading = null;
    this.isStale = false;
  }

  /** What views work with. */
  get context() {
    return {
      route: this.route, summary: state.summary, memory: this.memory, signal: this.abort.signal, get, post,
      announce, redraw: () => this.draw(), reload: () => this.load(), decided: note,
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
      } while (this.isStale && current === this);
    } catch (failure) {
      if (failure.name === "AbortError") return;
      if (!failure.code) console.error(failure);
      if (failure.isLost && this.data) return;
      this.failure = failure;
    } finally {
      clearTimeout(slow);
      if (current === this) main.removeAttribute("aria-busy");
    }
    if (current !== this) return;
    this.draw();
    if (isFirst) this.arrive();
  }

  draw() {
    if (current !== this) return;
    main.dataset.view = this.route.name;
    const title = this.view.title(this.context, this.data);
    document.title = `${title} – Bothy`;
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

/** Draws; where that takes the focused element away, the next key goes on from the title. */
function keepingFocus(draw) {
  const focused = document.activeElement;
  draw();
  if (focused && !focused.isConnected) focusOn("#main h1");
}

function navigate(isFirst = false) {
  const route = readRoute();
  route.isFirst = isFirst;
  // The same page with other parameters keeps what it remembers and where the focus is.
  const isSamePage = current?.route.name === route.name && current.route.parts.join("/") === route.parts.join("/");
  route.isSamePage = isSamePage;
  current?.abort.abort();
  const memory = isSamePage ? current.memory : {};
  const data = isSamePage ? current.data : undefined;
  current?.view.leave?.(current.context);
  current = new Shown(route);
  current.memory = memory;
  current.data = data;
  delete main.dataset.ready;
  if (!isSamePage) { patch(main, []); scrollTo(0, 0); }
  drawFrame();
  // On a phone the sections are a strip that scrolls.
  document.querySelector("#nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  current.load(true);
}

let isSummarizing = false, isSummaryStale = false;

/** One at a time: while others write fast, a count of everything may take longer than their next event. */
async function refreshSummary() {
  isSummaryStale = true;
  if (isSummarizing) return;
  isSummarizing = true;
  while (isSummaryStale) {
    isSummaryStale = false;
    try {
      state.summary = await get("/api/overview");
      drawFrame();
    } catch { /* the stream of events says that the inspector is lost */ }
  }
  isSummarizing = false;
}

let refreshTimer = null;
const waiting = new Set();

/** Several events of one moment are one look. */
function heard(name) {
  waiting.add(name);
  refreshTimer ??= setTimeout(async () => {
    refreshTimer = null;
    const names = new Set(waiting);
    waiting.clear();
    const wanted = ["store", ...current.view.events];
    const concerns = current.view.events.some((event) => names.has(event));
    await Promise.all([
      wanted.some((event) => names.has(event)) || names.has("server") ? refreshSummary() : null,
      concerns ? current.load() : null,
    ]);
  }, 60);
}

function turned(isLive, isFirst) {
  state.isLive = isLive;
  state.lostAt = isLive ? null : Date.now();
  drawFrame();
  if (isLive && !isFirst) { refreshSummary(); current.load(); }
}

/** Says what was done, for those who look and those who listen. */
function note(text) {
  state.notice = text;
  announce(text);
  drawFrame();
}

async function sync() {
  state.isSyncing = true;
  drawFrame();
  try {
    const report = await post("/api/sync");
    const refused = report.failures.length ? ` ${plural(report.failures.length, "change")} refused: see the inbox.` : "";
    note(report.why ? `Not finished: ${report.why}` : `Synced: ${number(report.pushed)} sent, ${number(report.pulled)} received.${refused}`);
  } catch (failure) { note(failure.message); }
  state.isSyncing = false;
  drawFrame();
}

function drawFrame() {
  const summary = state.summary;
  patch(document.getElementById("top"), [
    h("a", { class: "brand", href: "#/", "aria-label": "Bothy inspector, overview" },
      h("img", { src: "/assets/icon.svg", alt: "", width: "26", height: "26" }), h("span", null, "Bothy")),
    h("span", { class: "file", title: summary?.file }, summary ? summary.file.split("/").pop() : ""),
    h("span", { class: "grow" }),
    summary?.server && h("span", { class: `status ${summary.server.reachable === false ? "off" : summary.server.reachable ? "on" : ""}`,
      title: summary.server.url },
      h("i", { "aria-hidden": "true" }),
      summary.server.reachable === false ? "Server away" : summary.server.reachable ? "Server answers" : "Server not asked yet"),
    h("span", { class: `status ${state.isLive ? "on" : "off"}`, id: "liveness" }, h("i", { "aria-hidden": "true" }),
      state.isLive ? "Live" : "Lost"),
    summary?.server && h("button", { type: "button", class: "primary", id: "sync", ...acts(!state.isSyncing && state.isLive, sync) },
      state.isSyncing ? "Syncing…" : "Sync now"),
  ]);
  const counts = summary ? {
    records: summary.types.reduce((sum, type) => sum + type.count, 0), pending: summary.pending.total,
    inbox: summary.pending.inbox, containers: summary.containers,
  } : {};
  patch(document.getElementById("nav"), h("ul", null, sections.map(([name, text]) => h("li", { key: name },
    h("a", { href: `#/${name === "overview" ? "" : name}`, "aria-current": current?.route.name === name ? "page" : null },
      h("span", null, text),
      counts[name] ? h("span", { class: `count ${name === "inbox" ? "bad" : ""}` }, number(counts[name])) : null)))));
  keepingFocus(() => patch(document.getElementById("banners"), [
    state.isLive ? null : h("div", { key: "lost", class: "banner bad", role: "alert", id: "offline" },
      h("strong", null, "The inspector does not answer. "),
      `What you see is as it was at ${clock(state.lostAt)}. It is followed again as soon as it is back; if it was stopped, run `,
      h("code", null, "bothy inspect"), " again and open the address that it prints."),
    summary?.server?.reachable === false && h("div", { key: "server", class: "banner wait", role: "status" },
      h("strong", null, "The server does not answer. "),
      `${summary.server.url} was asked and gave no answer. Changes are kept here and sent when it is back.`),
    summary?.paused && h("div", { key: "paused", class: "banner wait", role: "status" },
      h("strong", null, "Syncing is paused. "), "Nothing is sent until it is resumed, here or in the app. ",
      h("button", { type: "button", onclick: async () => {
        try { await post("/api/resume"); note("Syncing was resumed."); } catch (failure) { note(failure.message); }
      } }, "Resume")),
    state.notice && h("div", { key: "notice", class: "banner info", id: "notice" }, h("span", { class: "grow" }, state.notice),
      h("button", { type: "button", "aria-label": "Dismiss", onclick: () => { state.notice = null; drawFrame(); } }, "×")),
  ]));
}

addEventListener("hashchange", () => { if (location.hash !== "#main") navigate(); });
document.querySelector(".skip").onclick = (event) => { event.preventDefault(); focusOn("#main h1"); };
navigate(true);
refreshSummary();
follow(["alive", "store", "settings", "caches", "packs", "places", "server", "timeline"], heard, turned);
