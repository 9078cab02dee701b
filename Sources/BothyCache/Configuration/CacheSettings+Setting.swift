extension CacheSettings {
  /// Sets a value. Returns the reason if the value isn't valid for the setting.
  package mutating func set(_ key: CacheSettings.Key, to value: CacheSettings.Value) -> String? {
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

  private mutating func setOrder(_ key: CacheSettings.Key, _ value: CacheSettings.Value) -> String? {
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
