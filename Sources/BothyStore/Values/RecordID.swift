/// Which record: the name of its type and its id within the type. Ids are any text, compared byte by byte.
public struct RecordID: Sendable, Hashable, CustomStringConvertible {
  public var type: String
  public var id: String

  public init(type: String, id: String) {
    self.type = type
    self.id = id
  }

  public var description: String { "\(type)/\(id)" }
}
