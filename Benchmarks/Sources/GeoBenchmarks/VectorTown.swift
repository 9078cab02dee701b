import Foundation

/// Vector tiles of a made-up town from a seed: streets, buildings and places with the properties that map servers send.
struct VectorTown {
  private var random: Seeded

  init(seed: UInt64) { random = Seeded(seed) }

  /// Returns the bytes of one tile, some 60 KB.
  mutating func tile() -> [UInt8] {
    var message = Message()
    for layer in [streets(), buildings(), places()] { message.append(3, layer.encoded) }
    return message.bytes
  }

  private mutating func streets() -> Layer {
    var layer = Layer(name: "streets")
    for number in 0..<400 {
      var pen = Pen()
      var place = position()
      pen.move(to: place)
      pen.lines(
        to: (0..<2 + random.number(below: 14)).map { _ in
          place = (place.0 + 4 + random.number(below: 60), place.1 - 30 + random.number(below: 60))
          return place
        })
      var tags: [(String, Value)] = [
        ("kind", .text(["path", "street", "track"][number % 3])), ("lanes", .whole(number % 4)),
        ("bridge", .truth(number % 20 == 0)),
      ]
      if number % 2 == 0 { tags.append(("name", .text("Street \(random.number(below: 5000))"))) }
      layer.add(2, id: nil, pen, tags)
    }
    return layer
  }

  private mutating func buildings() -> Layer {
    var layer = Layer(name: "buildings")
    for number in 0..<900 {
      var pen = Pen()
      let center = position()
      let corners = 4 + random.number(below: 7)
      let radius = 24 + random.part() * 40
      pen.ring(center, radius, corners, isHole: false)
      if number % 10 == 0 { pen.ring(center, radius / 3, 4, isHole: true) }
      layer.add(
        3, id: UInt64(number + 1), pen,
        [
          ("height", .number(3 + Double(random.number(below: 200)) / 10)),
          ("kind", .text(["house", "shed", "school", "church"][number % 4])),
        ])
    }
    return layer
  }

  private mutating func places() -> Layer {
    var layer = Layer(name: "places")
    for number in 0..<300 {
      var pen = Pen()
      pen.move(to: position())
      layer.add(
        1, id: random.next() >> 20, pen,
        [
          ("kind", .text(TileText.kinds[number % TileText.kinds.count].1)),
          ("name", .text("Café \(random.number(below: 10_000))")), ("rank", .whole(number)),
        ])
    }
    return layer
  }

  private mutating func position() -> (Int, Int) { (random.number(below: 4096), random.number(below: 4096)) }
}

/// A value of a property.
private enum Value {
  case text(String)
  case number(Double)
  case whole(Int)
  case truth(Bool)

  var encoded: [UInt8] {
    var message = Message()
    switch self {
    case .text(let text): message.append(1, [UInt8](text.utf8))
    case .number(let number): message.append(3, fixed: number.bitPattern)
    case .whole(let number): message.append(5, UInt64(number))
    case .truth(let isTrue): message.append(7, isTrue ? 1 : 0)
    }
    return message.bytes
  }
}

/// A layer to encode. Its features share keys and values.
private struct Layer {
  let name: String
  private var keys: [String: UInt64] = [:]
  private var values: [[UInt8]: UInt64] = [:]
  private var features = Message()
  private var tables = Message()

  init(name: String) { self.name = name }

  mutating func add(_ kind: UInt64, id: UInt64?, _ pen: Pen, _ tags: [(String, Value)]) {
    var places: [UInt64] = []
    for (key, value) in tags {
      if keys[key] == nil {
        keys[key] = UInt64(keys.count)
        tables.append(3, [UInt8](key.utf8))
      }
      let encoded = value.encoded
      if values[encoded] == nil {
        values[encoded] = UInt64(values.count)
        tables.append(4, encoded)
      }
      places += [keys[key], values[encoded]].compactMap { $0 }
    }
    var feature = Message()
    if let id { feature.append(1, id) }
    feature.append(2, packed: places)
    feature.append(3, kind)
    feature.append(4, packed: pen.commands)
    features.append(2, feature.bytes)
  }

  var encoded: [UInt8] {
    var message = Message()
    message.append(15, 2)
    message.append(1, [UInt8](name.utf8))
    message.append(5, 4096)
    return message.bytes + features.bytes + tables.bytes
  }
}

/// Writes the commands of a shape, with positions relative to the one before.
private struct Pen {
  private(set) var commands: [UInt64] = []
  private var cursor = (0, 0)

  mutating func move(to place: (Int, Int)) { draw(1, [place]) }

  mutating func lines(to places: [(Int, Int)]) { draw(2, places) }

  /// Draws a ring around a center. An outer one turns clockwise as drawn.
  mutating func ring(_ center: (Int, Int), _ radius: Double, _ corners: Int, isHole: Bool) {
    let places = (0..<corners).map { corner -> (Int, Int) in
      let angle = Double(isHole ? corners - corner : corner) * 2 * .pi / Double(corners)
      return (
        center.0 + Int((radius * cos(angle)).rounded()), center.1 + Int((radius * sin(angle)).rounded())
      )
    }
    draw(1, [places[0]])
    draw(2, Array(places.dropFirst()))
    commands.append(1 << 3 | 7)
  }

  private mutating func draw(_ command: UInt64, _ places: [(Int, Int)]) {
    commands.append(UInt64(places.count) << 3 | command)
    for place in places {
      for step in [place.0 - cursor.0, place.1 - cursor.1] {
        commands.append(UInt64(UInt32(truncatingIfNeeded: step << 1 ^ step >> 63)))
      }
      cursor = place
    }
  }
}

/// A message of Protocol Buffers to encode.
private struct Message {
  private(set) var bytes: [UInt8] = []

  private mutating func append(_ number: UInt64) {
    var rest = number
    while rest > 0x7F {
      bytes.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  mutating func append(_ field: UInt64, _ number: UInt64) {
    append(field << 3)
    append(number)
  }

  mutating func append(_ field: UInt64, fixed number: UInt64) {
    append(field << 3 | 1)
    for shift in stride(from: UInt64(0), to: 64, by: 8) { bytes.append(UInt8(number >> shift & 0xFF)) }
  }

  mutating func append(_ field: UInt64, _ content: [UInt8]) {
    append(field << 3 | 2)
    append(UInt64(content.count))
    bytes += content
  }

  mutating func append(_ field: UInt64, packed numbers: [UInt64]) {
    var list = Message()
    for number in numbers { list.append(number) }
    append(field, list.bytes)
  }
}
