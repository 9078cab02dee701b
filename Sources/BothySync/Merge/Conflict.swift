import BothyStore

/// A record that was changed here and on the server since both last agreed, as values of its type.
///
/// ```swift
/// store.options.merging.set(for: Hut.self, on: [.update]) { conflict in
///   guard let mine = conflict.local, let theirs = conflict.remote, var hut = conflict.suggestion else { return .remote }
///   hut.beds = min(mine.beds, theirs.beds)  // rather too few than too many
///   return .merged(hut)
/// }
/// ```
///
/// A field that this app can't read shows its default, or else zero, an empty text or nothing. A secret shows nothing.
public struct Conflict<E: Entity>: Sendable {
  /// The record as both last agreed on it, or `nil` for one that was created here. A field that differs from it
  /// in `local` or `remote` was changed on that side.
  public var base: E?
  /// The local record, or `nil` if it was deleted here.
  public var local: E?
  /// The server's record, or `nil` if it was deleted there or never existed.
  public var remote: E?
  /// The result of merging field by field, to start from, or `nil` if that isn't a record.
  public var suggestion: E?
  /// The kind of the pending change: an insert, an update or a deletion. An insert is in conflict if the server
  /// has its id.
  public var change: ChangeKind

  /// Creates a conflict.
  package init(
    base: E? = nil, local: E? = nil, remote: E? = nil, suggestion: E? = nil,
    change: ChangeKind = .update
  ) {
    self.base = base
    self.local = local
    self.remote = remote
    self.suggestion = suggestion
    self.change = change
  }
}
