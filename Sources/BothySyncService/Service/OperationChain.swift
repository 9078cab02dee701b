import BothyStore

/// Resolves operations that were made on top of others of one request. Pure.
struct OperationChain {
  /// The versions that operations of the request have made, by their ids. Kept only if an operation refers to another.
  private var versions: [String: String] = [:]
  private let isUsed: Bool

  init(_ operations: [SyncOperation]) { isUsed = operations.contains { $0.after != nil } }

  /// Returns the verdicts on a unit of operations if one was made on top of an operation that this request did not
  /// apply before. Otherwise returns `nil`.
  func waiting(_ unit: [SyncOperation]) -> [Outcome.Verdict]? {
    guard isUsed, let missing = unit.lazy.compactMap(\.after).first(where: { versions[$0] == nil }) else {
      return nil
    }
    return unit.map { _ in .waiting(on: missing) }
  }

  /// Returns the operation against the version that the one before it has made.
  func resolved(_ operation: SyncOperation) -> SyncOperation {
    guard isUsed, let after = operation.after, operation.kind != .insert else { return operation }
    var resolved = operation
    resolved.base = versions[after]
    return resolved
  }

  mutating func note(_ operation: SyncOperation, _ verdict: Outcome.Verdict) {
    guard isUsed else { return }
    switch verdict {
    case .applied(let version, _, _), .duplicate(let version, _, _): versions[operation.id] = version
    case .conflict, .rejected, .waiting: break
    }
  }
}
