// Copies that may be deleted at any time: their sizes, ages and pins.

import { h } from "./dom.js";
import { badge, bytes, clock, empty, facts, number, plural, span, table } from "./format.js";

const states = [["fresh", "fresh"], ["usable", "usable, to be renewed"], ["stale", "to be asked for first"], ["unknown", "of a source without a rule"]];

/** Shares of a whole as one bar; the same in words for those who can't see it. */
export function shares(counts) {
  const total = states.reduce((sum, [name]) => sum + counts[name], 0);
  if (!total) return h("span", { class: "none" }, "–");
  let from = 0;
  const text = states.filter(([name]) => counts[name]).map(([name, words]) => `${number(counts[name])} ${words}`).join(", ");
  return h("svg", { class: "shares", viewBox: "0 0 100 8", preserveAspectRatio: "none", role: "img", "aria-label": text },
    h("title", null, text),
    states.map(([name]) => {
      const width = 100 * counts[name] / total;
      from += width;
      return width ? h("rect", { key: name, class: name, x: from - width, y: 0, width, height: 8 }) : null;
    }));
}

function rates(counters) {
  const reads = counters.memoryHits + counters.diskHits + counters.bundledHits + counters.misses;
  const rate = (count) => reads ? `${Math.round(1000 * count / reads) / 10} %` : "–";
  return table("Reads by tier", ["Tier", { text: "Reads", class: "num" }, { text: "Share", class: "num" }], [
    ["Memory", counters.memoryHits], ["Disk", counters.diskHits], ["Bundled", counters.bundledHits], ["Nothing stored", counters.misses],
  ].map(([name, count]) => h("tr", { key: name }, h("th", { scope: "row" }, name), h("td", { class: "num" }, number(count)), h("td", { class: "num" }, rate(count)))), { class: "narrow" });
}

/** Regions hold their tiles under their ids. */
function heldBy(name, cache) {
  const region = cache.regions.find((each) => name === `region:${each.id}`);
  return region ? `region ${region.name}` : name;
}

function limit(cache, used) {
  const most = cache.limits.bytes;
  if (!most) return "no limit of bytes";
  return [`${Math.round(100 * used / most)} % of ${bytes(most)} `,
    h("meter", { min: "0", max: String(most), value: used, "aria-label": "Room used" }, "")];
}

function section(context, cache, index, open) {
  const sum = (name) => cache.sources.reduce((total, source) => total + source[name], 0);
  const used = sum("bytes") - sum("pinnedBytes");
  const chosen = open?.index === index ? open : null;
  return h("section", { key: cache.folder, class: "card", "aria-labelledby": `cache${index}` },
    h("h2", { id: `cache${index}` }, h("code", null, cache.folder)),
    facts([["Entries", number(sum("entries"))], ["On disk", bytes(sum("bytes"))],
      ["Pinned", `${number(sum("pinned"))}, ${bytes(sum("pinnedBytes"))}`], ["Room", limit(cache, used)]]),
    cache.sources.length
      ? table("Sources", ["Source", { text: "Entries", class: "num" }, { text: "Bytes", class: "num" }, { text: "Pinned", class: "num" }, "Freshness", "Held by", "Show"],
        cache.sources.map((source) => h("tr", { key: source.name },
          h("th", { scope: "row" }, source.name), h("td", { class: "num" }, number(source.entries)),
          h("td", { class: "num" }, bytes(source.bytes)), h("td", { class: "num" }, number(source.pinned)),
          h("td", null, shares(source.freshness)),
          h("td", { class: "dim" }, source.holders.map((holder) => `${heldBy(holder.name, cache)} (${number(holder.entries)})`).join(", ")),
          h("td", null, h("button", { type: "button", class: "quiet", "aria-label": `Show entries of ${source.name}`,
            "aria-expanded": String(chosen?.source === source.name), onclick: () => toggle(context, index, source.name) }, "Entries")))))
      : empty("Nothing is stored.", "Each source with stored copies is listed here, with its entries, bytes and freshness."),
    chosen ? entries(chosen, context) : null,
    h("h3", null, "Hit rates"),
    cache.counters ? [rates(cache.counters), h("p", { class: "dim small" }, `Of all processes that have closed this cache, ever. ${number(cache.counters.loaded)} loaded from the network, ${number(cache.counters.confirmed)} confirmed as unchanged, ${number(cache.counters.failed)} failed.`)]
      : h("p", { class: "dim" }, "Reads are counted in the memory of the process that reads, and added to the folder when it closes the cache: none has yet."),
    cache.regions.length ? [h("h3", null, "Regions"), table("Regions", ["Region", "State", { text: "Tiles", class: "num" }, { text: "There", class: "num" }, { text: "Bytes", class: "num" }],
      cache.regions.map((region) => h("tr", { key: region.id }, h("th", { scope: "row" }, region.name),
        h("td", null, badge(region.state, region.state === "complete" ? "good" : region.state === "partial" || region.reason ? "bad" : "wait"), region.reason ? ` ${region.reason}` : ""),
        h("td", { class: "num" }, number(region.tiles)), h("td", { class: "num" }, number(region.stored)), h("td", { class: "num" }, bytes(region.bytes)))))] : null);
}

/** Opens the entries of a source, or closes them. */
async function toggle(context, index, source) {
  const { memory } = context;
  const isOpen = memory.open?.index === index && memory.open.source === source;
  memory.open = isOpen ? null : { index, source };
  await context.reload();
  if (!isOpen) context.announce(memory.told ?? "");
}

function entries(chosen, context) {
  const now = context.summary?.now ?? Date.now();
  return [h("h3", null, `Entries of ${chosen.source}`),
    table(`Entries of ${chosen.source}, the last used first`, ["Path", "State", { text: "Bytes", class: "num" }, "Age", "Last used"], chosen.entries.map((entry) =>
      h("tr", { key: entry.path }, h("th", { scope: "row" }, h("code", null, entry.path)),
        h("td", null, badge(entry.state), entry.pinned ? [" ", badge("pinned", "info")] : null, entry.status === 200 ? null : ` ${entry.status}`),
        h("td", { class: "num" }, bytes(entry.bytes)), h("td", { class: "nowrap" }, span(now - entry.validated)), h("td", { class: "nowrap dim" }, clock(entry.lastUsed))))),
    chosen.total > chosen.entries.length ? h("p", { class: "dim small" }, `${number(chosen.entries.length)} of ${number(chosen.total)} are shown.`) : null];
}

export default {
  events: ["caches"],
  title: () => "Caches",
  async load({ get, signal, memory }) {
    const found = await get("/api/caches", {}, signal);
    const { open } = memory;
    if (!open) return found;
    const entries = await get("/api/cache/entries", { cache: open.index, source: open.source, limit: 100 }, signal);
    memory.told = `${plural(entries.total, "entry", "entries")} of ${open.source}.`;
    return { ...found, open: { ...open, ...entries } };
  },
  render(context, data) {
    return [
      h("p", { class: "lead" }, "Copies of data from the network. Any may be deleted at any time; pinned ones stay, and count against no limit."),
      data.caches.length
        ? [h("p", { class: "legend", "aria-hidden": "true" }, states.map(([name, words]) => h("span", null, h("i", { class: name }), words))),
          data.caches.map((cache, index) => section(context, cache, index, data.open))]
        : empty("No cache was named.", "Start the inspector with --cache DIR, and this page shows the folder's entries and bytes by source, with their ages, pins and hit rates."),
    ];
  },
};
