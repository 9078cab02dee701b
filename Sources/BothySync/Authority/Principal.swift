/// Who acts on the server, as authentication found it.
public struct Principal: Sendable, Hashable {
  /// The name that owns records; nil for somebody who gave no token.
  public var name: String?

  public init(_ name: String?) { self.name = name }

  public static let anonymous = Principal(nil)
}
