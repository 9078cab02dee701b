import BothySync
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// Takes every request through the same stations: route, token, space, rate, body, handler; then errors become
/// JSON, answers get their fields, and the request is counted and logged once.
struct RequestPipeline: HTTPResponder {
  typealias Context = BasicRequestContext

  let routes: RouteTable
  let tokens: TokenTable?
  let limiter: RateLimiter?
  let bodyLimit: Int
  let compresses: Bool
  let metrics: ServerMetrics
  let logger: Logger
  private let started = ContinuousClock.now

  init(_ configuration: ServerConfiguration, routes: RouteTable, metrics: ServerMetrics) {
    self.routes = routes
    self.metrics = metrics
    tokens = configuration.tokens
    limiter = RateLimiter(configuration.limits)
    bodyLimit = configuration.limits.bodySize
    compresses = configuration.compressesAnswers
    logger = configuration.logger
  }

  /// What is known of a request so far, for its log line.
  private struct Trace {
    var requestID: String
    var route = "unmatched"
    var principal: String?
    var space: String?
  }

  func respond(to request: Request, context: BasicRequestContext) async throws -> Response {
    let begin = ContinuousClock.now
    var trace = Trace(requestID: RequestID.make(from: request.headers))
    var answer: Answer
    do {
      answer = try await self.answer(request, &trace)
    } catch {
      answer = self.answer(to: error, trace)
    }
    let response = response(answer, to: request, trace)
    record(request, response, trace, ContinuousClock.now - begin)
    return response
  }

  private func answer(_ request: Request, _ trace: inout Trace) async throws -> Answer {
    let target = request.head.path ?? "/"
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let route: Route
    let encoded: [String: Substring]
    switch routes.match(request.method, path: parts[0]) {
    case .none: throw ServerProblem(.notFound, "notFound", "This server has no such address.")
    case .otherMethods(let allowed): throw ServerProblem.methodNotAllowed(allowed)
    case .found(let found, let names): (route, encoded) = (found, names)
    }
    trace.route = route.pattern
    var call = Call(
      method: request.method, names: [:], query: QueryParameters(), headers: request.headers,
      body: ByteBuffer(), principal: .anonymous, authority: request.head.authority)
    let grant = route.isOpen ? nil : try authenticate(request.headers)
    call.names = try encoded.mapValues { try $0.percentDecoded() }
    if route.isOpen { return try await route.handle(call) }
    call.principal = grant?.principal ?? Principal("anyone")
    trace.principal = call.principal.name
    if let space = call.names["space"] {
      try admit(to: space, grant)
      trace.space = space
    }
    if let wait = limiter?.delay(for: call.principal, at: ContinuousClock.now - started) {
      throw ServerProblem.rateLimited(retryAfter: wait)
    }
    if parts.count > 1 { call.query = try QueryParameters(parts[1]) }
    if let body = route.body { call.body = try await self.body(of: request, body) }
    return try await route.handle(call)
  }

  private func authenticate(_ headers: HTTPFields) throws -> TokenTable.Grant? {
    guard let tokens else { return nil }
    guard let field = headers[.authorization] else {
      throw ServerProblem.unauthenticated("Send a token: Authorization: Bearer …", tokenWasSent: false)
    }
    let parts = field.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer", let grant = tokens.grant(for: parts[1]) else {
      throw ServerProblem.unauthenticated("The token is not known here.", tokenWasSent: true)
    }
    return grant
  }

  private func admit(to space: String, _ grant: TokenTable.Grant?) throws {
    guard grant?.admits(to: space) ?? true else {
      throw ServerProblem(.forbidden, "forbidden", "Your token does not open this space.")
    }
    guard (1...128).contains(space.utf8.count) else {
      throw ServerProblem.badRequest("A space's name has 1 to 128 bytes.", code: "invalidName")
    }
  }

  private func body(of request: Request, _ expected: Route.RequestBody) async throws -> ByteBuffer {
    if let type = request.headers[.contentType] {
      let essence = type.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
      guard expected.types.contains(essence) else {
        throw ServerProblem(
          .unsupportedMediaType, "unsupportedType", "Send \(expected.types.joined(separator: " or ")).")
      }
    }
    if let text = request.headers[.contentLength], let length = Int(text), length > bodyLimit {
      throw ServerProblem.tooLarge(bodyLimit)
    }
    let received: ByteBuffer
    do {
      received = try await request.body.collect(upTo: bodyLimit)
    } catch is NIOTooManyBytesError {
      throw ServerProblem.tooLarge(bodyLimit)
    } catch {
      throw ServerProblem.badRequest("The body could not be read to its end.")
    }
    switch request.headers[.contentEncoding]?.lowercased() {
    case nil, "", "identity": return received
    case "gzip", "x-gzip": return try decompress(received)
    default:
      var problem = ServerProblem(
        .unsupportedMediaType, "unsupportedEncoding", "Bodies may be gzip or plain.")
      problem.headers[.acceptEncoding] = "gzip"
      throw problem
    }
  }

  private func decompress(_ body: ByteBuffer) throws -> ByteBuffer {
    do {
      return ByteBuffer(bytes: try Gzip.decompress(Array(body.readableBytesView), limit: bodyLimit))
    } catch Gzip.Failure.tooLarge {
      throw ServerProblem.tooLarge(bodyLimit)
    } catch {
      throw ServerProblem.badRequest("The body is not what gzip makes.", code: "malformed")
    }
  }

  private func answer(to error: any Error, _ trace: Trace) -> Answer {
    if let problem = ServerProblem(error) {
      return .json(problem.json(requestID: trace.requestID), status: problem.status, headers: problem.headers)
    }
    logger.error(
      "request failed",
      metadata: [
        "error": "\(String(reflecting: error))", "route": "\(trace.route)", "request": "\(trace.requestID)",
      ])
    let problem = ServerProblem(
      .internalServerError, "internal", "The server failed; its log says why, by the request's id.")
    return .json(problem.json(requestID: trace.requestID), status: problem.status)
  }

  private func response(_ answer: Answer, to request: Request, _ trace: Trace) -> Response {
    var headers = answer.headers
    SecurityFields.add(to: &headers)
    headers[RequestID.field] = trace.requestID
    let isHead = request.method == .head
    switch answer.body {
    case .none: return Response(status: answer.status, headers: headers)
    case .stream(let length, let write):
      if let length { headers[.contentLength] = String(length) }
      return Response(
        status: answer.status, headers: headers,
        body: isHead ? .init() : .init(contentLength: length, write))
    case .bytes(var bytes):
      if compresses, bytes.count > 1024, headers[.eTag]?.hasPrefix("W/") ?? true,
        AcceptedEncoding.admitsGzip(request.headers), let packed = try? Gzip.compress(bytes)
      {  // a body that cannot be compressed goes out as it is
        bytes = packed
        headers[.contentEncoding] = "gzip"
      }
      headers[.contentLength] = String(bytes.count)
      return Response(
        status: answer.status, headers: headers,
        body: isHead ? .init() : .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }
  }

  private func record(_ request: Request, _ response: Response, _ trace: Trace, _ duration: Duration) {
    let status = response.status.code
    metrics.request(RequestID.known(request.method), route: trace.route, status: status, duration: duration)
    var metadata: Logger.Metadata = [
      "method": "\(request.method.rawValue)", "route": "\(trace.route)", "status": "\(status)",
      "ms": "\(duration / .milliseconds(1))", "request": "\(trace.requestID)",
    ]
    if let principal = trace.principal { metadata["principal"] = "\(principal)" }
    if let space = trace.space { metadata["space"] = "\(space)" }
    logger.info("request", metadata: metadata)
  }
}
