public import BothyGeo
import Foundation
import Synchronization

/// The tiles that lie in a folder, source by source: archives, named by their files, and folders of tiles.
///
/// The folder is looked at when it is asked for something, so what is added, replaced or removed counts at once. An
/// archive stays open as long as its file is the same.
public final class TileLibrary: Sendable {
  /// The folder's whole path, without `.` and `..`.
  public let folder: String
  /// How long a copy of a tile may be used before it is asked for again.
  public let maxAge: Duration
  /// Whether tiles are given to everybody, also where a tokens file says who may enter.
  public let isOpen: Bool
  private let opened = Mutex<[String: ArchivedTiles]>([:])
  /// Archives that can't be opened, and why, so that none is tried again as long as its file is the same.
  private let setAside = Mutex<[String: (stamp: FileStamp, error: GeoError)]>([:])
  let tags = TagTable()

  /// The ends of archives' names; of two archives with the same name the first counts.
  private static let endings = ["pmtiles", "mbtiles"]
  private static let openLimit = 64

  /// Throws `GeoError` `.unavailable` when there is no such folder. What can't be served of what lies in it is told by
  /// `problems`, and keeps nothing else from being served.
  public init(folder: String, maxAge: Duration = .seconds(604_800), isOpen: Bool = false) throws(GeoError) {
    self.folder = URL(filePath: folder).standardizedFileURL.path
    self.maxAge = maxAge
    self.isOpen = isOpen
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: self.folder, isDirectory: &isFolder), isFolder.boolValue
    else { throw GeoError(.unavailable, "There is no folder at \(folder). Check the path.") }
  }

  /// What can't be served of the folder as it is now: sentences, one for each archive that can't be opened, and for each
  /// whose name another has. Opens all archives, and takes seconds for one that is made to harm.
  public func problems() async -> [String] {
    let names = Set(TileFolder.contents(folder))
    var found: [String] = []
    for name in names.sorted() where name.hasSuffix(".mbtiles") {
      let other = name.dropLast("mbtiles".count) + "pmtiles"
      guard names.contains(String(other)) else { continue }
      found.append(
        "\(name) is not served: \(other) beside it is the source '\(name.dropLast(8))' already. Rename one of them."
      )
    }
    for id in ids() {
      do { _ = try await source(id)?.summary() } catch { found.append("\(id) is not served: \(error)") }
    }
    return found
  }

  /// The sources that there are now with what is said of them, in order of their names. Archives that can't be opened
  /// are left out.
  func list() async -> [(id: String, summary: TileSummary)] {
    var found: [(id: String, summary: TileSummary)] = []
    for id in ids() {
      // Told of by `problems`, and in the log by whoever asks for the source itself.
      if let summary = try? await source(id)?.summary() { found.append((id, summary)) }
    }
    return found
  }

  /// A source by its name; nil when there is none. Throws `GeoError` for an archive that can't be opened.
  func source(_ id: String) async throws -> (any ServedTiles)? {
    guard Self.isName(id) else { return nil }
    if let path = archive(id) { return try await open(path) }
    var isFolder: ObjCBool = false
    let path = "\(folder)/\(id)"
    if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue {
      return TileFolder(path: path)
    }
    return id == ownName ? TileFolder(path: folder) : nil
  }

  /// The PMTiles file of a source, for reading by parts; nil when it is no such file.
  func pmtiles(_ id: String) -> (path: String, stamp: FileStamp)? {
    let path = "\(folder)/\(id).pmtiles"
    guard Self.isName(id), let stamp = FileStamp(path: path) else { return nil }
    return (path, stamp)
  }

  /// The name of the folder itself, under which tiles that lie in it without a folder of their own are served.
  private var ownName: String { URL(filePath: folder).lastPathComponent }

  private func ids() -> [String] {
    var found: Set<String> = [ownName]
    for name in TileFolder.contents(folder) where Self.isName(name) {
      let url = URL(filePath: "\(folder)/\(name)")
      found.insert(Self.endings.contains(url.pathExtension) ? String(name.dropLast(8)) : name)
    }
    return found.sorted()
  }

  private func archive(_ id: String) -> String? {
    Self.endings.map { "\(folder)/\(id).\($0)" }.first { FileStamp(path: $0) != nil }
  }

  private func open(_ path: String) async throws -> ArchivedTiles? {
    guard let stamp = Self.stamp(path) else { return nil }
    if let known = opened.withLock({ $0[path] }), known.stamp == stamp { return known }
    if let known = setAside.withLock({ $0[path] }), known.stamp == stamp { throw known.error }
    let made: ArchivedTiles
    do {
      made = ArchivedTiles(path: path, stamp: stamp, archive: try await TileArchives.open(path: path))
    } catch let error as GeoError where error.code != .unavailable {
      setAside.withLock { setAside in
        if setAside.count >= Self.openLimit, let other = setAside.keys.first { setAside[other] = nil }
        setAside[path] = (stamp, error)
      }
      throw error
    }
    opened.withLock { opened in
      // Which of many goes is of no consequence: it is opened again when it is asked for.
      if opened.count >= Self.openLimit, let other = opened.keys.first { opened[other] = nil }
      opened[path] = made
    }
    return made
  }

  static func stamp(_ path: String) -> FileStamp? {
    path.hasSuffix(".mbtiles") ? FileStamp(database: path) : FileStamp(path: path)
  }

  /// Whether a name can be one of a source: no path, nothing hidden.
  private static func isName(_ name: String) -> Bool {
    (1...255).contains(name.utf8.count) && !name.hasPrefix(".")
      && !name.utf8.contains { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") || $0 < 0x20 }
  }
}
