/// The way in which a new local change joins the last pending one of its record. Pure.
package enum ChangeCoalescing: Equatable, Sendable {
  /// Nothing was pending. A change of this kind begins, with the earlier row as its base.
  case begin(ChangeKind)
  /// The last change is sent without the new one. A change of this kind begins on top of it.
  case stack(ChangeKind)
  /// The last change takes this kind and keeps its base.
  case become(ChangeKind)
  /// The record was created and deleted before the server received it. The last change is deleted.
  case annihilate

  /// The last pending change of a record.
  package struct Last: Sendable {
    package var kind: ChangeKind
    /// True if it was sent and its outcome is unknown.
    package var wasSent: Bool
    /// True if the record existed before it: on the server, or by a change beneath.
    package var hasBase: Bool
    /// True if it is stacked on others.
    package var isLater: Bool
    /// The transaction that it is sent with, or `nil`.
    package var group: String?
    /// The transaction that it was sent with, or `nil`.
    package var sentGroup: String?

    package init(
      _ kind: ChangeKind, wasSent: Bool = false, hasBase: Bool = false, isLater: Bool = false,
      group: String? = nil, sentGroup: String? = nil
    ) {
      (self.kind, self.wasSent, self.hasBase, self.isLater) = (kind, wasSent, hasBase, isLater)
      (self.group, self.sentGroup) = (group, sentGroup)
    }
  }

  /// - Parameters:
  ///   - last: the last pending change of the record, or `nil`.
  ///   - change: the kind of the new change.
  ///   - group: the transaction of the new change, or `nil` for a single one.
  ///   - isStale: true for a change of a value that was read before newer versions arrived. Those versions may have
  ///     come after what was sent, so the change isn't part of it.
  ///   - isHere: true if the record exists after all changes so far.
  ///   - joins: returns true for a transaction that single changes join.
  package init(
    _ last: Last?, then change: ChangeKind, in group: String? = nil, isStale: Bool = false,
    isHere: @autoclosure () throws -> Bool = false, joins: (String) throws -> Bool = { _ in false }
  ) rethrows {
    guard let last else {
      self = .begin(change)
      return
    }
    if try last.isSealed(for: group, isStale, joins) {
      self = .stack(change)
      return
    }
    switch (last.kind, change) {
    case (.insert, .insert), (.insert, .update): self = .become(.insert)
    case (.insert, .delete) where last.wasSent: self = .become(.delete)
    // Created again in the same transaction: the row is the new one, and no version of the server replaces it.
    case (.insert, .delete): self = try isHere() ? .become(.insert) : .annihilate
    case (.update, .insert), (.update, .update): self = .become(.update)
    case (.update, .delete), (.delete, .delete): self = .become(.delete)
    case (.delete, .insert), (.delete, .update): self = .become(last.hasBase ? .update : .insert)
    }
  }
}

extension ChangeCoalescing.Last {
  /// True if a new change is sent separately.
  fileprivate func isSealed(
    for own: String?, _ isStale: Bool, _ joins: (String) throws -> Bool
  ) rethrows -> Bool {
    if wasSent && (isLater || isStale) { return true }
    if group ?? sentGroup == own { return false }
    guard own == nil, !isLater, let group else { return true }
    return try !joins(group)
  }
}
