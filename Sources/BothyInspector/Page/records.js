// Records of a type, by a condition, page by page; and one record in full.

import { h } from "./dom.js";
import { beginEdit, edit, editor } from "./edit.js";
import { facets, facetsOf } from "./facets.js";
import { badge, empty, isNumeric, number, pager, plural, recordLink, shortID, sign, table, value, when, words } from "./format.js";
import { comparison, reason } from "./rejected.js";
import { card } from "./journal.js";
import { why } from "./pending.js";

const SIZE = 50;
/** More types than these are folded, so that the records are not far below them. */
const TYPES = 12;
/** The number of records from which on a scan is pointed out. */
const SCAN = 10000;
/** The most decisions about a record that its page shows. */
const STORY = 10;

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

/** A value for a line of the list, which shows the beginning of a text alone. */
const brief = (given) => typeof given === "string" ? given.slice(0, 200) : given;

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

/** The way in which SQLite read the page, open where a scan visited many records. */
function plan(statements) {
  const scanned = statements.reduce((sum, each) => sum + each.scanned, 0);
  if (!statements.length) return null;
  return h("details", { key: "plan", class: "plan", open: scanned > SCAN },
    h("summary", null, scanned > SCAN ? `Read by a scan of ${number(scanned)} records: an index may help` : "How it was read"),
    statements.map((each) => h("pre", null, [each.sql, ...each.plan.map((step) => "  " + step)].join("\n"))));
}

/** The types as links with their counts; folded where there are many. */
function choice(types, type) {
  const link = (each) => h("a", { key: each.name, href: `#/records/${encodeURIComponent(each.name)}`, "aria-current": each.name === type.name ? "true" : null },
    each.name, h("span", { class: "count" }, number(each.count)));
  const links = h("div", { class: "tabs", role: "group", "aria-label": "Types" }, types.map(link));
  if (types.length <= TYPES) return links;
  const count = types.find((each) => each.name === type.name)?.count ?? 0;
  return h("details", { key: "types", class: "types" },
    h("summary", null, "Type ", h("strong", null, type.name), h("span", { class: "count" }, ` ${number(count)}`),
      h("span", { class: "dim" }, `, one of ${number(types.length)}`)), links);
}

/** Notes which records of the same page are not as they were when it was read before. */
function compare(memory, page) {
  const place = (memory.marks ?? []).length, seen = memory.seen ?? new Map();
  const now = new Map(page.records.map((record) => [record.id, JSON.stringify([record.version, record.state, record.fields])]));
  const isComparable = seen.size > 0 && memory.page === place;
  memory.changed = new Set(isComparable ? [...now].filter(([id, text]) => seen.get(id) !== text).map(([id]) => id) : []);
  memory.seen = now;
  memory.page = place;
}

function list(context, data) {
  const type = typeOf(context);
  const types = (context.summary ?? context.memory.summary)?.types ?? [];
  if (!type) return empty("No types.", "The records of each type that the app declares are listed here.");
  const rows = data.records.map((record) => {
    return h("tr", { key: record.id, class: context.memory.changed?.has(record.id) ? "changed" : "" },
      h("th", { scope: "row", class: "id" }, recordLink(type.name, record.id)),
      h("td", null, record.state === "synced" ? sign("✓", "synced") : badge(record.state)),
      record.distance === undefined ? null : h("td", { class: "num" }, number(record.distance)),
      type.fields.map((field) => h("td", { class: isNumeric(field.kind) ? "num" : "" },
        h("div", { class: "clip" }, cell(brief(record.fields[field.name]), field)))));
  });
  const measured = data.records.some((record) => record.distance !== undefined);
  return [
    choice(types, type),
    form(context),
    facets(context.memory.facets, context.route.query.get("where") ?? "", (where) => {
      const query = new URLSearchParams(context.route.query);
      if (where) query.set("where", where); else query.delete("where");
      return address(type.name, query);
    }),
    h("p", { key: "add" }, beginEdit(context, null)),
    editor(context, type),
    plan(data.plan ?? []),
    rows.length
      ? table(`Records of the type ${type.name}`, ["Id", "State", measured && { text: "Metres", class: "num" },
        ...type.fields.map((field) => head(context, type, field))].filter(Boolean), rows, { class: "records" })
      : empty("No records.", context.route.query.get("where")
        ? "Records for which the condition holds are listed here. Change the condition, or leave it out."
        : `Records of the type ${type.name} are listed here: bothy db put makes one, a sync brings others.`),
    pager(context, range(context, data), data.next),
  ];
}

/** The range of the shown records, and their number. */
function range({ memory }, data) {
  const first = (memory.marks ?? []).length * SIZE, last = first + data.records.length;
  return data.records.length ? `${number(first + 1)}–${number(last)} of ${number(memory.total ?? last)}` : "";
}

