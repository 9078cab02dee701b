public import BothyStore
import BothySyncService

/// The files of the schema of a server, which it reads again when they change.
///
/// Pass the result of `schema()` in the server's rules, and the value as `ServerConfiguration.schemaFiles`.
public struct SchemaFiles: Sendable {
  /// The path of the newest app's schema, as JSON.
  public var newest: String
  /// The paths of the schemas of older apps that are still in use. The order doesn't matter.
  public var older: [String]
  /// The fields of older schemas that were removed deliberately, as `type.field`.
  public var removed: Set<String>
  private let read: @Sendable (String) throws -> [UInt8]
  /// The versions of the files when the value was created, and so before they were read.
  let versions: [FileVersion?]

  /// Creates the value without reading the files. A server notices a change of them from now on.
  ///
  /// - Parameter read: reads a whole file.
  public init(
    newest: String, older: [String] = [], removed: Set<String> = [],
    read: @escaping @Sendable (String) throws -> [UInt8]
  ) {
    self.newest = newest
    self.older = older
    self.removed = removed
    self.read = read
    versions = FileWatch.stamps(of: [newest] + older)
  }

  /// Reads the files, and returns one schema for all versions of the app. Blocks the calling thread.
  ///
  /// - Throws: `BothyError` `.schemaMismatch` for schemas that can't be served together, and errors for a
  ///   file that can't be used.
  public func schema() throws -> StoreSchema { try schema(following: nil) }

  /// Reads the files while another schema is served. Throws also if the devices and records of that schema don't fit the
  /// new one. What the new one lacks is kept for them.
  func schema(following served: StoreSchema?) throws -> StoreSchema {
    let older = try older.map { try StoreSchema(json: read($0)) }
    return try StoreSchema.fleet(
      StoreSchema(json: read(newest)), besides: older + (served.map { [$0] } ?? []), removed: removed)
  }

  var paths: [String] { [newest] + older }
}
