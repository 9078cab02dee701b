import BothyCache
import BothyStore
import HTTPTypes

/// The address of a key set, such as that of an identity provider, and the way to request it.
///
/// An address that ends in `/.well-known/openid-configuration` names the provider's metadata (OpenID Connect Discovery),
/// which names the key set and the issuer. The key set is requested again when its response has expired, after 5
/// minutes at least and a day at most. Without a time it expires after an hour. A token with an unknown key requests it at once, but
/// at most once a minute. Other such tokens wait for the response. While the provider doesn't answer, the keys of its last
/// response stay in use, for a day.
public struct JWTKeyAddress: Sendable {
  /// The address, with HTTPS. HTTP is accepted for this machine alone.
  public var url: String
  /// Sends a request and returns the response, whatever its status is.
  ///
  /// Called for the key set, and for the provider's metadata before it. It ends after the request's timeout of ten
  /// seconds, and reads no body without limit.
  public var send: @Sendable (OutboundRequest) async throws -> OutboundResponse

  /// Creates an address. Requests nothing, and checks nothing.
  ///
  /// An address without TLS is refused when the key set is requested.
  public init(
    url: String, send: @escaping @Sendable (OutboundRequest) async throws -> OutboundResponse
  ) {
    self.url = url
    self.send = send
  }

  private static let discovery = "/.well-known/openid-configuration"

  /// The key set, the issuer if the provider names it, and the time for which both are fresh.
  struct KeySet: Sendable, Equatable {
    var text: [UInt8]
    var issuer: String?
    var freshFor: Duration
  }

  /// Requests the key set. Throws `BothyError` without a response, for another status than 200, for a response that
  /// names no key set, or one at an address without TLS.
  func keySet() async throws -> KeySet {
    try Self.check(url)
    let first = try await response(of: url)
    guard url.hasSuffix(Self.discovery) else {
      return KeySet(text: first.body, freshFor: Self.lifetime(first))
    }
    let metadata = try JSONValue(parsing: first.body)
    guard let address = metadata["jwks_uri"]?.stringValue, let issuer = metadata["issuer"]?.stringValue else {
      throw BothyError(.invalidValue, "The metadata at \(url) has no 'jwks_uri' and 'issuer'.")
    }
    try Self.check(address)
    let set = try await response(of: address)
    return KeySet(text: set.body, issuer: issuer, freshFor: Self.lifetime(set))
  }

  private func response(of address: String) async throws -> OutboundResponse {
    let request = OutboundRequest(
      .get, url: address, headers: ["Accept": "application/json"], timeout: .seconds(10))
    let response: OutboundResponse
    do { response = try await send(request) } catch {
      try Task.checkCancellation()
      throw BothyError(.unreachable, "The keys at \(address) can't be requested. \(error)")
    }
    guard response.status == 200 else {
      throw BothyError(.serverError, "\(address) answered with the status \(response.status).")
    }
    return response
  }

  /// Returns the time for which a response is fresh: that of `Cache-Control`, or an hour.
  private static func lifetime(_ response: OutboundResponse) -> Duration {
    var fields = HTTPFields()
    fields[.cacheControl] = response.headers["cache-control"]
    return .seconds(max(300, min(CacheControl(fields).maxAge ?? 3600, 86_400)))
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

  /// True if the key set is to be requested. After the clock was set back, it is unknown how old the set is.
  ///
  /// - Parameter isMissed: true if a token has a key that the set lacks.
  func isDue(at now: Int64, isMissed: Bool) -> Bool {
    let isFresh = (answered..<freshUntil).contains(now)
    return (isMissed || !isFresh) && (now - requested >= Self.pause || now < requested)
  }

  /// True if the provider hasn't answered for so long that its keys are no longer used.
  func isOver(at now: Int64) -> Bool { now - answered >= Self.longest }

  mutating func begin(at now: Int64) { requested = now }
}
