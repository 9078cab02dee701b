// Server processes side by side: what they refuse, how near they come to their limits, and their use of storage.

import { h } from "./dom.js";
import { badge, bytes, empty, number, sign, table, when } from "./format.js";
import { asJSON } from "./operatorspaces.js";

const unknown = (words = "not known") => sign("–", words);
const count = (value) => value === null || value === undefined ? unknown() : number(value);
const rate = (value) => value === null ? unknown("not yet known") : `${value < 10 ? value.toFixed(1) : number(Math.round(value))}/s`;
const seconds = (value) => value === null ? unknown("none lately") : value < 1 ? `${(value * 1000).toFixed(value < 0.01 ? 1 : 0)} ms` : `${value.toFixed(1)} s`;

/** A page without servers: what it shows, and how to see it. */
const noServers = (what) => empty("No server was named.",
  `${what} Start the page with --server http://host:port for each process, as near to it as no proxy is between.`);

/** Says if a process answers, or since when it doesn't. */
export function state(server, now) {
  if (server.awaySince !== null) return [badge("away", "bad"), " since ", when(server.awaySince, now)];
  if (server.answeredAt === null) return badge("not asked yet", "plain");
  return server.ready ? badge("ready", "good") : [badge("not ready", "wait"), " ", server.unreadiness];
}

/** The last answer stays on the page, and the page says that it is old. */
const old = (server, now) => server.awaySince === null || server.answeredAt === null ? null
  : h("p", { class: "dim" }, "It does not answer. These numbers are of ", when(server.answeredAt, now), ".");

const section = (server, index, now, ...children) => h("section", { key: server.url, "aria-labelledby": `server-${index}` },
  h("h2", { id: `server-${index}` }, server.url, " ", state(server, now)), old(server, now),
  server.answeredAt === null ? h("p", { class: "dim" }, server.problem ?? "It was not asked yet.") : children);

const verdicts = (server) => Object.fromEntries(server.operations.map((entry) => [entry.verdict, entry.total]));

export const servers = {
  events: ["operator"],
  title: () => "Servers",
  load: ({ get, signal }) => get("/api/operator/servers", {}, signal),
  render(context, data) {
    if (!data.servers.length) return [noServers("Its processes appear here side by side."), asJSON("servers")];
    const line = (server, kind) => {
      const found = server.lines.find((entry) => entry.kind === kind);
      return found.running === null ? unknown() : `${number(found.running)}${found.waiting ? `, ${number(found.waiting)} wait` : ""}`;
    };
    const rows = [
      ["State", (server) => state(server, data.now)],
      ["Last answer", (server) => when(server.answeredAt, data.now)],
      ["Reason", (server) => server.problem ?? sign("–", "none")],
      ["Requests", (server) => rate(server.requestRate)], ["Mean time", (server) => seconds(server.meanTime)],
      ["Answers of 500", (server) => count(server.failures ?? (server.answeredAt === null ? null : 0))],
      ["Connections", (server) => count(server.connections)], ["Event streams", (server) => count(server.streams)],
      ["Pulls at work", (server) => line(server, "pull")], ["Pushes at work", (server) => line(server, "push")],
      ["Queries at work", (server) => line(server, "query")],
      ["Applied operations", (server) => count(verdicts(server).applied ?? (server.answeredAt === null ? null : 0))],
      ["Conflicts", (server) => count(verdicts(server).conflict ?? (server.answeredAt === null ? null : 0))],
      ["Rejected operations", (server) => count(verdicts(server).rejected ?? (server.answeredAt === null ? null : 0))],
      ["Notifications", (server) => count(server.hints)],
      ["News of other processes", (server) => server.looksForNews === null ? unknown() : server.looksForNews ? badge("every 5 s", "wait") : badge("at once", "good")],
    ];
    return [
      h("p", { class: "lead" }, "Rates and times are those between the last two looks, this page's own requests included. Other numbers count from the start of the process."),
      table("Servers", ["What", ...data.servers.map((server) => ({ text: server.url }))],
        rows.map(([name, cell]) => h("tr", { key: name }, h("th", { scope: "row", class: "nowrap" }, name),
          data.servers.map((server) => h("td", { key: server.url }, cell(server)))))),
      asJSON("servers"),
    ];
  },
};

