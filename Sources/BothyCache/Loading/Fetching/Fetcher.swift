import BothyCore
internal import HTTPTypes

/// Fetches complete responses from the network.
///
/// It respects the limits of hosts, follows redirects, repeats failed requests and resumes bodies that broke off. It
/// does not decide on freshness and does not store responses.
package final class Fetcher: Sendable {
  let loader: any ResourceLoader
  package let clock: LoadClock
  let gate: HostScheduler
  let partials: PartialFiles?
  private let random: @Sendable () -> Double

  /// - Parameters:
  ///   - totalRequests: the number of simultaneous requests to all hosts together.
  ///   - partials: the store for the beginnings of large bodies, or `nil` to keep them in memory only.
  ///   - random: returns numbers from 0 to 1 for waits.
  package init(
    _ loader: any ResourceLoader, clock: LoadClock = LoadClock(), totalRequests: Int = 16,
    partials: PartialFiles? = nil, random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
  ) {
    self.loader = loader
    self.clock = clock
    self.partials = partials
    self.random = random
    var rules = HostQueue.Rules()
    rules.total = max(1, totalRequests)
    gate = HostScheduler(rules, clock: clock, random: random)
  }

  /// Switches the network off. Waiting and new requests fail with `.suspended` at once, and running requests complete.
  package func suspend() { gate.setSuspended(true) }
  package func resume() { gate.setSuspended(false) }
  package var isSuspended: Bool { gate.isSuspended }

  /// Reports that the network came back or changed. Hosts that count as down are tried again at once.
  package func networkChanged() { gate.forgive() }

  /// The number of running requests and the number of waiting ones.
  package var load: (running: Int, waiting: Int) { gate.counts }

  /// Fetches an order. Call it as the work of an in-flight request.
  ///
  /// Returns every complete response, whatever its status. After all attempts the status may still be an error.
  /// - Throws: `LoadFailure` if no complete or usable response came. Nothing of it is kept.
  package func fetch(_ order: FetchOrder, for inFlight: InFlightRequest) async throws(LoadFailure)
    -> FetchedResponse
  {
    let origins = try Self.checked(order)
    var plan = RetryPlan(order.retry, places: gate.arrange(origins, order), isSafe: order.isSafe)
    let partial = order.method == .get ? partials?.read(order.urls[0]) : nil
    var exchange = Exchange(order: order, origins: origins, partial: partial)
    var place = plan.first
    var reported: Result<FetchedResponse, LoadFailure>?
    while true {
      let result = await perform(&exchange, at: place, for: inFlight)
      // A complete response is returned even after a cancellation, so that the caller may store it.
      if Task.isCancelled, case .failure = result { throw .cancelled }
      // A refusal to use one host says less than the response of another host.
      if reported == nil || !Self.isRefusal(result) { reported = result }
      switch plan.next(after: Self.outcome(result, order), random: random()) {
      case .finish: return try (reported ?? result).get()
      case .send(let next, let delay):
        place = next
        guard delay > .zero else { continue }
        do { try await clock.sleep(delay) } catch { throw .cancelled }
      }
    }
  }

  /// Returns the hosts of an order. Throws if the order is invalid.
  private static func checked(_ order: FetchOrder) throws(LoadFailure) -> [Origin] {
    let origins = order.urls.compactMap { Origin($0) }
    guard !origins.isEmpty, origins.count == order.urls.count else {
      throw LoadFailure(
        .invalidRequest,
        "\(order.urls.map(\.shownAddress)) isn't an address of a web server: it begins with http:// or https://."
      )
    }
    if order.requiresUserAgent, order.fields[.userAgent]?.isEmpty ?? true {
      throw LoadFailure(
        .invalidRequest,
        "Requests to \(origins[0]) need a user agent. Set the source's: the app's name and version and how to "
          + "reach you.")
    }
    return origins
  }

  private static func isRefusal(_ result: Result<FetchedResponse, LoadFailure>) -> Bool {
    if case .failure(let failure) = result, case .notBefore = failure.reason { return true }
    return false
  }

  private static func outcome(
    _ result: Result<FetchedResponse, LoadFailure>, _ order: FetchOrder
  ) -> RetryPlan.Outcome {
    switch result {
    case .success(let answer) where order.lacksBytes(answer): .failure(.truncated)
    case .success(let answer):
      .answer(status: answer.status, retryAfter: wait(answer.fields, answer.receivedAt))
    case .failure(let failure): .failure(failure.reason)
    }
  }

  static func wait(_ fields: HTTPFields, _ receivedAt: Int64) -> Duration? {
    RetryAfter.milliseconds(fields, at: receivedAt).map { .milliseconds($0) }
  }
}
