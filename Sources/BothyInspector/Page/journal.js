// The page of the journal: the fate of the writes made here, what replaced them and when, and bringing them back.

import { acts, h } from "./dom.js";
import { badge, clock, empty, kindOf, pager, plural, recordLink, shortID, table, value, when } from "./format.js";

const tones = { accepted: "good", merged: "info", overwritten: "bad", rejected: "bad", withdrawn: "plain", unknown: "info" };

const policies = {
  fieldByField: "Another device had changed it too. Fields are merged one by one, and one that both had changed follows its own rule.",
  remoteWins: "Another device had changed it too, and by the policy remoteWins the server's state stays.",
  localWins: "Another device had changed it too, and by the policy localWins this device's state stays.",
  latestWins: "Another device had changed it too, and by the policy latestWins the later edit stays.",
};

/** The reason of a decision. The effect of a policy is told in words. */
export const why = (entry) => entry.policy && entry.why.includes(entry.policy) ? policies[entry.policy] ?? entry.why : entry.why;

/** "title was replaced by another device's at 14:02:10". */
function told(entry) {
  const names = entry.lostFields.map((field) => field.field);
  if (entry.undoneDeletion) return "The deletion was undone.";
  if (!names.length) return null;
  const what = names.length > 3 ? plural(names.length, "field") : names.join(", ");
  const at = entry.replaced ? ` at ${clock(entry.replaced)}` : "";
  const was = names.length === 1 ? "was" : "were";
  if (entry.gone) return `${what} ${was} lost with the record${at}.`;
  return ["merge", "together", "online"].includes(entry.cause)
    ? `${what} ${was} replaced by another device's${at}.` : `${what} ${was} undone.`;
}

async function restore(context, entry) {
  const { memory } = context;
  if (memory.busy) return;
  memory.busy = entry.number;
  memory.problem = null;
  context.redraw();
  try {
    await context.post("/api/journal/restore", { number: entry.number });
    context.decided(`Restored: ${entry.type} ${shortID(entry.id)}. The next sync sends it.`);
  } catch (failure) { memory.problem = { number: entry.number, text: failure.message }; }
  memory.busy = null;
  await context.reload();
  if (!context.signal.aborted) document.getElementById(`title-${entry.number}`)?.focus();
}

/** A decision with what it replaced, and a button that brings that back. */
export function card(context, entry, heading = "h2") {
  const { memory } = context;
  const title = `title-${entry.number}`;
  const sentence = told(entry);
  const shown = (given, field) => value(given, kindOf(context.summary, entry.type, field));
  return h("article", { key: entry.number, class: "card", "aria-labelledby": title },
    h("header", null,
      h(heading, { id: title, tabindex: "-1" }, badge(entry.verdict, tones[entry.verdict]), " ", entry.type, " ", recordLink(entry.type, entry.id)),
      h("span", { class: "dim" }, when(entry.decided, context.summary?.now))),
    h("p", null, sentence ? h("strong", null, sentence, " ") : null, why(entry)),
    entry.reason ? h("p", { class: "reason" }, h("code", null, entry.reason.code), " ", entry.reason.message) : null,
    entry.lostFields.length ? table(`What ${entry.type} ${entry.id} lost`, ["Field", "Before", "Here, lost", "Now"],
      entry.lostFields.map((field) => h("tr", { key: field.field }, h("th", { scope: "row" }, field.field),
        h("td", { class: "base" }, shown(field.base, field.field)), h("td", { class: "here" }, shown(field.local, field.field)),
        h("td", { class: "there" }, shown(field.now, field.field))))) : null,
    memory.problem?.number === entry.number ? h("p", { key: "problem", class: "failure", role: "alert" }, memory.problem.text) : null,
    entry.restored ? h("p", { class: "dim" }, "Restored ", when(entry.restored, context.summary?.now), ".") : null,
    entry.restorable ? h("div", { class: "decisions", role: "group", "aria-label": `Decide about ${entry.type} ${entry.id}` },
      h("div", null, h("button", { type: "button", id: `restore-${entry.number}`, "aria-describedby": `restore-${entry.number}-note`,
        ...acts(!memory.busy, () => restore(context, entry)) }, "Restore"),
      h("span", { class: "note", id: `restore-${entry.number}-note` },
        entry.undoneDeletion ? "Deletes the record again, as a new change."
          : entry.gone ? "Makes the record again as it was here, as a new change."
          : "Brings these fields back on top of what the record is now, as a new change."))) : null);
}

export default {
  events: ["store"],
  title: () => "Journal",
  load: ({ get, signal, memory }) => get("/api/journal",
    { lost: memory.all ? "" : "1", before: (memory.marks ?? []).at(-1), limit: 25 }, signal),
  render(context, data) {
    const { memory } = context;
    const entries = data.entries;
    const toggle = async () => {
      memory.all = !memory.all;
      memory.marks = [];
      await context.reload();
    };
    return [
      h("p", { class: "lead" }, "The decisions about the changes made on this device, newest first."),
      h("p", { key: "filter" }, h("label", { class: "check" },
        h("input", { type: "checkbox", id: "only-lost", checked: !memory.all, onchange: toggle }), "Only what lost something")),
      entries.length ? entries.map((entry) => card(context, entry))
        : memory.all ? empty("Nothing was decided.", "What the server accepted, merged, replaced or rejected of this device's changes is listed here.")
        : empty("Nothing was lost.", "Content of this device that gave way to another's, or was given up after a rejection, is listed here, and can be restored."),
      entries.length && (data.next || (memory.marks ?? []).length)
        ? pager(context, plural(entries.length, "decision"), data.next) : null,
    ];
  },
};
