// Changes that the server rejected, and the four decisions about one change or about many at once.

import { acts, focusOn, h } from "./dom.js";
import { fillIn } from "./edit.js";
import { badge, empty, kindOf, number, plural, recordLink, shortID, table, value } from "./format.js";

const decisions = [
  { name: "retry", text: "Retry", done: "It is sent again with the next sync.",
    note: "Send it again with the next sync, as it is here now." },
  { name: "keepLocal", text: "Keep local", done: "It stays as it is here, and is not sent.",
    note: "Keep the record as it is here and stop sending it. The next pull brings the server's again.",
    ask: "The record stays as it is here and counts as synced. The change is no longer sent. The next full pull puts the server's state in its place." },
  { name: "revert", text: "Revert", done: "It is what the server has.",
    note: "Undo the change: the record becomes what the server last sent. One that was made here is removed.",
    ask: "The change made here is undone: the record becomes what the server last sent. One that was made on this device is removed. The journal keeps the change for a while, and can restore it." },
  { name: "removeLocal", text: "Remove local", done: "It is gone from this device.",
    note: "Remove the record from this device only. The server keeps what it has.",
    ask: "The record is removed from this device with the change that was made here. The server keeps what it has, and the next pull brings that. The journal keeps the change for a while." },
];

/** The page on which a decision can be taken back. */
const JOURNAL = { href: "#/journal", text: "See the journal" };

/** The server's reason, with the fault of each field. */
export function reason(entry, isFillable = false) {
  if (!entry.reason) return null;
  return h("div", { class: "reason" },
    h("p", null, h("code", null, entry.reason.code), " ", entry.reason.message),
    entry.reason.fields.length ? h("ul", null, entry.reason.fields.map((field) =>
      h("li", null, h("strong", null, field.field), ": ", field.message,
        isFillable && entry.kind !== "delete" ? [" ", fillIn(entry, field.field)] : null,
        field.record ? [" ", field.type, " ", recordLink(field.type, field.record)] : null))) : null);
}

