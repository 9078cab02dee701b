import BothyCache
import BothyCore
import Foundation

/// Encodes directories (specification, version 3, sections 2 and 4). Few entries are one directory beside the header, and
/// more are leaf directories with a directory of them there.
extension PMTilesDirectory {
  /// The room for the root directory, as the header and the root are within the first 16 KB.
  static let rootLimit = 16_384 - PMTilesHeader.size
  /// The most tiles of a root without leaves.
  ///
  /// Regular ones take few bytes each when packed, but opening the archive unpacks all of them.
  private static let rootTiles = 16_384

  /// Returns one directory of all entries if they are few and it fits beside the header. Otherwise returns leaf
  /// directories, each with as many entries as needed for their root to fit.
  static func packed(
    _ entries: [Entry], rootLimit: Int = rootLimit, leafSize first: Int = 4096
  ) throws(Gzip.Failure) -> (root: Data, leaves: Data) {
    if entries.count <= rootTiles {
      let root = try Gzip.pack(PMTilesDirectory(entries: entries[...]).encoded)
      if root.count <= rootLimit { return (root, Data()) }
    }
    var leafSize = max(2, first)
    while true {
      var leaves = Data()
      var tops: [Entry] = []
      for start in stride(from: 0, to: entries.count, by: leafSize) {
        let part = entries[start..<min(start + leafSize, entries.count)]
        let leaf = try Gzip.pack(PMTilesDirectory(entries: part).encoded)
        tops.append(
          Entry(id: entries[start].id, offset: UInt64(leaves.count), length: UInt64(leaf.count), run: 0))
        leaves.append(leaf)
      }
      let root = try Gzip.pack(PMTilesDirectory(entries: tops[...]).encoded)
      if root.count <= rootLimit { return (root, leaves) }
      leafSize += leafSize / 2
    }
  }

  /// The unpacked directory as bytes.
  var encoded: Data {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(8 + entries.count * 8)
    func append(_ number: UInt64) {
      var rest = number
      while rest > 0x7F {
        bytes.append(UInt8(rest & 0x7F) | 0x80)
        rest >>= 7
      }
      bytes.append(UInt8(rest))
    }
    append(UInt64(entries.count))
    var last: UInt64 = 0
    for entry in entries {
      append(entry.id - last)
      last = entry.id
    }
    for entry in entries { append(entry.run) }
    for entry in entries { append(entry.length) }
    var end: UInt64?
    for entry in entries {
      append(entry.offset == end ? 0 : entry.offset + 1)
      end = entry.offset + entry.length
    }
    return Data(bytes)
  }
}
