public import BothyStore
public import Foundation

/// Read-only records that an app ships with or downloads: a folder of SQLite files, made by `bothy pack build`.
///
/// ```swift
/// let pack = try Pack(at: folder, expecting: [City.self, PrayerTime.self])
/// let cities = try pack.fetch(RecordQuery<City>().order { $0.name.ascending })
/// let today = try pack.fetch(RecordQuery<PrayerTime>().where { $0.city == "Kuwait City" && $0.day == "2026-11-21" })
/// let one = try pack.fetch(PrayerTime.self, id: "Kuwait City/2026-11-21/fajr")
/// ```
///
/// A type may be split by the values of one field: then each value has a file of its own, and reading one opens the
/// index and that file, no other. Files are opened at the first use, without locks and with nothing left beside them,
/// so that a folder that may not be written will do. What is returned are plain values: they outlive the pack and its
/// files, on any thread.
///
/// May be used from any thread; reads of one file run one after another. The files must not change while they are
/// open; `PackShelf` replaces a pack by a newer one under those who read.
public final class Pack: Sendable {
  /// Where the files are; of an installed pack, the folder of its version.
  public let folder: URL
  /// What the pack says of itself, read once when it was opened.
  public let manifest: PackManifest
  let files: PackFiles
  let shapes: TypeShapes
  /// What keeps the files from being removed, for a pack that is installed.
  let lease: VersionLease?

  /// Opens the pack in a folder. Reads the manifest and opens the index; no shard.
  ///
  /// - Parameter expecting: the types that the app will ask for: whether the pack has their fields is found out now, and
  ///   not at the first query of each.
  /// - Throws: `PackError` `.notFound`, `.corruptManifest`, `.newerFormat`, `.unsafeName`, `.schemaMismatch`,
  ///   `.damagedFile`.
  public convenience init(
    at folder: URL, expecting types: [any Entity.Type] = [], options: PackOptions = PackOptions()
  ) throws {
    try self.init(at: folder, expecting: types, options: options, lease: nil)
  }

  init(at folder: URL, expecting types: [any Entity.Type], options: PackOptions, lease: VersionLease?) throws
  {
    self.folder = folder
    self.lease = lease
    let path = folder.path
    manifest = try Self.manifest(in: path)
    files = PackFiles(manifest, in: path, options)
    shapes = try TypeShapes(manifest, in: path)
    for type in types { _ = try shapes.shape(of: type) }
    try files.index.read { _ in }
  }

  /// The manifest in a folder, nothing else of which is looked at.
  static func manifest(in folder: String) throws(PackError) -> PackManifest {
    try PackManifest(parsing: manifestBytes(in: folder), of: folder)
  }

  static func manifestBytes(in folder: String) throws(PackError) -> Data {
    guard let bytes = FileManager.default.contents(atPath: folder + "/" + PackManifest.fileName) else {
      throw PackError(
        .notFound,
        "There is no pack in \(folder): it has no \(PackManifest.fileName). Build one with `bothy pack build`."
      )
    }
    return bytes
  }

  /// The types of the pack with their fields, which may be more than the app knows.
  public var schema: StoreSchema { manifest.schema }

  /// The values that the files of a type are split by, in their order; none for a type that is not.
  public func shardKeys(of type: String) -> [FieldValue] {
    manifest.files.filter { $0.type == type }.map(\.key)
  }

  /// Closes the shards as soon as nobody reads them; what needs one from now on throws `.closed`. Releasing the pack does
  /// the same, and closes the index.
  public func close() { files.close() }
}
