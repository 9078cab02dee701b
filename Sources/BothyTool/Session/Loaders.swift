import BothyCache
import BothyHTTP

/// The way to the network for what is cached: the platform's own.
enum Loaders {
  #if canImport(Darwin)
    static func make() -> any ResourceLoader { URLSessionLoader() }
  #else
    static func make() -> any ResourceLoader { AsyncHTTPClientLoader() }
  #endif
}
