public import Foundation
internal import Synchronization

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// The switch that turns the app's shared URL cache off in memory, like route-me's `kRMDisableGlobalURLCache`.
///
/// While it is off, the URL cache stores nothing in memory. Bothy's own requests never use it.
public enum URLCacheControl {
  /// The name of the choice in user defaults.
  public static let key = "kRMDisableGlobalURLCache"

  private static let previous = Mutex<Int?>(nil)

  /// True if the stored choice is yes. A missing value counts as no.
  public static func isDisabled(in defaults: UserDefaults = .standard) -> Bool { defaults.bool(forKey: key) }

  /// Stores the choice and applies it. Yes sets the capacity in memory to zero, and no restores the earlier capacity.
  public static func setDisabled(_ isDisabled: Bool, in defaults: UserDefaults = .standard) {
    defaults.set(isDisabled, forKey: key)
    apply(defaults)
  }

  /// Applies the stored choice. Call it when the app starts. Without a stored choice, the URL cache does not change.
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
