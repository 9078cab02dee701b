// The pending changes, with the reasons why they wait.

import { h } from "./dom.js";
import { badge, bytes, clock, empty, failed, number, pager, plural, recordLink, shortID, span, table, when } from "./format.js";

const SIZE = 50;

/** The reason why an entry waits, as a sentence with the remedy. */
export function why(entry, summary) {
  const waits = entry.waitsFor;
  const other = waits.record && recordLink(waits.record.type, waits.record.id, `${waits.record.type} ${shortID(waits.record.id)}`);
  switch (waits.what) {
    case "draft": return "A draft: it is sent when the app releases it.";
    case "decision": return ["Rejected ", plural(entry.attempts, "time"), ". ", h("a", { href: "#/rejected" }, "Decide about it"), "."];
    case "retry": return `Rejected; tried again at ${clock(waits.until)}, or with the next sync that is asked for.`;
    case "together": return ["Written together with ", other, ", which the server rejected: both are sent or none."];
    case "answer": return "Sent, but the answer was lost. It is sent again under the same id, so it counts once.";
    case "reference": return ["Refers to ", other, ", which the server does not have and which waits itself."];
    case "blobs": return `${plural(waits.blobs, "file")} that it names must be uploaded first.`;
    default:
      if (!summary?.server) return "This database has no server. Give it one, then sync.";
      if (summary.paused) return "Syncing is paused. Resume it, or sync from here.";
      if (summary.server.reachable === false) return "The server does not answer. It is sent when the server answers again.";
      if (entry.reason) return ["Rejected before; tried again with the next sync. ", h("a", { href: "#/rejected" }, "Decide about it"), "."];
      return "It is sent with the next sync.";
  }
}

/** Explains an empty list. */
export const isEmpty = (summary) => !summary?.server ? "No synced record was changed here."
  : summary.lastEndedWell ? "The server has everything that was done here." : "Nothing was changed here since the file was made. It was not synced yet.";

/** The entries that wait only for a sync that ends well. */
const isForSync = (entry) => ["nextSync", "answer", "blobs"].includes(entry.waitsFor.what);

function row(entry, context) {
  const fields = Object.keys(entry.fields);
  const now = context.summary?.now;
  return h("tr", { key: `${entry.type}/${entry.id}` },
    h("td", null, badge(entry.kind)),
    h("th", { scope: "row" }, h("span", { class: "dim" }, entry.type, " "), recordLink(entry.type, entry.id)),
    h("td", { class: "why" }, why(entry, context.summary)),
    h("td", null, h("div", { class: "clip" }, entry.kind === "delete" ? h("span", { class: "dim" }, "the whole record") : fields.join(", ") || h("span", { class: "dim" }, "nothing any more"))),
    h("td", { class: "dim nowrap" }, now ? `${span(now - entry.edited)} ago` : when(entry.edited)));
}

export default {
  events: ["store", "server", "timeline"],
  title: () => "Pending changes",
  load: ({ get, signal, memory }) => {
    memory.marks ??= [];
    const after = memory.marks.at(-1);
    return get("/api/outbox", { limit: SIZE, afterType: after?.type, afterID: after?.id }, signal);
  },
  render(context, data) {
    const { memory } = context;
    const pending = context.summary?.pending;
    const blobs = context.summary?.blobs;
    const first = memory.marks.length * SIZE;
    return [
      h("p", { class: "lead" }, data.total
        ? `${plural(data.total, "change")} that the server does not have yet${pending ? `: ${number(pending.insert)} new, ${number(pending.update)} changed, ${number(pending.delete)} deleted` : ""}. Nothing of it is lost, whatever happens to the network.`
        : isEmpty(context.summary)),
      context.summary?.failing && data.entries.some(isForSync)
        ? h("p", { id: "failing", class: "banner wait" }, h("span", null, failed(context.summary.failing, context.summary.now), " ", h("a", { href: "#/timeline" }, "See the timeline"))) : null,
      blobs?.waiting ? h("p", null, `${plural(blobs.waiting, "file")} to upload: ${bytes(blobs.sent)} of ${bytes(blobs.bytes)} are there.`) : null,
      data.entries.length
        ? table("Pending changes", ["What", "Record", "Why it waits", "Fields", "Since"], data.entries.map((entry) => row(entry, context)))
        : empty("Nothing is pending.", "Each record with changes that the server does not have is listed here, with the reason why it waits."),
      data.total > SIZE || memory.marks.length ? pager(context,
        data.entries.length ? `${number(first + 1)}–${number(first + data.entries.length)} of ${number(data.total)}` : "", data.next) : null,
    ];
  },
};
