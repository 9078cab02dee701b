import BothyCache

/// The terms of use of a well-known provider of maps, by the hosts of its tiles.
///
/// They are a summary of what the provider's page said when this version was made. The page decides.
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
  package static func of(host: String) -> ProviderTerms? {
    known.first { $0.hosts.contains { host == $0 || host.hasSuffix("." + $0) } }
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
      page: "https://cloud.google.com/maps-platform/terms",
      remark: "Content of maps may not be kept, except where the terms of a service say so."),
    ProviderTerms(
      name: "mapbox", hosts: ["api.mapbox.com", "tiles.mapbox.com"], bulk: .byAgreement,
      page: "https://www.mapbox.com/legal/tos",
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
    var longer = FreshnessRule.http(otherwise: .days(leastDays))
    longer.staleUse = rule.staleUse
    return longer
  }
}
