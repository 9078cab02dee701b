// The content of the device, and the work that needs a person.

import { h } from "./dom.js";
import { bytes, empty, failed, number, plural, table, when } from "./format.js";

function tile(name, text, note, href, tone) {
  return h("a", { class: `tile ${tone ?? ""}`, href },
    h("span", { class: "name" }, name), h("span", { class: "big" }, text), h("span", { class: "note" }, note));
}

function needs(data) {
  const list = [];
  if (data.pending.rejected) list.push([`${plural(data.pending.rejected, "change")} rejected by the server.`, "Decide what becomes of them", "#/rejected"]);
  if (data.failing) list.push([failed(data.failing, data.now), "See the timeline", "#/timeline"]);
  if (data.paused) list.push(["Syncing is paused, so nothing is sent.", "See what is pending", "#/pending"]);
  if (!data.server) {
    const words = ["This database has no server, so nothing is sent. Give it one: ", h("code", null, "bothy inspect FILE --server URL --space NAME"), "."];
    list.push([words, data.pending.total ? "See what is pending" : null, "#/pending"]);
  }
  if (data.server?.reachable === false) list.push(["The server does not answer. What is pending is kept.", "See what is pending", "#/pending"]);
  if (data.blobs.waiting) list.push([`${plural(data.blobs.waiting, "file")} to upload, ${bytes(data.blobs.bytes - data.blobs.sent)} left.`, "See what is pending", "#/pending"]);
  if (data.pending.drafts) list.push([`${plural(data.pending.drafts, "draft")} that the app has not released.`, "See what is pending", "#/pending"]);
  return list;
}

function lastSync(data) {
  if (data.failing) return data.lastEndedWell ? "none has ended well since" : "none has ended well";
  if (data.lastEndedWell) return "ended well";
  return data.server ? "no sync was run" : "no server is set";
}

export default {
  events: ["store", "server", "timeline"],
  title: () => "On this device",
  load: ({ get, signal }) => get("/api/overview", {}, signal),
  render(context, data) {
    const count = data.types.reduce((sum, type) => sum + type.count, 0);
    const attention = needs(data);
    return [
      h("div", { class: "tiles" },
        tile("Records", number(count), plural(data.types.length, "type"), "#/records"),
        tile("Pending", number(data.pending.total),
          data.pending.total ? `${number(data.pending.insert)} new, ${number(data.pending.update)} changed, ${number(data.pending.delete)} deleted`
            : data.server && data.lastEndedWell ? "the server has everything" : "nothing was changed here",
          "#/pending", data.pending.total ? "wait" : ""),
        tile("Rejected", number(data.pending.rejected), data.pending.rejected ? "need a decision" : "nothing was rejected", "#/rejected",
          data.pending.rejected ? "bad" : ""),
        tile("Last sync", data.lastEndedWell ? when(data.lastEndedWell) : "never", lastSync(data), "#/timeline", data.failing ? "wait" : "")),
      h("section", { "aria-labelledby": "needs" },
        h("h2", { id: "needs" }, "What needs you"),
        attention.length
          ? h("ul", { class: "needs" }, attention.map(([text, action, href]) =>
            h("li", null, h("span", null, text), action ? [" ", h("a", { href }, action)] : null)))
          : empty("Nothing.", "Rejected changes, a server that does not answer and paused syncing are reported here.")),
      h("div", { class: "columns" },
        h("section", { "aria-labelledby": "types" },
          h("h2", { id: "types" }, "Types"),
          data.types.length ? table("Types of records", ["Type", { text: "Records", class: "num" }, "Kept", { text: "Fields", class: "names" }],
            data.types.map((type) => h("tr", { key: type.name },
              h("th", { scope: "row" }, h("a", { href: `#/records/${encodeURIComponent(type.name)}` }, type.name)),
              h("td", { class: "num" }, number(type.count)),
              h("td", null, type.synced ? "synced" : "on this device only"),
              h("td", { class: "dim names" }, type.fields.map((field) => field.name).join(", ")))))
            : empty("No types.", "The types that the app declares are listed here with their numbers of records.")),
        h("section", { "aria-labelledby": "facts" },
          h("h2", { id: "facts" }, "The file"),
          h("dl", { class: "facts" },
            h("dt", null, "Path"), h("dd", null, h("code", null, data.file)),
            h("dt", null, "Device"), h("dd", null, h("code", null, data.device)),
            h("dt", null, "Schema"), h("dd", null, `version ${data.schemaVersion}`),
            h("dt", null, "Server"), h("dd", null, data.server ? [h("code", null, data.server.url), `, space ${data.server.space}`] : "none"),
            h("dt", null, "Syncing now"), h("dd", null, data.lease ? `process ${data.lease.process}` : "no process")))),
    ];
  },
};
