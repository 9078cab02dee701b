/// All that an app imports: the store, settings, packs, the road to the server, the client that walks it, the cache, and
/// the map room.
@_exported public import BothyCache
@_exported public import BothyGeo
@_exported public import BothyHTTP
@_exported public import BothyPacks
@_exported public import BothySettings
@_exported public import BothyStore
@_exported public import BothySync
