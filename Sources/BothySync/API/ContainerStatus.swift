extension StoreSubscriptions {
  /// The progress of the pull of a scope.
  public struct ScopeStatus: Sendable, Hashable {
    /// The container, with or without those below it.
    public var scope: SyncScope
    /// The position of the next pull, opaque; nil before the first complete one, and after a reset.
    package var cursor: String?
    /// True if a pull was completed before.
    public var isComplete: Bool
    /// True if pages of a pull are waiting for the last one.
    package var isFilling: Bool
    /// The time of the last completed pull, in milliseconds since 1970, or `nil` if none was completed.
    package var pulledAt: Int64?
  }
}

extension StoreSubscriptions.ScopeStatus {
  /// A scope of which no pull has begun.
  package init(notBegun scope: SyncScope) {
    self.init(scope: scope, cursor: nil, isComplete: false, isFilling: false, pulledAt: nil)
  }
}
