// What happened with syncing while the inspector looked on, and what the file and the server remember.

import { h } from "./dom.js";
import { badge, clock, empty, recordLink, table, when } from "./format.js";

const names = {
  began: ["opened", "plain"], written: ["written", "wait"], acknowledged: ["settled", "good"], refused: ["refused", "bad"],
  pulled: ["pulled", "info"], decided: ["decided", "info"], synced: ["synced", "good"], lease: ["syncing", "info"], server: ["server", "plain"],
};

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
  load: ({ get, signal }) => get("/api/timeline", {}, signal),
  render(context, data) {
    const { memory, summary } = context;
    return [
      h("p", { class: "lead" }, "Bothy keeps no diary of past syncs in the file. Here is what it does keep, when each container was last pulled, and what was seen since the inspector was opened, by whatever process it was done."),
      h("section", { "aria-labelledby": "pulls" },
        h("h2", { id: "pulls" }, "Last pulls"),
        data.containers.length
          ? h("ul", { class: "plainlist" }, data.containers.map((container) => h("li", { key: container.container },
            h("strong", null, container.container || "Everything"), " ",
            container.pulledAt ? when(container.pulledAt, summary?.now) : h("span", { class: "dim" }, "never to its end"),
            container.filling ? badge("pages wait for the last one", "wait") : null)))
          : empty("Nothing was pulled yet.", "Each container that is followed would be here with the time of its last complete pull.")),
      h("section", { "aria-labelledby": "seen" },
        h("h2", { id: "seen" }, "Seen since the inspector was opened"),
        h("ol", { class: "moments" }, data.moments.map((moment) => h("li", null,
          h("time", { datetime: new Date(moment.time).toISOString() }, clock(moment.time)),
          badge(...names[moment.kind]),
          h("div", null, moment.text, moment.details.length
            ? h("ul", null, moment.details.map((detail) => h("li", null, detail))) : null))))),
      h("section", { "aria-labelledby": "history" },
        h("h2", { id: "history" }, "What the server remembers"),
        memory.problem ? h("p", { class: "failure", role: "alert" }, memory.problem) : null,
        memory.history?.length
          ? table("Changes on the server, newest first", ["When", "Who", "What", "Record", "Fields"], memory.history.map((entry) =>
            h("tr", { key: entry.position }, h("td", { class: "nowrap" }, when(entry.time)), h("td", null, entry.principal ?? "somebody"),
              h("td", null, badge(entry.kind)), h("th", { scope: "row" }, h("span", { class: "dim" }, entry.type, " "), recordLink(entry.type, entry.id)),
              h("td", { class: "dim" }, entry.fields.join(", ")))))
          : memory.history ? empty("The server remembers no changes.", "Who changed what would be listed here, the newest first.") : null,
        summary?.server
          ? (!memory.history || memory.next) && h("button", { type: "button", id: "ask", disabled: memory.asking, onclick: () => askServer(context) },
            memory.history ? "Show older changes" : "Ask the server who changed what")
          : h("p", { class: "dim" }, "This database has no server to ask.")),
    ];
  },
};
