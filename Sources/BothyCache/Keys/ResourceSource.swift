public import HTTPTypes

/// A family of resources with one identity: their addresses, their lifetime, and the conditions of their owner.
///
/// ```swift
/// let tiles = try ResourceSource(
///   "osm", template: "https://{s}.tile.example/{z}/{x}/{y}.pbf", hosts: ["a", "b", "c"],
///   userAgent: "Trails/1.2 (trails.example)")
/// let answer = try await cache.value(try tiles.key(zoom: 16, x: 10472, y: 22982))
/// ```
///
/// A source is a value. Creating one opens nothing and only parses the address.
public struct ResourceSource: Sendable, Identifiable {
  /// The id that the developer chooses and never changes, because stored entries are found by it.
  ///
  /// With another id they stay on disk unread, until they are evicted or removed by the old id. A source with another
  /// address needs another id. If only the server has moved, keep the address, and name the new host in `hosts`.
  public let id: SourceID
  /// The rule that turns keys into addresses.
  package let address: SourceAddress
  /// The values of `{s}` in the address, or whole host names that replace the address's own.
  ///
  /// All hosts return the same bytes, and the chosen host is never part of a key.
  package var hosts: [String]
  /// The rule for the freshness of resources. The default is HTTP's rule, by the server's fields.
  package var freshness: FreshnessRule
  /// Fields that every request sends.
  ///
  /// After a change, a pinned resource stays readable as stale, also if its server varies its responses by them.
  package var headers: HTTPFields
  /// The limits for requests to the servers and for the length of a response.
  package var limits: SourceLimits
  /// The expected content. Other content is rejected and does not change the stored entry.
  ///
  /// `nil`, the default, rejects a web page instead of a tile, of a resource with another file extension (`.png`,
  /// `.json`), or of a resource that was stored as something else. It accepts only a picture instead of a picture. If
  /// nothing states the form of the tiles, XML is rejected, JSON must be that of a map, and a picture isn't stored beside
  /// vector tiles. A network's sign-in page therefore destroys nothing. `ContentExpectation()` accepts all.
  package var content: ContentExpectation?
  /// Names of query items that do not identify a resource. They are left out of keys and requests.
  package var ignoredQueryItems: Set<String>
  /// Query items such as access tokens, which are in every request, but not in keys, events, logs or files.
  ///
  /// Names map to values. After a change, register the source again. New values keep the stored entries, and new names
  /// are another source, which needs another id.
  public var secrets: [String: String]
  /// The zooms that have tiles.
  package var zooms: ClosedRange<Int>
  /// The names of the source and its attribution. They are part of no key.
  public var names: SourceNames
  /// True if the owner allows bulk downloads, as for regions and prefetching. The default is false.
  package var allowsBulkDownload: Bool
  /// True if requests must identify the app. False only for the app's own server.
  ///
  /// While true, a request without a user agent isn't sent, and its read throws `BothyError` `.refused`.
  public var requiresUserAgent = true
  /// Returns false for a redirect that isn't followed, by its address and its target. `nil` follows all.
  package var admitsRedirect: (@Sendable (_ from: String, _ to: String) -> Bool)?
  /// The name of the group of sources that share a rate of requests, or `nil` for this source alone.
  package var rateGroup: String?
  /// The form of the tiles, as a style or a TileJSON document states it. `nil` goes by the extension of the address.
  package var tileForm: TileForm?
  /// The file that all resources of the source lie in, or `nil` if each has an address of its own.
  package var container: (any SourceContainer)?

