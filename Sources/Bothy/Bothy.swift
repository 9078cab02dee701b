/// The module that an app imports: the store, settings, packs, sync with the server, the cache, and maps.
@_exported public import BothyCache
@_exported public import BothyGeo
@_exported public import BothyHTTP
@_exported public import BothyPacks
@_exported public import BothySettings
@_exported public import BothyStore
@_exported public import BothySync
