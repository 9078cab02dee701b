/// The terms of use of a well-known provider of maps, by the hosts of its tiles.
///
/// They are a summary of what the provider's page said when this version was made. The page decides. They apply to
/// every source of these hosts: the rate to all requests together, the lifetime to a source whose address names such a
/// host, and `bulk` to regions and prefetching.
package struct ProviderTerms: Sendable, Hashable {
  /// The attitude to loading an area in advance.
  package enum Bulk: String, Sendable {
    /// Permitted.
    case allowed
    /// The provider has to be asked, or a plan allows it. `allowsBulkDownload` of a source says that it is so.
    case byAgreement
    /// Forbidden. A region of such a source is refused, whatever the source says.
    case forbidden
  }

  /// A short name, such as `openstreetmap`.
  package var name: String
  /// The ends of the names of its hosts.
  package var hosts: [String]
  /// The attitude to loading an area in advance.
  package var bulk: Bulk
  /// The requests of a second that all users of a key may send together, or `nil` if the provider states no number.
  ///
  /// A provider with several services has the number of the strictest.
  package var requestsPerSecond: Int?
  /// The requests of a month that a free use may send, or `nil` if the provider states no number.
  package var requestsPerMonth: Int?
  /// The shortest time in days to keep a copy before asking again, if the server states none, or `nil`.
  package var leastDays: Int?
  /// The last zoom with tiles, or `nil` if the terms state none.
  package var lastZoom: Int?
  /// The address of the page.
  package var page: String
  /// A remark, as a sentence.
  package var remark: String

  /// Returns the terms for a host, or `nil` for a host that isn't known.
  ///
  /// A dot at the end of a name is that of the root, and changes no host.
  package static func of(host: String) -> ProviderTerms? {
    let name = host.hasSuffix(".") ? String(host.dropLast()) : host
    return known.first { $0.hosts.contains { isBelow($0, name) } }
  }

  /// Returns true for the name itself, and for names that end in a dot and the name.
  private static func isBelow(_ name: String, _ host: String) -> Bool {
    host.hasSuffix(name) && (host.dropLast(name.count).last ?? ".") == "."
  }

  /// The known providers, by name.
  package static let known: [ProviderTerms] = [
    ProviderTerms(
      name: "carto", hosts: ["basemaps.cartocdn.com"], bulk: .byAgreement,
      page: "https://docs.carto.com/faqs/carto-basemaps",
      remark:
        "Free use is for projects that earn nothing, and its terms forbid to store content. Others need a licence."
    ),
    ProviderTerms(
      name: "google", hosts: ["tile.googleapis.com", "maps.googleapis.com", "google.com"], bulk: .forbidden,
      requestsPerSecond: 100, page: "https://cloud.google.com/maps-platform/terms",
      remark: "Content of maps may not be kept, except where the terms of a service say so."),
    ProviderTerms(
      name: "mapbox", hosts: ["api.mapbox.com", "tiles.mapbox.com"], bulk: .byAgreement,
      requestsPerSecond: 100, page: "https://www.mapbox.com/legal/tos",
      remark:
        "Each device loads its own copies from the service, for one user, and its own library limits how many."
    ),
    ProviderTerms(
      name: "maptiler", hosts: ["api.maptiler.com"], bulk: .byAgreement,
      page: "https://docs.maptiler.com/guides/account/export-multiplier/",
      remark: "A key is required. Tiles for use elsewhere are counted many times, and need an approval."),
    ProviderTerms(
      name: "openfreemap", hosts: ["openfreemap.org"], bulk: .allowed, page: "https://openfreemap.org",
      remark: "There are no limits on requests, and no keys. Its attribution is required."),
    ProviderTerms(
      name: "openmaps-fr", hosts: ["tile.openmaps.fr"], bulk: .byAgreement, requestsPerMonth: 400_000,
      page: "https://openmaps.fr/tile-usage-policy.html",
      remark: "The tiles are for projects that earn nothing, as the server lives on donations."),
    ProviderTerms(
      name: "openstreetmap", hosts: ["tile.openstreetmap.org"], bulk: .forbidden,
      leastDays: 7, page: "https://operations.osmfoundation.org/policies/tiles/",
      remark:
        "The servers are for looking at the map, not for loading it in advance. Requests must name the app."),
    ProviderTerms(
      name: "openstreetmap-vector", hosts: ["vector.openstreetmap.org"], bulk: .forbidden,
      leastDays: 7, page: "https://operations.osmfoundation.org/policies/vector/",
      remark:
        "The servers are for looking at the map. Whole packages are at https://shortbread-tiles.org/download/."
    ),
    ProviderTerms(
      name: "protomaps", hosts: ["api.protomaps.com"], bulk: .byAgreement, requestsPerMonth: 1_000_000,
      lastZoom: 15, page: "https://protomaps.com/api",
      remark: "A key is required. For an area, load a part of the daily archive instead of single tiles."),
    ProviderTerms(
      name: "swisstopo", hosts: ["geo.admin.ch"], bulk: .byAgreement,
      page: "https://www.geo.admin.ch/en/general-terms-of-use-fsdi",
      remark: "Moderate use is free, within a number of requests. For an area, load the files of the data."
    ),
    ProviderTerms(
      name: "thunderforest", hosts: ["thunderforest.com"], bulk: .byAgreement,
      page: "https://www.thunderforest.com/terms/",
      remark: "An area may be loaded in advance with a written permission, and not on the free plans."),
  ]

  /// Throws `BothyError.bulkForbidden` if no source with these hosts may be loaded in advance.
  package static func checkBulk(_ hosts: some Sequence<String>) throws(BothyError) {
    for host in hosts {
      guard let terms = of(host: host), terms.bulk == .forbidden else { continue }
      throw BothyError(
        .bulkForbidden,
        "\(host) may not be loaded in advance, by the terms at \(terms.page). Choose another provider for a region."
      )
    }
  }

  /// Returns the freshness rule of a source with these terms. A rule that the app chose itself stays.
  package func applied(to rule: FreshnessRule) -> FreshnessRule {
    guard let leastDays, rule.base == .http(min: 0, max: .max, otherwise: 0) else { return rule }
    return rule.otherwise(.days(leastDays))
  }

  /// Returns the terms of the provider of a host, if they state a rate.
  static func withRate(_ origin: Origin) -> ProviderTerms? {
    guard let terms = of(host: origin.host), terms.requestsPerSecond != nil else { return nil }
    return terms
  }
}

