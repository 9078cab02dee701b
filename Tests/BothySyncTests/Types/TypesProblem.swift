/// One problem at the end of a history, or on the way.
struct TypesProblem: Sendable, Hashable, CustomStringConvertible {
  /// The kind of problem. A smaller history must show the same kind to count as the same failure.
  enum Kind: String, Sendable {
    case threw, refused, stuck, fetched
    case pending, absent, differing, version, container, metadata, sharing, diagnosis, receipt
  }

  var kind: Kind
  var text: String

  var description: String { "\(kind.rawValue): \(text)" }
}
