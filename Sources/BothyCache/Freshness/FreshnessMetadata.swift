/// The freshness by a response's fields (RFC 9111, 5861, 8246), computed once when it was stored or confirmed.
///
/// All durations are milliseconds.
package struct FreshnessMetadata: Sendable, Hashable {
  /// The lifetime of the response, counted from its age zero. At an age of exactly this it is stale.
  package var lifetime: Int64
  /// The age of the response when it came (RFC 9111 §4.2.3, corrected_initial_age).
  package var initialAge: Int64
  /// The time of its creation, by `Last-Modified` or the rule's stamp, in milliseconds since 1970.
  package var createdAt: Int64?
  /// The time after its end at which it may be used during a refresh, by `stale-while-revalidate` (RFC 5861 §3).
  package var staleWhileRevalidate: Int64
  /// The time after its end at which it may be used if the server fails, by `stale-if-error` (RFC 5861 §4).
  package var staleIfError: Int64
  /// The origin of the lifetime.
  package var origin: Origin
  /// The demands of the server beyond a lifetime.
  package var flags: Flags

  /// The origin of a lifetime.
  package enum Origin: UInt8, Sendable, Hashable {
    /// The fields have no lifetime, so it is zero. The rule may give another.
    case none
    /// `max-age` in `Cache-Control`, or `s-maxage` in a shared cache (RFC 9111 §5.2.2.10).
    case maxAge
    /// `Expires`, counted from the response's own `Date`. A date that can't be read counts as past.
    case expires
    /// A tenth of the time since `Last-Modified` (RFC 9111 §4.2.2), up to the rule's limit.
    case heuristic
    /// The source's rule or the entry's own end, instead of the response.
    case rule
  }

  /// Demands of the server, one bit each.
  package struct Flags: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// The response may not be used without a request to the server.
    package static let noCache = Flags(rawValue: 1)
    /// The response may not be used when stale without a request to the server.
    package static let mustRevalidate = Flags(rawValue: 2)
    /// The response does not change while it is fresh, and isn't requested even when the user reloads (RFC 8246).
    package static let immutable = Flags(rawValue: 4)
  }

  /// Creates terms for entries that come from no server. By default they have a lifetime only.
  package init(
    lifetime: Int64, initialAge: Int64 = 0, createdAt: Int64? = nil, staleWhileRevalidate: Int64 = 0,
    staleIfError: Int64 = 0, origin: Origin = .none, flags: Flags = []
  ) {
    self.lifetime = lifetime
    self.initialAge = initialAge
    self.createdAt = createdAt
    self.staleWhileRevalidate = staleWhileRevalidate
    self.staleIfError = staleIfError
    self.origin = origin
    self.flags = flags
  }
}
