import Foundation

/// A list of the places of tiles by id (specification, version 3, section 4).
struct PMTilesDirectory: Sendable {
  struct Entry: Hashable, Sendable {
    var id: UInt64
    var offset: UInt64
    var length: UInt64
    /// The number of successive ids that have these bytes, or 0 for a leaf directory.
    var run: UInt64
  }

  private(set) var entries: [Entry] = []

  /// Creates a directory of entries, which are in the order of their ids.
  init(entries: ArraySlice<Entry>) { self.entries = Array(entries) }

  /// Reads an unpacked directory. Throws `BothyError` `damagedArchive` if it isn't valid.
  init(_ data: Data) throws(BothyError) {
    var reader = VarintReader(bytes: [UInt8](data))
    let count = try reader.next()
    // Each entry has at least four bytes.
    guard count <= UInt64(data.count / 4 + 1) else { throw Self.damaged }
    entries.reserveCapacity(Int(count))
    var id: UInt64 = 0
    for _ in 0..<count {
      id = try Self.sum(id, reader.next())
      entries.append(Entry(id: id, offset: 0, length: 0, run: 0))
    }
    for place in entries.indices { entries[place].run = try reader.next() }
    for place in entries.indices { entries[place].length = try reader.next() }
    for place in entries.indices {
      let value = try reader.next()
      if value > 0 {
        entries[place].offset = value - 1
      } else if place > 0 {
        let before = entries[place - 1]
        entries[place].offset = try Self.sum(before.offset, before.length)
      } else {
        throw Self.damaged
      }
    }
  }

  /// Returns the entry that covers an id: that of a tile, or that of the directory that may have it. Uses a binary
  /// search.
  func entry(_ id: UInt64) -> Entry? {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].id <= id { low = middle + 1 } else { high = middle }
    }
    guard low > 0 else { return nil }
    let entry = entries[low - 1]
    return entry.run == 0 || id - entry.id < entry.run ? entry : nil
  }

  private static func sum(_ first: UInt64, _ second: UInt64) throws(BothyError) -> UInt64 {
    let (sum, overflow) = first.addingReportingOverflow(second)
    guard !overflow else { throw damaged }
    return sum
  }

  static let beyond = BothyError(
    .damagedArchive,
    "The PMTiles archive lists more tiles than its header says, or tiles of other zooms. Get the archive again."
  )

  static func endless(_ run: UInt64) -> BothyError {
    BothyError(
      .damagedArchive,
      "The PMTiles archive says that one content is \(run) tiles in a row, more than its few bytes can be the list of. Get "
        + "the archive from its maker.")
  }

  static let damaged = BothyError(
    .damagedArchive, "A directory of the PMTiles archive can't be read. Get the archive again.")
}

/// A reader of numbers with seven bits in each byte, the lowest first.
private struct VarintReader {
  let bytes: [UInt8]
  var position = 0

  mutating func next() throws(BothyError) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 70, by: 7) {
      guard position < bytes.count else { break }
      let byte = bytes[position]
      position += 1
      guard shift < 63 || byte <= 1 else { break }
      value |= UInt64(byte & 0x7F) << shift
      if byte & 0x80 == 0 { return value }
    }
    throw PMTilesDirectory.damaged
  }
}
