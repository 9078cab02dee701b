import BothyInspector
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Logging

/// A device with trips, inspected by the inspector's app. Its server requires each trip's country.
final class InspectedDevice: Sendable {
  let store: SyncedStore
  let front: InspectorApp
  let path: String
  private let folder: TemporaryFolder

  static let trip = TypeSchema(
    "Trip",
    fields: [
      FieldSchema("title", .text, indexed: true), FieldSchema("country", .text, optional: true),
      FieldSchema("nights", .int, default: 0), FieldSchema("place", .coordinate, optional: true),
      .field("cost", Decimal?.self),
    ])
  static let stop = TypeSchema(
    "Stop",
    fields: [
      FieldSchema("name", .text),
      FieldSchema("trip", .reference(to: "Trip", onDelete: .cascade), optional: false),
      FieldSchema("near", .references(to: "Trip", onDelete: .nullify), optional: true),
    ])
  static let schema = StoreSchema(types: [trip, stop])

  /// - Parameter subjects: adds subjects besides the database.
  init(
    rejections: SyncOptions.RejectionPolicy = .keepPending,
    _ subjects: (inout InspectorSubjects, URL) throws -> Void = { _, _ in }
  ) throws {
    folder = try TemporaryFolder()
    path = folder.file("trips.bothy")
    var strict = Self.schema
    strict.types[0].fields[1].isOptional = false
    let service = SyncService(storage: try SQLiteServerStorage(), rules: AccessRules(schema: strict)) {
      Int64(Date().timeIntervalSince1970 * 1000)
    }
    var configuration = SyncOptions()
    configuration.rejectionPolicy = rejections
    configuration.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    configuration.backoff = Backoff(first: .seconds(3600), limit: .seconds(7200))
    store = try SyncedStore(
      at: path, schema: Self.schema, remote: InProcessRemote(service), configuration: configuration)
    var looked = InspectorSubjects(
      store, server: InspectorSubjects.Server(url: "http://hut.test", space: "hut") { true })
    try subjects(&looked, folder.url)
    front = InspectorApp(looked, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    front.opens(at: 7000)
  }

  deinit {
    try? store.store.close()  // a failed test may still use it
  }

  func put(_ id: String, of type: String = "Trip", _ fields: [String: FieldValue]) async throws {
    try await store.save(AnyRecord(type, id: id, fields), options: RequestOptions(writePolicy: .local))
  }

  /// Makes two synced trips. Then one loses its country, which the server rejects, and a new one has none either.
  func refused() async throws {
    try await put("oslo", ["title": "Oslo", "country": "Norway", "nights": 2])
    try await put("rum", ["title": "Rum", "country": "Scotland"])
    await store.sync()
    try await put("oslo", ["title": "Oslo again", "country": nil])
    try await put("nowhere", ["title": "Nowhere"])
    await store.sync()
  }

  /// Returns an admitted browser.
  func visitor() async throws -> Visitor { await Visitor(entering: front.address, front.answer) }
}

extension JSONValue {
  /// Returns the member `name` of each object in the list `list`.
  func all(_ list: String, _ name: String) -> [JSONValue] {
    self[list]?.arrayValue?.map { $0[name] ?? .null } ?? []
  }

  /// Returns the first object of the list whose member has this value.
  func first(_ list: String, where name: String, is value: JSONValue) -> JSONValue? {
    self[list]?.arrayValue?.first { $0[name] == value }
  }
}
