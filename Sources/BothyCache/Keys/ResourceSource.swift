public import HTTPTypes

/// A family of resources with one identity: where they come from, how long they are good for, what their owner asks
/// of those who load them.
///
///     let tiles = try ResourceSource(
///       "osm", template: "https://{s}.tile.example/{z}/{x}/{y}.pbf", hosts: ["a", "b", "c"],
///       userAgent: "Trails/1.2 (trails.example)")
///     let answer = try await cache.value(try tiles.key(zoom: 16, x: 10472, y: 22982))
///
/// A value: making one opens nothing and costs a parse of the address.
public struct ResourceSource: Sendable, Identifiable {
  /// Chosen by the developer and kept for ever: stored entries are found again by it.
  public let id: SourceID
  /// How keys become addresses.
  public let address: SourceAddress
  /// What `{s}` in the address stands for, or whole host names in place of the address's own. They bring the same
  /// bytes; which one is asked is never part of a key.
  public var hosts: [String]
  /// How long resources count as fresh; as the server says, unless told otherwise.
  public var freshness: FreshnessRule
  /// Sent with every request.
  public var headers: HTTPFields
  /// How hard the servers may be asked, and how much of an answer is taken in.
  public var limits: SourceLimits
  /// What the bytes look like; anything else is refused and leaves what is stored as it is.
  ///
  /// Nil, the default, refuses web pages in the place of tiles, of resources whose names end in something else (`.png`,
  /// `.json`), and of resources that were stored as something else, and takes only pictures in the place of pictures: a
  /// network's sign-in page destroys nothing. `ContentExpectation()` takes all.
  public var content: ContentExpectation?
  /// Names of query items that do not say what the resource is: left out of keys and of requests.
  public var ignoredQueryItems: Set<String>
  /// Query items that every request carries and no key, event, log or file: access tokens.
  public var secrets: [String: String]
  /// The zooms at which there are tiles.
  public var zooms: ClosedRange<Int>
  /// What the source is called, and whom to thank.
  public var names: SourceNames
  /// Whether the owner allows to load in bulk what nobody looks at: regions and prefetch. No, unless said otherwise.
  public var allowsBulkDownload: Bool
  /// Whether requests must say who asks. Yes, except for the app's own server.
  public var requiresUserAgent = true

  /// Describes a source.
  ///
  /// - Parameters:
  ///   - id: any text that is not empty and without control characters.
  ///   - template: an address with `{z}`, `{x}`, `{y}` (or `{-y}` counted from the south, or `{q}` the quadkey), `{s}` for
  ///     one of `hosts` and `{r}` for `@2x`; or one without any of these, below which paths are looked up.
  ///   - userAgent: who asks, as map servers want to know it; wins over the one in `headers`.
  /// - Throws: `CacheError.invalidSource` with what is wrong.
  public init(
    _ id: SourceID, template: String, hosts: [String] = [], highResolution: Bool = false,
    freshness: FreshnessRule = .http, headers: HTTPFields = [:], userAgent: String? = nil,
    limits: SourceLimits = SourceLimits(), content: ContentExpectation? = nil,
    ignoredQueryItems: Set<String> = [],
    secrets: [String: String] = [:], zooms: ClosedRange<Int> = 0...22, names: SourceNames = SourceNames(),
    allowsBulkDownload: Bool = false
  ) throws(CacheError) {
    try self.init(
      id, address: .init(template: template, highResolution: highResolution), hosts: hosts,
      freshness: freshness,
      headers: headers, userAgent: userAgent, limits: limits, content: content,
      ignoredQueryItems: ignoredQueryItems, secrets: secrets, zooms: zooms, names: names,
      allowsBulkDownload: allowsBulkDownload)
  }

  /// Describes a source with an address of any kind.
  public init(
    _ id: SourceID, address: SourceAddress, hosts: [String] = [], freshness: FreshnessRule = .http,
    headers: HTTPFields = [:], userAgent: String? = nil, limits: SourceLimits = SourceLimits(),
    content: ContentExpectation? = nil, ignoredQueryItems: Set<String> = [], secrets: [String: String] = [:],
    zooms: ClosedRange<Int> = 0...22, names: SourceNames = SourceNames(), allowsBulkDownload: Bool = false
  ) throws(CacheError) {
    guard !id.name.isEmpty, id.name.unicodeScalars.allSatisfy({ $0.value >= 32 && $0.value != 127 }) else {
      throw CacheError(.invalidSource, "A source needs an id of visible characters. Choose one and keep it.")
    }
    guard zooms.lowerBound >= 0, zooms.upperBound <= 29 else {
      throw CacheError(.invalidSource, "Source \(id): zooms go from 0 to 29, not \(zooms).")
    }
    if address.needsHosts, hosts.isEmpty {
      throw CacheError(
        .invalidSource, "Source \(id): the address has {s}; say in `hosts` what it stands for.")
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

/// What a source is called, and whom to thank: kept with the source, so that it can be shown without a network.
public struct SourceNames: Sendable, Hashable, Codable {
  /// For a list or a button; empty unless given.
  public var short: String
  /// For a heading or a page of credits; empty unless given.
  public var long: String
  /// What the owner wants to be shown beside the map.
  public var attribution: String

  /// All empty, unless given.
  public init(short: String = "", long: String = "", attribution: String = "") {
    self.short = short
    self.long = long
    self.attribution = attribution
  }
}
