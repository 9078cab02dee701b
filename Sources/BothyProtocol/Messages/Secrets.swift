/// The values of sensitive fields in an operation, by field. Descriptions don't contain them.
public struct Secrets: Sendable, Hashable {
  /// The values by the names of fields.
  public var values: [String: String]

  /// Makes secrets, empty by default.
  package init(_ values: [String: String] = [:]) { self.values = values }

  /// True if it has no values.
  package var isEmpty: Bool { values.isEmpty }
}

extension Secrets: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "\(values.count) secrets" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
