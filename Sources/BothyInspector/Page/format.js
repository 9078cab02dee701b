// Values as people read them.

import { Whole } from "./api.js";
import { acts, h } from "./dom.js";

const numbers = new Intl.NumberFormat("en");
export const number = (value) => numbers.format(value);
export const plural = (count, one, many = one + "s") => `${number(count)} ${count === 1 ? one : many}`;

export function bytes(value) {
  if (value < 1024) return `${value} B`;
  const units = ["KB", "MB", "GB", "TB"];
  let unit = -1;
  do { value /= 1024; unit += 1; } while (value >= 1024 && unit < units.length - 1);
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

const pad = (value) => String(value).padStart(2, "0");

export function clock(milliseconds) {
  const date = new Date(milliseconds);
  const time = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return date.toDateString() === new Date().toDateString() ? time : `${day} ${time}`;
}

export function span(milliseconds) {
  const seconds = Math.abs(milliseconds) / 1000;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 2 * 86400) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

/** A moment with how long ago it is, by the inspector's clock. */
export function when(milliseconds, now) {
  if (milliseconds === null || milliseconds === undefined) return h("span", { class: "none" }, "never");
  // The server's clock may be some seconds ahead of the page's.
  const text = now ? ` (${milliseconds > now + 5000 ? `in ${span(milliseconds - now)}` : milliseconds > now - 1000 ? "now" : `${span(now - milliseconds)} ago`})` : "";
  return h("time", { datetime: new Date(milliseconds).toISOString() }, clock(milliseconds),
    text && h("span", { class: "dim" }, text));
}

/** A sign for those who look, words for those who listen. */
export const sign = (glyph, words) => h("span", { class: "none", title: words },
  h("span", { "aria-hidden": "true" }, glyph), h("span", { class: "unseen" }, words));

/** Characters that turn the direction of a text, and others that don't show. Joiners, tabs and ends of lines stay. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
const code = (character) => `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

/** A text in which everything can be seen, and nothing changes how the rest is read. */
export const plain = (text) => String(text).replace(HIDDEN, code);

/** A text in its own direction, which leaves the text around it as it was. */
export const words = (text) => h("bdi", null, plain(text));

/** The characters of a text that are shown before the rest is unfolded. */
const FOLD = 600;

/** A text, folded behind its beginning if it is long. */
function text(given) {
  if (given.length <= FOLD) return words(given);
  // A character of two units isn't cut in its middle.
  const beginning = given.slice(0, FOLD).replace(/[\ud800-\udbff]$/, "");
  return h("details", { class: "long" },
    h("summary", null, h("span", { class: "beginning" }, words(beginning), "…"), h("span", { class: "dim" }, ` All ${number(given.length)} characters`)),
    words(given));
}

/** A field's value by its kind. */
export function value(given, kind) {
  if (given === null || given === undefined) return sign("–", "empty");
  if (kind === "date") {
    const date = new Date(given);
    // Years that the browser can't count to.
    if (Number.isNaN(date.getTime())) return `${given} ms`;
    const text = date.toISOString().replace("T00:00:00.000Z", "").replace("T", " ").replace(/\.000Z$/, "Z");
    return h("time", { datetime: date.toISOString() }, text);
  }
  if (typeof given === "boolean") return given ? "yes" : "no";
  if (typeof given === "number" || given instanceof Whole) return h("span", { class: "num" }, String(given));
  if (typeof given === "string") return given === "" ? h("span", { class: "none" }, "empty text") : text(given);
  if (typeof given.lat === "number" && typeof given.lon === "number") return `${given.lat}, ${given.lon}`;
  if (typeof given.latitude === "number") return `${given.latitude}, ${given.longitude}`;
  return h("code", null, plain(JSON.stringify(given)));
}

/** The kind of a type's field, by the summary; `undefined` if it is not known. */
export const kindOf = (summary, type, field) =>
  summary?.types.find((each) => each.name === type)?.fields.find((each) => each.name === field)?.kind;

export const isNumeric = (kind) => ["int", "double", "decimal"].includes(kind);

/** An id, shortened in the middle; the whole of it stays in the title. */
export function shortID(id) {
  if (id.length <= 22) return plain(id);
  const letters = [...new Intl.Segmenter().segment(id)].map(({ segment }) => segment);
  return plain(letters.length > 22 ? `${letters.slice(0, 9).join("")}…${letters.slice(-8).join("")}` : id);
}

export const recordLink = (type, id, text) =>
  h("a", { href: `#/records/${encodeURIComponent(type)}/${encodeURIComponent(id)}`, title: plain(`${type}/${id}`) },
    words(text ?? shortID(id)));

const tones = {
  clean: "calm", pending: "wait", draft: "plain", rejected: "bad", quarantined: "bad", blocked: "wait",
  insert: "good", update: "info", delete: "bad", fresh: "good", usable: "wait", stale: "bad", unknown: "plain",
};
export const badge = (text, tone) => h("span", { class: `badge ${tone ?? tones[text] ?? "plain"}` }, text);

/** A name of the program's own, such as `signInRequired`, as words. */
export const spaced = (name) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** Since when and how often syncs have not ended well, and why: a sentence and what can be done. */
export const failed = (failing, now) => [
  h("strong", null, "No sync has ended well since ", when(failing.since, now), ". "),
  `${plural(failing.count, "try", "tries")}${failing.count > 1 ? ", the last" : ""} with “${spaced(failing.reason)}”: ${failing.message} ${failing.remedy}`];

/** Turns the pages of a list whose marks, where each page after the first begins, are in the view's memory. */
export function pager(context, range, next) {
  const marks = context.memory.marks ?? [];
  const turn = async (to) => {
    context.memory.marks = to;
    await context.reload();
    context.announce(document.getElementById("range")?.textContent ?? "");
  };
  return h("div", { class: "pager" }, h("span", { id: "range" }, range),
    h("button", { type: "button", ...acts(marks.length > 0, () => turn(marks.slice(0, -1))) }, "Previous"),
    h("button", { type: "button", ...acts(Boolean(next), () => turn([...marks, next])) }, "Next"));
}

/** Names with what they are, in a line; none is parted from its own where the line is broken. */
export const facts = (pairs) => h("dl", { class: "facts inline" },
  pairs.map(([name, what]) => h("div", { key: name }, h("dt", null, name), h("dd", null, what))));

/** A list without entries, with what it shows otherwise. */
export const empty = (title, text) => h("div", { class: "empty" }, h("strong", null, title), h("p", null, text));

/** A table with a name, heads for columns, and rows of cells. */
export function table(caption, columns, rows, options = {}) {
  return h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": caption },
    h("table", { class: options.class ?? "" },
      h("caption", { class: options.showsCaption ? "" : "unseen" }, caption),
      h("thead", null, h("tr", null, columns.map((column) => typeof column === "string"
        ? h("th", { scope: "col" }, column)
        : h("th", { scope: "col", class: column.class, "aria-sort": column.sort }, column.text)))),
      h("tbody", null, rows)));
}
