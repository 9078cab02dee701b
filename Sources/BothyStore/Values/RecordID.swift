/// Which record: the name of its type and its id within the type. Ids are any text, compared byte by byte.
public struct RecordID: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The name of the type in the schema.
  public var type: String
  /// The id within the type.
  public var id: String

  /// Names a record, which need not exist.
  public init(type: String, id: String) {
    self.type = type
    self.id = id
  }

  public var description: String { "\(type)/\(id)" }

  /// Byte by byte, as SQLite compares; Swift's own `==` takes canonically equivalent texts for equal.
  public static func == (left: RecordID, right: RecordID) -> Bool {
    left.id.utf8.elementsEqual(right.id.utf8) && left.type.utf8.elementsEqual(right.type.utf8)
  }

  private static func hash(_ text: String, into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(0 as UInt8)
  }

  public func hash(into hasher: inout Hasher) {
    Self.hash(type, into: &hasher)
    Self.hash(id, into: &hasher)
  }
}
