// The spaces of a database, by name, changes or upkeep, page by page; and one space with its devices.

import { h } from "./dom.js";
import { badge, bytes, empty, facts, number, pager, plural, shortID, sign, table, when } from "./format.js";

const SIZE = 50;
const DEVICES = 50;
const unknown = (words = "not known") => sign("–", words);
/** A counted number. A space that is too large to count has at least that. */
const least = (space, text) => space.partial ? `at least ${text}` : text;
const count = (space, value, words) => value === null ? unknown(words) : least(space, number(value));
const size = (space, value, words) => value === null ? unknown(words) : least(space, bytes(value));

/** A link to the data as JSON. It opens with the page's own cookie. */
export const asJSON = (path) => h("p", { key: "json", class: "small" },
  h("a", { href: `/api/operator/${path}`, target: "_blank", rel: "noopener" }, "This page as JSON"));

/** A page without a database: what it shows, and how to see it. */
export const noDatabase = (what) => empty("No database was named.",
  `${what} Start the page with --database, as you give it to bothy serve.`);

const link = (name) => `#/spaces/${encodeURIComponent(name)}`;

function address(query) {
  const text = query.toString();
  return text ? `#/spaces?${text}` : "#/spaces";
}

function show(event, context) {
  event.preventDefault();
  const part = new FormData(event.target).get("part");
  const query = new URLSearchParams(context.route.query);
  if (part) query.set("part", part); else query.delete("part");
  context.memory.marks = [];
  const next = address(query);
  if (location.hash === next) context.reload(); else location.hash = next;
}

/** A column's head that sorts. */
function head(context, order, text, direction) {
  const isChosen = (context.route.query.get("order") ?? "name") === order;
  const query = new URLSearchParams(context.route.query);
  if (order === "name") query.delete("order"); else query.set("order", order);
  return {
    class: order === "head" ? "num" : "", sort: isChosen ? direction : null,
    text: h("a", { class: "sort", href: address(query), onclick: () => { context.memory.marks = []; } }, text,
      h("span", { "aria-hidden": "true" }, isChosen ? (direction === "ascending" ? " ↑" : " ↓") : "")),
  };
}

const form = (context) => h("form", { key: "query", class: "query", role: "search", "aria-label": "Spaces", onsubmit: (event) => show(event, context) },
  h("label", { class: "wide" }, h("span", null, "Name contains"),
    h("input", { name: "part", type: "search", value: context.route.query.get("part") ?? "", spellcheck: "false", autocomplete: "off",
      "aria-describedby": "orders" })),
  h("button", { type: "submit" }, "Show"),
  h("p", { class: "hint", id: "orders" }, "Upper and lower case differ. Records and bytes are counted by reading a space, so the list has no order by them: ",
    h("code", null, "bothy admin spaces"), " prints all of them."));

/** When a space's upkeep is due. */
export function due(time, now) {
  if (time === null) return h("span", { class: "none" }, "after its next change");
  if (time === 0) return [badge("due", "wait"), " since its first write"];
  return [time <= now ? [badge("due", "wait"), " "] : null, when(time, now)];
}

function range({ memory, route }, data) {
  const first = (memory.marks ?? []).length * SIZE, last = first + data.spaces.length;
  if (!data.spaces.length) return "";
  return `${number(first + 1)}–${number(last)}${route.query.get("part") ? "" : ` of ${number(data.total)}`}`;
}

