import BothyCore

/// The layers of vector tiles with the names and types of their properties, as archives describe them.
///
/// Both formats require this description of vector tiles (PMTiles 3, section 5; MBTiles 1.3). Other programs find the
/// layers and properties by it.
struct TileLayers {
  /// The types of the properties, as the formats name them.
  private enum Kind: String {
    case text = "String"
    case number = "Number"
    case flag = "Boolean"

    init(_ value: VectorTile.Value) {
      switch value {
      case .string: self = .text
      case .float, .double, .int, .uint: self = .number
      case .bool: self = .flag
      }
    }

    /// Returns the type of a property that has values of both.
    func joined(with other: Kind?) -> Kind { other == nil || other == self ? self : .text }
  }

  private var layers: [String: [String: Kind]] = [:]
  /// The bytes of names that are still described. Names are a stranger's, and metadata has a limit.
  private var room = 256 << 10

  /// The description, or `nil` without layers.
  var json: JSONValue? {
    guard !layers.isEmpty else { return nil }
    return .array(
      layers.sorted { $0.key < $1.key }.map { name, fields in
        .object(["id": .string(name), "fields": .object(fields.mapValues { .string($0.rawValue) })])
      })
  }

  /// Adds the layers of a tile. Beyond the limit, further layers and properties are left out.
  mutating func add(_ tile: VectorTile) {
    for layer in tile.layers {
      guard layers[layer.name] != nil || take(layer.name) else { continue }
      var fields = layers[layer.name] ?? [:]
      for (key, kind) in Self.kinds(of: layer) where fields[key] != nil || take(key) {
        fields[key] = kind.joined(with: fields[key])
      }
      layers[layer.name] = fields
    }
  }

  /// Returns the types of the properties that a layer's features have.
  private static func kinds(of layer: VectorTile.Layer) -> [(String, Kind)] {
    let types = layer.values.map { Kind($0) }
    var found = [Kind?](repeating: nil, count: layer.keys.count)
    for feature in layer.features {
      for tag in feature.tags {
        found[Int(tag.key)] = types[Int(tag.value)].joined(with: found[Int(tag.key)])
      }
    }
    return zip(layer.keys, found).compactMap { key, kind in kind.map { (key, $0) } }
  }

  /// Takes the room of a name. Returns false if there is too little.
  private mutating func take(_ name: String) -> Bool {
    // A name is written with its type.
    let size = name.utf8.count + 32
    guard size <= room else { return false }
    room -= size
    return true
  }
}
