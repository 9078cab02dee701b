import HTTPTypes

/// The open event streams of each user, with a limit.
final class StreamSeats: Sendable {
  private let budget: SharedBudget

  init(_ limits: ServerConfiguration.Limits) {
    budget = SharedBudget(max(limits.connections, limits.streams), share: limits.streams)
  }

  /// Returns the place of a stream. Its last reference ends it. Throws `HTTPFailure` 429 if the user has too many.
  ///
  /// - Parameter user: the user, or the caller's address if the server requires no token.
  func seat(of user: String) throws -> SharedBudget.Hold {
    let seat = budget.hold(for: user)
    guard seat.grow(by: 1) else {
      var problem = HTTPFailure(
        .tooManyRequests, "tooManyStreams",
        "Too many event streams are open already. Close some, or share one.", reason: "streams")
      problem.headers[.retryAfter] = "30"
      throw problem
    }
    return seat
  }
}
