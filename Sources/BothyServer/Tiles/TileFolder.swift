public import BothyGeo
import Foundation
import Synchronization

/// The sources of tiles in a folder: archives, named by their files, and folders of tiles.
///
/// Added, replaced and deleted files count at once. An archive is opened again after its file changed, and a
/// folder is listed again after its files changed.
public final class TileFolder: Sendable {
  /// The folder's absolute path, without `.` and `..`.
  public let folder: String
  /// The time for which a copy of a tile may be used before it is validated. Zero has copies validated each
  /// time.
  public let maxAge: Duration
  /// True if tiles are public, even if the server requires tokens. Pages of other sites may read them then.
  public let isOpen: Bool
  private let opened = Mutex<[String: ArchivedTiles]>([:])
  /// Archives that can't be opened, with the error. They aren't tried again as long as their files are unchanged.
  private let setAside = Mutex<[String: (stamp: FileVersion, error: BothyError)]>([:])
  /// The descriptions of archives, which may be more than those that are open.
  private let described = Mutex<[String: (stamp: FileVersion, summary: TileSummary?)]>([:])
  let tags = ETagCache()
  private let surveys = FolderSurveys()

  /// The extensions of archives. Of two archives with the same name the first counts.
  private static let endings = ["pmtiles", "mbtiles"]
  private static let openLimit = 64
  private static let describedLimit = 10_000

  /// Opens a folder, without a look at its files.
  ///
  /// Files in it that can't be served are reported by `problems`, and don't keep the others from being
  /// served.
  ///
  /// - Parameters:
  ///   - folder: the path, absolute or from the working directory.
  ///   - maxAge: the time for which a copy may be used unchecked, by default 7 days.
  ///   - isOpen: true serves tiles without a token.
  /// - Throws: `BothyError` `.unavailable` if the folder doesn't exist.
  public init(folder: String, maxAge: Duration = .seconds(604_800), isOpen: Bool = false) throws(BothyError) {
    self.folder = URL(filePath: folder).standardizedFileURL.path
    self.maxAge = maxAge
    self.isOpen = isOpen
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: self.folder, isDirectory: &isFolder), isFolder.boolValue
    else { throw BothyError(.unavailable, "The folder \(folder) does not exist. Check the path.") }
  }

  /// Returns sentences about what can't be served of the folder as it is now. There is one for each archive that can't
  /// be opened, and one for each whose name another has.
  ///
  /// Opens all archives, which takes seconds for one that is made to harm.
  public func problems() async -> [String] {
    let names = Set(FolderTiles.contents(folder))
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

  /// Returns the current sources and their descriptions, ordered by name. Archives that can't be opened are left out.
  func list() async -> [(id: String, summary: TileSummary)] {
    var found: [(id: String, summary: TileSummary)] = []
    for id in ids() {
      // `problems` reports such archives, and so does the log when the source itself is requested.
      if let summary = try? await summary(of: id) { found.append((id, summary)) }
    }
    return found
  }

  /// Returns the description of a source, or `nil` if it has no tiles or doesn't exist. Opens an archive only if its file
  /// has changed. Throws like `source(_:)`.
  func summary(of id: String) async throws -> TileSummary? {
    guard Self.isName(id), let path = archive(id), let stamp = Self.stamp(path) else {
      return try await source(id)?.summary()
    }
    if let known = described.withLock({ $0[path] }), known.stamp == stamp { return known.summary }
    let summary = try await open(path)?.summary()
    described.withLock { described in
      if described.count >= Self.describedLimit { described.removeAll() }
      described[path] = (stamp, summary)
    }
    return summary
  }

  /// Returns the source of a name, or `nil` if it doesn't exist. Throws `BothyError` for an archive that can't be opened.
  func source(_ id: String) async throws -> (any ServedTiles)? {
    guard Self.isName(id) else { return nil }
    if let path = archive(id) { return try await open(path) }
    var isFolder: ObjCBool = false
    let path = "\(folder)/\(id)"
    if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue {
      return FolderTiles(path: path, surveys: surveys)
    }
    return id == ownName ? FolderTiles(path: folder, surveys: surveys) : nil
  }

  /// Returns the PMTiles file of a source, for reading in parts, or `nil` if the source isn't one.
  func pmtiles(_ id: String) -> (path: String, stamp: FileVersion)? {
    let path = "\(folder)/\(id).pmtiles"
    guard Self.isName(id), let stamp = FileVersion(path: path) else { return nil }
    return (path, stamp)
  }

  /// The name of the folder itself, which tiles directly in it are served under.
  private var ownName: String { URL(filePath: folder).lastPathComponent }

  private func ids() -> [String] {
    var found: Set<String> = [ownName]
    for name in FolderTiles.contents(folder) where Self.isName(name) {
      let url = URL(filePath: "\(folder)/\(name)")
      found.insert(Self.endings.contains(url.pathExtension) ? String(name.dropLast(8)) : name)
    }
    return found.sorted()
  }

  private func archive(_ id: String) -> String? {
    Self.endings.map { "\(folder)/\(id).\($0)" }.first { FileVersion(path: $0) != nil }
  }

  private func open(_ path: String) async throws -> ArchivedTiles? {
    guard let stamp = Self.stamp(path) else { return nil }
    if let known = opened.withLock({ $0[path] }), known.stamp == stamp { return known }
    if let known = setAside.withLock({ $0[path] }), known.stamp == stamp { throw known.error }
    let made: ArchivedTiles
    do {
      made = ArchivedTiles(path: path, stamp: stamp, archive: try await TileArchives.open(path: path))
    } catch let error as BothyError where error.code != .unavailable {
      setAside.withLock { setAside in
        if setAside.count >= Self.openLimit, let other = setAside.keys.first { setAside[other] = nil }
        setAside[path] = (stamp, error)
      }
      throw error
    }
    opened.withLock { opened in
      // The choice doesn't matter, because an archive is opened again when it is requested.
      if opened.count >= Self.openLimit, let other = opened.keys.first { opened[other] = nil }
      opened[path] = made
    }
    return made
  }

  static func stamp(_ path: String) -> FileVersion? {
    path.hasSuffix(".mbtiles") ? FileVersion(database: path) : FileVersion(path: path)
  }

  /// True if a name can be that of a source: not a path, and not hidden.
  private static func isName(_ name: String) -> Bool {
    (1...255).contains(name.utf8.count) && !name.hasPrefix(".")
      && !name.utf8.contains { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") || $0 < 0x20 }
  }
}
