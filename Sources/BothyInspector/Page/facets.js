// Values that few records differ in, as links that narrow a list to one of them.

import { h } from "./dom.js";
import { plain } from "./format.js";

/** Fields with more values than this have no facet. */
const MOST = 6;
const KINDS = ["bool", "string", "int", "decimal", "reference"];

/** True for text in quotes. A decimal is text that conditions take as a number. */
const isQuoted = (field, value) => typeof value === "string" && !(field.kind === "decimal" && /^-?\d+(\.\d+)?$/.test(value));

/** The condition for a value, as the box for conditions takes it. */
const condition = (field, value) =>
  `${field.name} = ${isQuoted(field, value) ? `'${value.replaceAll("'", "''")}'` : String(value)}`;

/** The values of each field that the records of a page have, where they are few and come again. */
export function facetsOf(type, records) {
  return type.fields.filter((field) => KINDS.includes(field.kind)).flatMap((field) => {
    if (field.kind === "bool") return [{ field, values: [true, false] }];
    const given = records.map((record) => record.fields[field.name]).filter((value) => value !== null && value !== undefined && value !== "");
    const values = [...new Set(given)].sort((one, other) => one < other ? -1 : 1);
    return values.length > 1 && values.length <= MOST && given.length >= 2 * values.length ? [{ field, values }] : [];
  });
}

const hide = (text) => "·".repeat(text.length);

/** The text with what is in quotes or brackets hidden, in as many characters. */
function outside(where) {
  let bare = where.replace(/'[^']*'|"[^"]*"/g, hide), last;
  do {
    last = bare;
    bare = bare.replace(/\([^()]*\)/g, hide);
  } while (bare !== last);
  return bare;
}

/** The conditions of a text that are joined by AND. One that has OR is a single condition, in brackets. */
function parts(where) {
  const bare = outside(where), found = [];
  if (/\bOR\b/i.test(bare)) return [`(${where})`];
  let from = 0;
  for (const { 0: word, index } of bare.matchAll(/\s+AND\s+/gi)) {
    found.push(where.slice(from, index));
    from = index + word.length;
  }
  return [...found, where.slice(from)].filter(Boolean);
}

/** Links that add a value's condition, or take it out again. `address` gives the address of a condition. */
export function facets(found, where, address) {
  if (!found?.length) return null;
  const present = parts(where);
  const link = (field, value) => {
    const text = condition(field, value), isOn = present.includes(text);
    const others = present.filter((each) => !each.startsWith(`${field.name} = `));
    return h("a", { key: text, href: address((isOn ? others : [...others, text]).join(" AND ")), "aria-current": isOn ? "true" : null },
      typeof value === "boolean" ? (value ? "yes" : "no") : plain(value));
  };
  return h("div", { key: "facets", class: "facets", role: "group", "aria-label": "Narrow the list" }, found.map(({ field, values }) =>
    h("div", { key: field.name, class: "tabs", role: "group", "aria-label": field.name },
      h("span", { class: "dim" }, field.name), values.map((value) => link(field, value)))));
}
