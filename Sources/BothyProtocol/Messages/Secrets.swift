/// Values of sensitive fields on their way to the server, by field. They are in no description.
public struct Secrets: Sendable, Hashable {
  /// By the fields' names.
  public var values: [String: String]

  /// None unless told otherwise.
  public init(_ values: [String: String] = [:]) { self.values = values }

  /// Whether there is no value.
  public var isEmpty: Bool { values.isEmpty }
}

extension Secrets: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "\(values.count) secrets" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
