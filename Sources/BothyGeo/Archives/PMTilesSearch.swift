/// The search for a tile in the directories of an archive, as a pure rule: the next directory to read, or the place.
struct PMTilesSearch {
  enum Step: Hashable {
    case directory(Range<UInt64>)
    case content(Range<UInt64>)
    case absent
  }

  /// The number of directories above each other, the root included. The format has two levels.
  static let depthLimit = 4

  let id: UInt64
  private var depth = 0

  init(_ id: UInt64) { self.id = id }

  /// Returns the next step from a directory, first from the root. Throws `BothyError` `damagedArchive` if directories
  /// lead to each other without end.
  mutating func step(
    in directory: PMTilesDirectory, of header: PMTilesHeader
  ) throws(BothyError) -> Step {
    depth += 1
    guard depth <= Self.depthLimit else { throw PMTilesDirectory.damaged }
    guard let entry = directory.entry(id) else { return .absent }
    if entry.run == 0 { return .directory(try header.leaf(entry)) }
    // A tile without bytes is one that the archive lacks.
    return entry.length == 0 ? .absent : .content(try header.content(entry))
  }
}

/// The parts of an archive that entries of directories name, checked against the archive and the limits of sizes.
extension PMTilesHeader {
  /// The most bytes of a directory, packed or not. Common ones have some hundred thousand.
  static let directoryLimit = 4 << 20
  /// The most bytes of the metadata, packed or not.
  static let metadataLimit = 8 << 20
  /// The most bytes of a tile.
  static let contentLimit = 64 << 20

  func content(_ entry: PMTilesDirectory.Entry) throws(BothyError) -> Range<UInt64> {
    guard entry.length <= UInt64(Self.contentLimit) else {
      throw BothyError(
        .damagedArchive,
        "The PMTiles archive has a tile of \(entry.length) bytes, which no map shows. Get the archive from its maker."
      )
    }
    return try Self.part(entry, of: tileData)
  }

  func leaf(_ entry: PMTilesDirectory.Entry) throws(BothyError) -> Range<UInt64> {
    guard entry.length <= UInt64(Self.directoryLimit), entry.length > 0 else {
      throw PMTilesDirectory.damaged
    }
    return try Self.part(entry, of: leafDirectories)
  }

  private static func part(
    _ entry: PMTilesDirectory.Entry, of whole: Range<UInt64>
  ) throws(BothyError) -> Range<UInt64> {
    guard entry.offset <= whole.size, entry.length <= whole.size - entry.offset else {
      throw PMTilesDirectory.damaged
    }
    let start = whole.lowerBound + entry.offset
    return start..<start + entry.length
  }
}

extension Range<UInt64> {
  /// The number of bytes. Unlike `count`, it is defined for every range.
  var size: UInt64 { upperBound - lowerBound }
}
