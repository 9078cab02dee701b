/// Values of sensitive fields on their way to the server, by field. They are in no description.
public struct Secrets: Sendable, Hashable {
  public var values: [String: String]

  public init(_ values: [String: String] = [:]) { self.values = values }

  public var isEmpty: Bool { values.isEmpty }
}

extension Secrets: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "\(values.count) secrets" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
