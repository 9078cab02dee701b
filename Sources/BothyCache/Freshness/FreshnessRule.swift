internal import BothyStore
public import Foundation
public import HTTPTypes

/// The rule that decides how long the resources of a source, or one resource, are fresh.
///
/// A rule is a value. It is applied when an entry is read, so a changed rule applies to stored entries too. An entry's
/// own `expiresAt` overrides the rule, and the rule overrides the response's fields. A stale entry isn't deleted: it
/// makes requests conditional and may replace a failed response.
///
/// ```swift
/// let rules: [FreshnessRule] = [
///   .http,  // as the server says
///   .http(min: .seconds(86_400)),  // as the server says, within bounds
///   .fixed(.seconds(604_800)),  // a week from when it came or was last confirmed
///   .fixed(.seconds(86_400), stamp: .lastModified),  // a day from when the server made it
///   .notBefore(cutOff),  // nothing from before a moment that the app can move
/// ]
/// ```
public struct FreshnessRule: Sendable {
  package enum Base: Sendable, Hashable {
    case http(min: Int64, max: Int64, otherwise: Int64)
    case fixed(Int64)
    case manual
    case immutable
  }

  package private(set) var base: Base
  /// The time from which the age of an entry counts, under `fixed` and `notBefore`.
  package var stamp: Stamp
  /// The time before which entries are stale in any case, by their stamp.
  package var cutOff: InvalidationDate?
  /// The time after its end at which an entry is still used if the server fails or is unreachable.
  ///
  /// `nil`, the default, is any time. The response's `stale-if-error` may allow more. Responses with `must-revalidate`
  /// or `no-cache` aren't used under `http` rules. Pinned entries, and tiles that are read as `ResourceCache.Priority.visible`,
  /// are used in any case. `ReadPolicy.local` and `.localThenRemote` return entries of any age.
  public var staleUse: Duration?
  /// True if responses are stored even if they have `no-store`. The response to a request with it is never stored.
  package var ignoresNoStore = false
  /// True if errors and redirects are stored where HTTP allows it, as a proxy needs. By default they aren't entries.
  package var keepsEveryStatus = false
  /// True if the cache has several users, so that responses for one of them alone (`private`) aren't stored. The
  /// directives for shared caches then count (RFC 9111 §5.2.2). It applies when a response is stored.
  package var isShared = false
  package var heuristicCap: Int64 = 7 * 86_400_000
  package var negative: Int64?
  package var staleWhileRevalidate: Int64?

  private init(_ base: Base, stamp: Stamp = .receipt, negative: Duration? = nil) {
    self.base = base
    self.stamp = stamp
    self.negative = negative?.wholeMilliseconds
  }

  /// The lifetime by the response's fields (RFC 9111).
  ///
  /// Responses with `must-revalidate` or `no-cache` aren't used stale, even without a network (§5.2.2.2). Such reads
  /// fail, unless the resource is pinned, a tile on the screen, or the policy is limited to the cache.
  public static let http = FreshnessRule(.http(min: 0, max: .max, otherwise: 0))

  /// Returns a rule with the lifetime by the response's fields, within bounds.
  ///
  /// Negative durations count as zero. Fractions of a millisecond are dropped.
  ///
  /// - Parameters:
  ///   - min: the shortest lifetime, even if the response has `no-cache`.
  ///   - max: the longest lifetime. A bound below `min` becomes `min`. `nil` means no bound.
  ///   - otherwise: the lifetime of responses without a lifetime in their fields.
  ///   - negative: the lifetime of responses that say that the resource does not exist. `nil` uses their fields.
  public static func http(
    min: Duration = .zero, max: Duration? = nil, otherwise: Duration = .zero, negative: Duration? = nil
  ) -> FreshnessRule {
    let least = min.wholeMilliseconds
    return FreshnessRule(
      .http(
        min: least, max: Swift.max(least, max?.wholeMilliseconds ?? .max),
        otherwise: otherwise.wholeMilliseconds), negative: negative)
  }

  /// Returns a rule with this lifetime from the stamp, whatever the fields are. At an age of exactly this it is stale.
  ///
  /// Neither `no-cache` nor `must-revalidate` counts then. A response with `no-store` isn't stored all the same.
  ///
  /// - Parameters:
  ///   - lifetime: the time that an entry is fresh. A negative one counts as zero.
  ///   - stamp: the time from which it counts.
  ///   - negative: the lifetime of responses that say that the resource does not exist, by default ten minutes. `nil`
  ///     gives them `lifetime`.
  public static func fixed(_ lifetime: Duration, stamp: Stamp = .receipt, negative: Duration? = .seconds(600))
    -> FreshnessRule
  {
    FreshnessRule(.fixed(lifetime.wholeMilliseconds), stamp: stamp, negative: negative)
  }

