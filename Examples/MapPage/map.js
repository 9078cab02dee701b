// Draws the lines, areas and points of a style's vector tiles on a canvas: what `bothy tiles serve --page` gives a page.
// Renders no styles: each layer has one color, and texts are left out.

import {readTile, LINE, POLYGON} from "./mvt.js";

const SIDE = 512;
const canvas = document.getElementById("map");
const context = canvas.getContext("2d");
const view = {x: 0.5, y: 0.5, zoom: 2};
/** The vector sources: the addresses of their tiles, their zooms, and the layers that draw them. */
let sources = [];
/** Tiles by address: their layers, "asked" while they come, or "missing". */
const tiles = new Map();
let isDue = false;

const plain = (html) => new DOMParser().parseFromString(html, "text/html").body.textContent;
const isColor = (text) => typeof text === "string" && CSS.supports("color", text);

async function json(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  return answer.json();
}

/** The first color that a value of a style contains, whatever its function or expression. */
function color(value, otherwise) {
  if (isColor(value)) return value;
  if (value && typeof value === "object") {
    for (const part of Object.values(value)) {
      const found = color(part, null);
      if (found) return found;
    }
  }
  return otherwise;
}

async function begin() {
  const style = await json("style.json");
  document.title = style.name ?? "Map";
  const attributions = new Set();
  for (const [name, source] of Object.entries(style.sources)) {
    const about = source.url ? {...await json(source.url), ...source} : source;
    if (about.attribution) attributions.add(plain(about.attribution));
    if (source.type !== "vector") continue;
    const layers = style.layers.filter((layer) => layer.source === name && layer.layout?.visibility !== "none");
    sources.push({template: about.tiles[0], low: about.minzoom ?? 0, high: about.maxzoom ?? 22, layers});
    if (about.bounds) center(about.bounds);
  }
  const background = style.layers.find((layer) => layer.type === "background");
  canvas.style.background = color(background?.paint?.["background-color"], "#f4f1ea");
  document.getElementById("attribution").textContent = [...attributions].join(" · ");
  const place = location.hash.slice(1).split("/").map(Number);
  if (place.length === 3 && place.every(Number.isFinite)) move(place[0], place[1], place[2]);
  due();
}

function center([west, south, east, north]) {
  move(2, (south + north) / 2, (west + east) / 2);
}

function move(zoom, latitude, longitude) {
  const sine = Math.sin(Math.min(Math.max(latitude, -85), 85) * Math.PI / 180);
  view.zoom = zoom;
  view.x = (longitude + 180) / 360;
  view.y = 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI);
}

function due() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(draw);
}

/** The tiles of a source that the canvas shows, each with its place on the canvas. */
function shown(source) {
  const zoom = Math.min(Math.floor(view.zoom), source.high);
  if (zoom < source.low) return [];
  const count = 2 ** zoom, side = SIDE * 2 ** (view.zoom - zoom);
  const left = view.x * count - innerWidth / side / 2, top = view.y * count - innerHeight / side / 2;
  const found = [];
  for (let y = Math.max(0, Math.floor(top)); y < Math.min(count, top + innerHeight / side); y++) {
    for (let x = Math.floor(left); x < left + innerWidth / side; x++) {
      const column = ((x % count) + count) % count;
      const address = source.template.replace("{z}", zoom).replace("{x}", column).replace("{y}", y);
      found.push({address, x: (x - left) * side, y: (y - top) * side, side});
    }
  }
  return found;
}

async function ask(address) {
  tiles.set(address, "asked");
  try {
    const answer = await fetch(address);
    tiles.set(address, answer.ok ? readTile(new Uint8Array(await answer.arrayBuffer())) : "missing");
  } catch {
    tiles.set(address, "missing");
  }
  due();
}

function draw() {
  isDue = false;
  const scale = devicePixelRatio || 1;
  if (canvas.width !== Math.round(innerWidth * scale) || canvas.height !== Math.round(innerHeight * scale)) {
    canvas.width = Math.round(innerWidth * scale);
    canvas.height = Math.round(innerHeight * scale);
  }
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, innerWidth, innerHeight);
  const count = {drawn: 0, missing: 0, coming: 0};
  for (const source of sources) {
    const places = shown(source);
    for (const {address} of places) {
      const tile = tiles.get(address);
      if (tile === undefined) ask(address);
      if (tile === undefined || tile === "asked") count.coming++;
      else if (tile === "missing") count.missing++;
      else count.drawn++;
    }
    for (const layer of source.layers) {
      if (view.zoom < (layer.minzoom ?? 0) || view.zoom >= (layer.maxzoom ?? 25)) continue;
      for (const place of places) drawLayer(layer, tiles.get(place.address), place);
    }
  }
  const text = `zoom ${view.zoom.toFixed(1)}: ${count.drawn} tiles, ${count.missing} missing, ${count.coming} coming`;
  document.getElementById("status").textContent = text;
}

function drawLayer(layer, tile, {x, y, side}) {
  const found = tile instanceof Map ? tile.get(layer["source-layer"]) : undefined;
  if (!found) return;
  const scale = side / found.extent, path = new Path2D();
  context.save();
  context.beginPath();
  context.rect(x, y, side, side);
  context.clip();
  for (const feature of found.features) {
    for (const part of feature.parts) {
      if (feature.type !== LINE && feature.type !== POLYGON) {
        for (const [px, py] of part) path.rect(x + px * scale - 1.5, y + py * scale - 1.5, 3, 3);
        continue;
      }
      part.forEach(([px, py], number) => path[number ? "lineTo" : "moveTo"](x + px * scale, y + py * scale));
    }
  }
  const paint = layer.paint ?? {};
  if (layer.type === "fill" || layer.type === "fill-extrusion") {
    context.fillStyle = color(paint[`${layer.type}-color`], "#dcd8cc");
    context.fill(path, "evenodd");
  } else if (layer.type === "line") {
    context.strokeStyle = color(paint["line-color"], "#888");
    context.lineWidth = 1;
    context.stroke(path);
  } else {
    context.fillStyle = color(paint["circle-color"] ?? paint["text-color"], "#444");
    context.fill(path);
  }
  context.restore();
}

function zoomBy(amount, x = innerWidth / 2, y = innerHeight / 2) {
  const before = SIDE * 2 ** view.zoom;
  view.zoom = Math.min(Math.max(view.zoom + amount, 0), 20);
  const after = SIDE * 2 ** view.zoom;
  shift((x - innerWidth / 2) * (1 / before - 1 / after), (y - innerHeight / 2) * (1 / before - 1 / after));
}

function shift(x, y) {
  view.x = (((view.x + x) % 1) + 1) % 1;
  view.y = Math.min(Math.max(view.y + y, 0), 1);
  due();
}

canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
canvas.addEventListener("pointermove", (event) => {
  if (!event.buttons) return;
  const side = SIDE * 2 ** view.zoom;
  shift(-event.movementX / side, -event.movementY / side);
});
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  zoomBy(-event.deltaY / 300, event.clientX, event.clientY);
}, {passive: false});
canvas.addEventListener("keydown", (event) => {
  const step = 100 / (SIDE * 2 ** view.zoom);
  const moves = {ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step]};
  if (event.key === "+" || event.key === "=") zoomBy(1);
  else if (event.key === "-") zoomBy(-1);
  else if (moves[event.key]) shift(...moves[event.key]);
});
addEventListener("resize", due);
begin().catch((error) => { document.getElementById("status").textContent = `The map can't be drawn: ${error.message}`; });
