import BothyCache
import BothyHTTP

#if canImport(Darwin)
  /// The loader of this platform.
  func platformLoader() -> any ResourceLoader { URLSessionLoader() }
#else
  /// The loader of this platform.
  func platformLoader() -> any ResourceLoader { AsyncHTTPClientLoader() }
#endif
