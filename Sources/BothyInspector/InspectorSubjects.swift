package import BothyCache
package import BothyGeo
package import BothyStore
package import BothySync

/// The subjects of an inspector: one database, and the app's other files that were named. The caller opens and closes
/// them.
package struct InspectorSubjects: Sendable {
  package var store: SyncedStore
  /// The database's server, or `nil` if it has none.
  package var server: Server?
  package var caches: [Cache] = []
  package var places: [PlaceDatabase] = []
  /// The files of settings beside the database, which may also have settings.
  package var settings: [LocalStore] = []
  /// The folders of packs. Each is a pack or a folder that packs are installed in.
  package var packs: [String] = []

  package init(_ store: SyncedStore, server: Server? = nil) {
    self.store = store
    self.server = server
  }

  package struct Server: Sendable {
    package var url: String
    package var space: String
    /// Returns true if the server responds. Costs one round trip.
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
    package var limits: DiskCache.Limits
    package var regions: OfflineRegions?

    package init(
      folder: String, cache: ResourceCache, limits: DiskCache.Limits = DiskCache.Limits(),
      regions: OfflineRegions? = nil
    ) {
      self.folder = folder
      self.cache = cache
      self.limits = limits
      self.regions = regions
    }
  }

  package struct PlaceDatabase: Sendable {
    package var places: PlaceStore
    /// The attributions of the data's owners.
    package var attributions: [String]

    package init(_ places: PlaceStore, attributions: [String] = []) {
      self.places = places
      self.attributions = attributions
    }
  }

  /// The current time in milliseconds since 1970, by the store's clock.
  var now: Int64 { store.clock.now() }
}
