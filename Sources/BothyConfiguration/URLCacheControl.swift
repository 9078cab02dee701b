public import Foundation
internal import Synchronization

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// Whether the URL cache that all of the app shares is switched off in memory, as route-me's
/// `kRMDisableGlobalURLCache` does it. Off means that it keeps nothing there; Bothy's own requests never use it.
public enum URLCacheControl {
  /// The name under which it is stored in user defaults.
  public static let key = "kRMDisableGlobalURLCache"

  private static let previous = Mutex<Int?>(nil)

  /// What is stored; no unless somebody said yes.
  public static func isDisabled(in defaults: UserDefaults = .standard) -> Bool { defaults.bool(forKey: key) }

  /// Stores the choice and applies it: yes sets the capacity in memory to zero, no gives back what it was before.
  public static func setDisabled(_ isDisabled: Bool, in defaults: UserDefaults = .standard) {
    defaults.set(isDisabled, forKey: key)
    apply(defaults)
  }

  /// Applies what is stored, to be called when the app starts. Where nothing is stored the cache is left alone.
  public static func apply(_ defaults: UserDefaults = .standard) {
    previous.withLock { previous in
      if defaults.bool(forKey: key) {
        if previous == nil { previous = URLCache.shared.memoryCapacity }
        URLCache.shared.memoryCapacity = 0
      } else if let capacity = previous {
        URLCache.shared.memoryCapacity = capacity
        previous = nil
      }
    }
  }
}
