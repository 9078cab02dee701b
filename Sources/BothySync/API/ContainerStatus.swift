extension StoreSubscriptions {
  /// How far a scope has been pulled.
  public struct ScopeStatus: Sendable, Hashable {
    /// The container, with or without those below it.
    public var scope: SyncScope
    /// The position of the next pull, opaque; nil before the first complete one, and after a reset.
    public var cursor: String?
    /// Whether a pull was ever completed.
    public var isComplete: Bool
    /// Whether pages of a pull are waiting for the last one.
    public var isFilling: Bool
    /// When a pull was last completed, in milliseconds since 1970; nil when none was.
    public var pulledAt: Int64?
  }
}

extension StoreSubscriptions.ScopeStatus {
  /// A scope of which no pull has begun.
  package init(notBegun scope: SyncScope) {
    self.init(scope: scope, cursor: nil, isComplete: false, isFilling: false, pulledAt: nil)
  }
}
