public import BothyStore
public import Foundation
internal import GRDB

/// Makes packs of rows.
///
/// ```swift
/// let builder = PackBuilder(
///   name: "prayer-times", version: "2026.1", schema: StoreSchema(City.self, PrayerTime.self),
///   shardBy: ["PrayerTime": "city"])
/// let manifest = try builder.build(at: folder) { pack in for row in rows { try pack.add(row) } }
/// ```
///
/// The same rows in the same order give the same bytes: pages of one size, no times, no room between.
public struct PackBuilder: Sendable {
  /// What the pack is called. A shelf takes other versions under the same name, and no other pack.
  public var name: String
  /// Which edition it is, in words of one's own; versions are not compared.
  public var version: String
  /// The types, as the pack has them: nothing in it is synced, sensitive or restricted.
  public var schema: StoreSchema
  /// The field whose values each get a file of their own, by type.
  public var shardBy: [String: String]
  /// The most files a type may be split into.
  public static let mostShards = 10_000

  /// Describes a pack; `build` checks it. What `schema` says of servers is left out.
  public init(name: String, version: String, schema: StoreSchema, shardBy: [String: String] = [:]) {
    self.name = name
    self.version = version
    self.schema = Self.frozen(schema)
    self.shardBy = shardBy
  }

  /// Builds the pack in `folder`, of the rows that `body` adds. What is in the folder is replaced if it is a pack, when
  /// everything is done; whoever reads the old one then opens it again (`PackShelf` spares them that).
  ///
  /// Runs on the calling thread. Needs twice the pack's size beside the folder while it works, and the memory of a few
  /// pages; forces the files to the disk.
  /// - Throws: `PackError` `.invalidInput` for rows and shard fields that don't fit, `.cannotWrite`; `StoreError`
  ///   `.invalidSchema`, `.unknownField`, `.invalidValue`; whatever `body` throws. The folder is then as it was.
  @discardableResult
  public func build(
    at folder: URL, progress: @escaping (PackProgress) -> Void = { _ in }, _ body: (PackWriter) throws -> Void
  ) throws -> PackManifest {
    try check()
    let place = try BuildPlace(folder.path)
    defer { place.remove() }
    let staging = try StagedRows(at: place.path + "/rows.sqlite", schema, shardBy)
    try staging.fill { writer in
      writer.progress = progress
      try body(writer)
    }
    let assembly = PackAssembly(builder: self, rows: staging, folder: place.pack)
    let manifest = try assembly.run(progress)
    try staging.close()
    try place.finish()
    return manifest
  }

  private func check() throws {
    try schema.validate()
    guard !name.isEmpty, !version.isEmpty, !schema.types.isEmpty else {
      throw PackError(.invalidInput, "A pack needs a name, a version and at least one type.")
    }
    for (type, field) in shardBy {
      guard let found = schema[type] else {
        throw PackError(
          .invalidInput, "The pack can't be split by \(type).\(field): there is no type \(type).")
      }
      guard let kind = found[field]?.kind, kind.canShard else {
        let possible = found.fields.filter(\.kind.canShard).map(\.name).joined(separator: ", ")
        throw PackError(.invalidInput, "\(type) can't be split by '\(field)'. Possible: \(possible).")
      }
    }
  }

  /// The schema of rows that are never written again: nothing in it speaks of servers.
  private static func frozen(_ schema: StoreSchema) -> StoreSchema {
    var schema = schema
    for index in schema.types.indices {
      schema.types[index].isSynced = false
      schema.types[index].permissions = nil
      schema.types[index].writeMode = .offlineCapable
      for field in schema.types[index].fields.indices {
        schema.types[index].fields[field].merge = .server
        schema.types[index].fields[field].isSensitive = false
      }
    }
    return schema
  }
}

/// How far a build is.
public enum PackProgress: Sendable, Hashable {
  /// So many rows were taken in.
  case rows(Int)
  /// So many files are done, of how many.
  case files(Int, of: Int)
}
