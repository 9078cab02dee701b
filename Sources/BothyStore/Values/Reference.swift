/// Names another record of type `Target` by its id. The record may be absent from this device; nothing is
/// fetched until asked for (`Store.resolve`).
public struct Reference<Target: Entity>: Sendable, Hashable {
  public var id: String

  public init(id: String) { self.id = id }
  public init(_ target: Target) { id = target.id }

  public var recordID: RecordID { RecordID(type: Target.typeName, id: id) }
}
