// A form that makes a record or changes fields of one. Only fields that were changed are sent.

import { parsed } from "./api.js";
import { acts, focusOn, h } from "./dom.js";

const numeric = ["int", "double", "decimal", "date"];
const asText = {
  json: (value) => JSON.stringify(value, null, 1),
  date: (value) => new Date(value).toISOString(),
  coordinate: (value) => `${value.lat}, ${value.lon}`,
  references: (value) => value.join("\n"),
};

/** A value as it is written into a field; an empty text for none. */
function written(value, kind) {
  if (value === null || value === undefined) return "";
  // A text in a field of any JSON has quotation marks, which tell "5" from 5.
  if (typeof value === "string" && kind !== "json") return value;
  return asText[kind]?.(value) ?? (typeof value === "object" && !value.digits ? JSON.stringify(value, null, 1) : String(value));
}

/** A text with the ends of lines that a field of the page gives, whatever it was given. */
const lines = (text) => text.replace(/\r\n?/g, "\n");

/** Returns the value of a field's text as JSON. Throws an `Error` whose message says how to write it. */
function read(text, field) {
  const bare = text.trim();
  switch (field.kind) {
    case "string": return text === "" && field.optional ? null : text;
    case "bool": return bare === "" ? null : bare === "true";
    case "references": return bare === "" ? [] : bare.split(/\s*\n\s*/);
    default:
  }
  if (bare === "") return null;
  switch (field.kind) {
    case "int": case "double":
      if (/^-?\d+$/.test(bare)) return parsed(bare.replace(/^(-?)0+(?=\d)/, "$1"));
      if (field.kind === "double" && Number.isFinite(Number(bare))) return Number(bare);
      throw new Error(`${field.name} takes ${field.kind === "int" ? "a whole number" : "a number"}, such as ${field.kind === "int" ? "12" : "12.5"}.`);
    case "coordinate": {
      const [lat, lon] = bare.split(/[,\s]+/).map(Number);
      if (Number.isFinite(lat) && Number.isFinite(lon)) return { lat, lon };
      throw new Error(`${field.name} takes a latitude and a longitude, such as 60.03, 10.66.`);
    }
    case "json": case "blob":
      try { return parsed(bare); } catch { throw new Error(`${field.name} takes JSON, such as {"a": 1}.`); }
    default: return bare;
  }
}

/** Opens the form for a record, or for a new one of the type. It keeps what the record was then. */
export function edit(context, record, focus = null) {
  context.memory.editing = { record, problem: null, isBusy: false, focus };
  context.redraw();
  focusOn(focus ? `#field-${CSS.escape(focus)}` : "#edit input, #edit textarea, #edit select");
}

function close(context) {
  context.memory.editing = null;
  context.redraw();
  focusOn("#begin-edit");
}

async function save(event, context, type) {
  event.preventDefault();
  const { editing } = context.memory;
  if (editing.isBusy) return;
  const form = new FormData(event.target), fields = {};
  editing.problem = null;
  try {
    for (const field of type.fields) {
      const text = form.get(field.name), before = written(editing.record?.fields[field.name], field.kind);
      if (text === null || lines(text) === lines(before)) continue;
      fields[field.name] = read(lines(text), field);
    }
    if (editing.record && !Object.keys(fields).length) return close(context);
    editing.isBusy = true;
    context.redraw();
    const saved = await context.post("/api/put", { type: type.name, id: editing.record?.id, fields });
    context.memory.editing = null;
    context.decided(`Saved: ${type.name} ${saved.id}. ${type.synced === false ? "It stays on this device." : "The next sync sends it."}`,
      { href: `#/records/${encodeURIComponent(type.name)}/${encodeURIComponent(saved.id)}`, text: "Show it" });
    await context.reload();
    if (!context.signal.aborted) focusOn("#main h1");
  } catch (failure) {
    editing.problem = failure.message;
    editing.isBusy = false;
    context.redraw();
    focusOn("#edit-problem");
  }
}

const HINTS = { date: "2026-01-31T12:00:00Z", coordinate: "60.03, 10.66", references: "An id on each line", reference: "An id" };

/** Enter saves, as in a field of one line; with Shift it begins another line. */
function submits(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  event.target.form.requestSubmit();
}

function input(field, value) {
  const id = `field-${field.name}`, text = written(value, field.kind);
  if (field.kind === "bool") {
    return h("select", { id, name: field.name }, [["true", "yes"], ["false", "no"], ...(field.optional || text === "" ? [["", "empty"]] : [])].map(([each, words]) =>
      h("option", { value: each, selected: each === text }, words)));
  }
  const more = { id, name: field.name, value: text, placeholder: HINTS[field.kind], dir: "auto", spellcheck: "false", autocomplete: "off" };
  return ["string", "json", "blob", "references"].includes(field.kind)
    ? h("textarea", { ...more, rows: String(Math.min(8, text.split("\n").length)), onkeydown: field.kind === "string" ? submits : null })
    : h("input", { ...more, type: "text", inputmode: numeric.includes(field.kind) && field.kind !== "date" ? "decimal" : null });
}

/** The form, while it is open. */
export function editor(context, type) {
  const { editing } = context.memory;
  if (!editing || !type) return null;
  const { record } = editing;
  return h("form", { key: "edit", id: "edit", class: "card edit", "aria-labelledby": "edit-title", onsubmit: (event) => save(event, context, type),
    onkeydown: (event) => { if (event.key === "Escape") close(context); } },
  h("h2", { id: "edit-title" }, record ? `Edit ${type.name}` : `Add a record of the type ${type.name}`),
  editing.problem ? h("p", { key: "problem", id: "edit-problem", class: "failure", role: "alert", tabindex: "-1" }, editing.problem) : null,
  h("div", { class: "inputs" }, type.fields.map((field) => h("div", { key: field.name },
    h("label", { for: `field-${field.name}` }, field.name, h("span", { class: "dim" }, ` ${field.kind}${field.optional ? ", optional" : ""}`)),
    input(field, record?.fields[field.name])))),
  h("div", { class: "buttons" },
    h("button", { type: "submit", class: "primary", ...(editing.isBusy ? { "aria-disabled": "true" } : {}) }, "Save"),
    h("button", { type: "button", onclick: () => close(context) }, "Cancel"),
    h("span", { class: "dim" }, "Enter saves; with Shift it begins a new line. Nothing is sent before the next sync.")));
}

/** A link to the form of a record, at the field that the server misses. */
export const fillIn = (entry, field) => h("a", { href: `#/records/${encodeURIComponent(entry.type)}/${encodeURIComponent(entry.id)}?edit=${encodeURIComponent(field)}` }, `Fill in ${field}`);

/** The button that opens the form. */
export const beginEdit = (context, record) => h("button", { type: "button", id: "begin-edit", ...acts(!context.memory.editing, () => edit(context, record)) },
  record ? "Edit" : "Add a record");
