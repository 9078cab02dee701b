// Tiles and places, drawn by the page itself: nothing is loaded from the network.

import { coast } from "./coast.js";
import { h } from "./dom.js";
import { empty, number, plural, recordLink, table } from "./format.js";

// As many units as there are pixels, nearly: dots and letters stay of one size on a phone.
const phone = matchMedia("(max-width: 720px)");
let isSmall, WIDTH, HEIGHT;
function measure() {
  isSmall = phone.matches;
  [WIDTH, HEIGHT] = isSmall ? [400, 400] : [1000, 560];
}
measure();

const LIMIT = 85.0511;
// As near as a finger comes, in pixels: half of what a target measures at least.
const REACH = 22;

const worldX = (longitude) => (longitude + 180) / 360;
const worldY = (latitude) => {
  const sine = Math.sin(Math.max(-LIMIT, Math.min(LIMIT, latitude)) * Math.PI / 180);
  return 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI);
};
const longitude = (x) => x * 360 - 180;
const latitude = (y) => Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180 / Math.PI;

/** The view: the middle in world units from 0 to 1, and how many pixels the world is wide. */
function fit(box) {
  const left = worldX(box.west), right = worldX(box.east), top = worldY(box.north), bottom = worldY(box.south);
  const scale = Math.min(WIDTH / Math.max(right - left, 1e-7), HEIGHT / Math.max(bottom - top, 1e-7));
  return { x: (left + right) / 2, y: (top + bottom) / 2, scale };
}

const edges = (view) => ({
  west: Math.max(-180, longitude(view.x - WIDTH / 2 / view.scale)), east: Math.min(180, longitude(view.x + WIDTH / 2 / view.scale)),
  north: latitude(Math.max(0, view.y - HEIGHT / 2 / view.scale)), south: latitude(Math.min(1, view.y + HEIGHT / 2 / view.scale)),
});

function move(context, change) {
  const view = { ...context.memory.view };
  change(view);
  view.scale = Math.max(WIDTH, Math.min(view.scale, WIDTH * 2 ** 20));
  view.x = Math.max(0, Math.min(1, view.x));
  view.y = Math.max(0, Math.min(1, view.y));
  context.memory.view = view;
  context.memory.isWhole = false;
  context.redraw();
  clearTimeout(context.memory.timer);
  context.memory.timer = setTimeout(async () => {
    await context.reload();
    context.announce(context.memory.inView);
  }, 180);
}

/** Takes the units of the window as it is now. From west to east the view shows what it did. */
function measureAgain(memory) {
  const before = WIDTH;
  measure();
  if (WIDTH === before || !memory.view) return;
  memory.view = memory.isWhole ? fit(memory.whole) : { ...memory.view, scale: memory.view.scale * WIDTH / before };
}

const zoom = (context, factor) => move(context, (view) => { view.scale *= factor; });
const pan = (context, right, down) => move(context, (view) => {
  view.x += right * WIDTH / 4 / view.scale;
  view.y += down * HEIGHT / 4 / view.scale;
});
function all(context) {
  context.memory.view = null;
  context.reload();
}

