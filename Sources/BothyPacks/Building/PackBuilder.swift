public import BothyStore
public import Foundation
internal import GRDB

/// Builds packs from rows.
///
/// ```swift
/// let builder = PackBuilder(
///   name: "prayer-times", version: "2026.1", schema: StoreSchema(City.self, PrayerTime.self),
///   shardBy: ["PrayerTime": "city"])
/// let manifest = try builder.build(at: folder) { pack in
///   for time in prayerTimes { try pack.add(time) }
/// }
/// ```
///
/// Equal rows in equal order give equal bytes: pages have one size, and files have no times and no free space.
public struct PackBuilder: Sendable {
  /// The name of the pack. A `PackStore` accepts other versions with this name, and no other pack.
  ///
  /// An empty name is refused by `build`.
  public var name: String
  /// The version, as any text but an empty one. Versions aren't compared, so an older one can replace a newer one.
  public var version: String
  /// The types of the pack. None of them is synced, sensitive or restricted.
  ///
  /// The initializer resets these settings. A value that is set later is stored in the manifest as it is.
  public var schema: StoreSchema
  /// The field by whose values a type is split into files, by type. Empty for a pack of one file.
  ///
  /// The field may be a Boolean, a whole number, a text, a date, a UUID or a reference. Rows without a value have a
  /// file of their own. A type has at most 10,000 files.
  public var shardBy: [String: String]
  /// The maximum number of files of a type.
  package static let mostShards = 10_000

  /// Describes a pack, which `build` checks. Settings of `schema` for servers are ignored.
  ///
  /// Reads and writes nothing.
  public init(name: String, version: String, schema: StoreSchema, shardBy: [String: String] = [:]) {
    self.name = name
    self.version = version
    self.schema = Self.frozen(schema)
    self.shardBy = shardBy
  }

  /// Builds the pack in `folder` from the rows that `body` adds.
  ///
  /// An existing pack in the folder is replaced when everything is done. Readers of the old pack must then open it
  /// again, which `PackStore` does for them. A folder that is neither a pack nor empty isn't replaced.
  ///
  /// Runs on the calling thread. Needs twice the pack's size on disk beside the folder, and the memory of a few pages.
  /// Forces the files to the disk.
  ///
  /// - Parameters:
  ///   - progress: called on the calling thread, after each 1000 rows and after each file.
  ///   - body: called once. Its writer is invalid when it returns.
  /// - Returns: the manifest, as it is in the folder.
  /// - Throws: `BothyError` `invalidInput` for rows and shard fields that don't fit, or `.cannotWrite`. Throws
  ///   `BothyError` `invalidSchema`, `unknownField` or `.invalidValue`, and the errors of `body`. Throws
  ///   `CancellationError` if the task is cancelled, which is checked with each call of `progress`. The folder is then
  ///   unchanged.
  @discardableResult
  public func build(
    at folder: URL, progress: @escaping (PackBuilder.Progress) -> Void = { _ in },
    _ body: (PackBuilder.Writer) throws -> Void
  ) throws -> Pack.Manifest {
    try check()
    let place = try BuildPlace(folder.path)
    defer { place.remove() }
    let staging = try PackStaging(at: place.path + "/rows.sqlite", schema, shardBy)
    try staging.fill { writer in
      writer.progress = progress
      try body(writer)
    }
    let assembly = PackAssembler(builder: self, rows: staging, folder: place.pack)
    let manifest = try DurableFile.writing(place.pack) {
      let manifest = try assembly.run(progress)
      try staging.close()
      return manifest
    }
    try place.finish()
    return manifest
  }

  private func check() throws {
    try schema.validate()
    guard !name.isEmpty, !version.isEmpty, !schema.types.isEmpty else {
      throw BothyError(.invalidInput, "A pack needs a name, a version and at least one type.")
    }
    guard Pack.Manifest.isPrintable(name), Pack.Manifest.isPrintable(version) else {
      throw BothyError(
        .invalidInput, "The name or version of the pack has characters that can't be shown. Remove them.")
    }
    for (type, field) in shardBy {
      guard let found = schema[type] else {
        throw BothyError(
          .invalidInput, "The pack can't be split by \(type).\(field): the schema has no type \(type).")
      }
      guard let kind = found[field]?.kind, kind.canShard else {
        let possible = found.fields.filter(\.kind.canShard).map(\.name).joined(separator: ", ")
        throw BothyError(.invalidInput, "\(type) can't be split by '\(field)'. Possible: \(possible).")
      }
    }
  }

  /// Returns the schema without settings for servers, for rows that never change.
  private static func frozen(_ schema: StoreSchema) -> StoreSchema {
    var schema = schema
    for index in schema.types.indices {
      schema.types[index].isSynced = false
      schema.types[index].permissions = nil
      schema.types[index].writeMode = .offlineCapable
      for field in schema.types[index].fields.indices {
        schema.types[index].fields[field].merge = .remote
        schema.types[index].fields[field].isSensitive = false
      }
    }
    return schema
  }
}
