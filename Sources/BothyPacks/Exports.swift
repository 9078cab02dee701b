// Packs are read like stores and downloaded through a cache.
@_exported public import BothyCache
@_exported public import BothyStore
