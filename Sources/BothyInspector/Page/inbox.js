// What the server refused, and the four decisions about it.

import { acts, focusOn, h } from "./dom.js";
import { badge, empty, number, plural, recordLink, shortID, table, value } from "./format.js";

const decisions = [
  { name: "retry", text: "Retry", done: "It is sent again with the next sync.",
    note: "Send it again with the next sync, as it is here now." },
  { name: "keepLocal", text: "Keep local", done: "It stays as it is here, and is not sent.",
    note: "Keep what is here and stop sending it. The next pull brings the server's again.",
    ask: "What is here stays and counts as synced. The change is not sent any more, and the next pull, which brings everything, puts the server's state in its place." },
  { name: "revert", text: "Revert", done: "It is what the server has.",
    note: "Undo the change: the record becomes what the server last told, or goes if it was made here.",
    ask: "The change made here is undone and can't be brought back: the record becomes what the server last told, or goes if it was made on this device." },
  { name: "removeLocal", text: "Remove local", done: "It is gone from this device.",
    note: "Remove the record from this device only. The server keeps what it has.",
    ask: "The record goes from this device with the change that was made here. The server keeps what it has, and the next pull brings that." },
];

/** The server's reason, with what is wrong with which field. */
export function reason(entry) {
  if (!entry.reason) return null;
  return h("div", { class: "reason" },
    h("p", null, h("code", null, entry.reason.code), " ", entry.reason.message),
    entry.reason.fields.length ? h("ul", null, entry.reason.fields.map((field) =>
      h("li", null, h("strong", null, field.field), ": ", field.message,
        field.record ? [" ", field.type, " ", recordLink(field.type, field.record)] : null))) : null);
}

/** Here and there, field by field. */
export function comparison(entry) {
  const shown = entry.comparison.filter((field) => field.differs);
  const same = entry.comparison.length - shown.length;
  if (!shown.length) return entry.kind === "delete" ? h("p", { class: "dim" }, "The record was deleted here.") : null;
  return [
    table(`How ${entry.type} ${entry.id} differs`, ["Field", "Here", "On the server, as last told"], shown.map((field) =>
      h("tr", { key: field.field }, h("th", { scope: "row" }, field.field),
        h("td", { class: "here" }, value(field.here)), h("td", { class: "there" }, value(field.server))))),
    same ? h("p", { class: "dim small" }, `${plural(same, "other field")} ${same === 1 ? "is" : "are"} the same.`) : null,
  ];
}

const keyOf = (entry) => `${entry.type}/${entry.id}`;

/** An element's id: lists of ids are divided by spaces, which ids of records may have. */
const idOf = (...parts) => parts.map(encodeURIComponent).join("-");

/** Decides about an entry as it was when it was shown, or asked about: an edit since is told of and left alone. */
async function decide(context, entry, decision, revision) {
  const { memory } = context;
  const key = keyOf(entry);
  memory.busy ??= new Set();
  if (memory.busy.has(key)) return;
  memory.busy.add(key);
  memory.asking = null;
  context.redraw();
  const title = document.getElementById(idOf("title", entry.type, entry.id));
  const index = [...document.querySelectorAll("#main article h2")].indexOf(title);
  try {
    await context.post("/api/resolve", { type: entry.type, id: entry.id, resolution: decision.name, revision });
    memory.problem = null;
    context.decided(`${decision.text}: ${entry.type} ${shortID(entry.id)}. ${decision.done}`);
  } catch (failure) { memory.problem = { key, text: failure.message }; }
  memory.busy.delete(key);
  await context.reload();
  if (context.signal.aborted) return;
  if (memory.problem?.key === key && !title?.isConnected) context.decided(memory.problem.text);
  // On to the next one that waits for a decision, or to the top when there is none.
  const headings = document.querySelectorAll("#main article h2");
  if (headings.length) headings[Math.min(Math.max(index, 0), headings.length - 1)].focus(); else focusOn("#main h1");
}

