/// The kind of change. The raw values are those of the messages.
///
/// ```swift
/// for entry in try await store.outbox.pending() where entry.change == .delete {
///   show("\(entry.id) is deleted here, and not yet on the server.")
/// }
/// ```
public enum ChangeKind: String, Sendable, Hashable, Codable, CaseIterable {
  /// Inserts the record. A conflict if a live record has its id.
  case insert
  /// Updates the record. A conflict unless it is at `base`.
  case update
  /// Deletes the record. A conflict unless it is at `base`.
  case delete
}
