import BothyServer
import BothyStore
import BothySync
import BothySyncService
import Foundation
import HTTPTypes
import HummingbirdTesting
import JWTKit
import NIOCore
import Testing

/// Every route against all callers without access to its content: the right status, nothing of the data, and no failure
/// of the server. The routes come from the server itself, so a new route without a row here fails.
@Suite("Isolation: every route against callers without access", .timeLimit(.minutes(5)))
struct IsolationTests {
  /// A request, and the response to a user of the space without a share in the record.
  private struct Row {
    var path: String
    var body: String?
    var type = "application/json"
    var headers: HTTPFields = [:]
    /// The status for another user of the same space. The response has nothing of the record in any case.
    var other: Int
    /// The request in a malformed version that can't be parsed, and its status.
    var malformed: (path: String, body: String?, status: Int)
    /// True if the response lasts as long as the caller stays. Such a route is tested with HEAD.
    var isStream = false
  }

  private static let secret = "nobody-else-may-read-this"
  private static let space = "/v1/spaces/hut"
  private static let record = space + "/records/Todo/1"
  private static let blob = "The bytes of a blob belong to everybody in the space, and to nobody else."
  private static let sha256 = "09f9b39fe03c49c061c030d3d5d8da2aab73df38695a058565b952a16824cf94"
  private static let bodyLimit = 4096

  private static let broken = #"{"fields":"#

  private static func rows() -> [String: Row] {
    recordRows().merging(spaceRows()) { $1 }.merging(otherRows()) { $1 }
  }

  private static func recordRows() -> [String: Row] {
    let bad = space + "/records/Todo/%zz"
    let nothing = #"{"fields":{"title":"x"}}"#
    let any: HTTPFields = [.ifMatch: "*"]
    return [
      "sync": Row(
        path: space + "/sync", body: #"{"device":"d","pulls":[{"container":"","children":true}]}"#,
        other: 200,
        malformed: (space + "/sync", broken, 400)),
      "changes": Row(
        path: space + "/changes", other: 200, malformed: (space + "/changes?cursor=no", nil, 400)),
      "getRecord": Row(path: record, other: 404, malformed: (bad, nil, 400)),
      "putRecord": Row(
        path: record, body: nothing, other: 403, malformed: (record, broken, 400)),
      "patchRecord": Row(
        path: record, body: nothing, headers: any, other: 404, malformed: (record, broken, 400)),
      "deleteRecord": Row(path: record, headers: any, other: 404, malformed: (bad, nil, 400)),
      "shareRecord": Row(
        path: record + "/share", body: #"{"add":{"principals":["cid"]}}"#, other: 404,
        malformed: (record + "/share", broken, 400)),
      "getLists": Row(path: space + "/lists", other: 200, malformed: (space + "x/%ff/lists", nil, 404)),
      "createList": Row(
        path: space + "/lists", body: #"{"name":"mine"}"#, other: 201,
        malformed: (space + "/lists", broken, 400)),
      "getList": Row(path: space + "/lists/L", other: 404, malformed: (space + "/lists/%zz", nil, 400)),
      "putList": Row(
        path: space + "/lists/L", body: #"{"name":"mine","members":[]}"#, headers: any, other: 404,
        malformed: (space + "/lists/L", broken, 400)),
      "deleteList": Row(
        path: space + "/lists/L", headers: any, other: 404, malformed: (space + "/lists/%zz", nil, 400)),
      "getJoinedLists": Row(
        path: space + "/joined-lists", other: 200, malformed: ("/v1/spaces/%zz/joined-lists", nil, 400)),
      "leaveList": Row(
        path: space + "/joined-lists/L", other: 404, malformed: (space + "/joined-lists/%zz", nil, 400)),
    ]
  }

  private static func spaceRows() -> [String: Row] {
    [
      "query": Row(
        path: space + "/query", body: #"{"type":"Todo"}"#, other: 200,
        malformed: (space + "/query", broken, 400)),
      "count": Row(
        path: space + "/count", body: #"{"type":"Todo"}"#, other: 200,
        malformed: (space + "/count", broken, 400)),
      "listContainers": Row(
        path: space + "/containers", other: 200,
        malformed: ("/v1/spaces/%zz/containers", nil, 400)),
      "getContainer": Row(
        path: space + "/containers/Todo", other: 200, malformed: (space + "/containers/%zz", nil, 400)),
      "digest": Row(path: space + "/digest", other: 200, malformed: (space + "/digest?parts=x", nil, 400)),
      "feed": Row(path: space + "/feed", other: 403, malformed: ("/v1/spaces/%zz/feed", nil, 400)),
      "listSpaces": Row(path: "/v1/spaces", other: 403, malformed: ("/v1/spaces/", nil, 404)),
      "history": Row(path: space + "/history", other: 200, malformed: (space + "/history?limit=x", nil, 400)),
      "stamps": Row(
        path: space + "/stamps?parts=4&in=0,1,2,3", other: 200,
        malformed: (space + "/stamps?parts=x", nil, 400)),
    ]
  }

