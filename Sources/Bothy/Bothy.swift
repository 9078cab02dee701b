/// All that an app imports: the store, the road to the server, and the client that walks it.
@_exported public import BothyHTTP
@_exported public import BothyStore
@_exported public import BothySync