/** The records that refer to one: a row for each field by which some do, with a link to the list of them. */
function referrers(groups, name, id) {
  if (!groups.length) return null;
  const rows = groups.filter((group) => group.count).map(({ type, field, where, count, hasMore, ids }) =>
    h("tr", { key: `${type}.${field}` }, h("th", { scope: "row" }, `${type}.${field}`),
      h("td", null, h("a", { href: address(type, new URLSearchParams({ where })) },
        hasMore ? `over ${plural(count, "record")}` : plural(count, "record"))),
      h("td", null, cell(ids, { target: type }), hasMore || ids.length < count ? ", …" : null)));
  return h("section", { "aria-labelledby": "referrers" },
    h("h2", { id: "referrers" }, "Referred to by"),
    rows.length ? table(`Records that refer to ${name} ${id}`, ["Field", "Records", "First"], rows, { class: "values" })
      : empty("No record refers to it.", "The records on this device whose fields refer to it are listed here."));
}

function detail(context, data) {
  const [name, id] = context.route.parts;
  const type = typeOf(context);
  const { record, pending } = data;
  const now = context.summary?.now;
  const known = new Map(type.fields.map((field) => [field.name, field]));
  return [
    h("p", { class: "back" }, h("a", { href: `#/records/${encodeURIComponent(name)}` }, `← All records of the type ${name}`)),
    data.isMissing ? empty("It is not on this device.", "It was deleted, by this device or another, or it was never here, such as one that is only referred to.") : null,
    h("dl", { class: "facts" },
      h("dt", null, "Id"), h("dd", null, h("code", null, words(id))),
      data.isMissing ? null : [h("dt", null, "State"), h("dd", null, record ? badge(record.state) : badge("deleted here", "bad"))],
      record && [h("dt", null, "Container"), h("dd", null, words(record.container)),
        ...(record.created ? [h("dt", null, "Created"), h("dd", null, when(new Date(record.created).getTime(), now))] : []),
        ...(record.modified ? [h("dt", null, "Modified"), h("dd", null, when(new Date(record.modified).getTime(), now))] : []),
        ...(record.owner ? [h("dt", null, "Owner"), h("dd", null, record.owner)] : []),
        h("dt", null, "Version"), h("dd", null, record.version ? h("code", null, record.version) : "none: the server has not seen it")]),
    record && h("section", { "aria-labelledby": "fields" },
      h("header", { class: "line" }, h("h2", { id: "fields" }, "Fields"), beginEdit(context, { id, fields: record.fields })),
      context.memory.editing ? editor(context, type) : table(`Fields of ${name} ${id}`, ["Field", "Kind", "Value"],
        [...new Set([...known.keys(), ...Object.keys(record.fields)])].map((field) => h("tr", { key: field },
          h("th", { scope: "row" }, field), h("td", { class: "dim" }, known.get(field)?.kind ?? ""),
          h("td", null, cell(record.fields[field], known.get(field) ?? {})))), { class: "values" })),
    pending && h("section", { "aria-labelledby": "pending" },
      h("h2", { id: "pending" }, "Pending change"),
      h("p", null, badge(pending.kind), " ", why(pending, context.summary)),
      reason(pending), comparison(pending, context.summary),
      pending.reason && ["retry", "together"].includes(pending.waitsFor.what) && h("p", null, h("a", { href: "#/rejected" }, "Decide about it"))),
    referrers(data.referrers, name, id),
    h("section", { "aria-labelledby": "story" },
      h("h2", { id: "story" }, "What happened"),
      data.story.length ? data.story.map((entry) => card(context, entry, "h3"))
        : empty("Nothing was decided.", "What became of changes that this device made to the record is told here: what the server accepted, rejected, or replaced by another device's."),
      data.hasMore ? h("p", null, h("a", { href: "#/journal" }, "Older decisions are in the journal")) : null),
  ];
}

export default {
  events: ["store"],
  title: ({ route }, data) => route.parts.length > 1 ? `${route.parts[0]} ${shortID(route.parts[1])}` : "Records",
  found: (context, data) => data?.records && (range(context, data) || "No records."),
  form: (context) => context.route.parts.length > 1 ? null : form(context),
  /** An address may name the field to begin with: the page of rejected changes links to what the server misses. */
  arrived(context, data) {
    const field = context.route.query.get("edit");
    if (field && data?.record && !context.memory.editing) edit(context, { id: data.record.id, fields: data.record.fields }, field);
  },
  async load(context) {
    const { get, signal, route, memory } = context;
    if (!context.summary && !memory.summary) memory.summary = await get("/api/overview", {}, signal);
    if (route.parts.length > 1) {
      const [type, id] = route.parts;
      const found = await get("/api/record", { type, id }, signal).catch((failure) => {
        if (failure.code !== "notFound") throw failure;
        return { record: null, pending: null, isMissing: true };
      });
      const { entries, next } = await get("/api/journal", { type, id, limit: STORY }, signal);
      const { groups } = await get("/api/referrers", { type, id }, signal);
      return { ...found, story: entries, hasMore: Boolean(next), referrers: groups };
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
    compare(memory, page);
    // Those of the whole list stay while it is narrowed.
    const type = typeOf(context);
    if (type && !memory.marks?.length && (!memory.facets || !route.query.get("where"))) memory.facets = facetsOf(type, page.records);
    return page;
  },
  render(context, data) {
    if (data.record !== undefined) return detail(context, data);
    return list(context, data);
  },
};
