public import BothyCore

extension RecordID {
  /// Makes the id of a record of a known type: `RecordID(Todo.self, id: "milk")`.
  public init<E: Entity>(_ type: E.Type, id: String) { self.init(type: E.typeName, id: id) }

  /// Makes the id of a value's record.
  public init<E: Entity>(_ value: E) { self.init(type: E.typeName, id: value.id) }
}
