internal import BothyStore
internal import Foundation
internal import GRDB

/// Reads an entry from the rows of an index and checks it.
enum RowReader {
  /// The place where an entry was found.
  enum Place<Content: Sendable>: Sendable {
    case here(Content)
    /// The entry is in a file of its own.
    case inFile
    case damaged
    case nothing
  }

  /// The statement that `entry` runs.
  static let find = """
    SELECT e.name, e.body, e.checksum, e.metadata, b.data FROM entry e LEFT JOIN body b ON b.id = e.body
    WHERE e.id = ?1
    """

  static func entry(_ key: ResourceKey, _ source: KnownSource, by find: PreparedStatement) throws -> Place<
    CacheEntry
  > {
    find.bind(source.number(of: key), at: 1)
    guard try find.step(), find.name(at: 0) == key.name else { return .nothing }
    if find.isNull(at: 1) { return .inFile }
    let checksum = UInt64(bitPattern: find.int(at: 2))
    let bytes = find.blob(at: 4)
    guard BodyChecksum.of(bytes) == checksum,
      let metadata = MetadataCoding.decode(find.blob(at: 3), seed: source.seed(checksum))
    else { return .damaged }
    return .here(CacheEntry(metadata: metadata, body: Data(bytes)))
  }

  /// Returns true if an entry's bytes are in its row, or `nil` if it is missing.
  static func isInRow(_ number: Int64, in database: Database) throws -> Bool? {
    let find = try PreparedStatement("SELECT body FROM entry WHERE id = ?1", in: database)
    find.bind(number, at: 1)
    defer { find.reset() }
    return try find.step() ? !find.isNull(at: 0) : nil
  }

  static func metadata(_ key: ResourceKey, _ source: KnownSource, in database: Database) throws -> Place<
    EntryMetadata
  > {
    let find = try PreparedStatement(
      "SELECT name, body, checksum, metadata FROM entry WHERE id = ?1", in: database)
    find.bind(source.number(of: key), at: 1)
    defer { find.reset() }
    guard try find.step(), find.name(at: 0) == key.name else { return .nothing }
    if find.isNull(at: 1) { return .inFile }
    let seed = source.seed(UInt64(bitPattern: find.int(at: 2)))
    return MetadataCoding.decode(find.blob(at: 3), seed: seed).map { .here($0) } ?? .damaged
  }
}
