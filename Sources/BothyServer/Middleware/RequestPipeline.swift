import BothySyncService
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Tracing

/// Handles every request in the same order: route, host, token, space, rate, body, handler. Then it turns errors into
/// JSON, adds the fields of responses, and counts and logs the request once.
///
/// It is the first middleware of Hummingbird's router, and the responder of each route. `WorkThreads` and `Authenticator`
/// are between them, unless a route is open. Open routes that read files have threads of their own.
struct RequestPipeline: RouterMiddleware {
  let authority: SyncService
  let routes: RouteTable
  let authenticator: Authenticator
  let bodies: BodyReader
  let threads: WorkThreads
  let fileThreads = WorkThreads.forOpenFiles()
  let compresses: Bool
  let isSecure: Bool
  let metrics: ServerMetrics
  let logger: Logger
  let audit: AuditLog
  let tracer: any Tracer
  let departures: Departures

  init(_ configuration: ServerConfiguration, _ parts: ServerServices, departures: Departures) {
    self.departures = departures
    authority = parts.service
    routes = parts.routes()
    metrics = parts.metrics
    audit = parts.audit
    authenticator = Authenticator(configuration)
    bodies = BodyReader(configuration.limits, isShared: configuration.access != nil)
    threads = WorkThreads(configuration.limits)
    compresses = configuration.compressesAnswers
    isSecure = configuration.tls != nil
    logger = configuration.logger
    tracer = configuration.tracer
  }

  /// Returns the router of all routes.
  func responder() -> RouterResponder<ServerContext> {
    let router = Router(context: ServerContext.self, options: .autoGenerateHeadEndpoints)
    let open = router.add(middleware: self).group()
    let files = router.group().add(middleware: fileThreads)
    let guarded = router.group().add(middleware: threads).add(middleware: authenticator)
    for route in routes.routes {
      let group = !route.isOpen ? guarded : route.readsFiles ? files : open
      group.on(route.path, method: route.method) { request, context in
        try response(await answer(request, context, by: route), context)
      }
    }
    return router.buildResponder()
  }

  func handle(
    _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
  ) async throws -> Response {
    let begin = ContinuousClock.now
    var trace = ServiceContext.current ?? .topLevel
    tracer.extract(request.headers, into: &trace, using: TraceFields.Fields())
    var call = context
    call.head = request.head
    call.subject = AuditLog.Subject(
      requestID: RequestID.make(from: request.headers), peer: context.peer, method: request.method.rawValue,
      trace: TraceFields.traceID(request.headers))
    return await tracer.withAnySpan(RequestID.known(request.method), context: trace, ofKind: .server) {
      [call] span in
      let response: Response
      do {
        if let fault = HTTPField.Name(ExchangeHandler.fault), request.headers.contains(fault) {
          throw HTTPFailure.badRequest(
            "A request of HTTP/1.1 has one Host field: a host, and its port if it has one.")
        }
        call.subject.route = try routes.route(of: request, call).pattern
        try authenticator.checkHost(request.head.authority)
        response = try await next(request, call)
      } catch {
        response = self.response(to: error, call)
      }
      record(request, response, call.subject, ContinuousClock.now - begin, span)
      return response
    }
  }

  /// Counts and logs the request, and describes it in `span` with the names of OpenTelemetry's conventions for HTTP.
  private func record(
    _ request: Request, _ response: Response, _ subject: AuditLog.Subject, _ duration: Duration,
    _ span: any Span
  ) {
    let (method, status) = (RequestID.known(request.method), response.status.code)
    metrics.request(method, route: subject.route, status: status, duration: duration)
    logger.info(
      "request",
      metadata: AuditLog.metadata(
        subject, ["status": "\(status)", "ms": "\(duration / .milliseconds(1))"]))
    span.operationName = "\(method) \(subject.route)"
    span.attributes["http.request.method"] = method
    span.attributes["http.route"] = subject.route
    span.attributes["http.response.status_code"] = status
    span.attributes["bothy.request"] = subject.requestID
    if status >= 500 { span.setStatus(SpanStatus(code: .error)) }
  }

  private func answer(_ request: Request, _ context: ServerContext, by route: Route) async throws
    -> ServerResponse
  {
    var call = context
    if route.isOpen {
      try call.decodeNames()
      return try await route.handle(call)
    }
    if let space = call.names["space"] { try check(request, space, call.user) }
    if let query = request.uri.query { call.query = try QueryParameters(query[...]) }
    let transfer = bodies.transfers.hold(for: call.user.name ?? "")
    defer { withExtendedLifetime(transfer) {} }
    if let body = route.body {
      try checkType(of: request, body)
      call.body = try await bodies.receive(request, on: call.channel, holding: transfer)
    }
    let room = AnswerRoom(bodies.transfers.hold(for: call.user.name ?? ""))
    call.room = room
    var answer = try await handle(call, by: route)
    answer.room = room
    return answer
  }

  /// Decompresses the body and calls the handler when a slot of the request's kind is free. A query ends with its
  /// caller, also while it waits.
  ///
  /// It isn't a middleware, because the task of a query can't enter the `next` of one.
  private func handle(_ call: ServerContext, by route: Route) async throws -> ServerResponse {
    let user = call.user.name ?? ""
    @Sendable func handle() async throws -> ServerResponse {
      try await metrics.turns.taking(route.kind, user) { turn in
        var call = call
        call.turn = turn
        let unpacked = bodies.unpacked.hold(for: user)
        defer { withExtendedLifetime(unpacked) {} }
        if route.body != nil { call.body = try bodies.unpack(call.body, call.headers, holding: unpacked) }
        return try await route.handle(call)
      }
    }
    guard route.isQuery else { return try await handle() }
    return try await departures.ending(with: call.connection) { [threads] in
      try await withTaskExecutorPreference(threads) { try await handle() }
    }
  }

