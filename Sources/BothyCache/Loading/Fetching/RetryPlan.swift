/// The next step after each request for one resource, as a pure rule.
///
/// The step is to try the next host at once, to try a host again later, or to finish with the last response.
struct RetryPlan {
  /// The outcome of a request.
  enum Outcome: Hashable {
    case answer(status: Int, retryAfter: Duration?)
    case failure(LoadFailure.Reason)
  }

  enum Step: Equatable {
    case finish
    /// Send a request to the host at this place after this time.
    case send(place: Int, after: Duration)
  }

  private let rules: RetryRules
  private let places: [Int]
  private let isSafe: Bool
  private(set) var sent = 1

  /// - Parameter places: the hosts in the order of use, each once.
  init(_ rules: RetryRules, places: [Int], isSafe: Bool) {
    self.rules = rules
    self.places = places
    self.isSafe = isSafe
  }

  /// The first host.
  var first: Int { places.first ?? 0 }

  /// Returns the next step.
  /// - Parameter random: a number from 0 to 1.
  mutating func next(after outcome: Outcome, random: Double) -> Step {
    guard isSafe, Self.mayPass(outcome), sent < max(rules.attempts, places.count) else { return .finish }
    let place = places[sent % places.count]
    let isNewHost = sent < places.count
    if case .answer(429, _) = outcome {
      // The source as a whole demands fewer requests, so its other hosts can't replace this one.
      return wait(for: outcome, sendTo: places[(sent - 1) % places.count], random)
    }
    if case .failure(.notBefore) = outcome, !isNewHost { return .finish }
    if isNewHost {
      sent += 1
      return .send(place: place, after: .zero)
    }
    return wait(for: outcome, sendTo: place, random)
  }

  private mutating func wait(for outcome: Outcome, sendTo place: Int, _ random: Double) -> Step {
    guard sent < rules.attempts else { return .finish }
    var delay = rules.delay(afterFailures: sent / places.count, random: random)
    if case .answer(_, let retryAfter?) = outcome {
      guard retryAfter <= rules.patience else { return .finish }
      delay = max(delay, retryAfter)
    }
    sent += 1
    return .send(place: place, after: delay)
  }

  /// True if the same request may later have another outcome.
  static func mayPass(_ outcome: Outcome) -> Bool {
    switch outcome {
    case .answer(let status, _): AnswerKind(status: status) == .retry
    case .failure(let reason):
      switch reason {
      case .unreachable, .timedOut, .truncated, .notBefore: true
      case .cancelled, .invalidRequest, .tooLarge, .redirectRefused, .unexpectedType, .suspended: false
      }
    }
  }

  /// Returns the outcome in terms of the host.
  static func verdict(_ outcome: Outcome, isMultiplexed: Bool) -> HostQueue.Verdict {
    switch outcome {
    case .answer(429, let wait): .throttled(wait)
    case .answer(503, let wait?): .throttled(wait)
    case .answer(502...504, _): .failed
    case .answer: .answered(isMultiplexed: isMultiplexed)
    case .failure(.unreachable), .failure(.timedOut), .failure(.truncated): .failed
    case .failure(.tooLarge), .failure(.redirectRefused), .failure(.unexpectedType):
      .answered(isMultiplexed: isMultiplexed)
    case .failure: .abandoned
    }
  }
}
