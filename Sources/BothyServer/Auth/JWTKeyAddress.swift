import BothyStore

/// The address of a key set, such as that of an identity provider, and the way to request it.
///
/// An address that ends in `/.well-known/openid-configuration` names the provider's metadata (OpenID Connect Discovery),
/// which names the key set and the issuer. The key set is requested again when its response has expired, after 5
/// minutes at least and a day at most. Without a time it expires after an hour. A token with an unknown key requests it at once, but
/// at most once a minute. Other such tokens wait for the response. While the provider doesn't answer, the keys of its last
/// response stay in use, for a day.
public struct JWTKeyAddress: Sendable {
  /// A response of the provider.
  public struct Response: Sendable {
    /// The body: a key set, or the provider's metadata.
    public var body: [UInt8]
    /// The time for which the response is fresh, or `nil` if it doesn't say. It counts as five minutes at
    /// least and a day at most.
    public var freshFor: Duration?

    /// Creates a response, for the function that requests it.
    public init(body: [UInt8], freshFor: Duration? = nil) {
      self.body = body
      self.freshFor = freshFor
    }
  }

  /// The address, with HTTPS. HTTP is accepted for this machine alone.
  public var url: String
  /// The request of an address. Throws if it has no response with status 200.
  ///
  /// Called for the key set, and for the provider's metadata before it. It should have a time limit of its
  /// own.
  public var request: @Sendable (String) async throws -> Response

  /// Creates an address. Requests nothing, and checks nothing.
  ///
  /// An address without TLS is refused when the key set is requested.
  public init(url: String, request: @escaping @Sendable (String) async throws -> Response) {
    self.url = url
    self.request = request
  }

  private static let discovery = "/.well-known/openid-configuration"

  /// The key set, the issuer if the provider names it, and the time for which both are fresh.
  struct KeySet: Sendable, Equatable {
    var text: [UInt8]
    var issuer: String?
    var freshFor: Duration
  }

  /// Requests the key set. Throws `BothyError` for a response that names no key set, or one at an address without TLS.
  func keySet() async throws -> KeySet {
    try Self.check(url)
    let first = try await request(url)
    guard url.hasSuffix(Self.discovery) else {
      return KeySet(text: first.body, freshFor: Self.clamped(first.freshFor))
    }
    let metadata = try JSONValue(parsing: first.body)
    guard let address = metadata["jwks_uri"]?.stringValue, let issuer = metadata["issuer"]?.stringValue else {
      throw BothyError(.invalidValue, "The metadata at \(url) has no 'jwks_uri' and 'issuer'.")
    }
    try Self.check(address)
    let set = try await request(address)
    return KeySet(text: set.body, issuer: issuer, freshFor: Self.clamped(set.freshFor))
  }

  private static func clamped(_ time: Duration?) -> Duration {
    max(.seconds(300), min(time ?? .seconds(3600), .seconds(86_400)))
  }

  private static func check(_ url: String) throws {
    guard ConfidentialAddress.accepts(url) else {
      throw BothyError(
        .invalidValue,
        "The key set at \(url) isn't requested, because its address has no TLS. Give one with https://.")
    }
  }
}

/// Decides when a key set is requested again. Pure.
struct KeySetSchedule: Sendable, Equatable {
  /// The pause between two requests, in milliseconds.
  static let pause: Int64 = 60_000
  /// The time for which keys are used after their response, in milliseconds.
  static let longest: Int64 = 86_400_000

  /// The time of the last response and of the last request, and the end of the freshness, in milliseconds since 1970.
  private(set) var answered: Int64
  private(set) var requested: Int64
  private(set) var freshUntil: Int64

  init(answeredAt now: Int64, freshFor: Duration) {
    (answered, requested) = (now, now)
    freshUntil = now + Int64(freshFor / .milliseconds(1))
  }

  /// True if the key set is to be requested.
  ///
  /// - Parameter isMissed: true if a token has a key that the set lacks.
  func isDue(at now: Int64, isMissed: Bool) -> Bool {
    (isMissed || now >= freshUntil) && (now - requested >= Self.pause || now < requested)
  }

  /// True if the provider hasn't answered for so long that its keys are no longer used.
  func isOver(at now: Int64) -> Bool { now - answered >= Self.longest }

  mutating func begin(at now: Int64) { requested = now }
}