function list(context, data) {
  if (data.database === null) return noDatabase("Its spaces are listed here.");
  const waits = data.spaces.some((space) => space.countedAt === null);
  const part = context.route.query.get("part");
  return [
    form(context),
    data.spaces.length
      ? table("Spaces", [head(context, "name", "Space", "ascending"), { text: "Records", class: "num" }, { text: "Bytes", class: "num" },
        head(context, "head", "Changes", "descending"), "Last write", { text: "Devices", class: "num" }, head(context, "due", "Upkeep", "ascending")],
      data.spaces.map((space) => h("tr", { key: space.space },
        h("th", { scope: "row" }, h("a", { class: "clip", href: link(space.space), title: space.space }, space.space)),
        h("td", { class: "num" }, count(space, space.records, "being counted")), h("td", { class: "num" }, size(space, space.bytes, "being counted")),
        h("td", { class: "num" }, number(space.head)),
        h("td", { class: "nowrap" }, space.lastWrite === null ? unknown("not remembered") : when(space.lastWrite, data.now)),
        h("td", { class: "num" }, count(space, space.devices, "being counted")),
        h("td", { class: "nowrap" }, due(space.due, data.now)))), { class: "records" })
      : part ? empty("No space has this in its name.", "Search for less of the name.")
        : empty("No spaces.", "A space is there from the first write on."),
    waits ? h("p", { key: "counting", class: "small dim", id: "counting" }, "Some spaces are being counted. Their numbers come by themselves.") : null,
    pager(context, range(context, data), data.next),
    asJSON(`spaces?${parameters(context)}`),
  ];
}

function parameters({ route, memory }) {
  const query = new URLSearchParams(route.query);
  query.set("limit", SIZE);
  for (const [name, value] of Object.entries(memory.marks?.at(-1) ?? {})) query.set(name, value);
  return query;
}

/** Explains the counts. Positions skip numbers after a restore. */
const isSkipped = (space) => space.head > 2 ** 32;

function devices(context, data) {
  const first = (context.memory.marks ?? []).length * DEVICES;
  const name = `${number(first + 1)}–${number(first + data.deviceLines.length)}${data.devices === null ? "" : ` of ${least(data, number(data.devices))}`}`;
  return h("section", { "aria-labelledby": "devices" },
    h("h2", { id: "devices" }, "Devices"),
    h("p", { class: "lead" }, "Those furthest behind come first. Servers note how far a device is once an hour at most, so a device may be nearer than this."),
    data.deviceLines.length
      ? [table(`Devices of ${data.space}`, ["Device", { text: "Changes behind", class: "num" }, "Behind since, at least", { text: "Places", class: "num" },
        { text: "Position", class: "num" }, "Noted"],
      data.deviceLines.map((device) => h("tr", { key: device.device },
        h("th", { scope: "row" }, h("code", { title: device.device }, shortID(device.device))),
        h("td", { class: "num" }, device.behind === 0 ? "none" : number(device.behind)),
        h("td", { class: "nowrap" }, device.behind === 0 ? badge("up to date", "good")
          : device.behindSince === null ? unknown("not remembered") : when(device.behindSince, data.now)),
        h("td", { class: "num" }, number(device.scopes)), h("td", { class: "num" }, number(device.position)),
        h("td", { class: "nowrap" }, when(device.notedAt, data.now))))),
      pager(context, name, data.next)]
      : empty("No device was noted.", "A device is listed after its first sync with a cursor, and for 90 days after its last one."));
}

function people(data) {
  return [
    h("section", { "aria-labelledby": "users" },
      h("h2", { id: "users" }, "Users"),
      data.principals.length
        ? [table(`Users of ${data.space}`, ["User", { text: "Owned records", class: "num" }, { text: "Lists", class: "num" }],
          data.principals.map((entry) => h("tr", { key: entry.principal }, h("th", { scope: "row" }, entry.principal),
            h("td", { class: "num" }, number(entry.records)), h("td", { class: "num" }, number(entry.lists))))),
        data.principalCount > data.principals.length ? h("p", { class: "dim" }, `The first of ${plural(data.principalCount, "user")}.`) : null]
        : empty("No users.", "No record has an owner, and no list has a member.")),
    h("section", { "aria-labelledby": "containers" },
      h("h2", { id: "containers" }, "Containers"),
      data.containerLines.length
        ? [table(`Containers of ${data.space}`, ["Container", { text: "Records", class: "num" }, { text: "Last position", class: "num" }],
          data.containerLines.map((entry) => h("tr", { key: entry.container }, h("th", { scope: "row" }, entry.container),
            h("td", { class: "num" }, number(entry.records)), h("td", { class: "num" }, number(entry.position))))),
        data.containers > data.containerLines.length ? h("p", { class: "dim" }, `The largest of ${plural(data.containers, "container")}.`) : null]
        : empty("None.", "The space has no records.")),
  ];
}

