import BothySyncService
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// One request on its way to the handler of its route. Each step adds what it has found out.
struct ServerContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  /// The address of the other side. If a proxy is in front of the server, it is the proxy's.
  let peer: String?
  let channel: any Channel
  private let facts = Facts()

  var head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil)
  /// The decoded names in the path.
  var names: [String: String] = [:]
  var query = QueryParameters()
  /// The body. The handler has it complete and uncompressed.
  var body = ByteBuffer()
  var user = Caller.anonymous
  /// The slot in which the request runs, or `nil` for a route without a line.
  var turn: RequestTurns.Turn?
  /// The memory for the answer, or `nil` for a route that is open.
  var room: AnswerRoom?
  /// The caller's admission to the space, or `nil` if the server requires no token.
  var admission: AuthenticatedSession?
  /// Returns the spaces that the caller's token opens, or `nil` if the server requires no token. Throws `HTTPFailure` 503
  /// if the back end that decides about them doesn't answer.
  var spaces: @Sendable () async throws -> Set<String>? = { nil }

  /// The subject for the logs, which all copies of the context share.
  private final class Facts: Sendable { let subject = Mutex(AuditLog.Subject(requestID: "")) }

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
    peer = source.channel.remoteAddress?.ipAddress
  }

  /// The identity of the connection among the open ones.
  var connection: ObjectIdentifier { ObjectIdentifier(channel) }

  /// The facts about the caller for the logs.
  var subject: AuditLog.Subject {
    get { facts.subject.withLock { $0 } }
    nonmutating set { facts.subject.withLock { $0 = newValue } }
  }

  var method: HTTPRequest.Method { head.method }
  var headers: HTTPFields { head.headerFields }
  /// The host and port, as the caller wrote them.
  var authority: String? { head.authority }

  /// The space of the path, or an empty text for routes outside of any space.
  var space: String { names["space"] ?? "" }

  /// Decodes the names that the router found. Throws `HTTPFailure` for an invalid escape.
  mutating func decodeNames() throws {
    for (name, value) in parameters {
      names[name == Parameters.recursiveCaptureKey ? Route.rest : String(name)] = try value.percentDecoded()
    }
  }

  /// Parses the body. Throws `JSONError`.
  func parseBody<Value>(_ parse: (UnsafeRawBufferPointer) throws -> Value) throws -> Value {
    try body.withUnsafeReadableBytes(parse)
  }
}
