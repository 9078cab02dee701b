import BothySyncService
import HTTPTypes
import Hummingbird

/// Authenticates requests by their tokens and limits their rate, as the middleware of all routes that aren't open.
struct Authenticator: RouterMiddleware {
  private let access: Authentication?
  private let users: RateLimiter<String>?
  private let spaces: RateLimiter<String>?
  private let hosts: OwnHosts
  private let now: @Sendable () -> Int64
  private let started = ContinuousClock.now

  /// An authenticated caller.
  struct AuthenticatedCaller: Sendable {
    var grant: Grant
    var token: Substring
    var generation: Int
  }

  init(_ configuration: ServerConfiguration) {
    let limits = configuration.limits
    access = configuration.access
    users = RateLimiter(rate: limits.requestsPerSecond, burst: limits.requestBurst)
    spaces = RateLimiter(rate: limits.spaceRequestsPerSecond, burst: limits.spaceRequestBurst)
    hosts = OwnHosts(configuration.allowedHosts + ["localhost", configuration.host])
    now = configuration.now
  }

  /// Checks the token, the names in the path, the space and the rate, in this order.
  func handle(
    _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
  ) async throws -> Response {
    let guest = try await guest(request.headers)
    var context = context
    context.subject.user = guest?.grant.user.name
    context.spaces = { try await spaces(of: guest) }
    try context.decodeNames()
    context.user = guest?.grant.user ?? Caller("anyone")
    let space = context.names["space"]
    (context.subject.user, context.subject.space) = (context.user.name, space)
    if let space { try await admit(guest, to: space, &context) }
    try count(context.user, space)
    return try await next(request, context)
  }

  /// True if the server requires no token.
  var isOpen: Bool { access == nil }

  /// Throws `HTTPFailure` 421 for a foreign host name, if the server requires no token.
  func checkHost(_ authority: String?) throws {
    guard isOpen, let authority else { return }
    guard hosts.contains(authority) else { throw HTTPFailure.foreignHost }
  }

  /// Returns `nil` if the server requires no token. Throws `HTTPFailure` 401.
  private func guest(_ headers: HTTPFields) async throws -> AuthenticatedCaller? {
    guard let access else { return nil }
    guard let field = headers[.authorization] else {
      throw HTTPFailure.unauthenticated("Send a token as Authorization: Bearer …", .missing)
    }
    let parts = field.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else {
      throw HTTPFailure.unauthenticated("The token is not known here.", .malformed)
    }
    let generation = access.generation
    do {
      let grant = try await access.grant(for: parts[1], at: now())
      return AuthenticatedCaller(grant: grant, token: parts[1], generation: generation)
    } catch TokenRefusal.expired {
      throw HTTPFailure.unauthenticated("The token has ended; ask for a new one.", .expired)
    } catch {
      throw HTTPFailure.unauthenticated("The token is not known here.", error)
    }
  }

  /// Sets the user and the admission of a caller. Throws `HTTPFailure` 403 for a space that is closed to it, whether it
  /// exists or not. Throws 400 for a name that no space can have, and 503 if the back end that decides doesn't answer.
  private func admit(
    _ guest: AuthenticatedCaller?, to space: String, _ context: inout ServerContext
  ) async throws {
    if let guest, let access {
      guard let user = try await known({ try await access.user(of: guest.grant, in: space) }) else {
        throw HTTPFailure(.forbidden, "forbidden", "Your token does not open this space.", reason: "space")
      }
      context.user = user
    }
    guard (1...FixedLimits.spaceName).contains(space.utf8.count), space.isNormalName else {
      throw HTTPFailure.badRequest(
        "A space's name has 1 to \(FixedLimits.spaceName) bytes in Unicode's normal form C (NFC).",
        code: "invalidName")
    }
    guard let guest, let access else { return }
    context.admission = AuthenticatedSession(
      access, token: guest.token, space: space, guest.grant, generation: guest.generation, now: now)
  }

  /// Returns the names of the spaces that the token opens, or `nil` if the server requires no token.
  private func spaces(of guest: AuthenticatedCaller?) async throws -> Set<String>? {
    guard let guest, let access else { return nil }
    return try await known { try await access.spaces(of: guest.grant) }
  }

  /// Returns what `body` returns. Throws `HTTPFailure` 503 if the back end that decides about spaces doesn't answer.
  private func known<Value>(_ body: () async throws -> Value) async throws -> Value {
    do { return try await body() } catch is CalloutOutage { throw HTTPFailure.spacesUnknown }
  }

  /// Throws `HTTPFailure` 429 if the user or the space has used up its requests.
  private func count(_ user: Caller, _ space: String?) throws {
    let time = ContinuousClock.now - started
    if let wait = users?.delay(for: user.name ?? "", at: time) {
      throw HTTPFailure.rateLimited(retryAfter: wait, reason: "principalRate")
    }
    if let space, let wait = spaces?.delay(for: space, at: time) {
      throw HTTPFailure.rateLimited(retryAfter: wait, reason: "spaceRate")
    }
  }
}

/// The host of an authority such as `localhost:8080` or `[::1]:8080` (RFC 3986, 3.2.2).
enum HostName {
  /// Returns the host without the port and the brackets. Other text than a port behind the brackets makes the whole
  /// authority the host, which is then not an IP address.
  static func part(of authority: String) -> Substring {
    guard authority.hasPrefix("[") else { return authority.prefix { $0 != ":" } }
    let host = authority.dropFirst().prefix { $0 != "]" }
    let rest = authority[host.endIndex...].dropFirst()
    return rest.isEmpty || rest.hasPrefix(":") ? host : authority[...]
  }

  /// True if the host is an address of IPv4 or IPv6. Host names have no colon, and their last part isn't a number.
  static func isAddress(_ host: some StringProtocol) -> Bool {
    if host.contains(":") { return host.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." } }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil && $0.utf8.first != 0x2B }
  }
}