function pressed(context, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const keys = {
    ArrowLeft: () => pan(context, -1, 0), ArrowRight: () => pan(context, 1, 0), ArrowUp: () => pan(context, 0, -1),
    ArrowDown: () => pan(context, 0, 1), "+": () => zoom(context, 1.6), "=": () => zoom(context, 1.6), "-": () => zoom(context, 1 / 1.6),
    0: () => all(context),
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
}

/** Drags the map with the pressed pointer; one that hardly moved has pointed at something. */
function grabbed(context, event) {
  if (event.button !== 0 || context.memory.pointer !== undefined) return;
  const svg = event.currentTarget, begin = [event.clientX, event.clientY];
  const unit = WIDTH / svg.clientWidth;
  const until = new AbortController();
  let last = begin, isDrag = false;
  context.memory.pointer = event.pointerId;
  const hear = (name, act) => svg.addEventListener(name, (next) => {
    if (next.pointerId === event.pointerId) act(next);
  }, { signal: until.signal });
  const end = () => {
    until.abort();
    context.memory.pointer = undefined;
  };
  hear("pointermove", (next) => {
    isDrag ||= Math.hypot(next.clientX - begin[0], next.clientY - begin[1]) > 6;
    if (!isDrag) return;
    // From now on the map hears of the pointer wherever it is.
    if (!svg.hasPointerCapture(next.pointerId)) svg.setPointerCapture(next.pointerId);
    const [x, y] = last;
    last = [next.clientX, next.clientY];
    move(context, (view) => {
      view.x -= (next.clientX - x) * unit / view.scale;
      view.y -= (next.clientY - y) * unit / view.scale;
    });
  });
  hear("pointerup", (next) => {
    end();
    if (!isDrag) point(context, svg, next, unit);
  });
  // The browser has taken the gesture for its own, to scroll the page.
  hear("pointercancel", end);
  hear("pointerleave", (next) => { if (!svg.hasPointerCapture(next.pointerId)) end(); });
}

/** Chooses the dot that is nearest to where was pointed, if any is within reach. */
function point(context, svg, event, unit) {
  const { memory } = context;
  const frame = svg.getBoundingClientRect();
  const x = (event.clientX - frame.left) * unit, y = (event.clientY - frame.top) * unit;
  let nearest = null, least = REACH * unit;
  for (const dot of memory.dots ?? []) {
    const [left, top] = pixels(memory.view, worldX(dot.lon), worldY(dot.lat));
    const distance = Math.hypot(left - x, top - y);
    if (distance < least) [nearest, least] = [dot, distance];
  }
  memory.chosen = nearest;
  context.redraw();
  if (nearest) context.announce(`${nearest.title}, ${nearest.kind}`);
}

const pixels = (view, x, y) => [(x - view.x) * view.scale + WIDTH / 2, (y - view.y) * view.scale + HEIGHT / 2];

const isSame = (left, right) => left?.lat === right?.lat && left?.lon === right?.lon && left?.title === right?.title;

function grid(view) {
  const box = edges(view);
  const steps = [90, 45, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];
  // As many lines as have room for their degrees.
  const room = (isSmall ? 56 : 80) * 360 / view.scale;
  const step = steps.filter((each) => each >= room).find((each) => (box.east - box.west) / each >= (isSmall ? 3 : 4))
    ?? steps.findLast((each) => each >= room) ?? 90;
  const digits = Math.max(0, Math.ceil(-Math.log10(step)));
  const lines = [];
  for (let at = Math.ceil(box.west / step) * step; at <= box.east; at += step) {
    const x = (worldX(at) - view.x) * view.scale + WIDTH / 2;
    lines.push(h("g", { key: `m${at.toFixed(4)}` }, h("line", { x1: x, x2: x, y1: 0, y2: HEIGHT }), h("text", { x: x + 4, y: HEIGHT - 6 }, `${at.toFixed(digits)}°`)));
  }
  for (let at = Math.ceil(box.south / step) * step; at <= box.north; at += step) {
    const y = (worldY(at) - view.y) * view.scale + HEIGHT / 2;
    lines.push(h("g", { key: `p${at.toFixed(4)}` }, h("line", { x1: 0, x2: WIDTH, y1: y, y2: y }), h("text", { x: 4, y: y - 4 }, `${at.toFixed(digits)}°`)));
  }
  return h("g", { key: "grid", class: "grid", "aria-hidden": "true" }, lines);
}

/** The coasts as one path, in world units. They are drawn as long as they are near the truth. */
const shore = coast.map((line) => line.map(([x, y], index) => `${index ? "L" : "M"}${worldX(x).toFixed(6)} ${worldY(y).toFixed(6)}`).join("")).join("");
const NEAREST = 150_000;
const coastline = (view) => view.scale > NEAREST ? null : h("path", { key: "coast", class: "coast", d: shore, "aria-hidden": "true",
  transform: `translate(${WIDTH / 2 - view.x * view.scale} ${HEIGHT / 2 - view.y * view.scale}) scale(${view.scale})` });

const worst = (cell) => cell.stale ? "stale" : cell.usable ? "usable" : cell.unknown ? "unknown" : "fresh";

function drawing(context, data) {
  const view = context.memory.view;
  const place = (x, y) => pixels(view, x, y);
  const radius = isSmall ? [7, 5.5] : [5, 3.5];
  return h("svg", { key: "map", id: "map", class: "map", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, tabindex: "0", role: "application",
    "aria-label": "Map of tiles and places. Arrow keys move it, plus and minus zoom, 0 shows everything.",
    onkeydown: (event) => pressed(context, event), onpointerdown: (event) => grabbed(context, event) },
    coastline(view),
    h("g", { key: "cells" }, data.cells.map((cell) => {
      const size = 2 ** cell.z;
      const [x, y] = place(cell.x / size, cell.y / size);
      const width = view.scale / size;
      const count = cell.fresh + cell.usable + cell.stale + cell.unknown;
      return h("rect", { key: `${cell.z}/${cell.x}/${cell.y}`, class: `cell ${worst(cell)}`, x: x.toFixed(1), y: y.toFixed(1), width: width.toFixed(1), height: width.toFixed(1) },
        h("title", null, `${cell.z}/${cell.x}/${cell.y}: ${count === 1 ? worst(cell) : `${number(count)} tiles`}`));
    })),
    grid(view),
    h("g", { key: "dots" }, data.dots.map((dot, index) => {
      const [x, y] = place(worldX(dot.lon), worldY(dot.lat));
      return h("circle", { key: index, class: `dot${dot.record ? " record" : ""}${isSame(dot, context.memory.chosen) ? " chosen" : ""}`,
        cx: x.toFixed(1), cy: y.toFixed(1), r: radius[dot.record ? 0 : 1] }, h("title", null, `${dot.title} (${dot.kind})`));
    })));
}

const words = { fresh: "fresh", usable: "usable, to be renewed", stale: "to be asked for first", unknown: "of a source without a rule" };

export default {
  events: ["caches", "places", "store"],
  title: () => "Map",
  leave({ memory }) {
    clearTimeout(memory.timer);
    phone.onchange = null;
  },
  async load({ get, signal, memory, redraw }) {
    phone.onchange = () => {
      measureAgain(memory);
      redraw();
    };
    // The window may have changed while another page was shown.
    measureAgain(memory);
    const box = memory.view ? edges(memory.view) : null;
    const found = await get("/api/map", { box: box && [box.west, box.south, box.east, box.north].map((edge) => edge.toFixed(6)).join() }, signal);
    if (!memory.view) Object.assign(memory, { view: fit(found.box), whole: found.box, isWhole: true });
    memory.dots = found.dots;
    memory.inView = `${plural(found.recordCount, "record")}, ${plural(found.placeCount, "place")} in view.`;
    return found;
  },
  render(context, data) {
    context.memory.view ??= fit(data.box);
    const { chosen } = context.memory;
    const totals = Object.fromEntries(Object.keys(words).map((name) => [name, data.cells.reduce((sum, cell) => sum + cell[name], 0)]));
    const dots = data.recordCount + data.placeCount;
    const isEmpty = !data.tiles && !dots;
    const button = (name, text, action) => h("button", { type: "button", "aria-label": name, title: name, onclick: action }, text);
    return [
      h("p", { class: "lead" }, "The tiles of the caches and files of places that were named, by their freshness, and places and records that have a position."),
      isEmpty ? empty("Nothing to draw here.", "Tiles of a cache (--cache DIR), tiles and places of a file (--places FILE), and records with a coordinate are drawn here.") : null,
      h("div", { class: "mapbox" }, drawing(context, data),
        h("div", { class: "mapbuttons", role: "group", "aria-label": "Move the map" },
          button("Zoom in", "+", () => zoom(context, 1.6)), button("Zoom out", "−", () => zoom(context, 1 / 1.6)),
          button("West", "←", () => pan(context, -1, 0)), button("North", "↑", () => pan(context, 0, -1)),
          button("South", "↓", () => pan(context, 0, 1)), button("East", "→", () => pan(context, 1, 0)),
          button("Show all", "All", () => all(context)))),
      h("p", { key: "chosen", class: "chosen", id: "chosen" }, chosen
        ? [chosen.record ? recordLink(chosen.record.type, chosen.record.id, chosen.title) : h("strong", null, chosen.title),
          h("span", { class: "dim" }, ` ${chosen.kind}, ${chosen.lat.toFixed(5)}, ${chosen.lon.toFixed(5)}`)]
        : data.dots.length ? h("span", { class: "dim" }, "Point at a dot to see what it is.") : ""),
      h("p", { class: "legend" }, Object.entries(words).map(([name, text]) => h("span", { key: name }, h("i", { class: name, "aria-hidden": "true" }), `${number(totals[name])} ${text}`)),
        h("span", { key: "records" }, h("i", { class: "dot record", "aria-hidden": "true" }), plural(data.recordCount, "record")),
        h("span", { key: "places" }, h("i", { class: "dot", "aria-hidden": "true" }), plural(data.placeCount, "place"), dots > data.dots.length ? `, ${number(data.dots.length)} of both drawn` : "")),
      h("p", { class: "dim small" }, "Data: ", [...data.attributions, "coasts by Natural Earth"].join(" · ")),
      data.dots.length ? h("section", { "aria-labelledby": "inview" }, h("h2", { id: "inview" }, "In view"),
        table("Places in view", ["Name", "Kind", { text: "Latitude", class: "num" }, { text: "Longitude", class: "num" }], data.dots.slice(0, 100).map((dot, index) =>
          h("tr", { key: index }, h("th", { scope: "row" }, dot.record ? recordLink(dot.record.type, dot.record.id, dot.title) : dot.title),
            h("td", { class: "dim" }, dot.kind), h("td", { class: "num" }, dot.lat.toFixed(5)), h("td", { class: "num" }, dot.lon.toFixed(5)))))) : null,
    ];
  },
};
