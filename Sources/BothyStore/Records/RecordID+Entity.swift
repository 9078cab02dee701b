public import BothyCore

extension RecordID {
  /// Makes the id of a record of a known type: `RecordID(Todo.self, id: "milk")`. The record need not exist. Uses
  /// `Entity.typeName`, so a type with a name of its own fits too.
  public init<E: Entity>(_ type: E.Type, id: String) { self.init(type: E.typeName, id: id) }

  /// Makes the id of a value's record. The record need not be saved. Ids are compared byte by byte.
  public init<E: Entity>(_ value: E) { self.init(type: E.typeName, id: value.id) }
}
