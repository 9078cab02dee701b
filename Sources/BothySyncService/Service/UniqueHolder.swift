/// A record that has, or had, a value of a unique field.
public struct UniqueHolder: Sendable, Hashable {
  /// The value.
  public var value: UniqueFieldValue
  /// The record's id; its type is the value's.
  public var id: String

  /// Makes a holder, for the server and its storage.
  public init(value: UniqueFieldValue, id: String) {
    self.value = value
    self.id = id
  }
}
