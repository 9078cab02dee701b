import Testing

/// A requirement of every storage: what it claims, and how a storage is checked for it.
struct ConformanceCheck<Storage>: Sendable, CustomTestStringConvertible {
  let claim: String
  let run: @Sendable (Storage) async throws -> Void
  var testDescription: String { claim }

  init(_ claim: String, _ run: @escaping @Sendable (Storage) async throws -> Void) {
    self.claim = claim
    self.run = run
  }
}
