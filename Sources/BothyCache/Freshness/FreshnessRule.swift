internal import BothyStore
public import Foundation
public import HTTPTypes

/// How long the resources of a source, or one item, count as fresh.
///
/// A value; it is applied when an entry is read, so a changed rule holds for what is stored already. An entry's own
/// `expiresAt` wins over the rule, the rule over the answer's fields.
///
///     .http                                       // as the server says
///     .http(min: .days(1), max: .days(30))        // as the server says, within bounds
///     .fixed(.days(7))                            // a week from when it came or was last confirmed
///     .fixed(.days(1), stamp: .lastModified)      // a day from when the server made it
///     .notBefore(cutOff)                          // nothing from before a moment that the app can move
public struct FreshnessRule: Sendable {
  package enum Base: Sendable, Hashable {
    case http(min: Int64, max: Int64, otherwise: Int64)
    case fixed(Int64)
    case manual
    case immutable
  }

  package let base: Base
  /// What the age of an entry is counted from, under `fixed` and `notBefore`.
  public var stamp: Stamp
  /// Entries stamped before this moment are stale, whatever else is said.
  public var cutOff: CutOff?
  /// Whether stale entries may be used when the server fails or cannot be reached.
  public var staleUse: StaleUse = .always
  /// Whether answers are kept although they say `no-store`. A request that says so is never kept.
  public var ignoresNoStore = false
  /// Whether errors and redirects are kept where HTTP allows it, as a proxy wants it. Otherwise they are no entries.
  public var keepsEveryStatus = false
  package var heuristicCap: Int64 = 7 * 86_400_000
  package var negative: Int64?
  package var staleWhileRevalidate: Int64?

  private init(_ base: Base, stamp: Stamp = .receipt, negative: Duration? = nil) {
    self.base = base
    self.stamp = stamp
    self.negative = negative?.wholeMilliseconds
  }

  /// As the answer's fields say (RFC 9111). What says `must-revalidate` or `no-cache` is not used stale, also not without a
  /// network (§5.2.2.2): such reads fail, unless the resource is pinned or the mode asks for what is stored.
  public static let http = FreshnessRule(.http(min: 0, max: .max, otherwise: 0))

  /// As the answer's fields say, within bounds.
  ///
  /// - Parameters:
  ///   - min: fresh at least this long, also when the answer says `no-cache`.
  ///   - max: fresh at most this long; a bound below `min` is `min`.
  ///   - otherwise: the lifetime of answers whose fields say nothing of it.
  public static func http(
    min: Duration = .zero, max: Duration? = nil, otherwise: Duration = .zero, negative: Duration? = nil
  ) -> FreshnessRule {
    let least = min.wholeMilliseconds
    return FreshnessRule(
      .http(
        min: least, max: Swift.max(least, max?.wholeMilliseconds ?? .max),
        otherwise: otherwise.wholeMilliseconds), negative: negative)
  }

  /// Fresh for this long from its stamp, whatever the fields say. At an age of exactly this it is stale.
  public static func fixed(_ lifetime: Duration, stamp: Stamp = .receipt, negative: Duration? = .minutes(10))
    -> FreshnessRule
  {
    FreshnessRule(.fixed(lifetime.wholeMilliseconds), stamp: stamp, negative: negative)
  }

  /// Fresh as long as its stamp is not before a moment that can be moved at any time.
  public static func notBefore(_ cutOff: CutOff, stamp: Stamp = .receipt, negative: Duration? = .minutes(10))
    -> FreshnessRule
  {
    var rule = FreshnessRule(.manual, stamp: stamp, negative: negative)
    rule.cutOff = cutOff
    return rule
  }

  /// Never changes: not asked for again, even when the user reloads.
  public static let immutable = FreshnessRule(.immutable, negative: .minutes(10))

  /// Fresh until the app asks for it anew.
  public static let manual = FreshnessRule(.manual, negative: .minutes(10))

  /// The rule of an expiration interval: none means as the server says; nil for a negative one, which is refused.
  public init?(expirationInterval: Duration?) {
    switch expirationInterval {
    case nil: self = .http
    case let interval? where interval < .zero: return nil
    case let interval?: self = .fixed(interval)
    }
  }

  /// The longest that an answer may be fresh by guess, a tenth of the time since it was last modified
  /// (RFC 9111 §4.2.2). Zero switches guesses off. Seven days unless set. Counts when an answer is stored.
  public var heuristicLimit: Duration {
    get { .milliseconds(heuristicCap) }
    set { heuristicCap = newValue.wholeMilliseconds }
  }

  /// How long it is remembered that there is nothing (204, 404, 410); nil: as the fields say.
  public var negativeLifetime: Duration? {
    get { negative.map { .milliseconds($0) } }
    set { negative = newValue?.wholeMilliseconds }
  }

  /// How long after its end an entry is still used while a new one is asked for; nil: as the fields say under `http`,
  /// else not at all.
  public var staleWhileRevalidating: Duration? {
    get { staleWhileRevalidate.map { .milliseconds($0) } }
    set { staleWhileRevalidate = newValue?.wholeMilliseconds }
  }

  /// What an entry's age is counted from.
  public enum Stamp: Sendable {
    /// When it came or was last confirmed.
    case receipt
    /// When the server made it, by `Last-Modified`. Where that is missing or lies after the receipt: the receipt.
    case lastModified
    /// When the server made it, by another field with an HTTP date in it.
    case field(HTTPField.Name)
    /// When the server made it, by the fields of the answer.
    case computed(@Sendable (HTTPFields) -> Date?)
  }

  /// How stale an entry may be used when there is nothing better. What says `must-revalidate` or `no-cache` is not
  /// used under `http` rules, unless it is pinned.
  public enum StaleUse: Sendable, Hashable {
    /// However stale it is.
    case always
    /// For this long after it became stale, or as long as the answer's `stale-if-error` says.
    case upTo(Duration)
    /// Only as long as the answer's `stale-if-error` says.
    case never
  }
}

extension Duration {
  /// So many times 60 seconds.
  public static func minutes(_ count: Int) -> Duration { .seconds(60 * count) }
  /// So many times 3600 seconds.
  public static func hours(_ count: Int) -> Duration { .seconds(3600 * count) }
  /// So many times 86,400 seconds, whatever the calendar says of the day.
  public static func days(_ count: Int) -> Duration { .seconds(86_400 * count) }

  /// Not below zero, not above what fits.
  package var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    if seconds < 0 || attoseconds < 0 { return 0 }
    let (product, isTooLong) = seconds.multipliedReportingOverflow(by: 1000)
    return isTooLong ? .max : product.addingClamped(attoseconds / 1_000_000_000_000_000)
  }
}
