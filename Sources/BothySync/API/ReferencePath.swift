public import BothyStore

/// A way from a record to others, along references: `"author.avatar"` follows the field `author`, then the field
/// `avatar` of what it names. `records(of:by:)` follows references backwards, to the records that refer to this one.
public struct ReferencePath: Sendable, Hashable, ExpressibleByStringLiteral {
  enum Step: Sendable, Hashable {
    case field(String)
    case records(type: String, field: String)
  }

  private(set) var steps: [Step]

  /// The start: the records themselves.
  public init() { steps = [] }

  /// Field names with dots between them.
  public init(_ path: String) { steps = path.split(separator: ".").map { .field(String($0)) } }

  public init(stringLiteral path: String) { self.init(path) }

  /// The fields of a key path's name, for `RecordQuery`-like spelling.
  public init(_ field: some FieldExpression) { self.init(field.name) }

  /// On to what the field names.
  public func to(_ field: String) -> ReferencePath { appending(.field(field)) }

  /// On to the records of `type` whose reference `field` names one of those here.
  public func records(of type: String, by field: String) -> ReferencePath {
    appending(.records(type: type, field: field))
  }

  private func appending(_ step: Step) -> ReferencePath {
    var path = self
    path.steps.append(step)
    return path
  }
}
