// Two devices side by side, with a switch for the network of each: change things on both, and see what becomes of it.

import { get, post } from "./api.js";
import { announce, focusOn, h, patch } from "./dom.js";
import { badge, clock, empty, number, plural, sign, value } from "./format.js";
import { why } from "./journal.js";
import { follow } from "./live.js";
import { brand, liveness } from "./shell.js";

const state = { data: null, isLive: true, problem: null, deleted: null };
/** The most events that are shown. */
const STORY = 20;
let isReading = false, isStale = false;

async function read() {
  if (isReading) { isStale = true; return; }
  isReading = true;
  do {
    isStale = false;
    try { state.data = await get("/api/play"); } catch (failure) { if (!failure.isLost) state.problem = failure.message; }
  } while (isStale);
  isReading = false;
  draw();
}

async function change(path, body, words) {
  let isOk = false;
  try {
    await post(path, body);
    isOk = true;
    state.problem = null;
    if (words) announce(words);
  } catch (failure) { if (!failure.isLost) state.problem = failure.message; }  // the banner says that it is lost
  await read();
  return isOk;
}

const put = (device, id, fields, words) => change("/api/play/put", { device, id, fields }, words);

function add(event, device) {
  event.preventDefault();
  const form = event.target, values = new FormData(form);
  const title = values.get("title").trim(), country = values.get("country").trim();
  if (!title) return;
  form.reset();
  form.elements.title.focus();
  put(device.name, undefined, { title, country: country || null, nights: 1 }, `${title} was added on ${device.name}'s device.`);
}

/** A field that is written when it is left, or with Enter. */
function field(device, trip, name, label) {
  return h("input", { type: "text", value: trip.fields[name] ?? "", "aria-label": `${label} of ${trip.fields.title}`, placeholder: label,
    class: name, title: label, onchange: (event) => put(device.name, trip.id, { [name]: event.target.value.trim() || null }) });
}

/** Notes of several lines, which a field of one line loses. Shift and Enter begin another. */
function notes(device, trip) {
  const text = trip.fields.notes ?? "";
  const write = (event) => {
    const written = event.target.value.trim();
    if (written !== text.trim()) put(device.name, trip.id, { notes: written || null });
  };
  return h("textarea", { value: text, rows: String(text.split("\n").length), "aria-label": `Notes of ${trip.fields.title}`, placeholder: "Notes", class: "notes",
    onchange: write, onkeydown: (event) => {
      if (event.key !== "Enter" || event.shiftKey) return;
      event.preventDefault();
      write(event);
    } });
}

function trip(device, found) {
  const { title, nights, done } = found.fields;
  return h("li", { key: found.id, class: done ? "done" : "" },
    h("input", { type: "checkbox", checked: done, "aria-label": `${title} is done`, onchange: (event) => put(device.name, found.id, { done: event.target.checked }) }),
    h("div", { class: "texts" },
      h("div", { class: "line" }, field(device, found, "title", "Title"), field(device, found, "country", "Country")),
      h("div", { class: "line" }, notes(device, found))),
    h("div", { class: "side" },
      h("button", { type: "button", class: "quiet", "aria-label": `${plural(nights, "night")} +, one more for ${title}`, onclick: () => put(device.name, found.id, { nights: nights + 1 }) },
        plural(nights, "night"), " +"),
      found.state === "synced" ? sign("✓", "The server has it") : badge(found.state),
      h("button", { type: "button", class: "quiet", "aria-label": `Delete ${title}`, onclick: () => remove(device, found) }, "×")));
}

/** Deletes at once, and offers to take it back. */
async function remove(device, found) {
  const text = `${found.fields.title} was deleted on ${device.name}'s device.`;
  const isOk = await change("/api/play/delete", { device: device.name, id: found.id }, text);
  if (!isOk) return;
  state.deleted = { device: device.name, found, text };
  draw();
  focusOn("#undo");
}

