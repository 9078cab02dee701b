import BothyGeo
import Foundation
import Synchronization

/// The facts that the names in a folder yield: its numbered subfolders, and its tiles together.
struct FolderContents: Sendable {
  var numbers: [Int] = []
  var survey = TileSurvey()
}

/// The place of a folder among those of a source. The names in a folder mean something else at each.
enum FolderLevel: Sendable {
  case top, zoom, column
}

/// Remembers the contents of folders as long as the folders are unchanged.
///
/// A folder of a million tiles has thousands of columns. Each of them is listed once. Later requests cost a system call
/// for each column, until files are added or removed there.
final class FolderSurveys: Sendable {
  /// A folder at a level. A zoom of one source is the top of another, which has its name.
  private struct Place: Hashable {
    var path: String
    var level: FolderLevel
  }

  private struct Known {
    var stamp: FolderStamp
    var contents: FolderContents
  }

  private let known = Mutex<[Place: Known]>([:])
  private let limit: Int

  init(limit: Int = 100_000) { self.limit = limit }

  /// Returns the contents of a folder. `read` makes them from the sorted names there, unless they are known.
  func contents(
    of path: String, at level: FolderLevel, _ read: ([String]) -> FolderContents
  ) -> FolderContents {
    let (stamp, place) = (FolderStamp(path: path), Place(path: path, level: level))
    if let stamp, let found = known.withLock({ $0[place] }), found.stamp == stamp { return found.contents }
    // A folder that can't be listed now, for want of a right or of descriptors, is listed again at the next request.
    guard let names = FolderTiles.listing(path) else { return FolderContents() }
    let contents = read(names)
    if let stamp, stamp.isSettled {
      known.withLock { known in
        // A full table is cleared, because an entry costs no more than a listing of its folder.
        if known.count >= limit { known.removeAll(keepingCapacity: true) }
        known[place] = Known(stamp: stamp, contents: contents)
      }
    }
    return contents
  }
}

/// The identity of one state of a folder: its file number, and the time of the last change of its names.
private struct FolderStamp: Equatable, Sendable {
  private let node: UInt64
  private let changed: Date

  /// Returns `nil` if nothing has this path. A link has the stamp of its folder, because its own time never changes.
  init?(path: String) {
    let files = FileManager.default
    guard var attributes = try? files.attributesOfItem(atPath: path) else { return nil }
    if attributes[.type] as? FileAttributeType == .typeSymbolicLink {
      guard let found = try? files.attributesOfItem(atPath: FileVersion.target(path)) else { return nil }
      attributes = found
    }
    guard let node = attributes[.systemFileNumber] as? NSNumber,
      let changed = attributes[.modificationDate] as? Date
    else { return nil }
    (self.node, self.changed) = (node.uint64Value, changed)
  }

  /// True if a later change has another time. File systems round times to two seconds at most.
  var isSettled: Bool { changed.timeIntervalSince1970 + 3 < Date().timeIntervalSince1970 }
}

/// The facts that the names of several tiles yield together.
struct TileSurvey: Sendable {
  private(set) var format: TileFormat?
  private(set) var zooms: ZoomRange?
  /// The bounds of the tiles of the highest zoom. Tiles of lower zooms reach beyond the content.
  private(set) var bounds = TileArchiveInfo.wholeMap

  init() {}

  init(_ tile: Tile, _ format: TileFormat) {
    self.format = format
    bounds = tile.bounds
    zooms = try? ZoomRange(tile.zoom, tile.zoom)  // a tile's zoom is valid
  }

  mutating func add(_ other: TileSurvey) {
    guard let added = other.zooms else { return }
    format = format ?? other.format
    guard let known = zooms else {
      (zooms, bounds) = (added, other.bounds)
      return
    }
    if added.highest > known.highest {
      bounds = other.bounds
    } else if added.highest == known.highest {
      bounds = GeoBox(
        west: min(bounds.west, other.bounds.west), south: min(bounds.south, other.bounds.south),
        east: max(bounds.east, other.bounds.east), north: max(bounds.north, other.bounds.north))
    }
    // Both are valid.
    zooms = try? ZoomRange(min(known.lowest, added.lowest), max(known.highest, added.highest))
  }
}
