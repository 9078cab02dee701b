import BothyCache
import BothyHTTP

/// The loader of the cache: the network stack of the platform.
enum Loaders {
  #if canImport(Darwin)
    static func make() -> any ResourceLoader { URLSessionLoader() }
  #else
    static func make() -> any ResourceLoader { AsyncHTTPClientLoader() }
  #endif
}
