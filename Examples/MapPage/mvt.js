// Reads vector tiles (Mapbox Vector Tile specification 2.1): the shapes of each layer, without their properties.

const POINT = 1, LINE = 2, POLYGON = 3;

/** Reads fields of a protobuf message: numbers, and bytes as views. Throws a RangeError where they are cut off. */
class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.place = 0;
  }

  get isAtEnd() { return this.place >= this.bytes.length; }

  varint() {
    let value = 0;
    for (let shift = 0; shift < 64; shift += 7) {
      if (this.isAtEnd) throw new RangeError("the tile is cut off");
      const byte = this.bytes[this.place++];
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError("a number is too long");
  }

  /** The next field: its number, and its value as a number or a view. */
  field() {
    const key = this.varint(), number = Math.floor(key / 8);
    switch (key & 7) {
      case 0: return [number, this.varint()];
      case 1: return [number, this.take(8)];
      case 2: return [number, this.take(this.varint())];
      case 5: return [number, this.take(4)];
      default: throw new RangeError("a field has an unknown type");
    }
  }

  take(count) {
    if (this.place + count > this.bytes.length) throw new RangeError("the tile is cut off");
    this.place += count;
    return this.bytes.subarray(this.place - count, this.place);
  }
}

/** The parts of a shape, each a list of positions on the tile's grid: points, lines or rings. */
function parts(bytes) {
  const reader = new Reader(bytes), all = [];
  let x = 0, y = 0, part = [];
  const step = (number) => (number % 2 ? -(number + 1) / 2 : number / 2);
  while (!reader.isAtEnd) {
    const command = reader.varint(), id = command & 7, count = Math.floor(command / 8);
    if (id === 7) {
      if (part.length) part.push(part[0]);
      continue;
    }
    for (let number = 0; number < count; number++) {
      x += step(reader.varint());
      y += step(reader.varint());
      if (id === 1) all.push(part = []);
      part.push([x, y]);
    }
  }
  return all;
}

function feature(bytes) {
  const reader = new Reader(bytes), found = {type: 0, parts: []};
  while (!reader.isAtEnd) {
    const [number, value] = reader.field();
    if (number === 3) found.type = value;
    if (number === 4) found.parts = parts(value);
  }
  return found;
}

function layer(bytes) {
  const reader = new Reader(bytes), found = {name: "", extent: 4096, features: []};
  while (!reader.isAtEnd) {
    const [number, value] = reader.field();
    if (number === 1) found.name = new TextDecoder().decode(value);
    if (number === 2) found.features.push(feature(value));
    if (number === 5) found.extent = value;
  }
  return found;
}

/** The layers of a tile, by name. */
function readTile(bytes) {
  const reader = new Reader(bytes), layers = new Map();
  while (!reader.isAtEnd) {
    const [number, value] = reader.field();
    if (number !== 3) continue;
    const found = layer(value);
    if (!layers.has(found.name)) layers.set(found.name, found);
  }
  return layers;
}

export {readTile, POINT, LINE, POLYGON};
