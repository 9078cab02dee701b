package import NIOCore
package import NIOHTTP1

/// Computes by when a connection must have sent the rest of its request. Pure.
///
/// A header has a fixed time, from the connection's beginning or from the header's first byte. A body has a fixed time,
/// and a second more for each `bodyRate` bytes that have arrived. A connection has no
/// deadline between requests, and while the server works on one.
package struct ConnectionPace {
  package struct Terms: Sendable {
    package var headerTime: TimeAmount
    package var bodyTime: TimeAmount
    package var bodyRate: Int64

    package init(headerTime: TimeAmount, bodyTime: TimeAmount, bodyRate: Int64) {
      self.headerTime = headerTime
      self.bodyTime = bodyTime
      self.bodyRate = max(1, bodyRate)
    }

    init(_ limits: ServerConfiguration.Limits) {
      self.init(
        headerTime: .milliseconds(Int64(limits.headerTime / .milliseconds(1))),
        bodyTime: .milliseconds(Int64(limits.bodyTime / .milliseconds(1))), bodyRate: Int64(limits.bodyRate))
    }
  }

  /// The part of a request that came too slowly.
  package enum Slowness: String, Sendable, CaseIterable { case slowHeader, slowBody }

  private enum Phase {
    case quiet
    case header(since: NIODeadline)
    case body(since: NIODeadline, bytes: Int64)
    case over
  }

  private let terms: Terms
  private var phase = Phase.quiet
  /// The number of requests whose responses aren't complete.
  private var unanswered = 0
  /// True if bytes of the next header have arrived.
  private var hasBegun = false

  package init(_ terms: Terms) { self.terms = terms }

  /// The time at which the connection is too slow, or `nil` for none at present.
  package var deadline: NIODeadline? {
    switch phase {
    case .quiet, .over: nil
    case .header(let start): start + terms.headerTime
    case .body(let start, let bytes): start + terms.bodyTime + .seconds(min(bytes / terms.bodyRate, 86_400))
    }
  }

  /// The connection has begun.
  package mutating func begin(at now: NIODeadline) { phase = .header(since: now) }

  /// Bytes have arrived. They begin a header unless they belong to a request.
  package mutating func bytesArrived(at now: NIODeadline) {
    guard case .quiet = phase else { return }
    hasBegun = true
    // Bytes wait in the connection while the server responds.
    if unanswered == 0 { phase = .header(since: now) }
  }

  /// A part of a request is complete.
  package mutating func read(_ part: HTTPServerRequestPart, at now: NIODeadline) {
    switch (part, phase) {
    case (_, .over): break
    case (.head, _):
      unanswered += 1
      hasBegun = false
      phase = .body(since: now, bytes: 0)
    case (.body(let bytes), .body(let start, let count)):
      phase = .body(since: start, bytes: count + Int64(bytes.readableBytes))
    case (.body, _): break
    case (.end, _): phase = .quiet
    }
  }

  /// A response is complete.
  package mutating func answered(at now: NIODeadline) {
    unanswered -= 1
    guard unanswered == 0, hasBegun, case .quiet = phase else { return }
    phase = .header(since: now)
  }

  /// Ends the connection's request if its deadline has passed. Returns what was too slow, or `nil` if it is in time.
  package mutating func end(at now: NIODeadline) -> Slowness? {
    guard let deadline, now >= deadline else { return nil }
    defer { phase = .over }
    if case .header = phase { return .slowHeader }
    return .slowBody
  }
}
