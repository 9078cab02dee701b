/// What an answer's fields say of its freshness (RFC 9111, 5861, 8246), computed once when it was stored or confirmed.
///
/// All durations are milliseconds.
public struct FreshnessTerms: Sendable, Hashable {
  /// How long the answer is fresh, counted from its age zero. At an age of exactly this it is stale.
  public var lifetime: Int64
  /// How old the answer already was when it came (RFC 9111 §4.2.3, corrected_initial_age).
  public var initialAge: Int64
  /// When the server made it, by `Last-Modified` or `Date`; milliseconds since 1970.
  public var createdAt: Int64?
  /// How long after its end it may be used while a new one is asked for, by `stale-while-revalidate` (RFC 5861 §3).
  public var staleWhileRevalidate: Int64
  /// How long after its end it may be used when the server fails, by `stale-if-error` (RFC 5861 §4).
  public var staleIfError: Int64
  /// What set the lifetime.
  public var origin: Origin
  /// What the server demands beyond a lifetime.
  public var flags: Flags

  /// Where the lifetime comes from.
  public enum Origin: UInt8, Sendable, Hashable {
    /// Nothing in the fields says how long; the lifetime is zero.
    case none
    /// `max-age` in `Cache-Control`. `s-maxage` is for shared caches (RFC 9111 §5.2.2.10) and has no say.
    case maxAge
    /// `Expires`, counted from the answer's own `Date`.
    case expires
    /// A tenth of the time since `Last-Modified` (RFC 9111 §4.2.2), up to the rule's limit.
    case heuristic
    /// The source's rule, or the entry's own end, and not the answer.
    case rule
  }

  /// Demands of the server, one bit each.
  public struct Flags: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// May not be used without asking the server.
    public static let noCache = Flags(rawValue: 1)
    /// May not be used once stale without asking the server.
    public static let mustRevalidate = Flags(rawValue: 2)
    /// Does not change while it is fresh, and is not asked for even when the user reloads (RFC 8246).
    public static let immutable = Flags(rawValue: 4)
  }

  /// Terms of one's own, for entries that come from no server; nothing but the lifetime unless told otherwise.
  public init(
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
