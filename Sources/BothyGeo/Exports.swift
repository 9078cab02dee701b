// Tiles are read through a cache, and places are coordinates and records of a store.
@_exported public import BothyCache
@_exported public import BothyStore
