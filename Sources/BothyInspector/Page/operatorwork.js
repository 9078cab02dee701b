// The work for an operator: the overview, undelivered changes of webhooks, and spaces whose upkeep is due.

import { h } from "./dom.js";
import { badge, bytes, empty, facts, number, plural, sign, span, table, when } from "./format.js";
import { count, noServers, seconds, section, state } from "./operatorservers.js";
import { asJSON, due, mends, noDatabase } from "./operatorspaces.js";

const HOUR = 3_600_000;
const LOW = 1 << 30;

const tile = (name, text, note, href, tone) => h("a", { key: name, class: `tile ${tone ?? ""}`, href },
  h("span", { class: "name" }, name), h("span", { class: "big" }, text), h("span", { class: "note" }, note));

function needs(data) {
  const list = [];
  if (data.databaseProblem) list.push([`${data.databaseProblem} Spaces can't be shown until it is back.`, "See the servers", "#/servers"]);
  for (const server of data.servers) {
    if (server.awaySince !== null) list.push([[`${server.url} has not answered since `, when(server.awaySince, data.now), `. ${server.problem}`], "See the servers", "#/servers"]);
    else if (server.ready === false) list.push([`${server.url} is not ready. ${server.unreadiness}`, "See the servers", "#/servers"]);
    if (server.failures) list.push([`${server.url} answered ${plural(server.failures, "request")} with 500. Its log says why.`, "See the servers", "#/servers"]);
    if (server.waiting) list.push([`At ${server.url} ${plural(server.waiting, "request waits", "requests wait")} in line.`, "See its limits", "#/limits"]);
    if (server.upkeepAge > 2 * HOUR / 1000) list.push([`${server.url} has not looked for due spaces for ${span(server.upkeepAge * 1000)}.`, "See upkeep", "#/upkeep"]);
    for (const hook of server.disabled) list.push([`${server.url} has switched off the webhook ${hook.webhook} after an answer of 410.`, "See webhooks", "#/webhooks"]);
  }
  for (const hook of data.webhooks) {
    if (hook.failing) list.push([`The webhook ${hook.webhook} fails in ${plural(hook.failing, "space")}.`, "See webhooks", "#/webhooks"]);
  }
  if (data.dueSince && data.now - data.dueSince > 2 * HOUR) list.push([`A space has waited for its upkeep for ${span(data.now - data.dueSince)}.`, "See upkeep", "#/upkeep"]);
  for (const disk of data.disks) {
    if (disk.free < LOW) list.push([`Only ${bytes(disk.free)} are free on the disk of the ${disk.of}.`, "See storage", "#/storage"]);
  }
  return list;
}

export const overview = {
  events: ["operator"],
  title: () => "Overview",
  load: ({ get, signal }) => get("/api/operator/overview", {}, signal),
  render(context, data) {
    const attention = needs(data);
    const answering = data.servers.filter((server) => server.awaySince === null && server.answeredAt !== null);
    const refused = answering.reduce((sum, server) => sum + (server.refusedLately ?? 0), 0);
    const behind = data.webhooks.reduce((sum, hook) => sum + hook.behind, 0);
    const failing = data.webhooks.reduce((sum, hook) => sum + hook.failing, 0);
    return [
      h("div", { class: "tiles" },
        tile("Spaces", count(data.spaces), data.database === null ? "no database was named" : "in the database", "#/spaces"),
        tile("Servers", data.servers.length ? `${answering.length} of ${data.servers.length}` : "none", data.servers.length ? "answer" : "none was named", "#/servers",
          data.servers.some((server) => server.awaySince !== null) ? "bad" : ""),
        tile("Refused lately", answering.length ? number(refused) : sign("–", "not known"), answering.length ? "requests" : "no server reports it", "#/refusals", refused ? "wait" : ""),
        tile("Due for upkeep", count(data.due), data.due === null ? "no database reports it" : data.due ? "spaces" : "nothing waits", "#/upkeep"),
        tile("Webhooks", data.webhooks.length ? number(behind) : "none", data.webhooks.length ? (behind ? "spaces behind" : "everything is delivered") : "have progress", "#/webhooks", failing ? "bad" : behind ? "wait" : "")),
      h("section", { "aria-labelledby": "needs" },
        h("h2", { id: "needs" }, "What needs you"),
        attention.length
          ? h("ul", { class: "needs" }, attention.map(([text, action, href]) => h("li", null, h("span", null, text), " ", h("a", { href }, action))))
          : empty("Nothing.", "Servers that don't answer, failing webhooks, late upkeep and full disks are reported here.")),
      h("section", { "aria-labelledby": "looked" },
        h("h2", { id: "looked" }, "Checks"),
        facts([["Database", data.database === null ? "none" : h("code", null, data.database)]]),
        data.servers.length
          ? h("ul", { class: "plainlist", id: "states" }, data.servers.map((server) => h("li", { key: server.url }, h("code", null, server.url), " ", state(server, data.now))))
          : noServers("Its state appears here.")),
      asJSON("overview"),
    ];
  },
};

