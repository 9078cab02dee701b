/// A way from a record to others, along references: `"author.avatar"` follows the field `author`, then the field
/// `avatar` of what it names. `records(of:by:)` follows references backwards, to the records that refer to this one.
package struct ReferencePath: Sendable, Hashable, ExpressibleByStringLiteral {
  enum Step: Sendable, Hashable {
    case field(String)
    case records(type: String, field: String)
  }

  private(set) var steps: [Step]

  /// The start: the records themselves.
  package init() { steps = [] }

  /// Field names with dots between them.
  package init(_ path: String) { steps = path.split(separator: ".").map { .field(String($0)) } }

  package init(stringLiteral path: String) { self.init(path) }

  /// On to the records of `type` whose reference `field` names one of those here.
  package func records(of type: String, by field: String) -> ReferencePath {
    appending(.records(type: type, field: field))
  }

  private func appending(_ step: Step) -> ReferencePath {
    var path = self
    path.steps.append(step)
    return path
  }
}
