import BothyCache

extension RequestCoalescer {
  /// Returns the result of the key's running load, or runs `work`. All callers share the result, whatever its error.
  ///
  /// A load that was cancelled isn't a result. It begins again for callers that still wait.
  func result<Success: Sendable>(
    for key: Key, priority: ResourceCache.Priority,
    _ work: @escaping @Sendable (InFlightRequest) async throws -> Success
  ) async throws -> Success where Value == Result<Success, any Error> {
    try await value(for: key, priority: priority) { inFlight async throws(LoadFailure) in
      do {
        return .success(try await work(inFlight))
      } catch let failure as LoadFailure where failure.reason == .cancelled {
        throw failure
      } catch { return .failure(error) }
    }.get()
  }
}