function hook(line, index, now) {
  return h("section", { key: line.webhook, "aria-labelledby": `hook-${index}` },
    h("h2", { id: `hook-${index}` }, line.webhook, " ", line.failing ? badge("failing", "bad") : line.behind ? badge("behind", "wait") : badge("all delivered", "good")),
    facts([["Spaces with progress", number(line.spaces)], ["Behind", number(line.behind)], ["Failing", number(line.failing)],
      ["Never tried", number(line.untouched)], ["Last delivery", when(line.delivered, now)]]),
    line.untouched ? h("p", { class: "dim" }, "Spaces that were never tried are new, or outside of the webhook's patterns.") : null,
    line.worst.length
      ? table(`Spaces in which ${line.webhook} is behind`, ["Space", { text: "Changes behind", class: "num" }, { text: "Failures in a row", class: "num" }, "Last delivery", "Commands"],
        line.worst.map((entry) => h("tr", { key: entry.space }, h("th", { scope: "row", class: "nowrap" }, h("a", { href: `#/spaces/${encodeURIComponent(entry.space)}` }, entry.space)),
          h("td", { class: "num" }, number(entry.behind)), h("td", { class: "num" }, entry.failures ? badge(number(entry.failures), "bad") : "0"),
          h("td", { class: "nowrap" }, when(entry.delivered, now)), h("td", null, mends(entry)))))
      : empty("Nothing is behind.", "Spaces with undelivered changes are listed here, those with the most failures first."),
    line.behind > line.worst.length ? h("p", { class: "dim" }, `${plural(line.worst.length, "space")} of ${number(line.behind)}. All of them: `, h("code", null, line.list)) : null);
}

export const webhooks = {
  events: ["operator"],
  title: () => "Feed and webhooks",
  load: ({ get, signal }) => get("/api/operator/webhooks", {}, signal),
  render: (context, data) => [
    h("p", { class: "lead" }, "A webhook's progress is in the database, in each space. A webhook that fails continues by itself when its receiver answers with 2xx again. After an answer of 410 a process leaves it alone until the process is started again."),
    data.database === null ? noDatabase("The progress of webhooks appears here.")
      : data.webhooks.length ? data.webhooks.map((line, index) => hook(line, index, data.now))
        : empty("No webhook has delivered anything.", "With bothy serve --webhook its progress appears here, from the first delivery on."),
    data.servers.map((server, index) => section(server, index, data.now,
      server.webhooks.length
        ? table(`Webhooks at ${server.url}`, ["Webhook", "State", { text: "Failing spaces", class: "num" }, { text: "Lag", class: "num" }, { text: "Delivered changes", class: "num" },
          { text: "Mean time", class: "num" }],
        server.webhooks.map((entry) => h("tr", { key: entry.webhook }, h("th", { scope: "row" }, entry.webhook),
          h("td", null, entry.disabled ? [badge("switched off", "bad"), " Start the process again when the receiver is back."] : badge("on", "good")),
          h("td", { class: "num" }, count(entry.failing)), h("td", { class: "num" }, entry.lag === null ? sign("–", "not known") : entry.lag ? span(entry.lag * 1000) : "none"),
          h("td", { class: "num" }, count(entry.changes ?? 0)), h("td", { class: "num" }, seconds(entry.meanTime)))))
        : h("p", { class: "dim" }, "This process reports no webhook. It has none, or has not delivered yet."),
      h("h3", null, "Feed"),
      server.feed.length
        ? table(`Reads of the feed at ${server.url}`, ["Status", { text: "Requests since its start", class: "num" }],
          server.feed.map((entry) => h("tr", { key: entry.status }, h("th", { scope: "row" }, entry.status), h("td", { class: "num" }, number(entry.total)))), { class: "narrow" })
        : h("p", { class: "dim" }, "No reader has used the feed of this process. Its readers keep their own places, so the server knows no lag of theirs."))),
    data.servers.length ? null : noServers("What each process delivers, its lag and what it has switched off appear here."),
    asJSON("webhooks"),
  ],
};

export const upkeep = {
  events: ["operator"],
  title: () => "Upkeep",
  load: ({ get, signal }) => get("/api/operator/upkeep", { limit: 50 }, signal),
  render: (context, data) => [
    h("p", { class: "lead" }, "A space is due when something in it gets too old, and after a change when its rest is over. Servers look after due spaces by themselves, a few at a time. A space that fails is put off, and the log says why."),
    data.database === null ? noDatabase("The spaces that are due appear here.") : [
      h("p", null, data.due ? [badge("due", "wait"), ` ${data.due >= data.dueLimit ? "at least " : ""}${plural(data.due, "space")} now.`] : [badge("nothing is due", "good"), " Those below come next."]),
      data.spaces.length
        ? table("Spaces by the time of their upkeep", ["Space", "Due", "To do it now"], data.spaces.map((space) => h("tr", { key: space.space },
          h("th", { scope: "row" }, h("a", { href: `#/spaces/${encodeURIComponent(space.space)}` }, space.space)),
          h("td", { class: "nowrap" }, due(space.due, data.now)), h("td", null, h("code", null, space.command)))))
        : empty("No space has a time for its upkeep.", "Each becomes due by its next change."),
    ],
    data.servers.length
      ? h("section", { "aria-labelledby": "looks" }, h("h2", { id: "looks" }, "What servers do"),
        table("Upkeep of servers", ["Server", "Last look", { text: "Due then", class: "num" }, { text: "Longest wait", class: "num" }, { text: "Looked after", class: "num" }, { text: "Failed", class: "num" }],
          data.servers.map((server) => h("tr", { key: server.url }, h("th", { scope: "row" }, server.url, server.awaySince === null ? null : [" ", badge("away", "bad")]),
            h("td", { class: "nowrap" }, server.age === null ? sign("–", "not known") : `${span(server.age * 1000)} ago`), h("td", { class: "num" }, count(server.due)),
            h("td", { class: "num" }, server.lag === null ? sign("–", "not known") : span(server.lag * 1000)), h("td", { class: "num" }, count(server.done)), h("td", { class: "num" }, count(server.failed))))))
      : noServers("When each process last looked, and what it did, appear here."),
    asJSON("upkeep"),
  ],
};
