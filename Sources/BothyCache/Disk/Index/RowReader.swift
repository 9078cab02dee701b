internal import BothyStore
internal import Foundation
internal import GRDB

/// Reads an entry from the rows of an index and checks it.
enum RowReader {
  /// The place where an entry was found.
  enum Place<Content: Sendable>: Sendable {
    case here(Content)
    /// The metadata, and the name of the file that has the body. The caller reads that file.
    case large(EntryMetadata, BodyName)
    /// The entry is in a file of its own.
    case inFile
    case damaged
    case nothing
  }

  /// The statement of a look-up.
  static let find = """
    SELECT e.name, e.body, e.frame, e.metadata, b.checksum, b.size, b.page, b.place
    FROM entry e LEFT JOIN body b ON b.id = e.body WHERE e.id = ?1
    """

  static func entry(
    _ key: ResourceKey, _ source: KnownSource, in lookup: inout LookupConnection
  ) throws -> Place<CacheEntry> {
    let find = try lookup.find()
    switch try metadata(key, source, find, in: &lookup) {
    case .here(let metadata):
      let (size, place) = (Int(find.int(at: 5)), Int(find.int(at: 7)))
      let checksum = UInt64(bitPattern: find.int(at: 4))
      let body = try lookup.page(find.int(at: 6)) { page -> Data? in
        guard let bytes = page.part(at: place, count: size) else { return nil }
        return BodyChecksum.of(bytes) == checksum ? Data(bytes) : nil
      }
      guard let body = body.flatMap({ $0 }) else { return .damaged }
      return .here(CacheEntry(metadata: metadata, body: body))
    case .large(let metadata, let name): return .large(metadata, name)
    case .inFile: return .inFile
    case .damaged: return .damaged
    case .nothing: return .nothing
    }
  }

  /// Returns the metadata in a row. `.large` only tells where the bytes are.
  static func metadata(
    _ key: ResourceKey, _ source: KnownSource, in lookup: inout LookupConnection
  ) throws -> Place<EntryMetadata> {
    let find = try lookup.find()
    return try metadata(key, source, find, in: &lookup)
  }

  private static func metadata(
    _ key: ResourceKey, _ source: KnownSource, _ find: PreparedStatement, in lookup: inout LookupConnection
  ) throws -> Place<EntryMetadata> {
    find.bind(source.number(of: key), at: 1)
    guard try find.step(), find.name(at: 0) == key.name else { return .nothing }
    if find.isNull(at: 1) { return .inFile }
    if find.isNull(at: 4) { return .damaged }
    var frame: MetadataFrame?
    if let number = find.optionalInt(at: 2) {
      guard let found = try lookup.frame(number) else { return .damaged }
      frame = found
    }
    let checksum = UInt64(bitPattern: find.int(at: 4))
    guard let metadata = RowMetadata.decode(find.blob(at: 3), frame, seed: source.seed(checksum)) else {
      return .damaged
    }
    return find.isNull(at: 6)
      ? .large(metadata, BodyName(checksum: checksum, size: find.int(at: 5))) : .here(metadata)
  }
}

/// The name of a body's file, which follows from the bytes.
struct BodyName: Sendable, Hashable {
  var checksum: UInt64
  var size: Int64
}
