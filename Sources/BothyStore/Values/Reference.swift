/// Names another record of type `Target` by its id. The record may be absent from this device; nothing is
/// fetched until asked for (`Store.resolve`).
public struct Reference<Target: Entity>: Sendable, Hashable {
  /// The id of the record that is referred to.
  public var id: String

  /// Refers to a record by its id, whether or not it is here.
  public init(id: String) { self.id = id }
  /// Refers to `target`, by its id alone.
  public init(_ target: Target) { id = target.id }

  /// The record that is referred to, for calls that take no Swift type.
  public var recordID: RecordID { RecordID(type: Target.typeName, id: id) }
}
