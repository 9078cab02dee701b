import BothyCache
import BothyHTTP
import BothySync

/// Returns the loader of this platform. Without a monitor, the network counts as online.
func platformLoader(monitor: (any ReachabilityMonitor)? = nil) -> any ResourceLoader {
  HTTPLoader(monitor: monitor ?? NetworkFeed())
}