  /// Returns a rule by which entries are fresh unless their stamp is before a cut-off, which the app can move.
  ///
  /// Such entries never become stale by age alone.
  ///
  /// - Parameters:
  ///   - cutOff: the time, which several rules may share.
  ///   - stamp: the time of an entry that is compared with it.
  ///   - negative: the lifetime of responses that say that the resource does not exist, by default ten minutes. `nil`
  ///     treats them like others.
  public static func notBefore(
    _ cutOff: InvalidationDate, stamp: Stamp = .receipt, negative: Duration? = .seconds(600)
  )
    -> FreshnessRule
  {
    var rule = FreshnessRule(.manual, stamp: stamp, negative: negative)
    rule.cutOff = cutOff
    return rule
  }

  /// Resources that never change and are requested once, under every `ReadPolicy`.
  ///
  /// `ResourceCache.Options.reload` requests them again. Responses that say that nothing exists are fresh for ten minutes.
  public static let immutable = FreshnessRule(.immutable, negative: .minutes(10))

  /// Resources that are fresh until the app requests them again.
  ///
  /// `ReadPolicy.remote` and `.remoteElseLocal` do so, by a conditional request. Responses that say that nothing exists
  /// are fresh for ten minutes.
  public static let manual = FreshnessRule(.manual, negative: .minutes(10))

  /// Returns this rule with HTTP's lifetimes, and another one for responses without a lifetime in their fields.
  func otherwise(_ lifetime: Duration) -> FreshnessRule {
    var rule = self
    rule.base = .http(min: 0, max: .max, otherwise: lifetime.wholeMilliseconds)
    return rule
  }

  /// Creates the rule of an expiration interval. Without one it is `http`. Returns `nil` for a negative one.
  package init?(expirationInterval: Duration?) {
    switch expirationInterval {
    case nil: self = .http
    case let interval? where interval < .zero: return nil
    case let interval?: self = .fixed(interval)
    }
  }

  /// The longest estimated lifetime (RFC 9111 §4.2.2). The estimate is a tenth of the time since the last change.
  ///
  /// Zero switches estimates off. The default is seven days. The limit applies when a response is stored.
  package var heuristicLimit: Duration {
    get { .milliseconds(heuristicCap) }
    set { heuristicCap = newValue.wholeMilliseconds }
  }

  /// The lifetime of negative entries (204, 404, 410), or `nil` to use the response's fields.
  package var negativeLifetime: Duration? {
    get { negative.map { .milliseconds($0) } }
    set { negative = newValue?.wholeMilliseconds }
  }

  /// The time after its end at which an entry is still used during a refresh.
  ///
  /// `nil` uses the response's fields under `http`, and means zero under other rules.
  package var staleWhileRevalidating: Duration? {
    get { staleWhileRevalidate.map { .milliseconds($0) } }
    set { staleWhileRevalidate = newValue?.wholeMilliseconds }
  }

  /// The time from which an entry's age counts.
  ///
  /// The times of `field` and `computed` are taken when a response is stored or confirmed.
  public enum Stamp: Sendable {
    /// The time of its arrival or last confirmation, by the device's clock.
    case receipt
    /// The time of its creation by `Last-Modified`. If that is missing or later than the receipt, the receipt.
    ///
    /// A confirmation doesn't make such an entry younger.
    case lastModified
    /// The time of its creation by another field with an HTTP date.
    ///
    /// If that is missing, unreadable or later than the receipt, the receipt.
    case field(HTTPField.Name)
    /// The time of its creation, computed from the fields of the response.
    ///
    /// Called once for each response that is stored or confirmed, on any thread. `nil` means the receipt.
    case computed(@Sendable (HTTPFields) -> Date?)
  }
}

extension Duration {
  /// Returns `count` times 60 seconds.
  package static func minutes(_ count: Int) -> Duration { .seconds(60 * count) }
  /// Returns `count` times 3600 seconds.
  package static func hours(_ count: Int) -> Duration { .seconds(3600 * count) }
  /// Returns `count` times 86,400 seconds, regardless of the calendar.
  package static func days(_ count: Int) -> Duration { .seconds(86_400 * count) }
}