function ask(context, entry, decision) {
  if (!decision.ask) return decide(context, entry, decision, entry.revision);
  context.memory.asking = { key: keyOf(entry), name: decision.name, revision: entry.revision };
  context.redraw();
  document.querySelector("dialog")?.showModal();
}

function close(context, entry, decision) {
  document.querySelector("dialog")?.close();
  context.memory.asking = null;
  context.redraw();
  document.getElementById(idOf(decision.name, entry.type, entry.id))?.focus();
}

function dialog(context, entry, decision, revision) {
  return h("dialog", { key: "dialog", "aria-labelledby": "asked",
    oncancel: (event) => { event.preventDefault(); close(context, entry, decision); } },
    h("h2", { id: "asked" }, `${decision.text} ${entry.type} ${shortID(entry.id)}?`),
    h("p", null, decision.ask),
    entry.group ? h("p", null, "What was written together with it is decided about in the same way.") : null,
    h("div", { class: "buttons" },
      h("button", { type: "button", class: "danger", id: "confirm", onclick: () => {
        close(context, entry, decision);
        decide(context, entry, decision, revision);
      } }, decision.text),
      // It has the focus at first: an Enter that was held too long decides nothing.
      h("button", { type: "button", autofocus: true, onclick: () => close(context, entry, decision) }, "Cancel")));
}

function card(context, entry) {
  const { memory } = context;
  const key = keyOf(entry);
  const title = idOf("title", entry.type, entry.id);
  const isAble = !memory.busy?.has(key);
  return h("article", { key, class: "card", "aria-labelledby": title },
    h("header", null,
      h("h2", { id: title, tabindex: "-1" }, badge(entry.kind), " ", entry.type, " ", recordLink(entry.type, entry.id)),
      h("span", { class: "dim" }, entry.attempts ? `refused ${plural(entry.attempts, "time")}` : "waits for one it was written together with")),
    reason(entry), comparison(entry),
    memory.problem?.key === key ? h("p", { key: "problem", class: "failure", role: "alert" }, memory.problem.text) : null,
    h("div", { class: "decisions", role: "group", "aria-label": `Decide about ${entry.type} ${entry.id}` },
      decisions.map((decision) => {
        const id = idOf(decision.name, entry.type, entry.id);
        return h("div", { key: decision.name },
          h("button", { type: "button", id, class: decision.name === "retry" ? "primary" : "", "aria-describedby": `${id}-note`,
            ...acts(isAble, () => ask(context, entry, decision)) }, decision.text),
          h("span", { class: "note", id: `${id}-note` }, decision.note));
      })));
}

export default {
  events: ["store"],
  title: () => "Inbox",
  async load({ get, signal, memory, decided }) {
    const found = await get("/api/inbox", {}, signal);
    if (memory.asking && !found.entries.some((entry) => keyOf(entry) === memory.asking.key)) {
      decided(`${memory.asking.key} waits for no decision any more: it was edited or decided about elsewhere.`);
      memory.asking = null;
    }
    return found;
  },
  render(context, data) {
    const { asking } = context.memory;
    const asked = asking && data.entries.find((entry) => keyOf(entry) === asking.key);
    return [
      h("p", { class: "lead" }, data.total
        ? `${plural(data.total, "change")} that the server refused. The rest of the work is not held up; each of these waits for you.`
        : "The server refused nothing."),
      data.entries.length ? data.entries.map((entry) => card(context, entry))
        : empty("The inbox is empty.", "Changes that the server refuses would be here with its reason, and with four decisions: retry, accept local, revert, evict."),
      data.total > data.entries.length
        ? h("p", { key: "more", class: "dim" }, `The first ${number(data.entries.length)} are shown; others follow as these are decided about.`) : null,
      asked ? dialog(context, asked, decisions.find((each) => each.name === asking.name), asking.revision) : null,
    ];
  },
};
