extension CacheSettings {
  /// One value of a setting, from any place where settings are stored.
  package enum Value: Sendable, Hashable {
    /// A whole number. `CacheSettings.set` checks its range.
    case number(Int)
    /// A word, or a number in decimal digits as in environments and launch arguments.
    ///
    /// A text that isn't a whole number is refused for a setting that is one.
    case text(String)
  }
}
