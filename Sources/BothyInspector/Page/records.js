// Records of a type, by a condition, page by page; and one record in full.

import { h } from "./dom.js";
import { badge, empty, isNumeric, number, pager, plural, recordLink, shortID, sign, table, value } from "./format.js";
import { comparison, reason } from "./inbox.js";
import { why } from "./pending.js";

const SIZE = 50;

function typeOf({ summary: now, memory, route }) {
  const summary = now ?? memory.summary;
  const name = route.parts[0] ?? summary?.types[0]?.name;
  return summary?.types.find((type) => type.name === name) ?? (name ? { name, fields: [] } : null);
}

const address = (type, query) => {
  const text = query.toString();
  return `#/records/${encodeURIComponent(type)}${text ? "?" + text : ""}`;
};

function show(event, context) {
  event.preventDefault();
  const form = new FormData(event.target);
  const query = new URLSearchParams();
  for (const name of ["where", "order"]) if (form.get(name).trim()) query.set(name, form.get(name).trim());
  const next = address(typeOf(context).name, query);
  context.memory.marks = [];
  if (location.hash === next) context.reload(); else location.hash = next;
}

/** A column's head: sorts by it, and the other way round the second time. */
function head(context, type, field) {
  const order = context.route.query.get("order") ?? "";
  const isUp = order === field.name, isDown = order === `-${field.name}`;
  const query = new URLSearchParams(context.route.query);
  query.set("order", isUp ? `-${field.name}` : field.name);
  const isSortable = !["json", "data", "coordinate", "references", "blob"].includes(field.kind);
  return {
    class: isNumeric(field.kind) ? "num" : "", sort: isUp ? "ascending" : isDown ? "descending" : null,
    text: isSortable
      ? h("a", { class: "sort", href: address(type.name, query), onclick: () => { context.memory.marks = []; } },
        field.name, h("span", { "aria-hidden": "true" }, isUp ? " ↑" : isDown ? " ↓" : ""))
      : field.name,
  };
}

function cell(given, field) {
  if (field.target && typeof given === "string") return recordLink(field.target, given);
  if (field.target && Array.isArray(given)) return given.map((id, index) => [index ? ", " : "", recordLink(field.target, id)]);
  return value(given, field.kind);
}

function form(context) {
  const type = typeOf(context);
  const { query } = context.route;
  const example = type?.fields.find((field) => field.kind === "string")?.name ?? "title";
  return h("form", { key: "query", class: "query", role: "search", "aria-label": "Query", onsubmit: (event) => show(event, context) },
    h("label", { class: "wide" }, h("span", null, "Where"),
      h("input", { name: "where", type: "search", value: query.get("where") ?? "", spellcheck: "false", autocomplete: "off",
        "aria-describedby": "grammar", placeholder: `${example} CONTAINS 'hut'` })),
    h("label", null, h("span", null, "Order"),
      h("input", { name: "order", type: "text", value: query.get("order") ?? "", spellcheck: "false", autocomplete: "off",
        placeholder: `-${example}` })),
    h("button", { type: "submit" }, "Show"),
    h("p", { class: "hint", id: "grammar" }, "As in ", h("code", null, "bothy db query"),
      ": = != < <= > >= IN CONTAINS BEGINSWITH MATCHES WITHIN INSIDE IS NULL, joined by AND, OR, NOT."));
}

function list(context, data) {
  const type = typeOf(context);
  const types = (context.summary ?? context.memory.summary)?.types ?? [];
  if (!type) return empty("No types.", "The records of each type that the app declares would be listed here.");
  const marks = context.memory.marks ?? [];
  const seen = context.memory.seen ?? new Map();
  const fresh = new Map();
  const rows = data.records.map((record) => {
    const text = JSON.stringify([record.version, record.state, record.fields]);
    fresh.set(record.id, text);
    const isChanged = seen.size > 0 && seen.get(record.id) !== text && context.memory.page === marks.length;
    return h("tr", { key: record.id, class: isChanged ? "changed" : "" },
      h("th", { scope: "row", class: "id" }, recordLink(type.name, record.id)),
      h("td", null, record.state === "synced" ? sign("✓", "synced") : badge(record.state)),
      record.distance === undefined ? null : h("td", { class: "num" }, number(record.distance)),
      type.fields.map((field) => h("td", { class: isNumeric(field.kind) ? "num" : "" },
        h("div", { class: "clip" }, cell(record.fields[field.name], field)))));
  });
  context.memory.seen = fresh;
  context.memory.page = marks.length;
  const measured = data.records.some((record) => record.distance !== undefined);
  return [
    h("div", { class: "tabs", role: "group", "aria-label": "Types" }, types.map((each) =>
      h("a", { key: each.name, href: `#/records/${encodeURIComponent(each.name)}`, "aria-current": each.name === type.name ? "true" : null },
        each.name, h("span", { class: "count" }, number(each.count))))),
    form(context),
    rows.length
      ? table(`Records of the type ${type.name}`, ["Id", "State", measured && { text: "Metres", class: "num" },
        ...type.fields.map((field) => head(context, type, field))].filter(Boolean), rows, { class: "records" })
      : empty("No records.", context.route.query.get("where")
        ? "Records for which the condition holds would be listed here. Change the condition, or leave it out."
        : `Records of the type ${type.name} would be listed here: bothy db put makes one, a sync brings others.`),
    pager(context, range(context, data), data.next),
  ];
}

