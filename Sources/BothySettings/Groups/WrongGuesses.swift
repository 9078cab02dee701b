// Likely wrong guesses, answered by the compiler with the right call. No symbol here is ever called.

extension HostedSettingsGroup {
  @available(*, unavailable, message: "Write the defaults: `Reading.update { $0 = Reading() }`.")
  public static func reset() throws {}
  @available(*, unavailable, message: "Use `Reading.update { $0.fontSize = 19 }`.")
  public static func set<Value>(_ property: KeyPath<Self, Value>, _ value: Value) throws {}
}