const counted = (caption, names, cells, rows) => table(caption, [...names, { text: "Since its start", class: "num" }, { text: "Lately", class: "num" }],
  rows.map((row) => h("tr", { key: cells.map((name) => row[name]).join(" ") }, cells.map((name, index) =>
    h(index ? "td" : "th", index ? { key: name } : { key: name, scope: "row" }, h("code", null, row[name]))),
  h("td", { class: "num" }, number(row.total)), h("td", { class: "num" }, count(row.lately)))));

const byLately = (rows) => rows.filter((row) => row.total > 0).sort((one, other) => (other.lately ?? 0) - (one.lately ?? 0) || other.total - one.total);

export const refusals = {
  events: ["operator"],
  title: () => "Refusals",
  load: ({ get, signal }) => get("/api/operator/refusals", {}, signal),
  render(context, data) {
    if (!data.servers.length) return [noServers("Refusals are counted here, by reason and by route."), asJSON("refusals")];
    return [
      h("p", { class: "lead" }, "Lately means since this page first looked, ten minutes at most. Who was refused is in the server's log, in the lines labelled bothy.audit: servers keep no such list in memory."),
      data.servers.map((server, index) => section(server, index, data.now,
        h("p", { class: "dim" }, "Lately is since ", when(server.latelySince, data.now), ". ",
          `Rejected changes of devices: ${number(server.rejected ?? 0)}, of which your back end refused ${number(server.decided ?? 0)}.`),
        h("h3", null, "By reason"),
        byLately(server.reasons).length ? counted(`Reasons at ${server.url}`, ["Reason"], ["reason"], byLately(server.reasons))
          : empty("Nothing was refused.", "Reasons such as expired, space, principalRate or unavailable are counted here."),
        h("h3", null, "By route"),
        byLately(server.routes).length ? counted(`Routes at ${server.url}`, ["Route", "Method", "Status"], ["route", "method", "status"], byLately(server.routes))
          : empty("No route refused a request.", "Routes with answers such as 401, 403, 429 and 503 are counted here."),
        h("h3", null, "Ended connections"),
        byLately(server.endings).length ? counted(`Ended connections at ${server.url}`, ["Reason"], ["reason"], byLately(server.endings))
          : empty("The server ended no connection.", "Connections beyond the limit, and slow ones, are counted here."))),
      asJSON("refusals"),
    ];
  },
};

/** The used part of a limit, as a meter and in words. */
function use(entry, now) {
  const parts = [];
  if (entry.peak !== null) {
    if (entry.value) {
      parts.push(h("meter", { min: "0", max: String(entry.value), value: String(Math.min(entry.peak, entry.value)),
        "aria-label": `${number(entry.peak)} of ${number(entry.value)}` }), " ");
    }
    parts.push(`${number(entry.used)} now, ${number(entry.peak)} at most seen `, h("span", { class: "dim" }, "at ", when(entry.peakAt, now)));
  }
  for (const { reason, total } of entry.reached) {
    if (total) parts.push(parts.length ? ", " : "", badge(`${number(total)} × ${reason}`, "wait"));
  }
  if (!parts.length) return entry.reached.some(({ total }) => total === 0) ? h("span", { class: "dim" }, "not reached") : unknown("no metric says so");
  return parts;
}

