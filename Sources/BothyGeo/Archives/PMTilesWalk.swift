/// A walk over all entries of an archive in the order of their ids, as a pure rule.
///
/// Each step is a directory to read or the tiles of one content. The header and the size of the directories limit the
/// number of steps, so a few damaged or malicious bytes can't cause endless work.
struct PMTilesWalk {
  enum Step: Hashable {
    case directory(Range<UInt64>)
    case tiles(Range<UInt64>, content: Range<UInt64>)
  }

  private struct Level {
    var directory: PMTilesDirectory
    var place = 0
    /// The ids of the entry that leads to this directory end here.
    var end: UInt64
  }

  private let header: PMTilesHeader
  private var levels: [Level] = []
  /// The id where the directory ends that was the last step, or `nil`.
  private var entering: UInt64?
  /// The ids of the header's zooms.
  private let ids: Range<UInt64>
  /// The number of remaining tiles.
  private var tiles: UInt64
  /// The lowest id that the next entry may have. Entries are in order, each once.
  private var next: UInt64
  /// The number of tiles that directories may still claim. It is limited by the size of the directories.
  private var most: UInt64

  private static let tilesOfSmallest: UInt64 = 10_000_000
  private static let tilesPerByte: UInt64 = 1000

  init(_ header: PMTilesHeader, root: PMTilesDirectory) {
    self.header = header
    ids = Tile.firstID(header.zooms.lowest)..<Tile.firstID(header.zooms.highest + 1)
    let room = ids.upperBound - ids.lowerBound
    tiles = header.addressedTiles == 0 ? room : min(header.addressedTiles, room)
    next = ids.lowerBound
    let bytes = min(header.rootDirectory.size, 1 << 40) + min(header.leafDirectories.size, 1 << 40)
    most = Self.tilesOfSmallest + bytes * Self.tilesPerByte
    levels = [Level(directory: root, end: ids.upperBound)]
  }

  /// Continues with the directory that the last step named. It has entries, all within those of the entry that led to
  /// it, so a directory that is used again or leads to itself is rejected.
  mutating func enter(_ directory: PMTilesDirectory) throws(BothyError) {
    guard let end = entering, levels.count < PMTilesSearch.depthLimit, let first = directory.entries.first,
      first.id >= next
    else { throw PMTilesDirectory.damaged }
    entering = nil
    levels.append(Level(directory: directory, end: end))
  }

  /// Returns the next step, or `nil` after the last entry. Throws `BothyError` `damagedArchive` as soon as the archive
  /// has more tiles or other zooms than the header states.
  mutating func step() throws(BothyError) -> Step? {
    while let level = levels.last {
      let entries = level.directory.entries
      guard level.place < entries.count else {
        levels.removeLast()
        continue
      }
      levels[levels.count - 1].place += 1
      let entry = entries[level.place]
      guard entry.id >= next, entry.id < level.end else { throw PMTilesDirectory.beyond }
      if entry.run == 0 {
        entering = level.place + 1 < entries.count ? min(entries[level.place + 1].id, level.end) : level.end
        return .directory(try header.leaf(entry))
      }
      let taken = try take(entry)
      // A tile without bytes is one that the archive lacks.
      if entry.length > 0 { return .tiles(taken, content: try header.content(entry)) }
    }
    return nil
  }

  /// Returns the ids of an entry's tiles and subtracts them from the rest.
  private mutating func take(_ entry: PMTilesDirectory.Entry) throws(BothyError) -> Range<UInt64> {
    guard entry.run <= tiles, entry.run <= ids.upperBound - entry.id else { throw PMTilesDirectory.beyond }
    guard entry.run <= most else { throw PMTilesDirectory.endless(entry.run) }
    most -= entry.run
    tiles -= entry.run
    next = entry.id + entry.run
    return entry.id..<next
  }
}