function rejections(data) {
  return h("section", { "aria-labelledby": "rejections" },
    h("h2", { id: "rejections" }, "Rejected changes"),
    h("p", { class: "lead" }, "Changes that the schema, the permissions or your back end rejected, as far as their outcomes are remembered: until the device says that it knows them. Refused requests aren't counted by space; the server's log has them, labelled bothy.audit."),
    data.rejections.length
      ? table(`Rejected changes of ${data.space}`, ["Reason", { text: "Changes", class: "num" }, "Last"],
        data.rejections.map((entry) => h("tr", { key: entry.reason }, h("th", { scope: "row" }, h("code", null, entry.reason)),
          h("td", { class: "num" }, number(entry.count)), h("td", { class: "nowrap" }, when(entry.last, data.now)))))
      : empty("None.", `No rejection is among ${plural(data.outcomesRead, "remembered outcome")}.`),
    data.outcomesRead >= data.outcomesLimit ? h("p", { class: "dim" }, `Only ${number(data.outcomesLimit)} of the remembered outcomes were read.`) : null);
}

/** The commands that set where a webhook continues. */
export const mends = (entry) => entry.skip === null ? null : h("ul", { class: "commands" },
  h("li", null, "Deliver again from the start: ", h("code", null, entry.rewind)),
  h("li", null, "Leave out undelivered changes: ", h("code", null, entry.skip)));

function hooks(data) {
  return h("section", { "aria-labelledby": "hooks" },
    h("h2", { id: "hooks" }, "Webhooks"),
    data.webhooks.length
      ? table(`Webhooks of ${data.space}`, ["Webhook", { text: "Changes behind", class: "num" }, { text: "Failures in a row", class: "num" }, "Last delivery", "Commands"],
        data.webhooks.map((entry) => h("tr", { key: entry.webhook }, h("th", { scope: "row" }, entry.webhook),
          h("td", { class: "num" }, number(entry.behind)), h("td", { class: "num" }, number(entry.failures)),
          h("td", { class: "nowrap" }, when(entry.delivered, data.now)), h("td", null, mends(entry)))))
      : empty("None.", "No webhook has progress in this database."));
}

function detail(context, data) {
  return [
    h("p", { class: "back" }, h("a", { href: "#/spaces" }, "← All spaces")),
    facts([
      ["Records", count(data, data.records, "being counted")], ["Tombstones", count(data, data.tombstones, "being counted")], ["Bytes", size(data, data.bytes, "being counted")],
      ["Blobs", data.blobs === null ? unknown("their folder is not known") : `${number(data.blobs)}, ${bytes(data.blobBytes)}`],
      ["Head", number(data.head)], ["Floor", number(data.floor)],
      ["Last write", data.lastWrite === null ? unknown("not remembered") : when(data.lastWrite, data.now)],
      ["Upkeep", due(data.due, data.now)], ["Remembered outcomes", count(data, data.outcomes, "being counted")],
    ]),
    isSkipped(data) ? h("p", { class: "dim" }, "Positions have skipped numbers since a restore, so the head does not count changes.") : null,
    devices(context, data), ...people(data), rejections(data), hooks(data),
    asJSON(`space?name=${encodeURIComponent(data.space)}`),
  ];
}

export default {
  events: ["operator"],
  title: ({ route }) => route.parts.length ? `Space ${route.parts[0]}` : "Spaces",
  found: (context, data) => data?.spaces ? range(context, data) || "No spaces." : document.title,
  form: (context) => context.route.parts.length ? null : form(context),
  load(context) {
    const { get, signal, route, memory } = context;
    if (route.parts.length) {
      return get("/api/operator/space", { name: route.parts[0], limit: DEVICES, ...memory.marks?.at(-1) }, signal);
    }
    const key = route.query.toString();
    if (memory.key !== key) Object.assign(memory, { key, marks: [] });
    return get("/api/operator/spaces", Object.fromEntries(parameters(context)), signal);
  },
  render: (context, data) => data.spaces ? list(context, data) : detail(context, data),
};
