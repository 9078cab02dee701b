/// A value of a unique field, by which a storage finds the records that have it. Values are compared byte by byte.
public struct UniqueFieldValue: Sendable, Hashable {
  /// The type of the records.
  public var type: String
  /// The unique field, or fields that are unique together, with commas.
  public var field: String
  /// The text of the value, unique among values: its canonical JSON, or a checksum of that if it is long. Values of
  /// several fields have commas between them.
  public var value: String

  /// Makes a value, for the server and its storage.
  public init(type: String, field: String, value: String) {
    self.type = type
    self.field = field
    self.value = value
  }

  /// The names of the fields, one or several.
  var fields: [String] { field.split(separator: ",").map(String.init) }

  /// Compares byte by byte, like SQLite. Swift's own `==` treats canonically equivalent texts as equal.
  public static func == (left: UniqueFieldValue, right: UniqueFieldValue) -> Bool {
    left.value.hasSameBytes(as: right.value) && left.field.hasSameBytes(as: right.field)
      && left.type.hasSameBytes(as: right.type)
  }

  /// Hashes the value alone, because few fields share one.
  public func hash(into hasher: inout Hasher) { ExactText.hash(value, into: &hasher) }
}
