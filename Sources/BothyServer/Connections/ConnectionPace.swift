package import NIOCore
package import NIOHTTP1

/// Computes by when a connection must have sent the rest of its request, or read more of its answer. Pure.
///
/// A header has a fixed time, from the connection's beginning or from the header's first byte. A body has a fixed time,
/// and a second more for each `bodyRate` bytes that have arrived. A connection that takes no bytes of an answer has a
/// fixed time too. It has no deadline between requests, and while the server works on one.
package struct ConnectionPace {
  package struct Terms: Sendable {
    package var headerTime: TimeAmount
    package var bodyTime: TimeAmount
    package var bodyRate: Int64
    package var answerTime: TimeAmount

    package init(headerTime: TimeAmount, bodyTime: TimeAmount, bodyRate: Int64, answerTime: TimeAmount) {
      self.headerTime = headerTime
      self.bodyTime = bodyTime
      self.bodyRate = max(1, bodyRate)
      self.answerTime = answerTime
    }

    init(_ limits: ServerConfiguration.Limits) {
      self.init(
        headerTime: .milliseconds(Int64(limits.headerTime / .milliseconds(1))),
        bodyTime: .milliseconds(Int64(limits.bodyTime / .milliseconds(1))), bodyRate: Int64(limits.bodyRate),
        answerTime: .milliseconds(Int64(limits.idleTimeout / .milliseconds(1))))
    }
  }

  /// The part of a request that came too slowly, or the answer that was read too slowly.
  package enum Slowness: String, Sendable, CaseIterable { case slowHeader, slowBody, slowReader }

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
  /// The time since which the connection has taken no bytes, or `nil` if it takes them.
  private var isFullSince: NIODeadline?

  package init(_ terms: Terms) { self.terms = terms }

  /// True if the server works on so few requests of the connection that it may read further ones.
  var hasRoom: Bool { unanswered < Self.pipelined }
  /// The most requests of a connection that are read before their answers.
  static let pipelined = 8

  /// The time at which the connection is too slow, or `nil` for none at present.
  package var deadline: NIODeadline? {
    let reading = isFullSince.map { $0 + terms.answerTime }
    guard let arriving else { return reading }
    return reading.map { min($0, arriving) } ?? arriving
  }

  /// The time at which the rest of a request is too late.
  private var arriving: NIODeadline? {
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

  /// The connection takes bytes of answers again, or no more of them.
  package mutating func change(takesBytes: Bool, at now: NIODeadline) {
    isFullSince = takesBytes ? nil : isFullSince ?? now
  }

  /// Ends the connection's request if its deadline has passed. Returns what was too slow, or `nil` if it is in time.
  package mutating func end(at now: NIODeadline) -> Slowness? {
    guard let deadline, now >= deadline else { return nil }
    let isArriving = arriving.map { now >= $0 } ?? false
    defer {
      phase = .over
      isFullSince = nil
    }
    guard isArriving else { return .slowReader }
    if case .header = phase { return .slowHeader }
    return .slowBody
  }
}