  private static func otherRows() -> [String: Row] {
    let blobs = space + "/blobs/"
    return [
      "getBlob": Row(path: blobs + sha256, other: 200, malformed: (blobs + "no-digest", nil, 400)),
      "putBlob": Row(
        path: blobs + sha256, body: blob, type: "application/octet-stream", other: 200,
        malformed: (blobs + "no-digest", "x", 400)),
      "uploadBlobPart": Row(
        path: blobs + sha256, body: "x", type: "application/octet-stream",
        headers: upload(offset: 5, length: 9), other: 200,
        malformed: (blobs + "no-digest", "x", 400)),
      "events": Row(
        path: space + "/events", other: 200, malformed: ("/v1/spaces/%zz/events", nil, 400), isStream: true),
      "listTiles": Row(path: "/tiles", other: 200, malformed: ("/tiles/", nil, 404)),
      "getTileJSON": Row(path: "/tiles/walks.json", other: 200, malformed: ("/tiles/%zz.json", nil, 400)),
      "getArchive": Row(path: "/tiles/none.pmtiles", other: 404, malformed: ("/tiles/%zz.pmtiles", nil, 400)),
      "getTile": Row(path: "/tiles/walks/0/0/0", other: 200, malformed: ("/tiles/walks/zero/0/0", nil, 400)),
      "health": Row(path: "/healthz", other: 200, malformed: ("/healthz/%zz", nil, 404)),
      "live": Row(path: "/livez", other: 200, malformed: ("/livez/%zz", nil, 404)),
      "ready": Row(path: "/readyz", other: 503, malformed: ("/readyz/%zz", nil, 404)),
      "metrics": Row(path: "/metrics", other: 200, malformed: ("/metrics/%zz", nil, 404)),
      "openapi": Row(path: "/openapi.json", other: 200, malformed: ("/openapi.json/%zz", nil, 404)),
    ]
  }

  private static func upload(offset: Int, length: Int) -> HTTPFields {
    var fields: HTTPFields = [:]
    if let name = HTTPField.Name("Upload-Offset") { fields[name] = String(offset) }
    if let name = HTTPField.Name("Upload-Length") { fields[name] = String(length) }
    return fields
  }

  /// The server with private content, and the tokens of all callers.
  private struct World {
    var server: BothyServer
    var ann: String
    /// The callers' tokens by name.
    var callers: [String: String?]
    let folders: [TileFolderUnderTest]
  }

