// The inspector's page: its sections and their surroundings.

import { post } from "./api.js";
import { acts, h, patch } from "./dom.js";
import { number, plural } from "./format.js";
import { brand, keepingFocus, liveness, lost, navigation, Shell, status } from "./shell.js";
import overview from "./overview.js";
import records from "./records.js";
import pending from "./pending.js";
import rejected from "./rejected.js";
import journal from "./journal.js";
import timeline from "./timeline.js";
import containers from "./containers.js";
import cache from "./cache.js";
import map from "./map.js";
import settings from "./settings.js";
import packs from "./packs.js";

const views = { overview, records, pending, rejected, journal, timeline, containers, cache, map, settings, packs };
const sections = [
  ["overview", "Overview"], ["records", "Records"], ["pending", "Pending"], ["rejected", "Rejected"],
  ["journal", "Journal"], ["timeline", "Timeline"], ["containers", "Containers"], ["cache", "Caches"], ["map", "Map"],
  ["settings", "Settings"], ["packs", "Packs"],
];
let isSyncing = false;
const shell = new Shell({
  views, first: "overview", summary: "/api/overview", summaryEvents: ["store", "server"], suffix: "Bothy",
  events: ["store", "settings", "caches", "packs", "places", "server", "timeline"], draw: drawFrame,
});

async function sync() {
  const note = (text) => shell.note(text);
  isSyncing = true;
  shell.drawFrame();
  try {
    const report = await post("/api/sync");
    const rejections = report.failures.length ? ` ${plural(report.failures.length, "change")} rejected.` : "";
    note(report.why ? `Not finished: ${report.why}` : `Synced: ${number(report.pushed)} sent, ${number(report.pulled)} received.${rejections}`);
  } catch (failure) { note(failure.message); }
  isSyncing = false;
  shell.drawFrame();
}

function drawFrame(shell) {
  const { summary, isLive, notice } = shell;
  patch(document.getElementById("top"), [
    brand("Bothy", "Bothy inspector, overview"),
    h("span", { class: "file", title: summary?.file }, summary ? summary.file.split("/").pop() : ""),
    h("span", { class: "grow" }),
    summary?.server && status(summary.server.reachable ?? null,
      summary.server.reachable === false ? "Server away" : summary.server.reachable ? "Server answers" : "Server not asked yet",
      { title: summary.server.url }),
    liveness(isLive),
    summary?.server && h("button", { type: "button", class: "primary", id: "sync", ...acts(!isSyncing && isLive, sync) },
      isSyncing ? "Syncing…" : "Sync now"),
  ]);
  const counts = summary ? {
    records: summary.types.reduce((sum, type) => sum + type.count, 0), pending: summary.pending.total,
    rejected: summary.pending.rejected, containers: summary.containers,
  } : {};
  patch(document.getElementById("nav"), navigation(sections, "overview", shell.current?.route.name, counts, ["rejected"]));
  keepingFocus(() => patch(document.getElementById("banners"), [
    lost(shell, "The inspector", "bothy inspect"),
    summary?.server?.reachable === false && h("div", { key: "server", class: "banner wait", role: "status" },
      h("strong", null, "The server does not answer. "),
      `${summary.server.url} was asked and gave no answer. Changes are kept here and sent when it is back.`),
    summary?.paused && h("div", { key: "paused", class: "banner wait", role: "status" },
      h("strong", null, "Syncing is paused. "), "Nothing is sent until it is resumed, here or in the app. ",
      h("button", { type: "button", onclick: async () => {
        try { await post("/api/resume"); shell.note("Syncing was resumed."); } catch (failure) { shell.note(failure.message); }
      } }, "Resume")),
    notice && h("div", { key: "notice", class: "banner info", id: "notice", role: "region", "aria-label": "What was done" }, h("span", { class: "grow" }, notice.text,
      notice.link ? [" ", h("a", { href: notice.link.href }, notice.link.text)] : null),
      h("button", { type: "button", "aria-label": "Dismiss", onclick: () => { shell.notice = null; shell.drawFrame(); } }, "×")),
  ]));
}

shell.start();
