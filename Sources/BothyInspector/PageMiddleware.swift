import HTTPTypes
import Hummingbird
import Logging

/// The middleware of a page: access control, limits, errors as JSON, and the fields that keep content private to the
/// page.
struct PageMiddleware<Context: RequestContext>: RouterMiddleware {
  let authenticator: LoopbackAuthenticator
  /// True if the page makes changes.
  let takesChanges: Bool
  let logger: Logger

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    var response: Response
    do {
      try Self.check(request.head.path ?? "")
      let cookie = try authenticator.admit(request)
      response = if let cookie { Self.welcome(cookie) } else { try await next(limited(request), context) }
    } catch {
      let problem = HTTPFailure(error)
      if problem.status == .internalServerError {
        logger.error("A page failed.", metadata: ["path": "\(request.uri.path)", "error": "\(error)"])
      }
      response = request.uri.path == "/" ? problem.text : problem.json
    }
    Fields.add(to: &response.headers)
    return request.method == .head ? response.createHeadResponse() : response
  }

  /// Throws 404 for a path with an empty segment, which the router would skip.
  private static func check(_ target: String) throws(HTTPFailure) {
    let slash = UInt8(ascii: "/")
    let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }
    guard path.first == slash, path.count == 1 || path.last != slash,
      !zip(path, path.dropFirst()).contains(where: { $0 == (slash, slash) })
    else { throw .notFound }
  }

  /// Returns the request with all of its body, which is small. Throws for methods that the page doesn't have.
  private func limited(_ request: Request) async throws -> Request {
    guard request.method == .get || request.method == .head || takesChanges && request.method == .post else {
      throw HTTPFailure.wrongMethod(takesChanges: takesChanges)
    }
    var request = request
    _ = try await request.collectBody(upTo: 1 << 16)
    return request
  }

  /// Returns a page that loads `/` by itself. After a redirect that began on another site, browsers don't send the
  /// strict cookie.
  private static func welcome(_ cookie: String) -> Response {
    var response = Response(
      Array("<!doctype html><html lang=en><title>Bothy</title><p><a href=\"/\">Open the page</a>".utf8),
      type: "text/html; charset=utf-8")
    response.headers[.setCookie] = cookie
    response.headers[Fields.refresh] = "0; url=/"
    return response
  }
}
