import BothyStore

/// Values with a time at which they end. Forgets all of them when it is full.
package struct Memo<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private var values: [Key: (value: Value, from: Int64, until: Int64)] = [:]
  private let limit: Int

  /// Creates an empty memory of at most `limit` values.
  package init(limit: Int) { self.limit = limit }

  /// Returns a value before its end. It ends too when the clock was set back.
  package func read(_ key: Key, at now: Int64) -> Value? {
    guard let entry = values[key], entry.from <= now, now < entry.until else { return nil }
    return entry.value
  }

  /// Remembers a value for `time` milliseconds.
  package mutating func keep(_ key: Key, _ value: Value, at now: Int64, for time: Int64) {
    if values.count >= limit, values[key] == nil { values.removeAll() }
    values[key] = (value, now, now.addingClamped(time))
  }

  /// The value without regard to its end. Setting it keeps the end. A value that isn't remembered can't be set.
  package subscript(_ key: Key) -> Value? {
    get { values[key]?.value }
    set {
      guard let newValue else { return values[key] = nil }
      values[key]?.value = newValue
    }
  }
}
