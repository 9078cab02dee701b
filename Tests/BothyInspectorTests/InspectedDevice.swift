import BothyInspector
import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Foundation
import HTTPTypes
import Logging

/// A device with trips, inspected by the inspector's app. Its server requires each trip's country.
final class InspectedDevice: Sendable {
  let store: SyncedStore
  let front: InspectorApp
  let path: String
  private let folder: URL

  static let trip = TypeSchema(
    "Trip",
    fields: [
      FieldSchema("title", .text, indexed: true), FieldSchema("country", .text, optional: true),
      FieldSchema("nights", .int, default: 0), FieldSchema("place", .coordinate, optional: true),
    ])
  static let stop = TypeSchema(
    "Stop",
    fields: [
      FieldSchema("name", .text),
      FieldSchema("trip", .reference(to: "Trip", onDelete: .cascade), optional: false),
    ])
  static let schema = StoreSchema(types: [trip, stop])

  /// - Parameter subjects: adds subjects besides the database.
  init(
    rejections: SyncOptions.RejectionPolicy = .keepPending,
    _ subjects: (inout InspectorSubjects, URL) throws -> Void = { _, _ in }
  ) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "bothy-inspected-\(UUIDv7.make())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = folder.appending(path: "trips.bothy").path
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
    try subjects(&looked, folder)
    front = InspectorApp(looked, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    front.opens(at: 7000)
  }

  deinit {
    try? store.store.close()  // a failed test may still use it
    try? FileManager.default.removeItem(at: folder)  // a leftover folder harms nothing
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

/// An admitted browser.
struct Visitor: Sendable {
  static let host = "127.0.0.1:7000"
  /// The function that responds to requests.
  let ask: @Sendable (InspectorCall) async -> Answer
  var cookie: String?

  init(_ ask: @escaping @Sendable (InspectorCall) async -> Answer, cookie: String? = nil) {
    self.ask = ask
    self.cookie = cookie
  }

  /// Opens the printed address, and keeps the cookie.
  init(entering address: String, _ ask: @escaping @Sendable (InspectorCall) async -> Answer) async {
    let token = address.split(separator: "?").last.map(String.init) ?? ""
    let answer = await ask(InspectorCall(.get, "/?" + token, host: Self.host))
    self.init(ask, cookie: answer.headers[.setCookie]?.split(separator: ";").first.map(String.init))
  }

  func get(_ target: String, _ headers: HTTPFields = [:]) async -> Answer {
    var headers = headers
    if let cookie { headers[.cookie] = cookie }
    return await ask(InspectorCall(.get, target, headers: headers, host: Self.host))
  }

  /// Sends a change like the page's own script, except for the alterations of `change`.
  func post(_ target: String, _ body: String = "{}", _ change: (inout HTTPFields) -> Void = { _ in }) async
    -> Answer
  {
    var headers: HTTPFields = [.origin: "http://" + Self.host, .contentType: "application/json"]
    if let name = HTTPField.Name("X-Bothy-Inspector") { headers[name] = "1" }
    if let cookie { headers[.cookie] = cookie }
    change(&headers)
    return await ask(
      InspectorCall(.post, target, headers: headers, host: Self.host) { Array(body.utf8) })
  }

  func json(_ target: String) async throws -> JSONValue { try await get(target).json }
}

extension Answer {
  var text: String {
    guard case .bytes(let bytes) = body else { return "" }
    return String(decoding: bytes, as: UTF8.self)
  }

  var json: JSONValue {
    get throws { try JSONValue(parsing: text) }
  }
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
