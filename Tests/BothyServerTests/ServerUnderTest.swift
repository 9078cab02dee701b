import BothyServer
import BothyStore
import BothySync
import BothySyncService
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore

/// A server on an empty storage in memory, used without a socket. Its clock is fixed at one second.
struct ServerUnderTest {
  var configuration: ServerConfiguration

  init(
    rules: AccessRules = AccessRules(), tokens: String? = nil,
    limits: ServerConfiguration.Limits = .init(), storage: (any ServerStorage)? = nil
  ) throws {
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    var limits = limits
    // A busy machine isn't a database that hangs.
    if limits.healthTime == ServerConfiguration.Limits().healthTime { limits.healthTime = .seconds(100) }
    configuration = ServerConfiguration(
      storage: try storage ?? SQLiteServerStorage(), rules: rules,
      access: try tokens.map { Authentication(tokens: try TokenTable(json: $0)) }, limits: limits,
      logger: logger, auditLogger: logger, now: { 1000 })
  }

  func run(_ body: @Sendable (RouteClient) async throws -> Void) async throws {
    let server = BothyServer(configuration)
    try await server.application().test(.router) { try await body(RouteClient(client: $0)) }
  }
}

/// Sends requests and returns short replies.
struct RouteClient: Sendable {
  let client: any TestClientProtocol
  var token: String?

  func with(token: String?) -> RouteClient {
    var copy = self
    copy.token = token
    return copy
  }

  func callAsFunction(
    _ method: HTTPRequest.Method, _ uri: String, _ body: String? = nil, _ headers: HTTPFields = [:]
  ) async throws -> Reply {
    try await send(method, uri, body.map { ByteBuffer(string: $0) }, headers)
  }

  func send(
    _ method: HTTPRequest.Method, _ uri: String, _ body: ByteBuffer?, _ headers: HTTPFields
  ) async throws -> Reply {
    var headers = headers
    if let token { headers[.authorization] = "Bearer \(token)" }
    if body != nil, !headers.contains(.contentType) { headers[.contentType] = "application/json" }
    return try await client.execute(uri: uri, method: method, headers: headers, body: body) { response in
      Reply(
        status: response.status.code, headers: response.headers,
        bytes: Array(response.body.readableBytesView))
    }
  }
}

struct Reply: Sendable {
  var status: Int
  var headers: HTTPFields
  var bytes: [UInt8]

  var text: String { String(decoding: bytes, as: UTF8.self) }
  var tag: String? { headers[.eTag] }

  func json() throws -> JSONValue { try JSONValue(parsing: bytes) }
  /// Returns the code of the error.
  func code() throws -> String? { try json()["error"]?["code"]?.stringValue }
}

/// A schema with one type, for tests of validation and permissions.
func todoSchema(_ permissions: Permissions? = nil) throws -> StoreSchema {
  var schema = try StoreSchema(
    json: #"{"version":1,"types":[{"name":"Todo","fields":[{"name":"title","type":"string"}]}]}"#)
  if let permissions { schema.types[0].permissions = permissions }
  return schema
}
