import BothyCore
internal import HTTPTypes

/// Brings complete answers from the network: keeps to the limits of hosts, follows redirects, asks again, goes on where
/// a body broke off. It decides nothing about freshness and stores no answer.
package final class Fetcher: Sendable {
  let loader: any ResourceLoader
  let clock: LoadClock
  let gate: HostGate
  let partials: PartialFiles?
  private let random: @Sendable () -> Double

  /// - Parameters:
  ///   - totalRequests: requests at the same time to all hosts together.
  ///   - partials: where the beginnings of large bodies are kept; nil to keep them in memory only.
  ///   - random: numbers from 0 to 1 for waits.
  package init(
    _ loader: any ResourceLoader, clock: LoadClock = LoadClock(), totalRequests: Int = 16,
    partials: PartialFiles? = nil, random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
  ) {
    self.loader = loader
    self.clock = clock
    self.partials = partials
    self.random = random
    var rules = GateTable.Rules()
    rules.total = max(1, totalRequests)
    gate = HostGate(rules, clock: clock, random: random)
  }

  /// Switches the network off: whatever waits or comes fails with `.suspended` at once, requests under way end.
  package func suspend() { gate.setSuspended(true) }
  package func resume() { gate.setSuspended(false) }
  package var isSuspended: Bool { gate.isSuspended }

  /// The network came back, or is another one: hosts that were taken to be down are asked again at once.
  package func networkChanged() { gate.forgive() }

  /// How many requests are under way, and how many wait for their turn.
  package var load: (running: Int, waiting: Int) { gate.counts }

  /// Fetches what is ordered; to be called as the work of a flight.
  ///
  /// Returns every complete answer, whatever its status, also one that still is an error after all attempts.
  /// - Throws: when no complete answer came or none may be used; then nothing of it is kept.
  package func fetch(_ order: FetchOrder, for flight: Flight) async throws(LoadFailure) -> FetchedAnswer {
    let origins = try Self.checked(order)
    var plan = RetryPlan(order.retry, places: gate.arrange(origins, order), isSafe: order.isSafe)
    var exchange = Exchange(order: order, origins: origins, partial: partials?.read(order.urls[0]))
    var place = plan.first
    var told: Result<FetchedAnswer, LoadFailure>?
    while true {
      let result = await perform(&exchange, at: place, for: flight)
      // What still came whole is the answer: whoever called it off may store it.
      if Task.isCancelled, case .failure = result { throw .cancelled }
      // That a host is not to be asked says less than what another one answered.
      if told == nil || !Self.isRefusal(result) { told = result }
      switch plan.next(after: Self.outcome(result), random: random()) {
      case .finish: return try (told ?? result).get()
      case .send(let next, let delay):
        place = next
        guard delay > .zero else { continue }
        do { try await clock.sleep(delay) } catch { throw .cancelled }
      }
    }
  }

  /// The hosts of an order that can be carried out.
  private static func checked(_ order: FetchOrder) throws(LoadFailure) -> [Origin] {
    let origins = order.urls.compactMap { Origin($0) }
    guard !origins.isEmpty, origins.count == order.urls.count else {
      throw LoadFailure(
        .invalidRequest,
        "\(order.urls.map(\.shownAddress)) is no address of a web server: it begins with http:// or https://."
      )
    }
    if order.requiresUserAgent, order.fields[.userAgent]?.isEmpty ?? true {
      throw LoadFailure(
        .invalidRequest,
        "Nothing says who asks \(origins[0]). Set the source's user agent: the app's name and version and how to "
          + "reach you.")
    }
    return origins
  }

  private static func isRefusal(_ result: Result<FetchedAnswer, LoadFailure>) -> Bool {
    if case .failure(let failure) = result, case .notBefore = failure.reason { return true }
    return false
  }

  private static func outcome(_ result: Result<FetchedAnswer, LoadFailure>) -> RetryPlan.Outcome {
    switch result {
    case .success(let answer):
      .answer(status: answer.status, retryAfter: wait(answer.fields, answer.receivedAt))
    case .failure(let failure): .failure(failure.reason)
    }
  }

  static func wait(_ fields: HTTPFields, _ receivedAt: Int64) -> Duration? {
    RetryAfter.milliseconds(fields, at: receivedAt).map { .milliseconds($0) }
  }
}