export const limits = {
  events: ["operator"],
  title: () => "Limits",
  load: ({ get, signal }) => get("/api/operator/limits", {}, signal),
  render(context, data) {
    const subjects = [...new Set(data.limits.map((limit) => limit.subject))];
    const columns = data.servers.length ? data.servers.map((server) => ({ text: server.url })) : [];
    const cell = (limit, entry, server) => h("td", { key: server.url },
      !entry.applies ? h("span", { class: "dim" }, "another kind of database")
        : entry.text === null ? (limit.option ? unknown(server.answeredAt === null ? "not asked yet" : "the server does not tell it") : limit.default)
          : [h("strong", null, entry.text), entry.text === limit.default || limit.default.includes(",") ? null : h("span", { class: "dim" }, ` (default ${limit.default})`)],
      limit.option && entry.applies && server.answeredAt !== null ? h("div", { class: "small" }, use(entry, data.now)) : null);
    return [
      h("p", { class: "lead" }, "The most that was seen is by this page's looks, every few seconds since it was opened. A server that came to a limit in between counts it: how often is beside the reason of the refusals. Some reasons belong to several limits."),
      data.servers.length ? null : noServers("The values in force, and how near each process came to them, appear here. These are the defaults of this program."),
      subjects.map((subject, index) => h("section", { key: subject, "aria-labelledby": `subject-${index}` },
        h("h2", { id: `subject-${index}` }, subject),
        table(`Limits: ${subject}`, ["Limit", ...(columns.length ? columns : ["Default"])],
          data.limits.filter((limit) => limit.subject === subject).map((limit) => h("tr", { key: limit.name },
            h("th", { scope: "row", class: "limit" }, h("code", null, limit.option ?? limit.name), h("div", { class: "dim" }, limit.about)),
            columns.length ? limit.servers.map((entry, place) => cell(limit, entry, data.servers[place])) : h("td", null, limit.default)))))),
      asJSON("limits"),
    ];
  },
};

const FILES = { data: "Database file", log: "Its log" };
const PLACES = { database: "Disk of the database", blobs: "Disk of the blobs" };
const POOLS = { read: "Short reads", write: "Writes", search: "Queries" };

function files(entry, id) {
  const rows = [...entry.files.map((file) => [FILES[file.file] ?? file.file, bytes(file.bytes)]),
    ...entry.disks.map((disk) => [PLACES[disk.of] ?? disk.of, `${bytes(disk.free)} free`])];
  return rows.length ? table(id, ["What", { text: "Bytes", class: "num" }],
    rows.map(([name, text]) => h("tr", { key: name }, h("th", { scope: "row" }, name), h("td", { class: "num" }, text))), { class: "narrow" })
    : empty("No file is known.", "PostgreSQL keeps its own files. With --blobs the disk of the blobs appears here.");
}

export const storage = {
  events: ["operator"],
  title: () => "Storage",
  load: ({ get, signal }) => get("/api/operator/storage", {}, signal),
  render: (context, data) => [
    data.database === null ? empty("No database was named.", "Its files, as this machine sees them, appear here. Start the page with --database.")
      : h("section", { "aria-labelledby": "here" }, h("h2", { id: "here" }, "As this machine sees it"), files(data, "Files of the database")),
    data.servers.length ? data.servers.map((server, index) => section(server, index, data.now,
      files(server, `Files at ${server.url}`),
      h("h3", null, "Transactions"),
      table(`Transactions at ${server.url}`, ["Kind", { text: "Now", class: "num" }, { text: "Connections", class: "num" }, { text: "Rate", class: "num" },
        { text: "Mean time", class: "num" }, { text: "Failed since its start", class: "num" }],
      server.pools.map((pool) => h("tr", { key: pool.kind }, h("th", { scope: "row" }, POOLS[pool.kind]),
        h("td", { class: "num" }, count(pool.running)), h("td", { class: "num" }, count(pool.connections)), h("td", { class: "num" }, rate(pool.rate)),
        h("td", { class: "num" }, seconds(pool.meanTime)), h("td", { class: "num" }, count(pool.failed)))))))
      : noServers("Each process's transactions, and the connections for them, appear here."),
    data.servers.length ? h("p", { class: "dim" }, "More transactions than connections means that some wait. A log that grows without end has a reader that does not end.") : null,
    asJSON("storage"),
  ],
};

export { count, noServers, seconds, section };
