extension CacheSettings {
  /// A setting that was ignored, with the reason. The next place of the setting or the default counts instead.
  ///
  /// It is reported and never thrown by a cache, which opens with the rest of its settings. `description` has all of it
  /// in one line, for logs.
  public struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the setting, `CacheSettings.Key.rawValue`, or a key of route-me's list.
    package var key: String
    /// The place of the value.
    package var place: String
    /// The reason as a sentence.
    package var reason: String

    /// Describes a setting that was ignored, for readers of settings from other places.
    package init(key: String, place: String, reason: String) {
      self.key = key
      self.place = place
      self.reason = reason
    }

    /// The name, the place and the reason in one line, for logs.
    public var description: String { "\(key) in \(place): \(reason)" }
  }
}
