package import BothyCore

/// A decoded vector tile (Mapbox Vector Tile specification, versions 1 and 2.1).
///
/// Positions are numbers of the tile's grid, x to the east and y to the south. Those outside 0 ..< `extent` belong to
/// the margin that a tile shares with its neighbours.
///
/// A tile that is cut off or damaged is refused whole: by its lengths, types, references to keys and values, commands or
/// their counts. A feature that breaks a rule of the specification by itself is left out and named in
/// `problems`. Unknown fields are skipped.
package struct VectorTile: Sendable, Hashable {
  /// The largest tile in bytes, unpacked. Larger ones are refused.
  package static let sizeLimit = 16 << 20
  /// The most text, in bytes of UTF-8, that the properties of all features have. A tile stores each text once, so a
  /// small one can refer to one long text any number of times.
  package static let textLimit = 64 << 20
  /// The most problems that are described. Further features are left out without a description.
  static let problemLimit = 1000

  /// The layers in order. Of two layers with one name, only the first counts.
  package private(set) var layers: [Layer] = []
  /// The features and layers that were left out.
  package private(set) var problems: [FeatureProblem] = []

  /// A named list of features with properties of one kind.
  package struct Layer: Sendable, Hashable {
    /// The name, once in a tile.
    package var name: String
    /// The version of the specification that the layer follows: 1 or 2.
    package var version: Int
    /// The number of steps of the grid along an edge of the tile.
    package var extent: Int64
    /// The features in order.
    package var features: [Feature] = []
    fileprivate(set) var keys: [String] = []
    fileprivate(set) var values: [Value] = []

    /// Returns true if a property of the layer has this key, in whichever feature.
    package func hasKey(_ key: String) -> Bool { keys.contains(key) }

    /// Returns the properties of a feature in order. Of two with one key, the last counts.
    package func properties(of feature: Feature) -> [(key: String, value: Value)] {
      feature.tags.map { (keys[Int($0.key)], values[Int($0.value)]) }
    }
  }

  /// A shape with properties.
  package struct Feature: Sendable, Hashable {
    /// The id that the tile states, or `nil`. It should be unique in its layer.
    package var id: UInt64?
    /// The shape, or `nil` for the kind `UNKNOWN`, which the specification leaves open.
    package var shape: GridShape?
    var tags: [Tag] = []
    /// The index in the tile, from 0, counting those that were left out.
    var index = 0

    /// The places of a key and of a value in the lists of the layer.
    struct Tag: Sendable, Hashable {
      var key: UInt32
      var value: UInt32
    }
  }

  /// A value of a property.
  package enum Value: Sendable, Hashable {
    case string(String)
    case float(Float)
    case double(Double)
    /// A number that was encoded as `int64` or `sint64`.
    case int(Int64)
    case uint(UInt64)
    case bool(Bool)

    /// The value as text.
    package var text: String {
      switch self {
      case .string(let text): text
      case .float(let number): number == number.rounded() ? Self.whole(Double(number)) : "\(number)"
      case .double(let number): number == number.rounded() ? Self.whole(number) : "\(number)"
      case .int(let number): "\(number)"
      case .uint(let number): "\(number)"
      case .bool(let flag): flag ? "true" : "false"
      }
    }

    /// Returns `3` rather than `3.0`, as a house number may be a floating-point number.
    private static func whole(_ number: Double) -> String {
      Int64(exactly: number).map { "\($0)" } ?? "\(number)"
    }
  }

  /// Decodes the unpacked bytes of a tile. No bytes are a tile without layers.
  ///
  /// Runs on the caller's thread in time and memory linear in the number of bytes. Throws `BothyError` `notATile`.
  package init(decoding payload: some ContiguousBytesSource) throws(BothyError) {
    do {
      self = try payload.withContiguousBytes { try VectorTile(reading: $0) }
    } catch {
      throw BothyError(
        .notATile, "Taken for a vector tile, the bytes aren't one: \(error). Get the tile again.",
        underlying: error)
    }
  }

  private init(reading bytes: UnsafeRawBufferPointer) throws(VectorTileDamage) {
    guard bytes.count <= Self.sizeLimit else {
      throw VectorTileDamage(reason: "there are more than \(Self.sizeLimit >> 20) MB", offset: Self.sizeLimit)
    }
    var reader = ProtobufReader(bytes)
    var names: Set<String> = []
    var budget = Self.textLimit
    var count = 0
    while let (number, wire) = try reader.field() {
      guard number == 3 else {
        try reader.skip(wire)
        continue
      }
      try reader.check(wire, is: .bytes, "a layer")
      var found = VectorTileLayerReader(firstIndex: count, textBudget: budget)
      let layer = try found.read(try reader.nested())
      count += found.count
      budget = found.textBudget
      add(found.problems)
      if names.insert(layer.name).inserted {
        layers.append(layer)
      } else {
        add([FeatureProblem(index: found.firstIndex, reason: "another layer is called '\(layer.name)' too")])
      }
    }
  }

  private mutating func add(_ found: [FeatureProblem]) {
    problems += found.prefix(Self.problemLimit - problems.count)
  }
}

extension VectorTile.Layer {
  init(name: String, version: Int, extent: Int64, keys: [String], values: [VectorTile.Value]) {
    self.init(name: name, version: version, extent: extent)
    self.keys = keys
    self.values = values
  }
}