async function undo() {
  const { device, found } = state.deleted;
  state.deleted = null;
  await put(device, found.id, found.fields, `${found.fields.title} is back on ${device}'s device.`);
  focusOn(`#device-${device}`);
}

function device(found) {
  const id = `device-${found.name}`;
  return h("section", { key: found.name, class: `device ${found.online ? "" : "off"}`, "aria-labelledby": id },
    h("header", null,
      h("h2", { id }, `${found.name}'s device`),
      h("button", { type: "button", role: "switch", class: "switch", "aria-checked": String(found.online), id: `network-${found.name}`,
        "aria-label": `${found.online ? "Online" : "Offline"}, network of ${found.name}'s device`, onclick: () => change("/api/play/network", { device: found.name, online: !found.online },
          `${found.name}'s device is ${found.online ? "offline" : "online"}.`) },
        h("i", { "aria-hidden": "true" }), found.online ? "Online" : "Offline")),
    h("p", { class: "state" }, found.pending ? badge(`${found.pending} pending`, "wait") : badge("all sent", "good"),
      found.rejected ? [" ", badge(`${found.rejected} rejected`, "bad")] : null,
      found.syncing ? [" ", badge("syncing", "info")] : null,
      found.inspector ? h("a", { href: found.inspector, target: "_blank", rel: "noopener" }, "Inspect") : null),
    found.trips.length ? h("ul", { class: "trips" }, found.trips.map((each) => trip(found, each)))
      : empty("No trips.", "Those that are added here, or come from the other device, are listed."),
    h("form", { class: "add", onsubmit: (event) => add(event, found), "aria-label": `Add a trip on ${found.name}'s device` },
      h("input", { name: "title", type: "text", placeholder: "A new trip", "aria-label": "Title", autocomplete: "off" }),
      h("input", { name: "country", type: "text", placeholder: "Country", "aria-label": "Country", autocomplete: "off" }),
      h("button", { type: "submit" }, "Add")));
}

function server(found) {
  return h("section", { class: "server", "aria-labelledby": "server" },
    h("h2", { id: "server" }, "The server"),
    h("p", { class: "dim" }, `${plural(found.trips.length, "trip")}. It insists on a country.`),
    h("ul", { class: "plainlist" }, found.trips.map(({ id, fields }) => h("li", { key: id, class: fields.done ? "done" : "" },
      h("strong", null, fields.title), h("span", { class: "dim" }, ` ${fields.country}, ${plural(fields.nights ?? 0, "night")}`),
      fields.notes ? h("p", { class: "dim small" }, fields.notes) : null))));
}

/** The result of a sync, as in "sent 1 and received 2". Empty if nothing was moved. */
function exchanged(sync) {
  const parts = [];
  if (sync.pushed) parts.push(`sent ${number(sync.pushed)}`);
  if (sync.pulled) parts.push(`received ${number(sync.pulled)}`);
  if (sync.rejected) parts.push(`had ${number(sync.rejected)} rejected`);
  return parts.join(parts.length > 2 ? ", " : " and ");
}

/** The title of a trip, as a device or the server has it now. */
function titled(id) {
  const all = [...state.data.devices.flatMap((each) => each.trips), ...state.data.server.trips];
  return all.find((each) => each.id === id)?.fields.title ?? "A trip that is gone";
}