  /// Describes a source.
  ///
  /// Nothing is opened, sent or registered. A cache knows the source after its `init` or `register`.
  ///
  /// - Parameters:
  ///   - id: any text that isn't empty and has no control characters.
  ///   - template: an address with `{z}`, `{x}` and `{y}`, and optionally `{s}` for one of `hosts` and `{r}` for `@2x`.
  ///     `{-y}` (counted from the south) or `{q}` (the quadkey) can replace the row or the coordinates. A template
  ///     without placeholders is a base, below which paths are read.
  ///   - hosts: the values of `{s}` in the address, or whole host names that replace the address's own. All hosts
  ///     return the same bytes.
  ///   - highResolution: true if `{r}` is `@2x`, and false if it is empty.
  ///   - freshness: the rule for the freshness of resources, by default HTTP's, by the server's fields.
  ///   - headers: fields that every request sends. They aren't sent to other servers after a redirect, except for the
  ///     user agent and the accepted types and languages.
  ///   - userAgent: the identification of the app that map servers require. It replaces the one in `headers`.
  ///   - limits: the limits for requests to the servers and for the length of a response.
  ///   - content: the expected content. `nil` rejects a web page in place of a tile, of a resource with another file
  ///     extension, or of one that was stored as something else. `ContentExpectation()` accepts all.
  ///   - ignoredQueryItems: names of query items that do not identify a resource, left out of keys and requests.
  ///   - secrets: query items such as access tokens, which are in every request, but not in keys, events, logs or
  ///     files.
  ///   - zooms: the zooms that have tiles, within 0 to 29.
  ///   - names: the names of the source and its attribution.
  ///   - allowsBulkDownload: true if the owner allows bulk downloads, as for regions and prefetching.
  /// - Throws: `BothyError` `invalidSource` with the reason. It may be an address without http or https, an unknown
  ///   placeholder or a missing coordinate. It may also be `{s}` without `hosts`, or an invalid id or zoom.
  public init(
    _ id: SourceID, template: String, hosts: [String] = [], highResolution: Bool = false,
    freshness: FreshnessRule = .http, headers: HTTPFields = [:], userAgent: String? = nil,
    limits: SourceLimits = SourceLimits(), content: ContentExpectation? = nil,
    ignoredQueryItems: Set<String> = [],
    secrets: [String: String] = [:], zooms: ClosedRange<Int> = 0...22, names: SourceNames = SourceNames(),
    allowsBulkDownload: Bool = false
  ) throws(BothyError) {
    try self.init(
      id, address: .init(template: template, highResolution: highResolution), hosts: hosts,
      freshness: freshness,
      headers: headers, userAgent: userAgent, limits: limits, content: content,
      ignoredQueryItems: ignoredQueryItems, secrets: secrets, zooms: zooms, names: names,
      allowsBulkDownload: allowsBulkDownload)
  }

  /// Describes a source with an address of any kind. The other parameters are those of `init(_:template:)`.
  ///
  /// - Throws: `BothyError` `invalidSource` for an invalid id or zoom, or `{s}` without `hosts`.
  public init(
    _ id: SourceID, address: SourceAddress, hosts: [String] = [], freshness: FreshnessRule = .http,
    headers: HTTPFields = [:], userAgent: String? = nil, limits: SourceLimits = SourceLimits(),
    content: ContentExpectation? = nil, ignoredQueryItems: Set<String> = [], secrets: [String: String] = [:],
    zooms: ClosedRange<Int> = 0...22, names: SourceNames = SourceNames(), allowsBulkDownload: Bool = false
  ) throws(BothyError) {
    guard !id.name.isEmpty, id.name.unicodeScalars.allSatisfy({ $0.value >= 32 && $0.value != 127 }) else {
      throw BothyError(.invalidSource, "A source needs an id of visible characters. Choose one and keep it.")
    }
    guard zooms.lowerBound >= 0, zooms.upperBound <= 29 else {
      throw BothyError(.invalidSource, "Source \(id): zooms go from 0 to 29, not \(zooms).")
    }
    if address.needsHosts, hosts.isEmpty {
      throw BothyError(
        .invalidSource, "Source \(id): the address has {s}. Give its values in `hosts`.")
    }
    self.id = id
    self.address = address
    self.hosts = hosts
    self.freshness = freshness
    self.headers = headers
    self.limits = limits
    self.content = content
    self.ignoredQueryItems = ignoredQueryItems
    self.secrets = secrets
    self.zooms = zooms
    self.names = names
    self.allowsBulkDownload = allowsBulkDownload
    if let userAgent { self.headers[.userAgent] = userAgent }
  }
}