  private func world(_ storage: any ServerStorage) async throws -> World {
    let (folder, vault) = (try TileFolderUnderTest(), try TileFolderUnderTest())
    try folder.write("walks/0/0/0.json", #"{"type":"FeatureCollection","features":[]}"#)
    let issuer = IssuerUnderTest()
    let permissions = Permissions(
      create: .authenticated, read: .shared, update: .shared, delete: .owner, share: .owner)
    var under = try ServerUnderTest(
      rules: AccessRules(schema: todoSchema(permissions)),
      limits: .init(bodySize: Self.bodyLimit), storage: storage)
    under.configuration.access = try await issuer.access()
    under.configuration.feedGroup = "back-ends"
    under.configuration.blobs = FolderBlobStorage(at: vault.path, now: { 1000 })
    under.configuration.tiles = try TileFolder(folder: folder.path, maxAge: .seconds(60), isOpen: false)
    return World(
      server: BothyServer(under.configuration), ann: try await issuer.hs256(),
      callers: [
        "no token": nil,
        "expired": try await issuer.es256(.init(exp: -60, spaces: ["*"])),
        "wrong algorithm": try await issuer.hs512(.init(spaces: ["*"])),
        "unsigned": try await issuer.unsigned(),
        "public key as secret": try await issuer.hs256(
          .init(spaces: ["*"]), secret: Array(issuer.key.publicKey.pemRepresentation.utf8)),
        "wrong space": try await issuer.es256(.init(sub: "eve", spaces: ["barn"])),
        "other principal": try await issuer.es256(.init(sub: "cid")),
        "revoked share": try await issuer.es256(.init(sub: "bob")),
      ], folders: [folder, vault])
  }

  /// Writes private content, and shares it with bob for a while.
  private func fill(_ ann: RouteClient, _ bob: RouteClient) async throws {
    let made = try await ann(.put, Self.record, #"{"fields":{"title":"\#(Self.secret)"}}"#)
    #expect(made.status == 201)
    let shared = try await ann(.post, Self.record + "/share", #"{"add":{"principals":["bob"]}}"#)
    #expect(shared.status == 200)
    #expect(try await bob(.get, Self.record).text.contains(Self.secret))
    let taken = try await ann(.post, Self.record + "/share", #"{"remove":{"principals":["bob"]}}"#)
    #expect(taken.status == 200)
    let list = try await ann(
      .post, Self.space + "/lists", #"{"id":"L","name":"\#(Self.secret)","members":["\#(Self.secret)"]}"#)
    #expect(list.status == 201)
    let bytes: HTTPFields = [.contentType: "application/octet-stream"]
    #expect(try await ann(.put, "\(Self.space)/blobs/\(Self.sha256)", Self.blob, bytes).status == 201)
  }

  private func send(_ call: RouteClient, _ method: String, _ row: Row, _ body: String?, _ path: String? = nil)
    async throws
    -> Reply
  {
    var headers = row.headers
    if body != nil { headers[.contentType] = row.type }
    let method = try #require(HTTPRequest.Method(row.isStream ? "HEAD" : method))
    return try await call(method, path ?? row.path, body, headers)
  }

  private func check(_ reply: Reply, _ status: Int, _ what: String) {
    #expect(reply.status == status, "\(what): \(reply.status) \(reply.text.prefix(200))")
    #expect(!reply.text.contains(Self.secret), "\(what) told of the data")
    #expect(!reply.text.contains(Self.blob) || status == 200, "\(what) gave a blob away")
    #expect(reply.status < 500 || status == 503, "\(what) is a failure of the server")
    if reply.status >= 400, !reply.bytes.isEmpty {
      #expect((try? reply.json()["error"]?["code"]) != nil, "\(what) is no error document")
    }
  }

  @Test("Every route has a row with the right status and nothing of the data")
  func table() async throws { try await checkTable(on: SQLiteServerStorage()) }

  @Test("The table holds on PostgreSQL", .enabled(if: PostgresUnderTest.url != nil, PostgresUnderTest.hint))
  func tableOnPostgres() async throws {
    try await PostgresUnderTest.with { try await checkTable(on: $0) }
  }

  private func checkTable(on storage: any ServerStorage) async throws {
    let world = try await world(storage)
    let rows = Self.rows()
    let routes = world.server.routes
    #expect(Set(routes.map(\.operation)) == Set(rows.keys), "every route has a row, and every row a route")
    try await world.server.application().test(.router) { client async throws in
      let ann = RouteClient(client: client, token: world.ann)
      let bob = RouteClient(client: client, token: world.callers["revoked share"] ?? nil)
      try await fill(ann, bob)
      for route in routes {
        let row = try #require(rows[route.operation], "\(route.method) \(route.pattern) has no row")
        for (name, token) in world.callers.sorted(by: { $0.key < $1.key }) {
          let reply = try await send(RouteClient(client: client, token: token), route.method, row, row.body)
          check(reply, status(of: name, route, row), "\(route.operation) for '\(name)'")
        }
        try await checkOddities(
          RouteClient(client: client, token: world.callers["other principal"] ?? nil), route, row)
      }
      // After all requests the record is unchanged and still its owner's.
      #expect(try await ann(.get, Self.record).text.contains(Self.secret))
    }
  }

  private func status(of caller: String, _ route: BothyServer.RouteSummary, _ row: Row) -> Int {
    if route.isOpen { return row.other }
    switch caller {
    case "other principal", "revoked share": return row.other
    case "wrong space": return route.pattern.contains("{space}") ? 403 : row.other
    default: return 401
    }
  }

  private func checkOddities(_ cid: RouteClient, _ route: BothyServer.RouteSummary, _ row: Row) async throws {
    let malformed = try await send(cid, route.method, row, row.malformed.body, row.malformed.path)
    check(malformed, row.malformed.status, "\(route.operation), malformed")
    if route.takesBody {
      let large = String(repeating: "x", count: Self.bodyLimit + 1)
      check(try await send(cid, route.method, row, large), 413, "\(route.operation), oversized")
    } else if route.pattern.contains("{space}") {
      let path = row.path.replacing("/hut", with: "/" + String(repeating: "h", count: 4096))
      check(try await send(cid, route.method, row, nil, path), 403, "\(route.operation), oversized")
    } else {
      let path = row.path + "?" + String(repeating: "x", count: 65_536)
      check(try await send(cid, route.method, row, nil, path), row.other, "\(route.operation), oversized")
    }
  }
}
