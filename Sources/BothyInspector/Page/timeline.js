// How syncs ended as the file remembers it, what happened while the inspector looked on, and what the server remembers.

import { acts, h } from "./dom.js";
import { badge, clock, empty, number, plural, recordLink, spaced, span, table, when } from "./format.js";

const names = {
  began: ["opened", "plain"], written: ["written", "wait"], acknowledged: ["settled", "good"], rejected: ["rejected", "bad"],
  pulled: ["pulled", "info"], decided: ["decided", "info"], synced: ["synced", "good"], lease: ["syncing", "info"], server: ["server", "plain"],
};

const PAGE = 25;
const tones = { cancelled: "plain", paused: "wait", expensiveNetwork: "wait", constrainedNetwork: "wait", lowPower: "wait" };

/** The rows that a sync moved, in words; null for none. */
function moved(sync) {
  const parts = [];
  if (sync.pushed) parts.push(`${number(sync.pushed)} sent`);
  if (sync.pulled) parts.push(`${number(sync.pulled)} received`);
  if (sync.uploadedBlobs) parts.push(`${plural(sync.uploadedBlobs, "file")} uploaded`);
  if (sync.rejected) parts.push(`${number(sync.rejected)} rejected`);
  return parts.length ? parts.join(", ") : null;
}

const lasted = (milliseconds) => milliseconds < 1000 ? `${number(Math.round(milliseconds))} ms` : span(milliseconds);

function past(sync) {
  const isSeveral = sync.count > 1;
  const details = [
    sync.problem?.remedy,
    isSeveral ? ["For the first time at ", clock(sync.began), "."] : null,
    `Process ${sync.process}, ${plural(sync.requests, "request")}${isSeveral ? "" : `, ${lasted(sync.ended - sync.began)}`}.`,
  ].filter(Boolean);
  const text = [moved(sync), sync.problem?.message].filter(Boolean).join(". ") || "There was nothing to do.";
  return h("li", { key: `sync ${sync.id}` },
    h("time", { datetime: new Date(sync.ended).toISOString() }, clock(sync.ended)),
    sync.problem ? badge(spaced(sync.problem.reason), tones[sync.problem.reason] ?? "bad") : badge("ended well", sync.rejected ? "wait" : "good"),
    h("div", null, text, isSeveral ? h("strong", null, ` ${plural(sync.count, "time")}.`) : null,
      h("ul", null, details.map((detail) => h("li", null, detail)))));
}

async function askServer(context) {
  const { memory } = context;
  memory.asking = true;
  context.redraw();
  try {
    const page = await context.get("/api/history", { before: memory.next });
    memory.history = [...(memory.history ?? []), ...page.changes];
    memory.next = page.next;
    memory.problem = null;
    context.announce(`${memory.history.length} changes shown.`);
  } catch (failure) { memory.problem = failure.message; }
  memory.asking = false;
  context.redraw();
}

export default {
  events: ["store", "timeline", "server"],
  title: () => "Timeline",
  load: ({ get, signal, memory }) => get("/api/timeline", { limit: memory.limit ?? PAGE }, signal),
  render(context, data) {
    const { memory, summary } = context;
    return [
      h("p", { class: "lead" }, "How syncs ended, whichever process ran them, and what was seen since the inspector was opened. Those that found nothing to do are not told of; failures in a row that are alike are one."),
      h("section", { "aria-labelledby": "past" },
        h("h2", { id: "past" }, "Syncs"),
        data.syncs.length
          ? h("ol", { class: "moments", id: "syncs" }, data.syncs.map(past))
          : empty("Nothing was synced yet.", "Each sync that moved something, or did not end well, is listed here with what it did and why it ended."),
        data.moreSyncs ? h("button", { type: "button", id: "older", onclick: () => { memory.limit = (memory.limit ?? PAGE) + 75; context.reload(); } }, "Show older syncs") : null),
      h("section", { "aria-labelledby": "pulls" },
        h("h2", { id: "pulls" }, "Last pulls"),
        data.containers.length
          ? h("ul", { class: "plainlist" }, data.containers.map((container) => h("li", { key: container.container },
            h("strong", null, container.container || "Everything"), " ",
            container.pulledAt ? when(container.pulledAt, summary?.now) : h("span", { class: "dim" }, "never to its end"),
            container.filling ? badge("pages wait for the last one", "wait") : null)))
          : empty("Nothing was pulled yet.", "After the first sync each container with a subscription is listed here, with the time of its last complete pull.")),
      h("section", { "aria-labelledby": "seen" },
        h("h2", { id: "seen" }, "Seen since the inspector was opened"),
        h("ol", { class: "moments", id: "moments" }, data.moments.map((moment) => h("li", null,
          h("time", { datetime: new Date(moment.time).toISOString() }, clock(moment.time)),
          badge(...names[moment.kind]),
          h("div", null, moment.text, moment.details.length
            ? h("ul", null, moment.details.map((detail) => h("li", null, detail))) : null))))),
      h("section", { "aria-labelledby": "history" },
        h("h2", { id: "history" }, "What the server remembers"),
        memory.problem ? h("p", { class: "failure", role: "alert" }, memory.problem) : null,
        memory.history?.length
          ? table("Changes on the server, newest first", ["When", "Who", "What", "Record", "Fields"], memory.history.map((entry) =>
            h("tr", { key: entry.position }, h("td", { class: "nowrap" }, when(entry.time)), h("td", null, entry.principal ?? "unknown"),
              h("td", null, badge(entry.kind)), h("th", { scope: "row" }, h("span", { class: "dim" }, entry.type, " "), recordLink(entry.type, entry.id)),
              h("td", { class: "dim" }, entry.fields.join(", ")))))
          : memory.history ? empty("The server remembers no changes.", "Changes and their authors are listed here, the newest first.") : null,
        summary?.server
          ? (!memory.history || memory.next) && h("button", { type: "button", id: "ask", ...acts(!memory.asking, () => askServer(context)) },
            memory.history ? "Show older changes" : "Ask the server who changed what")
          : h("p", { class: "dim" }, "This database has no server to ask.")),
    ];
  },
};
