/// How a new local change joins what is already pending for the same record, so that there is at most one entry
/// a record (rule R4). Pure.
package enum Collapse: Equatable, Sendable {
  /// There was no entry; one of this kind begins, with the row as it was for a base.
  case begin(SyncOperation.Kind)
  /// The entry takes this kind and keeps its base.
  case become(SyncOperation.Kind)
  /// The record was created and deleted without the server ever hearing of it: the entry goes.
  case annihilate

  /// - Parameters:
  ///   - pending: the kind of the entry there is, if any.
  ///   - wasSent: whether that entry was sent and its outcome is unknown.
  ///   - hasBase: whether the server is known to have the record.
  package init(_ pending: SyncOperation.Kind?, wasSent: Bool, hasBase: Bool, then change: SyncOperation.Kind)
  {
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
