public import BothyStore
public import Foundation

/// Read-only records that an app ships with or downloads: a folder of SQLite files, built by `bothy pack build`.
///
/// ```swift
/// let pack = try Pack(at: folder, expecting: [City.self, PrayerTime.self])
/// let cities = try await pack.fetch(City.order(by: \.name))
/// let today = try await pack.fetch(PrayerTime.where { $0.city == "Kuwait City" && $0.day == "2026-11-21" })
/// let dawn = try pack.fetch(PrayerTime.self, id: "Kuwait City/2026-11-21/fajr")
/// ```
///
/// A type may be split by the values of one field. Then each value has its own file, and reading one opens only the
/// index and that file.
///
/// Files are opened at the first use, without locks and without other files beside them, so a read-only folder
/// suffices. The results are plain values, which outlive the pack and its files on any thread.
///
/// Its verbs are those of a store, but it isn't a `ReadableStore`. A connection of SQLite attaches ten files at most, so
/// no transaction spans the files of a split type. Nothing changes that could be observed.
///
/// Calls are safe from any thread. Reads of one file run one after another. The files must not change while they are
/// open. `PackStore` replaces a pack by a newer one while it is read.
public final class Pack: Sendable {
  /// The folder of the files. For an installed pack, it is the folder of its version.
  ///
  /// That folder is deleted some time after a newer version is installed and this object is released.
  public let folder: URL
  /// The manifest, read once when the pack was opened.
  ///
  /// Reading it costs nothing, so use it for sizes and for the version on a screen.
  public let manifest: Pack.Manifest
  let files: PackFiles
  let shapes: TypeShapes
  /// The lease that protects the files of an installed pack from deletion.
  let lease: VersionLease?

  /// Opens the pack in a folder. Reads the manifest and opens the index, but no shard.
  ///
  /// Runs on the calling thread. Verifies the length of the index, and not the contents of files, which
  /// `verify(progress:)` does.
  ///
  /// - Parameters:
  ///   - types: the types that the app needs. Their fields are checked now, not at the first query of each.
  ///   - options: the number of shards that may be open.
  /// - Throws: `BothyError` `.notFound`, `.newerFile`, `.schemaMismatch`, `corruptManifest`, `unsafeName`, or
  ///   `.damagedFile`. After `.newerFile`, the app must be updated. After `.schemaMismatch`, the pack needs to be
  ///   built for this app.
  public convenience init(
    at folder: URL, expecting types: [any Entity.Type] = [], options: Pack.Options = Pack.Options()
  ) throws {
    try self.init(at: folder, expecting: types, options: options, lease: nil)
  }

  init(at folder: URL, expecting types: [any Entity.Type], options: Pack.Options, lease: VersionLease?) throws
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

  /// Returns the manifest in a folder, and reads no other file.
  static func manifest(in folder: String) throws(BothyError) -> Pack.Manifest {
    try Pack.Manifest(parsing: manifestBytes(in: folder), of: folder)
  }

  static func manifestBytes(in folder: String) throws(BothyError) -> Data {
    guard let bytes = FileManager.default.contents(atPath: folder + "/" + Pack.Manifest.fileName) else {
      throw BothyError(
        .notFound,
        "\(folder) holds no pack: it has no \(Pack.Manifest.fileName). Build one with `bothy pack build`."
      )
    }
    return bytes
  }

  /// The types of the pack with their fields, which may be more than the app knows.
  public var schema: StoreSchema { manifest.schema }

  /// Returns the values by which the files of a type are split, in their order. Returns none for a type that isn't
  /// split.
  package func shardKeys(of type: String) -> [FieldValue] {
    manifest.files.filter { $0.type == type }.map(\.key)
  }

  /// Closes the shards as soon as no read uses them. Later reads of shards throw `closed`. Releasing the pack does
  /// this too, and closes the index.
  ///
  /// Types that aren't split can still be read. A second call does nothing.
  public func close() { files.close() }
}
