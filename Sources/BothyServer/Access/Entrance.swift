import BothySync
import HTTPTypes

/// The door: which token was sent and what it opens, and how often somebody may come in.
struct Entrance: Sendable {
  private let access: AccessControl?
  private let principals: RateLimiter<String>?
  private let spaces: RateLimiter<String>?
  private let now: @Sendable () -> Int64
  private let started = ContinuousClock.now

  /// Somebody who was let in.
  struct Guest: Sendable {
    var grant: Grant
    var token: Substring
    var generation: Int
  }

  init(_ configuration: ServerConfiguration) {
    let limits = configuration.limits
    access = configuration.access
    principals = RateLimiter(rate: limits.requestsPerSecond, burst: limits.requestBurst)
    spaces = RateLimiter(rate: limits.spaceRequestsPerSecond, burst: limits.spaceRequestBurst)
    now = configuration.now
  }

  /// Nil where no token is asked for. Throws `ServerProblem` 401.
  func guest(_ headers: HTTPFields) async throws -> Guest? {
    guard let access else { return nil }
    guard let field = headers[.authorization] else {
      throw ServerProblem.unauthenticated("Send a token: Authorization: Bearer …", .missing)
    }
    let parts = field.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else {
      throw ServerProblem.unauthenticated("The token is not known here.", .malformed)
    }
    let generation = access.generation
    do {
      let grant = try await access.grant(for: parts[1], at: now())
      return Guest(grant: grant, token: parts[1], generation: generation)
    } catch TokenRefusal.expired {
      throw ServerProblem.unauthenticated("The token has ended; ask for a new one.", .expired)
    } catch {
      throw ServerProblem.unauthenticated("The token is not known here.", error)
    }
  }

  /// Throws `ServerProblem` 403 for a space that is not the guest's, known or not, 400 for a name that no space has.
  func admit(_ guest: Guest?, to space: String) throws -> Admission? {
    if let guest, !guest.grant.admits(to: space) {
      throw ServerProblem(.forbidden, "forbidden", "Your token does not open this space.", reason: "space")
    }
    guard (1...128).contains(space.utf8.count) else {
      throw ServerProblem.badRequest("A space's name has 1 to 128 bytes.", code: "invalidName")
    }
    guard let guest, let access else { return nil }
    return Admission(
      access, token: guest.token, space: space, guest.grant, generation: guest.generation, now: now)
  }

  /// Throws `ServerProblem` 429 when the principal or the space has used up what it may.
  func count(_ principal: Principal, _ space: String?) throws {
    let time = ContinuousClock.now - started
    if let wait = principals?.delay(for: principal.name ?? "", at: time) {
      throw ServerProblem.rateLimited(retryAfter: wait, reason: "principalRate")
    }
    if let space, let wait = spaces?.delay(for: space, at: time) {
      throw ServerProblem.rateLimited(retryAfter: wait, reason: "spaceRate")
    }
  }
}
