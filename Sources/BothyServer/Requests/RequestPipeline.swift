import BothySyncService
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Tracing

/// Handles every request in the same order: route, token, space, rate, body, handler. Then it turns errors into JSON,
/// adds the fields of responses, and counts and logs the request once.
struct RequestPipeline: HTTPResponder {
  typealias Context = ServerContext

  let authority: SyncService
  let routes: RouteTable
  let entrance: Authenticator
  let bodies: BodyReader
  let turns: RequestTurns
  let threads: WorkThreads
  let compresses: Bool
  let isSecure: Bool
  let metrics: ServerMetrics
  let logger: Logger
  let audit: AuditLog
  let tracer: any Tracer
  let departures: Departures

  init(
    _ configuration: ServerConfiguration, _ authority: SyncService, routes: RouteTable,
    metrics: ServerMetrics,
    departures: Departures
  ) {
    self.authority = authority
    self.departures = departures
    self.routes = routes
    self.metrics = metrics
    entrance = Authenticator(configuration)
    bodies = BodyReader(configuration.limits, isShared: configuration.access != nil)
    threads = WorkThreads(configuration.limits)
    turns = metrics.turns
    compresses = configuration.compressesAnswers
    isSecure = configuration.tls != nil
    logger = configuration.logger
    audit = AuditLog(logger: configuration.auditLogger)
    tracer = configuration.tracer
  }

  func respond(to request: Request, context: ServerContext) async throws -> Response {
    var trace = ServiceContext.current ?? .topLevel
    tracer.extract(request.headers, into: &trace, using: TraceFields.Fields())
    return await tracer.withAnySpan(RequestID.known(request.method), context: trace, ofKind: .server) {
      span in
      if isOpen(request) { return await respond(to: request, context, span) }
      return await withTaskExecutorPreference(threads) { await respond(to: request, context, span) }
    }
  }

