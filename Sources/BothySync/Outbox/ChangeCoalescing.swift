/// The effect of a new local change on the pending entry of its record, so that a record has at most one entry. Pure.
package enum ChangeCoalescing: Equatable, Sendable {
  /// No entry existed. One of this kind begins, with the earlier row as its base.
  case begin(ChangeKind)
  /// The entry takes this kind and keeps its base.
  case become(ChangeKind)
  /// The record was created and deleted before the server received it. The entry is deleted.
  case annihilate

  /// - Parameters:
  ///   - pending: the kind of the existing entry, or `nil`.
  ///   - wasSent: true if that entry was sent and its outcome is unknown.
  ///   - hasBase: true if the server is known to have the record.
  package init(_ pending: ChangeKind?, wasSent: Bool, hasBase: Bool, then change: ChangeKind) {
    switch (pending, change) {
    case (nil, _): self = .begin(change)
    case (.insert?, .insert), (.insert?, .update): self = .become(.insert)
    case (.insert?, .delete): self = wasSent ? .become(.delete) : .annihilate
    case (.update?, .insert), (.update?, .update): self = .become(.update)
    case (.update?, .delete), (.delete?, .delete): self = .become(.delete)
    case (.delete?, .insert), (.delete?, .update): self = .become(hasBase ? .update : .insert)
    }
  }
}