/** The exchanges of a device, and what became of its changes where they met others. */
function happenings(found) {
  const syncs = (found.syncs ?? []).filter((sync) => exchanged(sync) || sync.problem).map((sync) => ({ key: `sync ${found.name} ${sync.id}`, time: sync.ended, kind: badge("exchange", sync.problem ? "wait" : "info"),
    text: [exchanged(sync) ? `${found.name}'s device ${exchanged(sync)}. ` : "", sync.problem ? `${found.name}'s device: ${sync.problem.message}` : ""] }));
  const told = found.decisions ?? [];
  // Of a record that is rejected again and again the last time is enough.
  const isOpen = (entry) => entry.verdict === "rejected" && !entry.final;
  const isLast = (entry, place) => !isOpen(entry) || told.findIndex((each) => each.id === entry.id && isOpen(each)) === place;
  const merges = told.filter((entry, place) => isLast(entry, place) && entry.verdict !== "accepted").map((entry) => ({
    key: `decision ${found.name} ${entry.number}`, time: entry.decided, kind: badge(entry.verdict, entry.verdict === "merged" ? "good" : "bad"),
    text: [h("strong", null, titled(entry.id), ", as written by ", found.name, ": "), entry.reason ? `${entry.reason.message} ` : "",
      entry.verdict === "merged" && entry.cause === "acknowledged" ? "merged with what another device had changed, and taken by the server." : why(entry),
      entry.lostFields.length ? h("ul", null, entry.lostFields.map((each) => h("li", null, each.field, ": ", value(each.local), entry.verdict === "merged" ? " became " : " gave way to ", value(each.now)))) : null] }));
  return [...syncs, ...merges];
}

function story(data) {
  const lines = data.devices.flatMap(happenings).sort((one, other) => other.time - one.time).slice(0, STORY);
  return h("section", { class: "story", "aria-labelledby": "story" }, h("h2", { id: "story" }, "What happened"),
    h("div", { role: "log", "aria-labelledby": "story" }, lines.length
      ? h("ol", { class: "moments" }, lines.map((line) => h("li", { key: line.key },
        h("time", { datetime: new Date(line.time).toISOString() }, clock(line.time)), line.kind, h("div", null, line.text))))
      : empty("Nothing yet.", "Each exchange of a device with the server, and each merge of changes that met, is told here.")));
}

const hints = [
  "Switch both networks off, change the title of one trip on both devices, and switch them on: the later edit stays.",
  "Offline, write notes on the same trip on both: both are kept. Add nights on both: they add up.",
  "Delete a trip on one device and edit it on the other meanwhile.",
  "Add a trip without a country: the server rejects it, and that device's inspector has it among the rejected changes.",
];

function draw() {
  patch(document.getElementById("top"), [
    brand("Bothy"),
    h("span", { class: "file" }, "two devices and their server"), h("span", { class: "grow" }),
    liveness(state.isLive)]);
  patch(document.getElementById("banners"), [
    state.isLive ? null : h("div", { key: "lost", class: "banner bad", role: "alert", id: "offline" },
      h("strong", null, "The demo has ended. "), "Run ", h("code", null, "bothy demo --open"), " to begin again."),
    state.problem && h("div", { key: "problem", class: "banner bad", role: "alert" }, state.problem),
    state.deleted && h("div", { key: "deleted", class: "banner info", id: "deleted", role: "region", "aria-label": "What was done" }, h("span", { class: "grow" }, state.deleted.text, " ",
      h("button", { type: "button", id: "undo", onclick: undo }, "Undo")),
    h("button", { type: "button", "aria-label": "Dismiss", onclick: () => { state.deleted = null; draw(); focusOn("#main h1"); } }, "×"))]);
  if (!state.data) return;
  const [first, ...rest] = state.data.devices;
  patch(document.getElementById("main"), [
    h("h1", { tabindex: "-1" }, "Play with going offline"),
    h("div", { class: "stage" }, device(first), server(state.data.server), rest.map(device)),
    h("div", { class: "below" }, story(state.data),
      h("section", { class: "hints", "aria-labelledby": "try" }, h("h2", { id: "try" }, "Things to try"), h("ol", null, hints.map((hint) => h("li", null, hint)))))]);
  document.getElementById("main").dataset.ready = "yes";
}

document.querySelector(".skip").onclick = (event) => { event.preventDefault(); focusOn("#main h1"); };
draw();
read();
follow(["alive", "store"], read, (isLive, isFirst) => { state.isLive = isLive; draw(); if (isLive && !isFirst) read(); });
