import BothyGeo
import BothyStore
import Foundation

/// Creates small PMTiles archives by hand: ids in runs, equal contents once, and leaf directories if requested.
struct ArchiveBuilder {
  /// The contents by tile.
  var tiles: [Tile: Data]
  /// The number of entries of a leaf directory, or `nil` for a root directory alone.
  var leafSize: Int?
  var isPacked = true
  var metadata = #"{"name": "Made by hand", "attribution": "© walkers", "extra": [1]}"#
  var version: UInt8 = 3

  struct Entry {
    var id: UInt64
    var run: UInt64
    var offset: UInt64
    var length: UInt64
  }

  func build() throws -> Data {
    var data = Data()
    var places: [Data: UInt64] = [:]
    var entries: [Entry] = []
    for (tile, content) in tiles.sorted(by: { $0.key.hilbertID < $1.key.hilbertID }) {
      let offset = places[content] ?? UInt64(data.count)
      if places.updateValue(offset, forKey: content) == nil { data.append(content) }
      if let last = entries.last, last.id + last.run == tile.hilbertID, last.offset == offset {
        entries[entries.count - 1].run += 1
      } else {
        entries.append(Entry(id: tile.hilbertID, run: 1, offset: offset, length: UInt64(content.count)))
      }
    }
    var leaves = Data()
    var top = entries
    if let leafSize {
      top = try stride(from: 0, to: entries.count, by: leafSize).map { start in
        let leaf = try pack(Self.directory(Array(entries[start..<min(start + leafSize, entries.count)])))
        defer { leaves.append(leaf) }
        return Entry(
          id: entries[start].id, run: 0, offset: UInt64(leaves.count), length: UInt64(leaf.count))
      }
    }
    let root = try pack(Self.directory(top))
    let json = try pack(Data(metadata.utf8))
    var header = Data("PMTiles".utf8) + [version]
    var start: UInt64 = 127
    for part in [root, json, leaves, data] {
      header.append(Self.number(start))
      header.append(Self.number(UInt64(part.count)))
      start += UInt64(part.count)
    }
    for count in [tiles.count, entries.count, places.count] { header.append(Self.number(UInt64(count))) }
    header.append(contentsOf: [1, isPacked ? 2 : 1, 1, 2])
    header.append(
      contentsOf: [tiles.keys.map(\.zoom).min() ?? 0, tiles.keys.map(\.zoom).max() ?? 0].map { UInt8($0) })
    for degrees in [-10.0, -20, 30, 40] {
      header.append(contentsOf: withUnsafeBytes(of: Int32(degrees * 1e7).littleEndian) { Array($0) })
    }
    header.append(contentsOf: [UInt8](repeating: 0, count: 127 - header.count))
    return header + root + json + leaves + data
  }

  /// Encodes a directory, of entries that no archive has too: sums wrap around.
  ///
  /// - Parameter isJoined: true to leave out the places of contents that follow those before.
  static func directory(_ entries: [Entry], isJoined: Bool = true) -> Data {
    var bytes = varint(UInt64(entries.count))
    var last: UInt64 = 0
    for entry in entries {
      bytes += varint(entry.id &- last)
      last = entry.id
    }
    for entry in entries { bytes += varint(entry.run) }
    for entry in entries { bytes += varint(entry.length) }
    var next: UInt64?
    for entry in entries {
      bytes += varint(isJoined && entry.offset == next ? 0 : entry.offset &+ 1)
      next = entry.offset &+ entry.length
    }
    return Data(bytes)
  }

  /// Encodes a number with seven bits in each byte.
  static func varint(_ value: UInt64) -> [UInt8] {
    value < 128 ? [UInt8(value)] : [UInt8(value & 0x7F) | 0x80] + varint(value >> 7)
  }

  static func number(_ value: UInt64) -> Data { withUnsafeBytes(of: value.littleEndian) { Data($0) } }

  private func pack(_ data: Data) throws -> Data { try isPacked ? Gzip.pack(data) : data }
}