extension ResourceSource {
  /// Returns the names of the hosts that may receive requests for a resource, without ports.
  package func hosts(for key: ResourceKey) -> [String] {
    (0..<max(1, hosts.count)).compactMap { Origin(publicURL(for: key, host: $0))?.host }
  }

  /// The hosts that the address names. A source of any address, or with a rule of the app's own, may name none.
  private var namedHosts: [String] {
    switch address.form {
    case .anywhere: []
    case .custom: hosts
    case .base: hosts(for: ResourceKey(id, path: ""))
    case .tiles: hosts(for: ResourceKey(id, zoom: 0, x: 0, y: 0))
    }
  }

  /// Returns the source with the lifetime that the terms of its hosts demand.
  func underTerms() -> ResourceSource {
    var source = self
    for host in namedHosts {
      guard let terms = ProviderTerms.of(host: host) else { continue }
      source.freshness = terms.applied(to: source.freshness)
    }
    return source
  }
}

extension ResourceCache {
  /// Returns true if a resource may be loaded before a reader asks for it: its source allows that, and no terms of a
  /// host forbid it. A source that isn't registered allows nothing.
  package func allowsBulk(_ key: ResourceKey) -> Bool {
    guard let source = registry[key.source]?.source, source.allowsBulkDownload else { return false }
    return source.hosts(for: key).allSatisfy { ProviderTerms.of(host: $0)?.bulk != .forbidden }
  }
}