  /// True if the route requires no token. Such requests wait for no other.
  private func isOpen(_ request: Request) -> Bool {
    let path = (request.head.path ?? "/").split(
      separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = path.first, case .found(let route, _) = routes.match(request.method, path: first) else {
      return false
    }
    return route.isOpen
  }

  private func respond(to request: Request, _ context: ServerContext, _ span: any Span) async -> Response {
    let begin = ContinuousClock.now
    var subject = AuditLog.Subject(
      requestID: RequestID.make(from: request.headers), peer: context.peer, method: request.method.rawValue)
    subject.trace = TraceFields.traceID(request.headers)
    var answer: ServerResponse
    do {
      answer = try await self.answer(request, context.connection, &subject)
    } catch {
      answer = self.answer(to: error, subject)
    }
    let response = response(answer, to: request, subject)
    record(request, response, subject, ContinuousClock.now - begin)
    describe(span, request, response, subject)
    return response
  }

  /// Describes the request in `span`, with the names of OpenTelemetry's conventions for HTTP.
  private func describe(
    _ span: any Span, _ request: Request, _ response: Response, _ subject: AuditLog.Subject
  ) {
    span.operationName = "\(RequestID.known(request.method)) \(subject.route)"
    span.attributes["http.request.method"] = RequestID.known(request.method)
    span.attributes["http.route"] = subject.route
    span.attributes["http.response.status_code"] = response.status.code
    span.attributes["bothy.request"] = subject.requestID
    if response.status.code >= 500 { span.setStatus(SpanStatus(code: .error)) }
  }

  private func answer(
    _ request: Request, _ connection: ObjectIdentifier, _ subject: inout AuditLog.Subject
  ) async throws -> ServerResponse {
    let target = request.head.path ?? "/"
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let route: Route
    let encoded: [String: Substring]
    switch routes.match(request.method, path: parts[0]) {
    case .none: throw HTTPFailure(.notFound, "notFound", "This server has no such address.")
    case .otherMethods(let allowed): throw HTTPFailure.methodNotAllowed(allowed)
    case .found(let found, let names): (route, encoded) = (found, names)
    }
    subject.route = route.pattern
    if !route.isOpen { try entrance.checkHost(request.head.authority) }
    var call = ServerRequest(
      method: request.method, names: [:], query: QueryParameters(), headers: request.headers,
      body: ByteBuffer(), principal: .anonymous, authority: request.head.authority)
    let guest = route.isOpen ? nil : try await entrance.guest(request.headers)
    subject.principal = guest?.grant.principal.name
    call.spaces = guest?.grant.spaces
    call.names = try encoded.mapValues { try $0.percentDecoded() }
    if route.isOpen { return try await route.handle(call) }
    call.principal = guest?.grant.principal ?? Principal("anyone")
    subject.principal = call.principal.name
    subject.space = call.names["space"]
    if let space = subject.space { call.admission = try entrance.admit(guest, to: space) }
    try entrance.count(call.principal, subject.space)
    if let space = subject.space { try check(request, space, call.principal) }
    if parts.count > 1 { call.query = try QueryParameters(parts[1]) }
    call.subject = subject
    let transfer = bodies.transfers.hold(for: call.principal.name ?? "")
    defer { withExtendedLifetime(transfer) {} }
    if let body = route.body {
      try checkType(of: request, body)
      call.body = try await bodies.receive(request, holding: transfer)
    }
    return try await handle(call, by: route, connection)
  }

  /// Decompresses the body and calls the handler when a slot of the request's kind is free. A query ends with its
  /// caller, also while it waits.
  private func handle(_ call: ServerRequest, by route: Route, _ connection: ObjectIdentifier) async throws
    -> ServerResponse
  {
    let principal = call.principal.name ?? ""
    @Sendable func handle() async throws -> ServerResponse {
      try await turns.taking(route.kind, principal) { turn in
        var call = call
        call.turn = turn
        let unpacked = bodies.unpacked.hold(for: principal)
        defer { withExtendedLifetime(unpacked) {} }
        if route.body != nil { call.body = try bodies.unpack(call.body, call.headers, holding: unpacked) }
        return try await route.handle(call)
      }
    }
    guard route.isQuery else { return try await handle() }
    return try await departures.ending(with: connection) { [threads] in
      try await withTaskExecutorPreference(threads) { try await handle() }
    }
  }

  /// Refuses a request of a store that belongs to another server, space or user, if the request says so.
  private func check(_ request: Request, _ space: String, _ principal: Principal) throws {
    guard let name = HTTPField.Name(FileIdentity.header), let field = request.headers[name] else { return }
    guard let file = FileIdentity(field: field) else {
      throw HTTPFailure.badRequest(
        "'\(FileIdentity.header)' has to be server/space/principal, percent-encoded.")
    }
    try authority.check(file, space: space, principal: principal)
  }

  /// Throws `HTTPFailure` 415 for a body of another type. Without a token, the body needs a content type. A web page can
  /// make browsers send a body without one, but none of a type that this server accepts.
  private func checkType(of request: Request, _ expected: Route.RequestBody) throws {
    let essence = request.headers[.contentType].map {
      $0.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
    }
    guard essence.map(expected.types.contains) ?? !entrance.isOpen else {
      throw HTTPFailure(
        .unsupportedMediaType, "unsupportedType",
        "Send \(expected.types.joined(separator: " or ")), and say so by Content-Type.")
    }
  }

  private func answer(to error: any Error, _ subject: AuditLog.Subject) -> ServerResponse {
    if let problem = HTTPFailure(error) {
      let (status, reason) = (problem.status.code, problem.reason ?? problem.code)
      if [401, 403, 429].contains(status) { audit.refused(subject, status: status, reason: reason) }
      if [401, 403, 408, 413, 429, 503, 507].contains(status) { metrics.refusal(reason) }
      return .json(
        problem.json(requestID: subject.requestID), status: problem.status, headers: problem.headers)
    }
    logger.error(
      "request failed",
      metadata: AuditLog.metadata(subject, ["error": "\(LogText.safe(String(reflecting: error)))"]))
    let problem = HTTPFailure(
      .internalServerError, "internal", "The server failed; its log says why, by the request's id.")
    return .json(problem.json(requestID: subject.requestID), status: problem.status)
  }

  private func response(_ answer: ServerResponse, to request: Request, _ subject: AuditLog.Subject)
    -> Response
  {
    var headers = answer.headers
    SecurityFields.add(to: &headers, isSecure: isSecure)
    headers[RequestID.field] = subject.requestID
    let isHead = request.method == .head
    switch answer.body {
    case .none: return Response(status: answer.status, headers: headers)
    case .stream(let length, let write):
      if let length {
        headers[.contentLength] = String(length)
        if !isHead { metrics.answered(bytes: length) }
      }
      return Response(
        status: answer.status, headers: headers,
        body: isHead ? .init() : .init(contentLength: length, write))
    case .bytes(var bytes):
      if compresses, bytes.count > 1024, headers[.eTag]?.hasPrefix("W/") ?? true,
        AcceptedEncoding.admitsGzip(request.headers), let packed = try? Gzip.compress(bytes)
      {  // a body that can't be compressed is sent as it is
        bytes = packed
        headers[.contentEncoding] = "gzip"
      }
      headers[.contentLength] = String(bytes.count)
      guard !isHead else { return Response(status: answer.status, headers: headers) }
      // What everybody may request, such as the metrics, has no part in the budget of users.
      guard bytes.count > (subject.principal == nil ? BodyReader.smallForAll : BodyReader.small) else {
        metrics.answered(bytes: bytes.count)
        return Response(
          status: answer.status, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
      }
      let transfer = bodies.transfers.hold(for: subject.principal ?? "")
      guard transfer.grow(by: bytes.count) else {
        return response(self.answer(to: HTTPFailure.crowded, subject), to: request, subject)
      }
      metrics.answered(bytes: bytes.count)
      return Response(status: answer.status, headers: headers, body: Self.body(bytes, holding: transfer))
    }
  }

  /// Returns a large body that is written in pieces, and holds its part of the budget until the caller has read it.
  private static func body(_ bytes: [UInt8], holding transfer: SharedBudget.Hold) -> ResponseBody {
    ResponseBody(contentLength: bytes.count) { writer in
      defer { withExtendedLifetime(transfer) {} }
      var rest = ByteBuffer(bytes: bytes)
      while let piece = rest.readSlice(length: min(BodyReader.small, rest.readableBytes)),
        piece.readableBytes > 0
      {
        try await writer.write(piece)
      }
      try await writer.finish(nil)
    }
  }

  private func record(
    _ request: Request, _ response: Response, _ subject: AuditLog.Subject, _ duration: Duration
  ) {
    let status = response.status.code
    metrics.request(RequestID.known(request.method), route: subject.route, status: status, duration: duration)
    logger.info(
      "request",
      metadata: AuditLog.metadata(
        subject, ["status": "\(status)", "ms": "\(duration / .milliseconds(1))"]))
  }
}
