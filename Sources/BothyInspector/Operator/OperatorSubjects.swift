/// The source of an operator's page: documents by name, and looks at running servers.
package struct OperatorSubjects: Sendable {
  /// Returns the JSON of a document with the parameters of a request, or `nil` for an unknown name. It may throw
  /// `BothyError`, whose message the page shows.
  package var document: @Sendable (String, [String: String]) async throws -> [UInt8]?
  /// Looks at the servers again. It must return soon, also if none of them answers.
  package var look: @Sendable () async -> Void
  /// The time between two looks, after each of which the page reads everything again.
  package var interval: Duration

  package init(
    interval: Duration = .seconds(5), look: @escaping @Sendable () async -> Void = {},
    document: @escaping @Sendable (String, [String: String]) async throws -> [UInt8]?
  ) {
    self.interval = interval
    self.look = look
    self.document = document
  }
}
