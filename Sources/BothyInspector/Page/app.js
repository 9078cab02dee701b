// The page: sections, routes by the address's hash, and one view at a time that follows what happens.

import { get, post } from "./api.js";
import { announce, focusOn, h, patch } from "./dom.js";
import { clock, number, plural } from "./format.js";
import { follow } from "./live.js";
import overview from "./overview.js";
import records from "./records.js";
import pending from "./pending.js";
import inbox from "./inbox.js";
import timeline from "./timeline.js";
import containers from "./containers.js";
import cache from "./cache.js";
import map from "./map.js";
import settings from "./settings.js";
import packs from "./packs.js";

const views = { overview, records, pending, inbox, timeline, containers, cache, map, settings, packs };
const sections = [
  ["overview", "Overview"], ["records", "Records"], ["pending", "Waiting"], ["inbox", "Inbox"],
  ["timeline", "Timeline"], ["containers", "Containers"], ["cache", "Caches"], ["map", "Map"],
  ["settings", "Settings"], ["packs", "Packs"],
];
const main = document.getElementById("main");
const state = { summary: null, isLive: true, lostAt: null, isSyncing: false, notice: null };
let current = null;

/** `#/records/Note/1?where=…` as parts and parameters. */
function readRoute() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  const name = parts.length && views[parts[0]] ? parts[0] : "overview";
  return { name, parts: parts.slice(1), query: new URLSearchParams(query ?? "") };
}

class Shown {
  constructor(route) {
    this.route = route;
    this.view = views[route.name];
    this.memory = {};
    this.abort = new AbortController();
    this.isLoading = false;
    this.isStale = false;
  }

  /** What views work with. */
  get context() {
    return {
      route: this.route, summary: state.summary, memory: this.memory, signal: this.abort.signal, get, post,
      announce, redraw: () => this.draw(), reload: () => this.load(), decided: note,
    };
  }

  async load(isFirst = false) {
    if (this.isLoading) { this.isStale = true; return; }
    this.isLoading = true;
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
      main.removeAttribute("aria-busy");
      this.isLoading = false;
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
    const body = this.failure
      ? h("div", { class: "failure", role: "alert" }, h("strong", null, "This could not be shown."),
        h("p", null, this.failure.message),
        h("button", { type: "button", onclick: () => this.load() }, "Try again"))
      : this.data ? this.view.render(this.context, this.data) : [];
    const keepsForm = this.failure && this.view.form ? this.view.form(this.context) : null;
    patch(main, [h("h1", { key: "title", tabindex: "-1" }, title), keepsForm, body]);
  }

  arrive() {
    if (!this.route.isFirst) focusOn("#main h1");
    announce(`${document.title}`);
    main.dataset.ready = location.hash || "#/";
  }
}

function navigate(isFirst = false) {
  const route = readRoute();
  route.isFirst = isFirst === true;
  // The same page with other parameters keeps what it remembers and where the focus is.
  const isSamePage = current && current.route.name === route.name && current.route.parts.join() === route.parts.join();
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

async function refreshSummary() {
  try {
    state.summary = await get("/api/overview");
    drawFrame();
  } catch { /* the stream of events says that the inspector is lost */ }
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
    summary?.server && h("button", { type: "button", class: "primary", id: "sync", disabled: state.isSyncing || !state.isLive,
      onclick: sync }, state.isSyncing ? "Syncing…" : "Sync now"),
  ]);
  const counts = summary ? {
    records: summary.types.reduce((sum, type) => sum + type.count, 0), pending: summary.pending.total,
    inbox: summary.pending.inbox, containers: summary.containers,
  } : {};
  patch(document.getElementById("nav"), h("ul", null, sections.map(([name, text]) => h("li", { key: name },
    h("a", { href: `#/${name === "overview" ? "" : name}`, "aria-current": current?.route.name === name ? "page" : null },
      h("span", null, text),
      counts[name] ? h("span", { class: `count ${name === "inbox" ? "bad" : ""}` }, number(counts[name])) : null)))));
  patch(document.getElementById("banners"), [
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
      h("button", { type: "button", "aria-label": "Dismiss", onclick: () => { state.notice = null; drawFrame(); focusOn("#main h1"); } }, "×")),
  ]);
}

addEventListener("hashchange", () => { if (location.hash !== "#main") navigate(); });
document.querySelector(".skip").onclick = (event) => { event.preventDefault(); focusOn("#main h1"); };
navigate(true);
refreshSummary();
follow(["alive", "store", "settings", "caches", "packs", "places", "server", "timeline"], heard, turned);
