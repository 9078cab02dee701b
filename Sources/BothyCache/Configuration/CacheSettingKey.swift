/// The names of a cache's settings in user defaults and property lists.
///
/// They are part of the API, so that settings panels and launch arguments may use them.
package enum CacheSettingKey: String, Sendable, Hashable, CaseIterable {
  /// The most bytes in memory: a whole number, not negative.
  ///
  /// Zero keeps nothing in memory.
  case memoryBytes = "bothy.cache.memory.bytes"
  /// The most entries in memory: a whole number from one on. Without it any number is kept.
  case memoryCount = "bothy.cache.memory.count"
  /// `scanResistant`, `leastRecentlyUsed` or `firstIn`. Case does not count.
  case memoryOrder = "bothy.cache.memory.order"
  /// The most bytes of decoded values: a whole number, not negative.
  case decodedBytes = "bothy.cache.decoded.bytes"
  /// The most bytes on disk: a whole number, not negative.
  ///
  /// Pinned entries do not count.
  case diskBytes = "bothy.cache.disk.bytes"
  /// The most entries on disk: a whole number from one on. Pinned entries do not count.
  case diskCount = "bothy.cache.disk.count"
  /// `leastRecentlyUsed` or `firstIn`. Case does not count.
  case diskOrder = "bothy.cache.disk.order"
}

/// One value of a setting, from any place where settings are stored.
package enum CacheSettingValue: Sendable, Hashable {
  /// A whole number. `CacheSettings.set` checks its range.
  case number(Int)
  /// A word, or a number in decimal digits as in environments and launch arguments.
  ///
  /// A text that isn't a whole number is refused for a setting that is one.
  case text(String)
}

/// A setting that was ignored, with the reason. The next place of the setting or the default counts instead.
///
/// It is reported and never thrown by a cache, which opens with the rest of its settings. `description` has all of it
/// in one line, for logs.
public struct CacheSettingProblem: Error, Sendable, Hashable, CustomStringConvertible {
  /// The name of the setting, `CacheSettingKey.rawValue`, or a key of route-me's list.
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

extension CacheSettings {
  /// Sets a value. Returns the reason if the value isn't valid for the setting.
  package mutating func set(_ key: CacheSettingKey, to value: CacheSettingValue) -> String? {
    switch key {
    case .memoryOrder, .diskOrder: return setOrder(key, value)
    case .memoryBytes, .memoryCount, .decodedBytes, .diskBytes, .diskCount: break
    }
    let number: Int
    switch value {
    case .number(let given): number = given
    case .text(let text):
      guard let given = Int(text) else { return "\"\(text)\" isn't a whole number." }
      number = given
    }
    let least = key == .memoryCount || key == .diskCount ? 1 : 0
    guard number >= least else { return "\(number) is too small; it is \(least) at least." }
    switch key {
    case .memoryBytes: memory.bytes = number
    case .memoryCount: memory.count = number
    case .decodedBytes: decodedBytes = number
    case .diskBytes: disk.bytes = Int64(number)
    case .diskCount: disk.count = number
    case .memoryOrder, .diskOrder: break
    }
    return nil
  }

  private mutating func setOrder(_ key: CacheSettingKey, _ value: CacheSettingValue) -> String? {
    guard case .text(let text) = value else { return "It is a word, not a number." }
    let known = MemoryLimits.Order.allCases.first { $0.rawValue.lowercased() == text.lowercased() }
    switch (key, known) {
    case (.memoryOrder, let order?): memory.order = order
    case (.diskOrder, .leastRecentlyUsed): disk.order = .leastRecentlyUsed
    case (.diskOrder, .firstIn): disk.order = .firstIn
    default:
      return "\"\(text)\" isn't an order; there are leastRecentlyUsed, firstIn and, in memory, scanResistant."
    }
    return nil
  }
}