  /// Refuses a request of a store that belongs to another server, space or user, if the request says so.
  private func check(_ request: Request, _ space: String, _ user: Caller) throws {
    guard let name = HTTPField.Name(FileIdentity.header), let field = request.headers[name] else { return }
    guard let file = FileIdentity(field: field) else {
      throw HTTPFailure.badRequest(
        "'\(FileIdentity.header)' has to be server/space/principal, percent-encoded.")
    }
    try authority.check(file, space: space, user: user)
  }

  /// Throws `HTTPFailure` 415 for a body of another type. Without a token, the body needs a content type. A web page can
  /// make browsers send a body without one, but none of a type that this server accepts.
  private func checkType(of request: Request, _ expected: Route.RequestBody) throws {
    let essence = request.headers[.contentType].map {
      $0.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
    }
    guard essence.map(expected.types.contains) ?? !authenticator.isOpen else {
      throw HTTPFailure(
        .unsupportedMediaType, "unsupportedType",
        "Send \(expected.types.joined(separator: " or ")), and say so by Content-Type.")
    }
  }

  private func response(to error: any Error, _ context: ServerContext) -> Response {
    let subject = context.subject
    var problem = HTTPFailure(
      .internalServerError, "internal", "The server failed; its log says why, by the request's id.")
    if let known = HTTPFailure(error) {
      let (status, reason) = (known.status.code, known.reason ?? known.code)
      if [401, 403, 429].contains(status) { audit.refused(subject, status: status, reason: reason) }
      if [401, 403, 408, 413, 429, 503, 507].contains(status) { metrics.refusal(reason) }
      problem = known
    }
    if problem.status == .internalServerError || problem.code == HTTPFailure.outdated.code {
      logger.error(
        "request failed",
        metadata: AuditLog.metadata(subject, ["error": "\(LogText.safe(String(reflecting: error)))"]))
    }
    let body = problem.json(requestID: subject.requestID)
    do { return try response(.json(body, status: problem.status, headers: problem.headers), context) } catch {
      return response(to: error, context)
    }
  }

  /// Returns the response with its fields, compressed if that helps. Throws `HTTPFailure` for a large body beyond the
  /// budget.
  private func response(_ answer: ServerResponse, _ context: ServerContext) throws -> Response {
    let subject = context.subject
    var headers = answer.headers
    SecurityFields.add(to: &headers, isSecure: isSecure)
    headers[RequestID.field] = subject.requestID
    let isHead = context.method == .head
    switch answer.body {
    case .none: return Response(status: answer.status, headers: headers)
    case .stream(let length, let write):
      guard let length, !isHead else {
        return Response(status: answer.status, headers: headers, body: .init(contentLength: length, write))
      }
      let transfer = try transfer(min(length, ServerResponse.piecesInMemory), of: subject)
      metrics.answered(bytes: length)
      let body = ResponseBody(contentLength: length) { writer in
        defer { withExtendedLifetime(transfer) {} }
        try await write(&writer)
      }
      return Response(status: answer.status, headers: headers, body: body)
    case .bytes(var bytes):
      if compresses, bytes.count > 1024, headers[.eTag]?.hasPrefix("W/") ?? true,
        AcceptedEncoding.admitsGzip(context.headers), let packed = try? Gzip.compress(bytes)
      {  // a body that can't be compressed is sent as it is
        bytes = packed
        headers[.contentEncoding] = "gzip"
      }
      headers[.contentLength] = String(bytes.count)
      guard !isHead else { return Response(status: answer.status, headers: headers) }
      let transfer = try transfer(bytes.count, of: subject, answer.room)
      metrics.answered(bytes: bytes.count)
      let buffer = ByteBuffer(bytes: bytes)
      let body = transfer.map { Self.body(buffer, by: context.channel, holding: $0) }
      return Response(status: answer.status, headers: headers, body: body ?? .init(byteBuffer: buffer))
    }
  }

  /// Returns the part of the budget for a large body, or `nil` for a small one. Throws `HTTPFailure` beyond the budget.
  ///
  /// - Parameters:
  ///   - bytes: those of the body that are in memory until the caller reads them.
  ///   - room: the part that the body has already.
  private func transfer(
    _ bytes: Int, of subject: AuditLog.Subject, _ room: AnswerRoom? = nil
  ) throws -> SharedBudget.Hold? {
    // Answers for everybody, such as the metrics, have no part in the budget of users.
    guard bytes > (subject.user == nil ? BodyReader.smallForAll : BodyReader.small) else { return nil }
    let transfer = room?.hold ?? bodies.transfers.hold(for: subject.user ?? "")
    guard transfer.takeWhole(bytes) else { throw HTTPFailure.crowded }
    return transfer
  }

  /// Returns a large body that is written in pieces, and holds its part of the budget until the caller has read it, but
  /// for the last piece and what the system keeps.
  private static func body(
    _ bytes: ByteBuffer, by channel: any Channel, holding transfer: SharedBudget.Hold
  ) -> ResponseBody {
    ResponseBody(contentLength: bytes.readableBytes) { writer in
      defer { withExtendedLifetime(transfer) {} }
      try await writer.write(bytes, to: channel)
      try await writer.finish(nil)
    }
  }
}