/** Which records are shown, of how many. */
function range({ memory }, data) {
  const first = (memory.marks ?? []).length * SIZE, last = first + data.records.length;
  return data.records.length ? `${number(first + 1)}–${number(last)} of ${number(memory.total ?? last)}` : "";
}

function detail(context, data) {
  const [name, id] = context.route.parts;
  const type = typeOf(context);
  const { record, pending } = data;
  const known = new Map(type.fields.map((field) => [field.name, field]));
  return [
    h("p", { class: "back" }, h("a", { href: `#/records/${encodeURIComponent(name)}` }, `← All records of the type ${name}`)),
    h("dl", { class: "facts" },
      h("dt", null, "Id"), h("dd", null, h("code", null, id)),
      h("dt", null, "State"), h("dd", null, record ? badge(record.state) : badge("deleted here", "bad")),
      record && [h("dt", null, "Container"), h("dd", null, record.container),
        ...(record.created ? [h("dt", null, "Created"), h("dd", null, value(record.created, "date"))] : []),
        ...(record.modified ? [h("dt", null, "Modified"), h("dd", null, value(record.modified, "date"))] : []),
        ...(record.owner ? [h("dt", null, "Owner"), h("dd", null, record.owner)] : []),
        h("dt", null, "Version"), h("dd", null, record.version ? h("code", null, record.version) : "none: the server has not seen it")]),
    record && h("section", { "aria-labelledby": "fields" },
      h("h2", { id: "fields" }, "Fields"),
      table(`Fields of ${name} ${id}`, ["Field", "Kind", "Value"],
        [...new Set([...known.keys(), ...Object.keys(record.fields)])].map((field) => h("tr", { key: field },
          h("th", { scope: "row" }, field), h("td", { class: "dim" }, known.get(field)?.kind ?? ""),
          h("td", null, cell(record.fields[field], known.get(field) ?? {})))))),
    pending && h("section", { "aria-labelledby": "pending" },
      h("h2", { id: "pending" }, "What waits"),
      h("p", null, badge(pending.kind), " ", why(pending, context.summary)),
      reason(pending), comparison(pending),
      pending.reason && h("p", null, h("a", { href: "#/inbox" }, "Decide in the inbox"))),
  ];
}

export default {
  events: ["store"],
  title: ({ route }, data) => route.parts.length > 1 ? `${route.parts[0]} ${shortID(route.parts[1])}` : "Records",
  found: (context, data) => data?.records && (range(context, data) || "No records."),
  form: (context) => context.route.parts.length > 1 ? null : form(context),
  async load(context) {
    const { get, signal, route, memory } = context;
    if (!context.summary && !memory.summary) memory.summary = await get("/api/overview", {}, signal);
    if (route.parts.length > 1) {
      const found = await get("/api/record", { type: route.parts[0], id: route.parts[1] }, signal);
      return found;
    }
    const name = route.parts[0] ?? (context.summary ?? memory.summary).types[0]?.name;
    if (!name) return { records: [], next: null, total: 0 };
    const key = `${name}?${route.query}`;
    if (memory.key !== key) Object.assign(memory, { key, marks: [], seen: new Map(), total: undefined });
    const page = await get("/api/records", {
      type: name, where: route.query.get("where"), order: route.query.get("order"), limit: SIZE,
      after: memory.marks?.at(-1),
    }, signal);
    if (page.total !== null) memory.total = page.total;
    return page;
  },
  render(context, data) {
    if (data.record !== undefined) return detail(context, data);
    return list(context, data);
  },
};
