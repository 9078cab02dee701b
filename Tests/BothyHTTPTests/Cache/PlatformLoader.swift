import BothyCache
import BothyHTTP
import BothySync

#if canImport(Darwin)
  /// Returns the loader of this platform.
  func platformLoader(monitor: (any ReachabilityMonitor)? = nil) -> any ResourceLoader {
    URLSessionLoader(monitor: monitor ?? NetworkFeed())
  }
#else
  /// Returns the loader of this platform.
  func platformLoader(monitor: (any ReachabilityMonitor)? = nil) -> any ResourceLoader {
    AsyncHTTPClientLoader(monitor: monitor)
  }
#endif
