// Two devices side by side, with a switch for the network of each: change things on both, and see what becomes of it.

import { get, post } from "./api.js";
import { announce, focusOn, h, patch } from "./dom.js";
import { badge, empty, plural, sign } from "./format.js";
import { follow } from "./live.js";

const state = { data: null, isLive: true, problem: null };
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

async function change(path, body, told) {
  try {
    await post(path, body);
    state.problem = null;
    if (told) announce(told);
  } catch (failure) { if (!failure.isLost) state.problem = failure.message; }  // the banner says that it is lost
  await read();
}

const put = (device, id, fields, told) => change("/api/play/put", { device, id, fields }, told);

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
    class: name, onchange: (event) => put(device.name, trip.id, { [name]: event.target.value.trim() || null }) });
}

function trip(device, found) {
  const { title, nights, done } = found.fields;
  return h("li", { key: found.id, class: done ? "done" : "" },
    h("input", { type: "checkbox", checked: done, "aria-label": `${title} is done`, onchange: (event) => put(device.name, found.id, { done: event.target.checked }) }),
    h("div", { class: "texts" },
      h("div", { class: "line" }, field(device, found, "title", "Title"), field(device, found, "country", "Country")),
      h("div", { class: "line" }, field(device, found, "notes", "Notes of both are kept"))),
    h("div", { class: "side" },
      h("button", { type: "button", class: "quiet", "aria-label": `One night more for ${title}`, onclick: () => put(device.name, found.id, { nights: nights + 1 }) },
        plural(nights, "night"), " +"),
      found.state === "synced" ? sign("✓", "The server has it") : badge(found.state),
      h("button", { type: "button", class: "quiet", "aria-label": `Delete ${title}`, onclick: () =>
        change("/api/play/delete", { device: device.name, id: found.id }, `${title} was deleted on ${device.name}'s device.`) }, "×")));
}

function device(found) {
  const id = `device-${found.name}`;
  return h("section", { key: found.name, class: `device ${found.online ? "" : "off"}`, "aria-labelledby": id },
    h("header", null,
      h("h2", { id }, `${found.name}'s device`),
      h("button", { type: "button", role: "switch", class: "switch", "aria-checked": String(found.online), id: `network-${found.name}`,
        "aria-label": `Network of ${found.name}'s device`, onclick: () => change("/api/play/network", { device: found.name, online: !found.online },
          `${found.name}'s device is ${found.online ? "offline" : "online"}.`) },
        h("i", { "aria-hidden": "true" }), found.online ? "Online" : "Offline")),
    h("p", { class: "state" }, found.pending ? badge(`${found.pending} waiting`, "wait") : badge("all sent", "good"),
      found.inbox ? [" ", badge(`${found.inbox} refused`, "bad")] : null,
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

const hints = [
  "Switch both networks off, change the title of one trip on both devices, and switch them on: the later edit stays.",
  "Offline, write notes on the same trip on both: both are kept. Add nights on both: they add up.",
  "Delete a trip on one device and edit it on the other meanwhile.",
  "Add a trip without a country: the server refuses it, and it waits in the inbox of that device's inspector.",
];

function draw() {
  patch(document.getElementById("top"), [
    h("span", { class: "brand" }, h("img", { src: "/assets/icon.svg", alt: "", width: "26", height: "26" }), h("span", null, "Bothy")),
    h("span", { class: "file" }, "two devices and their server"), h("span", { class: "grow" }),
    h("span", { class: `status ${state.isLive ? "on" : "off"}`, id: "liveness" }, h("i", { "aria-hidden": "true" }), state.isLive ? "Live" : "Lost")]);
  patch(document.getElementById("banners"), [
    state.isLive ? null : h("div", { key: "lost", class: "banner bad", role: "alert", id: "offline" },
      h("strong", null, "The demo has ended. "), "Run ", h("code", null, "bothy demo --open"), " to begin again."),
    state.problem && h("div", { key: "problem", class: "banner bad", role: "alert" }, state.problem)]);
  if (!state.data) return;
  const [first, ...rest] = state.data.devices;
  patch(document.getElementById("main"), [
    h("h1", { tabindex: "-1" }, "Play with going offline"),
    h("div", { class: "stage" }, device(first), server(state.data.server), rest.map(device)),
    h("section", { class: "hints", "aria-labelledby": "try" }, h("h2", { id: "try" }, "Things to try"), h("ol", null, hints.map((hint) => h("li", null, hint))))]);
  document.getElementById("main").dataset.ready = "yes";
}

document.querySelector(".skip").onclick = (event) => { event.preventDefault(); focusOn("#main h1"); };
draw();
read();
follow(["alive", "store"], read, (isLive, isFirst) => { state.isLive = isLive; draw(); if (isLive && !isFirst) read(); });
