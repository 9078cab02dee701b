/// One thing that is wrong at the end of a history, or on the way.
struct TypesProblem: Sendable, Hashable, CustomStringConvertible {
  /// What a smaller history must show, too, to fail in the same way.
  enum Kind: String, Sendable {
    case threw, refused, stuck, fetched
    case pending, absent, differing, version, container, metadata, sharing, diagnosis, receipt
  }

  var kind: Kind
  var text: String

  var description: String { "\(kind.rawValue): \(text)" }
}
