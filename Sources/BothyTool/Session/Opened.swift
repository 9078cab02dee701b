/// A value that a command opens and closes at its end.
enum Opened {
  /// Runs `body` with a value and then `close`, also after an error of `body`, which is then the one that is thrown.
  static func use<Value, Result>(
    _ value: Value, _ body: (Value) async throws -> Result, close: (Value) async throws -> Void
  ) async throws -> Result {
    let result: Result
    do { result = try await body(value) } catch {
      // The first error is the one to report.
      try? await close(value)
      throw error
    }
    try await close(value)
    return result
  }
}