/** Here and there, field by field. */
export function comparison(entry, summary) {
  const shown = entry.comparison.filter((field) => field.differs);
  const same = entry.comparison.length - shown.length;
  if (!shown.length) return entry.kind === "delete" ? h("p", { class: "dim" }, "The record was deleted here.") : null;
  return [
    table(`How ${entry.type} ${entry.id} differs`, ["Field", "Here", "On the server, as last sent"], shown.map((field) =>
      h("tr", { key: field.field }, h("th", { scope: "row" }, field.field),
        h("td", { class: "here" }, value(field.here, kindOf(summary, entry.type, field.field))), h("td", { class: "there" }, value(field.server, kindOf(summary, entry.type, field.field)))))),
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
    context.decided(`${decision.text}: ${entry.type} ${shortID(entry.id)}. ${decision.done}`, decision.ask ? JOURNAL : null);
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

/** The entries that are ticked, as they are shown. */
const chosen = (context, entries) => entries.filter((entry) => context.memory.chosen?.has(keyOf(entry)));

/** Decides about many, one after the other. Those that were edited meanwhile are told of and left alone. */
async function decideMany(context, entries, decision) {
  const { memory } = context;
  const groups = new Set(), problems = [];
  let count = 0;
  memory.busy ??= new Set();
  entries.forEach((entry) => memory.busy.add(keyOf(entry)));
  memory.asking = null;
  context.redraw();
  for (const entry of entries) {
    // Changes of one transaction are decided about together.
    const isDecided = entry.group && groups.has(entry.group);
    try {
      if (!isDecided) await context.post("/api/resolve", { type: entry.type, id: entry.id, resolution: decision.name, revision: entry.revision });
      if (entry.group) groups.add(entry.group);
      count += 1;
      memory.chosen.delete(keyOf(entry));
    } catch (failure) { problems.push(failure.message); }
    memory.busy.delete(keyOf(entry));
  }
  const left = problems.length ? ` ${plural(problems.length, "change")} left as ${problems.length === 1 ? "it is" : "they are"}: ${problems[0]}` : "";
  context.decided(`${decision.text}: ${plural(count, "change")}.${left}`, decision.ask ? JOURNAL : null);
  await context.reload();
  if (!context.signal.aborted) focusOn("#main h1");
}

function askMany(context, entries, decision) {
  if (!decision.ask) return decideMany(context, entries, decision);
  context.memory.asking = { name: decision.name, many: entries.map(({ type, id, revision, group }) => ({ type, id, revision, group })) };
  context.redraw();
  document.querySelector("dialog")?.showModal();
}

/** Closes the question, and returns to the button that opened it. */
function close(context, button) {
  document.querySelector("dialog")?.close();
  context.memory.asking = null;
  context.redraw();
  document.getElementById(button)?.focus();
}

function question(context, decision, { title, more, button, act }) {
  return h("dialog", { key: "dialog", "aria-labelledby": "asked",
    oncancel: (event) => { event.preventDefault(); close(context, button); } },
    h("h2", { id: "asked" }, title),
    h("p", null, decision.ask),
    more ? h("p", null, more) : null,
    h("div", { class: "buttons" },
      h("button", { type: "button", class: "danger", id: "confirm", onclick: () => {
        close(context, button);
        act();
      } }, decision.text),
      // It has the focus at first: an Enter that was held too long decides nothing.
      h("button", { type: "button", autofocus: true, onclick: () => close(context, button) }, "Cancel")));
}

function dialog(context, data) {
  const { asking } = context.memory;
  const decision = decisions.find((each) => each.name === asking?.name);
  if (asking?.many) {
    return question(context, decision, { title: `${decision.text}: ${plural(asking.many.length, "change")}?`, button: `many-${decision.name}`,
      more: "This is for each of them, and for what was written together with them.", act: () => decideMany(context, asking.many, decision) });
  }
  const entry = asking && data.entries.find((each) => keyOf(each) === asking.key);
  return entry ? question(context, decision, { title: `${decision.text} ${entry.type} ${shortID(entry.id)}?`, button: idOf(decision.name, entry.type, entry.id),
    more: entry.group ? "What was written together with it is decided about in the same way." : null,
    act: () => decide(context, entry, decision, asking.revision) }) : null;
}

/** The line that decides about all that are ticked. */
function many(context, entries) {
  const { memory } = context;
  const ticked = chosen(context, entries);
  const isAll = ticked.length === entries.length;
  const toggle = () => {
    memory.chosen = new Set(isAll ? [] : entries.map(keyOf));
    context.redraw();
  };
  const isAble = ticked.length > 0 && !memory.busy?.size;
  return h("div", { key: "many", class: "many", role: "group", "aria-label": "Decide about several" },
    h("label", { class: "check" }, h("input", { type: "checkbox", id: "all", checked: isAll, onchange: toggle }), `All ${number(entries.length)}`),
    h("span", { class: "dim grow", id: "ticked" }, ticked.length ? `${number(ticked.length)} chosen` : "Tick some, and decide about them at once."),
    h("div", { class: "buttons" }, decisions.map((decision) => h("button", { type: "button", key: decision.name, id: `many-${decision.name}`, "aria-describedby": "ticked",
      "aria-label": `${decision.text} those that are chosen`, ...acts(isAble, () => askMany(context, ticked, decision)) }, decision.text))));
}

/** The box that ticks an entry. */
function tick(context, entry) {
  const { memory } = context;
  const key = keyOf(entry);
  return h("label", { class: "check" }, h("input", { type: "checkbox", checked: memory.chosen?.has(key), onchange: (event) => {
    memory.chosen ??= new Set();
    if (event.target.checked) memory.chosen.add(key); else memory.chosen.delete(key);
    context.redraw();
  } }), h("span", { class: "unseen" }, `Choose ${entry.type} ${shortID(entry.id)}`));
}

function card(context, entry, isTickable) {
  const { memory } = context;
  const key = keyOf(entry);
  const title = idOf("title", entry.type, entry.id);
  const isAble = !memory.busy?.has(key);
  return h("article", { key, class: "card", "aria-labelledby": title },
    h("header", null,
      h("div", { class: "ticked" }, isTickable ? tick(context, entry) : null,
        h("h2", { id: title, tabindex: "-1" }, badge(entry.kind), " ", entry.type, " ", recordLink(entry.type, entry.id))),
      h("span", { class: "dim" }, entry.attempts ? `rejected ${plural(entry.attempts, "time")}` : "waits for one it was written together with")),
    reason(entry, true), comparison(entry, context.summary),
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
  title: () => "Rejected changes",
  async load({ get, signal, memory, decided }) {
    const found = await get("/api/rejected", {}, signal);
    const there = new Set(found.entries.map(keyOf));
    const gone = memory.asking && [memory.asking.key ?? memory.asking.many.map(keyOf)].flat().find((key) => !there.has(key));
    if (gone) {
      decided(`${gone} no longer waits for a decision: it was edited or decided about elsewhere.`);
      memory.asking = null;
    }
    if (memory.chosen) memory.chosen = new Set([...memory.chosen].filter((key) => there.has(key)));
    return found;
  },
  render(context, data) {
    const isSeveral = data.entries.length > 1;
    return [
      h("p", { class: "lead" }, data.total
        ? `${plural(data.total, "change")} that the server rejected. Other changes are sent all the same; each of these is kept until the server accepts it or you decide.`
        : "The server rejected nothing."),
      isSeveral ? many(context, data.entries) : null,
      data.entries.length ? data.entries.map((entry) => card(context, entry, isSeveral))
        : empty("Nothing is rejected.", "A change that the server rejects is listed here, with the reason and four decisions: retry, keep local, revert, remove local."),
      data.total > data.entries.length
        ? h("p", { key: "more", class: "dim" }, `The first ${number(data.entries.length)} are shown; others follow as these are decided about.`) : null,
      dialog(context, data),
    ];
  },
};
