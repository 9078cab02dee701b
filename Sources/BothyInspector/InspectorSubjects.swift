package import BothyCache
package import BothyGeo
package import BothyStore
package import BothySync

/// What an inspector looks at: one database, and whatever else of the app was named. Opened and closed by others.
package struct InspectorSubjects: Sendable {
  package var store: SyncedStore
  /// Where the database's server is; nil when it has none.
  package var server: Server?
  package var caches: [Cache] = []
  package var places: [PlaceFile] = []
  /// Files of settings beside the database, which may hold some as well.
  package var settings: [Store] = []
  /// Folders of packs, each a pack or a place that packs are installed in.
  package var packs: [String] = []

  package init(_ store: SyncedStore, server: Server? = nil) {
    self.store = store
    self.server = server
  }

  package struct Server: Sendable {
    package var url: String
    package var space: String
    /// Asks the server whether it is there. One round trip.
    package var isReachable: @Sendable () async -> Bool

    package init(url: String, space: String, isReachable: @escaping @Sendable () async -> Bool) {
      self.url = url
      self.space = space
      self.isReachable = isReachable
    }
  }

  package struct Cache: Sendable {
    package var folder: String
    package var cache: ResourceCache
    package var limits: BlobStoreLimits
    package var regions: OfflineRegions?

    package init(
      folder: String, cache: ResourceCache, limits: BlobStoreLimits = BlobStoreLimits(),
      regions: OfflineRegions? = nil
    ) {
      self.folder = folder
      self.cache = cache
      self.limits = limits
      self.regions = regions
    }
  }

  package struct PlaceFile: Sendable {
    package var places: Places
    /// Whose data it is.
    package var attributions: [String]

    package init(_ places: Places, attributions: [String] = []) {
      self.places = places
      self.attributions = attributions
    }
  }

  /// Milliseconds since 1970, by the store's clock.
  var now: Int64 { store.clock.now() }
}
