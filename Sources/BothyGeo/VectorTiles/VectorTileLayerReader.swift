/// Reads one layer of a vector tile.
///
/// Features refer to keys and values that may follow them. So the layer is read once for its lists, and then its
/// features.
struct VectorTileLayerReader {
  /// The index of the layer's first feature in the tile.
  let firstIndex: Int
  /// The bytes of text that properties may still have.
  private(set) var textBudget: Int
  /// The number of features, with those that were left out.
  private(set) var count = 0
  private(set) var problems: [FeatureProblem] = []

  private var name: String?
  /// The version, by default 1, as the specification's message says. Encoders may leave out a default.
  private var version: UInt32 = 1
  private var extent: UInt32 = 4096
  private var keys: [String] = []
  private var values: [VectorTile.Value] = []
  private var lengths: (keys: [Int], values: [Int]) = ([], [])

  init(firstIndex: Int, textBudget: Int) {
    self.firstIndex = firstIndex
    self.textBudget = textBudget
  }

  mutating func read(_ message: ProtobufReader) throws(VectorTileDamage) -> VectorTile.Layer {
    var features: [ProtobufReader] = []
    var reader = message
    while let (number, wire) = try reader.field() {
      switch number {
      case 1:
        try reader.check(wire, is: .bytes, "the name of a layer")
        name = try reader.text()
      case 2:
        try reader.check(wire, is: .bytes, "a feature")
        features.append(try reader.nested())
      case 3:
        try reader.check(wire, is: .bytes, "a key")
        keys.append(try reader.text())
      case 4:
        try reader.check(wire, is: .bytes, "a value")
        values.append(try Self.value(try reader.nested()))
      case 5:
        try reader.check(wire, is: .varint, "the extent of a layer")
        extent = try reader.uint32()
      case 15:
        try reader.check(wire, is: .varint, "the version of a layer")
        version = try reader.uint32()
      default: try reader.skip(wire)
      }
    }
    guard let name else { throw message.damage("a layer has no name") }
    guard (1...2).contains(version) else {
      throw message.damage("the layer '\(name)' has version \(version), and only 1 and 2 are known")
    }
    guard extent > 0 else { throw message.damage("the layer '\(name)' has no extent") }
    lengths = (keys.map(\.utf8.count), values.map(\.text.utf8.count))
    var layer = VectorTile.Layer(
      name: name, version: Int(version), extent: Int64(extent), keys: keys, values: values)
    for feature in features {
      do { layer.features.append(try self.feature(feature, Int(version))) } catch let error as BrokenFeature {
        if problems.count < VectorTile.problemLimit {
          problems.append(
            FeatureProblem(index: firstIndex + count, reason: "\(error.reason), in the layer '\(name)'"))
        }
      } catch let error as VectorTileDamage { throw error } catch {
        throw message.damage("\(error)")
      }
      count += 1
    }
    return layer
  }

  // MARK: a feature

  private mutating func feature(_ message: ProtobufReader, _ version: Int) throws -> VectorTile.Feature {
    var feature = VectorTile.Feature()
    feature.index = firstIndex + count
    var (kind, tags, commands): (UInt64?, ProtobufReader?, ProtobufReader?)
    var isDoubled = false
    var reader = message
    while let (number, wire) = try reader.field() {
      switch number {
      case 1:
        try reader.check(wire, is: .varint, "the id of a feature")
        feature.id = try reader.varint()
      case 2:
        try reader.check(wire, is: .bytes, "the properties of a feature")
        isDoubled = isDoubled || tags != nil
        tags = try reader.nested()
      case 3:
        try reader.check(wire, is: .varint, "the kind of a shape")
        kind = try reader.varint()
      case 4:
        try reader.check(wire, is: .bytes, "the geometry of a feature")
        isDoubled = isDoubled || commands != nil
        commands = try reader.nested()
      default: try reader.skip(wire)
      }
    }
    // Damage in it refuses the tile, and a fault of the feature alone doesn't.
    if let tags { feature.tags = try self.tags(tags) }
    if isDoubled { throw BrokenFeature(reason: "it has a field twice") }
    guard let kind else { throw BrokenFeature(reason: "it has no kind of shape") }
    guard let commands, !commands.isAtEnd else { throw BrokenFeature(reason: "it has no geometry") }
    switch kind {
    case 0: break
    case 1: feature.shape = try GridShapeReader.points(commands)
    case 2: feature.shape = try GridShapeReader.lines(commands, version)
    case 3: feature.shape = try GridShapeReader.polygons(commands, version)
    default: throw BrokenFeature(reason: "its kind of shape, \(kind), is unknown")
    }
    return feature
  }

  private mutating func tags(_ list: ProtobufReader) throws -> [VectorTile.Feature.Tag] {
    var reader = list
    var tags: [VectorTile.Feature.Tag] = []
    while !reader.isAtEnd {
      let key = try reader.uint32()
      guard key < keys.count else { throw reader.damage("a feature refers to a key that its layer lacks") }
      guard !reader.isAtEnd else { throw BrokenFeature(reason: "a property has a key and no value") }
      let value = try reader.uint32()
      guard value < values.count else {
        throw reader.damage("a feature refers to a value that its layer lacks")
      }
      textBudget -= lengths.keys[Int(key)] + lengths.values[Int(value)]
      guard textBudget >= 0 else {
        throw reader.damage("its properties have more than \(VectorTile.textLimit >> 20) MB of text")
      }
      tags.append(VectorTile.Feature.Tag(key: key, value: value))
    }
    return tags
  }

  // MARK: a value

  /// Reads a value, which has exactly one of seven fields.
  private static func value(_ message: ProtobufReader) throws(VectorTileDamage) -> VectorTile.Value {
    var reader = message
    var found: VectorTile.Value?
    while let (number, wire) = try reader.field() {
      guard (1...7).contains(number) else {
        try reader.skip(wire)
        continue
      }
      guard found == nil else { throw reader.damage("a value has two kinds") }
      let expected: ProtobufReader.Wire =
        switch number {
        case 1: .bytes
        case 2: .fixed32
        case 3: .fixed64
        default: .varint
        }
      try reader.check(wire, is: expected, "a value")
      switch number {
      case 1: found = .string(try reader.text())
      case 2: found = .float(Float(bitPattern: try reader.fixed32()))
      case 3: found = .double(Double(bitPattern: try reader.fixed64()))
      case 4: found = .int(Int64(bitPattern: try reader.varint()))
      case 5: found = .uint(try reader.varint())
      case 6: found = .int(ProtobufReader.unzigzag(try reader.varint()))
      default: found = .bool(try reader.varint() != 0)
      }
    }
    guard let found else { throw message.damage("a value has no known kind") }
    return found
  }
}
